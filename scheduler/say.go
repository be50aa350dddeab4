package scheduler

import "fmt"

// Sentence is something the engine says in the message of a run. What is stored is English, so that it is the same for
// everybody; the console recognises it by its format and says it in the reader's language.
type Sentence struct {
	Key    string // of the console's message
	Format string // with %s and %d
}

func (s Sentence) with(args ...any) string { return fmt.Sprintf(s.Format, args...) }

// What the engine says. One that begins like another stands after it in [Sentences] when it is less exact.
var (
	sayFire         = Sentence{"said.fire", "the fire planned for %s"}
	sayFires        = Sentence{"said.fires", "%s fires planned from %s to %s"}
	sayStandsFor    = Sentence{"said.stands", "stands for %s"}
	saySkipped      = Sentence{"said.skipped", "skipped: %s; the misfire strategy is %s"}
	sayStopped      = Sentence{"said.stopped", "job stopped: %s"}
	sayTooLate      = Sentence{"said.toolate", "not sent: it was found %s late, and the job's misfire strategy is %s"}
	sayQueueFull    = Sentence{"said.queuefull", "not sent: %d runs wait for this executor already"}
	sayNotSent      = Sentence{"said.notsent", "not sent: %s"}
	sayLate         = Sentence{"said.late", "%s late"}
	sayWaited       = Sentence{"said.waited", "it waited for another run of the job to end"}
	sayLease        = Sentence{"said.lease", "the admin could not renew its lease"}
	sayFull         = Sentence{"said.full", "%d of the job's runs are running, and it may have %d at a time"}
	sayDiscarded    = Sentence{"said.discarded", "discarded: %s"}
	sayCrowded      = Sentence{"said.crowded", "discarded: %s; %d wait already"}
	sayNoGroup      = Sentence{"said.nogroup", "executor group %d does not exist"}
	sayNoExecutor   = Sentence{"said.noexecutor", "no executor is registered"}
	sayNobody       = Sentence{"said.nobody", "no executor said yes"}
	sayNoSource     = Sentence{"said.nosource", "the job's script could not be read: %s"}
	sayHasRun       = Sentence{"said.hasrun", "the executor already has this run"}
	sayHasRunSays   = Sentence{"said.hasrunsays", "the executor already has this run: %s"}
	sayUnknown      = Sentence{"said.unknown", "the call brought no answer (%v) and the executor did not say whether it has the run (%v); it may have run"}
	sayAnswerLost   = Sentence{"said.answerlost", "the answer was lost (%v), but the executor has the run"}
	sayCallLost     = Sentence{"said.calllost", "the call brought no answer (%v); the executor does not have the run"}
	sayMayHave      = Sentence{"said.mayhave", "%s, which may have received the run before, does not answer: %v"}
	sayOrphan       = Sentence{"said.orphan", "from an admin that is gone"}
	sayUnconfirmed  = Sentence{"said.unconfirmed", "the database had not confirmed the run's record"}
	sayReported     = Sentence{"said.reported", "it did not record that it sent the run; the executor has reported the result, so it did receive it"}
	sayLost         = Sentence{"said.lost", lostMark + "%s"}
	saySilent       = Sentence{"said.silent", "executor %s does not answer"}
	sayIdle         = Sentence{"said.idle", "executor %s has nothing of this job any more, and no result came"}
	sayNotListening = Sentence{"said.notlistening", "nobody listens at executor %s any more"}
	sayLateResult   = Sentence{"said.lateresult", "late result: %s"}
	sayRefused      = Sentence{"said.refused", "its record was refused: %s"}
	sayNoRetry      = Sentence{"said.noretry", "none, the job has been deleted"}
	sayNoID         = Sentence{"said.noid", "%q is not a job id"}
	sayItself       = Sentence{"said.itself", "not started, it is the job itself"}
	sayNoJob        = Sentence{"said.nojob", "job %d does not exist"}
	sayRun          = Sentence{"said.run", "job %d, run %d"}
)

// Sentences is everything the engine says, to be tried in this order.
var Sentences = []Sentence{
	sayFire, sayFires, sayStandsFor, saySkipped, sayStopped, sayTooLate, sayQueueFull, sayNotSent, sayWaited, sayLease, sayFull,
	sayCrowded, sayDiscarded, sayNoGroup, sayNoExecutor, sayNobody, sayNoSource, sayHasRunSays, sayHasRun, sayUnknown, sayAnswerLost,
	sayCallLost, sayMayHave, sayOrphan, sayUnconfirmed, sayReported, sayLost, saySilent, sayIdle, sayNotListening, sayLateResult, sayRefused,
	sayNoRetry, sayNoID, sayItself, sayNoJob, sayRun, sayLate,
}
