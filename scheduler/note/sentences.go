package note

import (
	"errors"
	"fmt"
	"strings"
)

// Sentence is something the engine says in the message of a run.
type Sentence struct {
	Key    string // of the console's message
	Format string // with %s and %d
}

// With puts values into a sentence.
func (s Sentence) With(args ...any) string { return fmt.Sprintf(s.Format, args...) }

// Begins says whether a text may be the sentence: it begins with the words before the first value.
func (s Sentence) Begins(text string) bool {
	words, _, _ := strings.Cut(s.Format, "%")
	return strings.HasPrefix(text, words)
}

// Err is a sentence as an error. Unlike the errors of fmt it wraps nothing.
func (s Sentence) Err(args ...any) error { return errors.New(s.With(args...)) }

// LostMark begins the message of a run that was given up, and KillMark the line that says who had it ended.
const (
	LostMark = "result lost: "
	KillMark = "killed by "
)

// What the engine says. One that begins like another stands after it in [Sentences] when it is less exact.
var (
	Fire          = Sentence{"said.fire", "the fire planned for %s"}
	Fires         = Sentence{"said.fires", "%s fires planned from %s to %s"}
	StandsFor     = Sentence{"said.stands", "stands for %s"}
	Skipped       = Sentence{"said.skipped", "skipped: %s; the misfire strategy is %s"}
	Stopped       = Sentence{"said.stopped", "job stopped: %s"}
	TooLate       = Sentence{"said.toolate", "not sent: it was found %s late, and the job's misfire strategy is %s"}
	QueueFull     = Sentence{"said.queuefull", "not sent: %d runs wait for this executor already"}
	NotSent       = Sentence{"said.notsent", "not sent: %s"}
	Late          = Sentence{"said.late", "%s late"}
	Waited        = Sentence{"said.waited", "it waited for another run of the job to end"}
	Lease         = Sentence{"said.lease", "the admin could not renew its lease"}
	Full          = Sentence{"said.full", "%d of the job's runs are running, and it may have %d at a time"}
	Discarded     = Sentence{"said.discarded", "discarded: %s"}
	Crowded       = Sentence{"said.crowded", "discarded: %s; %d wait already"}
	NoGroup       = Sentence{"said.nogroup", "executor group %d does not exist"}
	NoExecutor    = Sentence{"said.noexecutor", "no executor is registered"}
	Nobody        = Sentence{"said.nobody", "no executor said yes"}
	NoSource      = Sentence{"said.nosource", "the job's script could not be read: %s"}
	HasRun        = Sentence{"said.hasrun", "the executor already has this run"}
	HasRunSays    = Sentence{"said.hasrunsays", "the executor already has this run: %s"}
	Unknown       = Sentence{"said.unknown", "the call brought no answer (%v) and the executor did not say whether it has the run (%v); it may have run"}
	AnswerLost    = Sentence{"said.answerlost", "the answer was lost (%v), but the executor has the run"}
	CallLost      = Sentence{"said.calllost", "the call brought no answer (%v); the executor does not have the run"}
	MayHave       = Sentence{"said.mayhave", "%s, which may have received the run before, does not answer: %v"}
	Orphan        = Sentence{"said.orphan", "from an admin that is gone"}
	Unconfirmed   = Sentence{"said.unconfirmed", "the database had not confirmed the run's record"}
	Reported      = Sentence{"said.reported", "it did not record that it sent the run; the executor has reported the result, so it did receive it"}
	Lost          = Sentence{"said.lost", LostMark + "%s"}
	Silent        = Sentence{"said.silent", "executor %s does not answer"}
	Idle          = Sentence{"said.idle", "executor %s has nothing of this job any more, and no result came"}
	NotListening  = Sentence{"said.notlistening", "nobody listens at executor %s any more"}
	LateResult    = Sentence{"said.lateresult", "late result: %s"}
	Refused       = Sentence{"said.refused", "its record was refused: %s"}
	NoRetry       = Sentence{"said.noretry", "none, the job has been deleted"}
	NoID          = Sentence{"said.noid", "%q is not a job id"}
	Itself        = Sentence{"said.itself", "not started, it is the job itself"}
	NoJob         = Sentence{"said.nojob", "job %d does not exist"}
	Overdue       = Sentence{"said.overdue", "running for %s, expected at most %s; executor %s"}
	NoSuccess     = Sentence{"said.nosuccess", "no success since %s, one is expected every %s"}
	KilledUnsent  = Sentence{"said.killed.unsent", KillMark + "%s before it was sent"}
	KilledWaiting = Sentence{"said.killed.waiting", KillMark + "%s while it waited for another run of the job to end"}
	KilledSending = Sentence{"said.killed.sending", KillMark + "%s while it was being sent"}
	Killed        = Sentence{"said.killed", KillMark + "%s"}
	Run           = Sentence{"said.run", "job %d, run %d"}
)

// Sentences is everything the engine says, to be tried in this order.
var Sentences = []Sentence{
	Fire, Fires, StandsFor, Skipped, Stopped, TooLate, QueueFull, NotSent, Waited, Lease, Full,
	Crowded, Discarded, NoGroup, NoExecutor, Nobody, NoSource, HasRunSays, HasRun, Unknown, AnswerLost,
	CallLost, MayHave, Orphan, Unconfirmed, Reported, Lost, Silent, Idle, NotListening, LateResult, Refused,
	Overdue, NoSuccess, KilledUnsent, KilledWaiting, KilledSending, Killed,
	NoRetry, NoID, Itself, NoJob, Run, Late,
}
