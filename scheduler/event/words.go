package event

// The words that stand in events. Those of an argument begin with the argument's Of in the languages of the console; what
// other packages name (faults, route and misfire strategies) is not repeated here.
const (
	// What an executor was asked.
	AskBeat = "beat" // is it alive
	AskIdle = "idle" // has it nothing of the job
	AskLog  = "log"  // has it a log of the run

	// What it answered. To an executor's silence the event adds the words of the error.
	AnswerYes     = "yes"
	AnswerNo      = "no"
	AnswerUnknown = "unknown" // it did not answer, or its answer leaves it open

	// From what it is known that an executor has a run.
	KnownLog      = "log"      // it has a log of it
	KnownBusy     = "busy"     // it is busy with the job
	KnownRepeated = "repeated" // it refused it as one that it has seen
	KnownReported = "reported" // it has reported its result

	// Where a run was when it was ended.
	KilledUnsent  = "unsent"
	KilledWaiting = "waiting" // for another run of the job to end
	KilledSending = "sending"
	KilledRunning = "running" // at its executor

	// Why a run was given up.
	LostSilent = "silent" // its executor does not answer
	LostIdle   = "idle"   // its executor has nothing of the job any more
	LostForgot = "forgot" // its executor, one of ours, does not know it any more, though it is busy with the job
	LostGone   = "gone"   // nobody listens at its executor's address

	// Why a run left late.
	LateLease    = "lease"    // the admin could not renew its lease
	LateQueue    = "queue"    // it waited for its turn at its executor
	LateClaim    = "claim"    // the job was claimed late
	LateTakeover = "takeover" // another admin's, which is gone
	LateAgain    = "again"    // it was sent before, and did not arrive
	LateShort    = "short"    // the admin's machine had no sockets left
	LateUnknown  = "unknown"

	// Why a child was not started.
	NoChildID     = "id"     // what stands there is no job id
	NoChildItself = "itself" // it is the job itself
	NoChildJob    = "job"    // there is no such job
	NoChildAgain  = "again"  // an earlier success of the same fire has

	// Why a call of an executor was refused.
	NotToldToken = "token" // its access token is wrong
)

// Vocabulary is the words of an argument, by its Of.
var Vocabulary = map[string][]string{
	"ask.":     {AskBeat, AskIdle, AskLog},
	"answer.":  {AnswerYes, AnswerNo, AnswerUnknown},
	"known.":   {KnownLog, KnownBusy, KnownRepeated, KnownReported},
	"killed.":  {KilledUnsent, KilledWaiting, KilledSending, KilledRunning},
	"lost.":    {LostSilent, LostIdle, LostForgot, LostGone},
	"late.":    {LateLease, LateQueue, LateClaim, LateTakeover, LateAgain, LateShort, LateUnknown},
	"nochild.": {NoChildID, NoChildItself, NoChildJob, NoChildAgain},
	"nottold.": {NotToldToken},
}
