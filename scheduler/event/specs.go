package event

// Key says what happened.
type Key string

// Kind says how an argument is shown.
type Kind int8

const (
	Words    Kind = iota // words of the other side or of a library, shown as they are
	Number               // a number
	Moment               // epoch ms, shown in the reader's zone
	Length               // ms
	Word                 // a word of the field, translated under Arg.Of
	RunID                // a run
	JobID                // a job
	FlagMore             // "1": the number before it is a lower bound
	Cause                // another event, or what is wrong with a value: see [CauseOf]
)

// Arg is an argument of an event.
type Arg struct {
	Name string
	Kind Kind
	Of   string // of a Word: the locale keys' beginning, as in "route." + value
}

// Spec is what an event with a key has to tell.
type Spec struct {
	Key     Key
	Args    []Arg
	English string // with {Name} for the arguments; what XXL-JOB's text columns are filled with
}

// What happens to a run. The constants stand in the order of a run's life.
const (
	Claimed      Key = "claimed"      // an admin made the run
	StandsFor    Key = "stands"       // one run for several fires that passed unseen
	PausedFires  Key = "paused"       // the fires that a pause leaves out
	HeldBack     Key = "heldback"     // the pause that a run comes after
	SkippedFires Key = "skipped"      // the fires that the misfire strategy leaves out
	MadeBefore   Key = "madebefore"   // the fires that were made already, by runs that the database has forgotten
	JobStopped   Key = "stopped"      // the job's schedule cannot be read
	TakenOver    Key = "taken"        // another admin's run, which is gone
	FoundAgain   Key = "found"        // this admin's own: the database had not confirmed its record
	Waited       Key = "waited"       // it waited for another run of the job to end
	GroupWaited  Key = "groupwaited"  // the same, of its executor group
	Late         Key = "late"         // it was let go later than planned
	Asked        Key = "asked"        // an executor was asked something
	Routed       Key = "routed"       // its executor was chosen
	Filled       Key = "filled"       // the planned time was put into its parameter
	Sent         Key = "sent"         // an executor took it
	Refused      Key = "refused"      // an executor would not take it
	Unreachable  Key = "unreachable"  // no connection: it cannot have arrived
	Silent       Key = "silent"       // an executor that asks for its calls has not asked for too long: it cannot have arrived
	Unanswered   Key = "unanswered"   // the request may have arrived, and no answer came
	SentAgain    Key = "again"        // the executor says that it has never had the run, and is sent it again
	Known        Key = "known"        // the executor says that it has the run
	Unknown      Key = "unknown"      // the executor says that it does not have the run
	MayHave      Key = "mayhave"      // an executor that may have it does not answer
	NoExecutor   Key = "noexecutor"   // no executor is registered
	Nobody       Key = "nobody"       // every executor that was asked said no
	NoGroup      Key = "nogroup"      // the group does not exist
	NoRoute      Key = "noroute"      // the route strategy is not known
	NoSource     Key = "nosource"     // the job's script cannot be read
	NoScript     Key = "noscript"     // the job has no script yet
	NoSecret     Key = "nosecret"     // a secret that it names does not exist
	SecretsShut  Key = "secretsshut"  // its secrets cannot be read
	SecretsHeld  Key = "secretsheld"  // its address is no executor of the group, and is sent no secrets
	NoEnv        Key = "noenv"        // its executor does not take an environment
	QueueFull    Key = "queuefull"    // too many runs wait for the executor
	TooLate      Key = "toolate"      // found too late for the job's misfire strategy
	DeadExecutor Key = "dead"         // a broadcast's machine that is known to be dead
	Full         Key = "full"         // the job's limit of runs at a time is reached
	Crowded      Key = "crowded"      // the same, and too many wait already
	GroupFull    Key = "groupfull"    // that of its executor group is
	GroupCrowded Key = "groupcrowded" // the same, and too many of the job wait already
	NotRecorded  Key = "notrecorded"  // the database refused the record of the sending
	KillAsked    Key = "killasked"    // somebody wants it ended
	KillFailed   Key = "killfailed"   // its executor would not end it
	KilledAt     Key = "killed"       // it was ended
	LostRun      Key = "lost"         // given up
	LeftOpen     Key = "leftopen"     // it was open when the database of an XXL-JOB admin was adopted
	Awaits       Key = "awaits"       // its target took the work and will report the end
	Reported     Key = "reported"     // its target has
	NoReport     Key = "noreport"     // its target has not, in the time of the job
	Result       Key = "result"       // a result that came where none was awaited any more
	EndLate      Key = "endlate"      // its executor could tell its end only after a while
	EndUnsure    Key = "endunsure"    // when it ended is not known exactly: no result could be taken for a while
	NotTold      Key = "nottold"      // a result that was refused before it was read
	Retry        Key = "retry"        // the next attempt
	NoRetry      Key = "noretry"      // none, the job is gone
	Child        Key = "child"        // a job that its success started
	NoChild      Key = "nochild"      // one that it could not start
	Withdrawn    Key = "withdrawn"    // a retry that is not needed
	Triggered    Key = "triggered"    // somebody asked for the run
	Backfilled   Key = "backfilled"   // it belongs to a backfill
	FlowBegan    Key = "flowbegan"    // a run of a flow, with so many steps
	FlowStep     Key = "flowstep"     // it is a step of a flow
	FlowFailed   Key = "flowfailed"   // the step because of which a run of a flow failed
	FlowCause    Key = "flowcause"    // the same, and why it did, where no executor has said that
	FlowRejected Key = "flowrejected" // the same, where a person said no
	FlowSilent   Key = "flowsilent"   // where nobody said anything in time
	FlowLate     Key = "flowlate"     // where its time was over
	FlowItems    Key = "flowitems"    // where items of it failed
	FlowOutputs  Key = "flowoutputs"  // an output of a flow has no value, so its run failed
	NoFlow       Key = "noflow"       // the definition of a flow cannot be read
	Asks         Key = "asks"         // a step of a flow waits for a person
	Overdue      Key = "overdue"      // it takes longer than its job lets expect
	Longer       Key = "longer"       // the same, of a flow, which no executor runs
	DueBy        Key = "dueby"        // of a job: what has to be done by a time will probably not be
	NotDone      Key = "notdone"      // of a job: what had to be done by a time is not
	NoSuccess    Key = "nosuccess"    // of a job: none came for longer than it lets expect
)

func words(name string) Arg    { return Arg{Name: name, Kind: Words} }
func number(name string) Arg   { return Arg{Name: name, Kind: Number} }
func moment(name string) Arg   { return Arg{Name: name, Kind: Moment} }
func length(name string) Arg   { return Arg{Name: name, Kind: Length} }
func word(name, of string) Arg { return Arg{Name: name, Kind: Word, Of: of} }

// The arguments that many have. Of a call that failed the kind of fault (wire.FaultOf) is told, and the original words.
var (
	address  = words("Address")
	took     = length("Took")
	fault    = word("Fault", "fault.")
	said     = words("Text")
	whatSaid = Arg{Name: "Text", Kind: Cause}
	because  = Arg{Name: "Why", Kind: Cause}
	more     = Arg{Name: "More", Kind: FlagMore}
	runID    = Arg{Name: "Run", Kind: RunID}
	jobID    = Arg{Name: "Job", Kind: JobID}
)

// Book is the events that may stand somewhere, by their keys.
type Book map[Key]Spec

func BookOf(list []Spec) Book {
	book := make(Book, len(list))
	for _, s := range list {
		book[s.Key] = s
	}
	return book
}

// Specs are all events of runs.
var Specs = func() Book {
	list := []Spec{
		{Claimed, []Arg{words("Admin"), number("Node")}, "claimed by {Admin}"},
		{StandsFor, []Arg{number("N"), more, moment("From"), moment("To")}, "stands for {N} fires planned from {From} to {To}"},
		{SkippedFires, []Arg{number("N"), more, moment("From"), moment("To"), word("Strategy", "misfire.")}, "skipped: {N} fires planned from {From} to {To}; the misfire strategy is {Strategy}"},
		{MadeBefore, []Arg{number("N"), more, moment("From"), moment("To")}, "not made again: {N} fires planned from {From} to {To} were sent before the database went back to an older state, which does not have their runs"},
		{PausedFires, []Arg{number("N"), more, moment("From"), moment("To"), words("User"), words("Reason")}, "skipped: {N} fires planned from {From} to {To} fell into a pause by {User}: {Reason}"},
		{HeldBack, []Arg{words("User"), words("Reason")}, "held back by a pause by {User}: {Reason}"},
		{JobStopped, []Arg{whatSaid}, "job stopped: {Text}"},
		{TakenOver, []Arg{words("Admin"), number("Node")}, "taken over from {Admin}, which is gone"},
		{FoundAgain, nil, "found again: the database had not confirmed its record"},
		{Waited, []Arg{length("By")}, "waited for another run of the job to end"},
		{GroupWaited, []Arg{length("By")}, "waited {By} for another run of the executor to end"},
		{Late, []Arg{length("By"), word("Cause", "late.")}, "late by {By}: {Cause}"},
		{Asked, []Arg{address, word("What", "ask."), word("Answer", "answer."), said}, "asked {Address} ({What}): {Answer} {Text}"},
		{Routed, []Arg{word("Strategy", "route."), address, number("Of")}, "routed by {Strategy} to {Address}, one of {Of}"},
		{Filled, []Arg{said}, "parameter: {Text}"},
		{Sent, []Arg{address, took, number("Code"), said}, "sent to {Address} in {Took}: {Code} {Text}"},
		{Refused, []Arg{address, took, number("Code"), said}, "refused by {Address} in {Took}: {Code} {Text}"},
		{Unreachable, []Arg{address, took, fault, said}, "not sent: {Address} cannot be reached ({Took}): {Fault}: {Text}"},
		{Silent, []Arg{address, moment("Since")}, "not sent: {Address} has not asked for work since {Since}"},
		{Unanswered, []Arg{address, took, fault, said}, "{Address} did not answer the call ({Took}): {Fault}: {Text}"},
		{SentAgain, []Arg{address}, "{Address} has never had the run: sent again"},
		{Known, []Arg{address, word("Why", "known."), said}, "{Address} has the run: {Why} {Text}"},
		{Unknown, []Arg{address}, "{Address} does not have the run"},
		{MayHave, []Arg{address, fault, said}, "{Address}, which may have the run, does not answer: {Fault}: {Text}"},
		{NoExecutor, nil, "not sent: no executor is registered"},
		{Nobody, nil, "not sent: no executor said yes"},
		{NoGroup, []Arg{number("Group")}, "not sent: executor group {Group} does not exist"},
		{NoRoute, []Arg{whatSaid}, "not sent: {Text}"},
		{NoSource, []Arg{whatSaid}, "not sent: the job's script cannot be read: {Text}"},
		{NoScript, nil, "not sent: the job's script is empty, or waits for a second person"},
		{NoSecret, []Arg{words("Names")}, "not sent: the executor group has no secret {Names}"},
		{SecretsShut, []Arg{whatSaid}, "not sent: its secrets cannot be read: {Text}"},
		{SecretsHeld, []Arg{address}, "not sent: {Address} is no executor of the group, and is sent no secrets"},
		{NoEnv, []Arg{address}, "not sent: the executor at {Address} has not said that it takes an environment, and the script has one"},
		{QueueFull, []Arg{address, number("Max")}, "not sent: {Max} runs wait for {Address} already"},
		{TooLate, []Arg{length("By"), word("Strategy", "misfire.")}, "not sent: it was found {By} late, and the misfire strategy is {Strategy}"},
		{DeadExecutor, []Arg{address, moment("Since")}, "not sent: {Address} is dead since {Since}"},
		{Full, []Arg{number("Running"), number("Limit")}, "discarded: {Running} of the job's runs are running, and it may have {Limit} at a time"},
		{Crowded, []Arg{number("Running"), number("Limit"), number("Waiting")}, "discarded: {Running} of the job's runs are running, {Waiting} wait, and it may have {Limit} at a time"},
		{GroupFull, []Arg{number("Running"), number("Limit")}, "discarded: {Running} of the executor's runs are running, and it may have {Limit} at a time"},
		{GroupCrowded, []Arg{number("Running"), number("Limit"), number("Waiting")}, "discarded: {Running} of the executor's runs are running, {Waiting} of the job wait, and the executor may have {Limit} at a time"},
		{NotRecorded, []Arg{said}, "its record was refused: {Text}"},
		{KillAsked, []Arg{words("User")}, "{User} wants it ended"},
		{KillFailed, []Arg{address, fault, said}, "{Address} did not end it: {Fault}: {Text}"},
		{KilledAt, []Arg{words("User"), word("Where", "killed.")}, "killed by {User} ({Where})"},
		{LostRun, []Arg{word("Cause", "lost."), address}, "result lost: {Cause}: {Address}"},
		{LeftOpen, nil, "open when this database was adopted: closed without a retry and an alarm"},
		{Awaits, []Arg{moment("Until")}, "the target took the work, and is to report the end until {Until}"},
		{Reported, []Arg{address}, "the end was reported by {Address}"},
		{NoReport, nil, "the target reported no end within the job's time limit"},
		{Result, []Arg{number("Code"), said}, "a result came later: {Code} {Text}"},
		{EndLate, []Arg{length("By")}, "ended {By} before its result was taken"},
		{EndUnsure, []Arg{moment("From"), moment("Until")}, "ended between {From} and {Until}; when exactly is not known: its result may have waited"},
		{NotTold, []Arg{address, word("Cause", "nottold.")}, "a call of {Address} was refused: {Cause}"},
		{Retry, []Arg{jobID, runID}, "retry: job {Job}, run {Run}"},
		{NoRetry, nil, "retry: none, the job has been deleted"},
		{Child, []Arg{jobID, runID}, "child: job {Job}, run {Run}"},
		{NoChild, []Arg{word("Cause", "nochild."), words("ID")}, "child: {ID} not started: {Cause}"},
		{Withdrawn, []Arg{runID}, "not needed: run {Run} succeeded after all"},
		{Triggered, []Arg{words("User")}, "triggered by {User}"},
		{Backfilled, []Arg{number("Backfill")}, "of backfill {Backfill}"},
		{FlowBegan, []Arg{number("N")}, "begun: {N} steps"},
		{FlowStep, []Arg{runID, words("Step")}, "step {Step} of the flow's run {Run}"},
		{FlowFailed, []Arg{words("Step")}, "step {Step} failed"},
		{FlowCause, []Arg{words("Step"), because}, "step {Step} failed: {Why}"},
		{FlowRejected, []Arg{words("Step"), words("User")}, "step {Step} was rejected by {User}"},
		{FlowSilent, []Arg{words("Step")}, "nobody answered step {Step} in time"},
		{FlowLate, []Arg{words("Step")}, "step {Step} ran out of time"},
		{FlowItems, []Arg{words("Step"), number("N"), number("All")}, "of step {Step} {N} of {All} items failed"},
		{FlowOutputs, []Arg{because}, "an output has no value: {Why}"},
		{NoFlow, []Arg{whatSaid}, "not begun: the definition of the flow cannot be read: {Text}"},
		{Overdue, []Arg{length("By"), length("Limit"), address}, "running for {By}, expected at most {Limit}; executor {Address}"},
		{Asks, []Arg{words("Step"), said}, "step {Step} waits for approval: {Text}"},
		{Longer, []Arg{length("By"), length("Limit")}, "running for {By}, expected at most {Limit}"},
		{DueBy, []Arg{moment("By"), moment("Expected"), length("Usual")}, "to be done by {By}, expected to end at {Expected}: it usually takes up to {Usual}"},
		{NotDone, []Arg{moment("By")}, "had to be done by {By} and is not"},
		{NoSuccess, []Arg{moment("Since"), length("Every")}, "no success since {Since}, one is expected every {Every}"},
	}
	return BookOf(list)
}()
