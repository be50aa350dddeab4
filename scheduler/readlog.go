package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
)

// Piece is a piece of a run's output: from its executor, or from the copy that is kept of it.
type Piece struct {
	wire.LogResult
	// Kept is the copy, where it comes from that. Of lines that are not kept a line of the text says how many those are: it stands for the last
	// of them, so that the text begins with the line FromLineNum.
	Kept *archive.Copy
}

// First is the number of its first line, for whoever asked for what there is from a line on. What executors say of it is not relied on.
func (p *Piece) First(asked int) int {
	if p.Kept != nil {
		return max(asked, p.FromLineNum)
	}
	return asked
}

// copyAfter is how long an executor has for an answer where there is a copy.
const copyAfter = time.Second

// Read reads a run's output from a line on: from its executor while that has it, and else from the copy that is kept. IsEnd is
// decided by the row as well: a finished run of which nothing more came has ended, whatever era the executor is of (docs/compat.md
// §4.14).
func (o *Outputs) Read(ctx context.Context, run *db.Run, fromLine int) (Piece, error) {
	if run.TriggerCode != wire.CodeSuccess && run.HandleCode == 0 || run.ExecutorAddress == "" {
		return Piece{LogResult: wire.LogResult{FromLineNum: fromLine, IsEnd: run.TriggerCode != 0}}, nil
	}
	kept, err := o.cfg.Archive.Has(ctx, run.ID)
	if err != nil {
		return Piece{}, err
	}
	limit := o.cfg.Limit()
	if kept {
		limit = copyAfter
		if o.cfg.Directory.isGone(run.JobGroup, string(run.ExecutorAddress)) {
			return o.readCopy(ctx, run, fromLine, nil)
		}
	}
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var log wire.LogResult
	err = o.ask(call, run.JobGroup, string(run.ExecutorAddress), run.ID, o.logDate(run.PlannedAt, run.TriggerTime), fromLine, func(whole wire.LogResult) { log = firstOf(whole, pieceBytes) })
	if (err != nil || log.Missing()) && ctx.Err() == nil && kept {
		return o.readCopy(ctx, run, fromLine, err)
	}
	if err != nil {
		return Piece{}, err
	}
	// Newer upstream executors answer line 0 when there is nothing new, others the line that was asked for and no text.
	nothing := log.ToLineNum < fromLine || log.LogContent == ""
	if nothing {
		log.ToLineNum = min(log.ToLineNum, fromLine-1)
	}
	log.IsEnd = run.HandleCode > 0 && nothing
	return Piece{LogResult: log}, nil
}

// pieceBytes bounds a piece as executors of ours bound theirs. It is in memory until whoever asked for it has taken it, and many may ask.
const pieceBytes = 1 << 20

// firstOf is the beginning of a piece, in whole lines, and none of its memory: executors of XXL-JOB answer with all the rest of an output.
// One whose lines are not those it says stays whole, or who goes on from the last would miss some.
func firstOf(log wire.LogResult, most int) wire.LogResult {
	if len(log.LogContent) <= most {
		return log
	}
	lines := strings.Count(log.LogContent, "\n")
	if !strings.HasSuffix(log.LogContent, "\n") {
		lines++
	}
	if lines != log.ToLineNum-log.FromLineNum+1 {
		return log
	}
	end := strings.LastIndexByte(log.LogContent[:most], '\n') + 1
	if end == 0 { // a line that is longer
		if end = strings.IndexByte(log.LogContent, '\n') + 1; end == 0 {
			return log
		}
	}
	log.LogContent = strings.Clone(log.LogContent[:end])
	log.ToLineNum, log.IsEnd = log.FromLineNum+strings.Count(log.LogContent, "\n")-1, false
	return log
}

// answersHeld is how many bytes of long answers are in memory at a time, each up to three times over: what is read, its text, and a piece of it.
const answersHeld = 24 << 20

// ask asks an executor for a piece of the output of a run, and has it used. A long one waits for those that are in memory before, until ctx
// is done, and counts until it is used.
func (o *Outputs) ask(ctx context.Context, group int64, address string, id, date int64, fromLine int, use func(wire.LogResult)) error {
	var held int64
	defer func() { o.held.Release(held) }()
	room := func(n int64) error {
		if err := o.held.Acquire(ctx, n); err != nil {
			return fmt.Errorf("wait for other long answers: %w", err)
		}
		held += n
		return nil
	}
	log, answer, err := o.cfg.Log(wire.WithRoom(ctx, room), o.cfg.Target(group, address), wire.LogRequest{
		LogDateTim: date, LogDateTime: date, LogID: id, FromLineNum: fromLine,
	})
	if err == nil && !answer.OK() {
		err = answerError{answer}
	}
	if err != nil {
		return &ExecutorError{Address: address, Err: err}
	}
	use(log)
	return nil
}

// logDate is the time under which an executor looks for the output of a run.
func (o *Outputs) logDate(planned int64, trigger sql.NullTime) int64 {
	if planned == 0 && trigger.Valid { // a row of upstream's
		return o.cfg.Pool.FromWall(trigger.Time).UnixMilli()
	}
	return planned
}

// StoreSilent is for how long the store of the copies has not worked, as far as this admin knows; 0: it works.
func (o *Outputs) StoreSilent() time.Duration {
	if st := o.cfg.Archive.Status(); st.Trouble != "" {
		return max(st.For, time.Second)
	}
	return 0
}

// pieceLines bounds a piece of a copy as executors bound theirs.
const pieceLines = 5000

// readCopy reads a piece of the copy of a run's output; asked is why its executor does not do.
func (o *Outputs) readCopy(ctx context.Context, run *db.Run, fromLine int, asked error) (Piece, error) {
	c, err := o.cfg.Archive.Read(ctx, run.ID)
	if err != nil {
		return Piece{}, errors.Join(asked, err)
	}
	if c == nil { // it went meanwhile
		if asked == nil {
			return Piece{LogResult: wire.LogResult{FromLineNum: fromLine, LogContent: wire.LogMissing, IsEnd: true}}, nil
		}
		return Piece{}, asked
	}
	lines, first, gap := c.From(fromLine, pieceLines)
	p := Piece{Kept: c, LogResult: wire.LogResult{FromLineNum: first, ToLineNum: first - 1 + len(lines), IsEnd: run.HandleCode > 0 && len(lines) == 0}}
	var text strings.Builder
	if gap > 0 {
		p.FromLineNum--
		fmt.Fprintf(&text, "… %d lines are not kept …\n", gap)
	}
	for _, line := range lines {
		text.Write(line)
		text.WriteByte('\n')
	}
	p.LogContent = text.String()
	return p, nil
}
