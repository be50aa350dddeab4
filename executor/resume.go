package executor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// resume takes up what the journal knows: runs that waited are queued again, in their order; runs that had begun are
// reported failed, because nobody knows how far they came; results are sent again. The caller holds mu.
func (e *Executor) resume() {
	e.journal.mu.Lock()
	entries := maps.Clone(e.journal.live)
	e.journal.mu.Unlock()
	var queued, lost, results int
	var left []int64
	for _, logID := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[logID]
		if entry.result != nil {
			e.reporter.add(result{cb: entry.result, ended: time.UnixMilli(entry.result.Ended)})
			results++
			continue
		}
		req, err := wire.DecodeRun(entry.body)
		if err == nil && !entry.started {
			if err = e.requeue(&req, len(entry.body)); err == nil {
				queued++
				continue
			}
		}
		lost++
		left = append(left, logID)
		msg, was := "the executor restarted while the run was going on", wire.UndoneRunning
		if err != nil {
			was = ""
			msg = fmt.Sprintf("the executor restarted before the run began, and cannot take it up again: %v", err)
		}
		e.noteInLog(&req, logID, msg)
		e.report(&wire.Callback{LogID: logID, LogDateTim: req.LogDateTime, HandleCode: wire.CodeFail, HandleMsg: msg, Undone: was, Node: req.Node}, req.KeepOutput)
	}
	if len(left) > 0 {
		e.scripts.endLeftovers(left)
	}
	if queued+lost+results > 0 {
		e.logger.Info("took up runs of before the restart", "queued", queued, "lost", lost, "undelivered", results)
	}
}

// requeue puts an accepted run back into its queue.
func (e *Executor) requeue(req *wire.RunRequest, size int) error {
	t, err := e.prepare(req)
	if err != nil {
		return err
	}
	t.size = size
	e.queue(t)
	e.begin(t.job)
	return nil
}

// noteInLog tells the reader of a run's log what became of it.
func (e *Executor) noteInLog(req *wire.RunRequest, logID int64, msg string) {
	req.LogID = logID
	l := e.openLog(req, req.ExecutorHandler)
	l.line(time.Now(), 0, "----------- "+msg+" -----------")
	l.close()
}
