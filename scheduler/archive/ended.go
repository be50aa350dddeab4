package archive

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

// soon is how long runs that ended are left to the queue, and to whoever pushes their output, before they are looked for.
const soon = 5 * time.Second

// forgetNothing is for how long it is known of a run that it wrote nothing. Then its executor is asked again, should somebody wait for it.
const forgetNothing = time.Minute

const (
	commitPage  = db.MaxBatch // commits that a look reads at a time
	commitPages = 40          // how often it does
)

// Note puts down, in the transaction that ends runs, that their outputs are to be copied: they have ended at the same moment.
func (s *Service) Note(ctx context.Context, tx db.DBTX, ended []Ended) error {
	if s == nil {
		return nil
	}
	for part := range slices.Chunk(ended, db.MaxBatch) {
		ids := make([]byte, 0, 12*len(part))
		for i := range part {
			if i > 0 {
				ids = append(ids, ',')
			}
			ids = strconv.AppendInt(ids, part[i].ID, 10)
		}
		err := s.queries.InsertEndedOutputs(ctx, tx, db.InsertEndedOutputsParams{Node: s.cfg.Node(), EndedAt: part[0].At, Runs: int64(len(part)), Ids: string(ids)})
		if err != nil {
			return err
		}
	}
	return nil
}

// commit is a row of punctual_output_ended.
type commit struct {
	id      int64
	endedAt int64
	runs    []int64
	open    []int64 // those that are not settled
}

// settle deletes commits of whose runs nothing is to be copied any more, and queues what is in no queue.
func (s *Service) settle(ctx context.Context) error {
	s.forgetNothings()
	after := int64(0)
	for range commitPages {
		rows, err := s.queries.ListEndedOutputs(ctx, s.cfg.Pool, db.ListEndedOutputsParams{Node: s.cfg.Node(), AfterID: after, Limit: commitPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].ID
		commits := s.idle(rows)
		if err := s.findOpen(ctx, commits); err != nil {
			return err
		}
		late, err := s.deleteSettled(ctx, commits)
		if err != nil {
			return err
		}
		if err := s.offerAgain(ctx, late); err != nil {
			return err
		}
		if len(rows) < commitPage || len(s.queue) > s.cfg.Queue/2 {
			return nil
		}
	}
	return nil
}

// idle are those commits of which nothing is queued, copied or written now.
func (s *Service) idle(rows []db.ListEndedOutputsRow) (idle []commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		c := commit{id: r.ID, endedAt: r.EndedAt}
		for text := range strings.SplitSeq(r.Ids, ",") {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				c.runs = append(c.runs, id)
			}
		}
		if !slices.ContainsFunc(c.runs, func(id int64) bool { return s.busy[id] }) {
			idle = append(idle, c)
		}
	}
	return idle
}

// findOpen finds which runs of commits are still to be copied.
func (s *Service) findOpen(ctx context.Context, commits []commit) error {
	var ids, pushed []int64
	for i := range commits {
		ids = append(ids, commits[i].runs...)
	}
	slices.Sort(ids)
	there := make(map[int64]db.ListOutputStatesRow, len(ids))
	for part := range chunks(ids) {
		rows, err := s.queries.ListOutputStates(ctx, s.cfg.Pool, part)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if there[r.LogID] = r; r.State == db.OutputLive && r.Pushed > 0 {
				pushed = append(pushed, r.LogID)
			}
		}
	}
	for part := range chunks(pushed) {
		if _, err := s.queries.EndPushedOutputs(ctx, s.cfg.Pool, part); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range commits {
		c := &commits[i]
		for _, id := range c.runs {
			r, kept := there[id]
			_, nothing := s.nothing[id]
			putOff := r.State == db.OutputDue && r.EndedAt >= c.endedAt
			if !nothing && !(kept && (putOff || settled(r.State, r.Pushed, r.EndedAt, c.endedAt))) {
				c.open = append(c.open, id)
			}
		}
	}
	return nil
}

// deleteSettled deletes the commits without open runs. It returns the open runs of those that ended a while ago, and when they did.
func (s *Service) deleteSettled(ctx context.Context, commits []commit) (late map[int64]int64, err error) {
	late = make(map[int64]int64)
	before := s.cfg.Now().Add(-soon).UnixMilli()
	var over, runs []int64
	for _, c := range commits {
		if len(c.open) == 0 {
			over, runs = append(over, c.id), append(runs, c.runs...)
		}
		if c.endedAt <= before {
			for _, id := range c.open {
				late[id] = c.endedAt
			}
		}
	}
	for part := range chunks(over) {
		if _, err := s.queries.DeleteEndedOutputs(ctx, s.cfg.Pool, part); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range runs {
		delete(s.nothing, id)
	}
	return late, nil
}

// offerAgain queues runs by their rows: when each ended, by its id.
func (s *Service) offerAgain(ctx context.Context, endedAt map[int64]int64) error {
	ids := make([]int64, 0, len(endedAt))
	for id := range endedAt {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for part := range chunks(ids) {
		if len(s.queue) > s.cfg.Queue/2 {
			return nil
		}
		runs, err := s.queries.ListRunsByID(ctx, s.cfg.Pool, part)
		if err != nil {
			return err
		}
		var ended []Ended
		for i := range runs {
			r := &runs[i]
			if r.ExecutorAddress == "" {
				continue
			}
			ended = append(ended, Ended{At: endedAt[r.ID], Run: Run{ID: r.ID, Group: r.JobGroup, Job: r.JobID, Address: string(r.ExecutorAddress),
				LogDate: s.logDate(r.PlannedAt, r.TriggerTime)}})
			delete(endedAt, r.ID)
		}
		s.Offer(ended)
		var nowhere []int64
		for _, id := range part {
			if _, missing := endedAt[id]; missing { // its run is gone, or was sent nowhere
				nowhere = append(nowhere, id)
			}
		}
		if err := s.forget(ctx, nowhere); err != nil {
			return err
		}
		s.wroteNothing(nowhere...)
	}
	return nil
}

// forgetNothings drops what is known of runs for which no commit asked.
func (s *Service) forgetNothings() {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range s.nothing {
		if now.Sub(at).Abs() > forgetNothing {
			delete(s.nothing, id)
		}
	}
}

// wroteNothing lets what was noted of runs go although there is no row of them.
func (s *Service) wroteNothing(ids ...int64) {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.nothing[id] = now
	}
}
