package event

import "fmt"

// Outcome says how a run ended, or why it did not begin. It is what the column xxl_job_log.outcome holds, so a number is
// never given another meaning.
type Outcome int8

// The outcomes. Open is also what a row has that an XXL-JOB admin wrote: how such a run stands is in its two codes alone.
const (
	Open        Outcome = 0  // it waits, or goes on
	Succeeded   Outcome = 1  // its executor reported success
	Failed      Outcome = 2  // its executor reported failure
	TimedOut    Outcome = 3  // its executor ended it because it took longer than the job allows
	NotSent     Outcome = 4  // it did not reach an executor, or none would take it
	Unconfirmed Outcome = 5  // it was sent, and nobody can say whether it arrived
	Killed      Outcome = 6  // somebody wanted it ended
	Lost        Outcome = 7  // an executor took it, and its result will not come
	Skipped     Outcome = 8  // its time passed unseen, and the job's misfire strategy leaves such fires out
	Discarded   Outcome = 9  // as many of the job's runs as it may have were running
	Stopped     Outcome = 10 // the job's schedule cannot be read, so the job was stopped
	Cancelled   Outcome = 11 // a retry that was not needed: the run it was to repeat succeeded after all
)

// outcomes are the names, by number.
var outcomes = [...]string{"open", "succeeded", "failed", "timedout", "notsent", "unconfirmed", "killed", "lost", "skipped", "discarded", "stopped", "cancelled"}

// AllOutcomes are the outcomes in the order of their numbers.
func AllOutcomes() []Outcome {
	all := make([]Outcome, len(outcomes))
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// String is the outcome's name, as locale keys and programs know it.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		return fmt.Sprintf("outcome(%d)", int8(o))
	}
	return outcomes[o]
}

// Ended reports whether nothing more is to come of the run.
func (o Outcome) Ended() bool { return o != Open }

// Retried reports whether a run that ended so is tried again if it has retries left. Of an XXL-JOB admin's rows, which have no
// outcome, that holds for each that failed.
func (o Outcome) Retried() bool {
	switch o {
	case Open, Failed, TimedOut, NotSent, Unconfirmed, Lost:
		return true
	case Succeeded, Killed, Skipped, Discarded, Stopped, Cancelled:
	}
	return false
}

// Passed reports whether the run was left out on purpose: neither a success nor a failure.
func (o Outcome) Passed() bool { return o == Skipped || o == Discarded || o == Cancelled }
