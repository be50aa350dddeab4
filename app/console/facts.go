package console

import (
	"database/sql"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/note"
	"github.com/punctual-job/punctual/views/ui"
)

// runFacts is what every kind of run row has, in one form: lists, details and followers select different columns.
type runFacts struct {
	triggerCode, handleCode int64
	triggerNote, handleNote string // messages, or their beginnings
	address                 string
	triggered, handled      sql.NullTime
	planned, sent, finished int64 // epoch ms, 0 for none
}

func factsOf(r db.RunRow) runFacts {
	return runFacts{
		triggerCode: r.TriggerCode, handleCode: r.HandleCode, triggerNote: r.TriggerNote, handleNote: r.HandleNote,
		address: string(r.ExecutorAddress), triggered: r.TriggerTime, handled: r.HandleTime, planned: r.PlannedAt, sent: r.SentAt,
		finished: r.FinishedAt,
	}
}

func factsOfRun(r db.Run) runFacts {
	return runFacts{
		triggerCode: r.TriggerCode, handleCode: r.HandleCode, triggerNote: string(r.TriggerMsg), handleNote: string(r.HandleMsg),
		address: string(r.ExecutorAddress), triggered: r.TriggerTime, handled: r.HandleTime, planned: r.PlannedAt, sent: r.SentAt,
		finished: r.FinishedAt,
	}
}

// factsOfLast has no trigger message, so that a fire that was passed over looks as one that could not be sent. It is for runs
// that a deed or another run caused, which are never passed over.
func factsOfLast(r db.ListRunsByIDRow) runFacts {
	return runFacts{
		triggerCode: r.TriggerCode, handleCode: r.HandleCode, handleNote: string(r.HandleMsg),
		address: string(r.ExecutorAddress), triggered: r.TriggerTime, planned: r.PlannedAt, sent: r.SentAt,
	}
}

// stateOfOutcome is where a run of a strip stands.
func stateOfOutcome(o db.Outcome) ui.State {
	switch {
	case o.Skipped:
		return ui.StateSkipped
	case o.Killed:
		return ui.StateKilled
	}
	return runFacts{triggerCode: o.TriggerCode, handleCode: o.HandleCode, handleNote: o.Note}.state()
}

// What the messages of ends by hand and of lost results begin with: ours, then those of an XXL-JOB admin in its two
// languages (spec §3.9).
var (
	killedMarks = []string{"killed by ", "人为操作，主动终止", "Manual operation, kill job"}
	lostMarks   = []string{"result lost", "任务结果丢失，标记失败", "Job result lost, marked as failure"}
	killedEnds  = []string{"[job running, killed]", "[job not executed, in the job queue, killed.]"}
	skipMarks   = []string{"skipped: ", "job stopped: "}
)

// state puts the two codes and the messages of a run (spec §3.7) into the words of the console.
func (f runFacts) state() ui.State {
	switch {
	case f.handleCode == wire.CodeSuccess:
		return ui.StateSuccess
	case f.handleCode == wire.CodeTimeout:
		return ui.StateTimeout
	case f.handleCode != 0:
		for line := range strings.SplitSeq(note.Plain(f.handleNote), "\n") {
			switch {
			case hasAny(line, killedMarks, strings.HasPrefix), hasAny(line, killedEnds, strings.HasSuffix):
				return ui.StateKilled
			case hasAny(line, lostMarks, strings.HasPrefix):
				return ui.StateLost
			}
		}
		return ui.StateFailed
	case f.triggerCode == 0:
		return ui.StateWaiting
	case f.triggerCode == wire.CodeSuccess:
		return ui.StateSent
	case hasAny(f.result(), killedMarks, strings.HasPrefix):
		return ui.StateKilled
	case hasAny(f.result(), skipMarks, strings.HasPrefix):
		return ui.StateSkipped
	default:
		return ui.StateSendFailed
	}
}

func hasAny(line string, marks []string, has func(s, mark string) bool) bool {
	line = strings.TrimSpace(line)
	for _, m := range marks {
		if has(line, m) {
			return true
		}
	}
	return false
}

// hasFailed says whether a state is one an operator has to look at.
func hasFailed(s ui.State) bool {
	switch s {
	case ui.StateFailed, ui.StateTimeout, ui.StateSendFailed, ui.StateLost:
		return true
	case ui.StateWaiting, ui.StateSent, ui.StateSuccess, ui.StateKilled, ui.StateSkipped:
		return false
	}
	return false
}

// result is what the scheduler's message says about the sending.
func (f runFacts) result() string {
	result := ""
	for _, n := range note.Lines(f.triggerNote) {
		if n.Key == "result" {
			result = n.Value
		}
	}
	return result
}

// start is when the run was planned; rows of an XXL-JOB admin know only when it was triggered.
func (f runFacts) start(pool *db.Pool) time.Time {
	if f.planned > 0 {
		return time.UnixMilli(f.planned)
	}
	return fromWall(pool, f.triggered)
}

// span is from when to when the run took. end is zero while it goes on; began is zero if it was never sent.
func (f runFacts) span(pool *db.Pool) (began, end time.Time) {
	began = fromMillis(f.sent)
	if began.IsZero() && f.planned == 0 && f.triggerCode == wire.CodeSuccess {
		began = fromWall(pool, f.triggered)
	}
	if f.handleCode == 0 {
		return began, time.Time{}
	}
	if end = fromMillis(f.finished); end.IsZero() {
		end = fromWall(pool, f.handled)
	}
	return began, end
}

func fromWall(pool *db.Pool, t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return pool.FromWall(t.Time)
}

// message is the first line of what there is to say about a run, and nothing about a plain success.
func (f runFacts) message() string {
	for line := range strings.SplitSeq(note.Plain(f.handleNote), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	if f.handleCode == 0 && f.triggerCode != 0 && f.triggerCode != wire.CodeSuccess {
		if result := f.result(); result != "" {
			return result
		}
		for line := range strings.SplitSeq(note.Plain(f.triggerNote), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return ""
}
