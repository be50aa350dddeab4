package archive

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

// soon is how long runs that ended are left to the queue, and to whoever pushes their output, before they are looked for.
const soon = 5 * time.Second

// overFor is for how long it is known of a run that nothing of it is to be copied any more. Then its row says so, and of one that wrote nothing
// the executor is asked again, should somebody wait for it.
const overFor = time.Minute

// overRoom times the length of the queue is how many runs this is known of at most.
const overRoom = 4

// whicheverEnd is the end of what counts for all ends of its run.
const whicheverEnd = math.MaxInt64

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
		ids := db.IDList(db.IDs(part, func(e *Ended) int64 { return e.ID }))
		err := s.queries.InsertEndedOutputs(ctx, tx, db.InsertEndedOutputsParams{Node: s.cfg.Node(), EndedAt: part[0].At, Runs: int64(len(part)), Ids: ids})
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
	s.forgetOver()
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
		c := commit{id: r.ID, endedAt: r.EndedAt, runs: db.ReadIDs(r.Ids)}
		if !slices.ContainsFunc(c.runs, func(id int64) bool { _, taken := s.taken[id]; return taken || s.busy[id] }) {
			idle = append(idle, c)
		}
	}
	return idle
}

// findOpen finds which runs of commits are still to be copied. Of those that it has written itself, this admin knows.
func (s *Service) findOpen(ctx context.Context, commits []commit) error {
	var ids, pushed []int64
	s.mu.Lock()
	for i := range commits {
		for _, id := range commits[i].runs {
			if !s.isOver(id, commits[i].endedAt) {
				ids = append(ids, id)
			}
		}
	}
	s.mu.Unlock()
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
			putOff := r.State == db.OutputDue && r.EndedAt >= c.endedAt
			if !s.isOver(id, c.endedAt) && !(kept && (putOff || settled(r.State, r.Pushed, r.EndedAt, c.endedAt))) {
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
		delete(s.over, id)
	}
	return late, nil
}

// offerAgain queues runs by their rows: when each ended, by its id.
func (s *Service) offerAgain(ctx context.Context, endedAt map[int64]int64) error {
	for part := range chunks(slices.Sorted(maps.Keys(endedAt))) {
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
			ended = append(ended, Ended{At: endedAt[r.ID], again: true, Run: Run{ID: r.ID, Group: r.JobGroup, Job: r.JobID, Address: string(r.ExecutorAddress),
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
		for _, id := range nowhere {
			s.knowOver(id, endedAt[id])
		}
	}
	return nil
}

// isOver says whether it is known of a run that nothing is to be copied of it since it ended at a moment. The caller has locked mu.
func (s *Service) isOver(id, endedAt int64) bool {
	o, known := s.over[id]
	return known && o.endedAt >= endedAt
}

// knowOver notes that nothing is to be copied of a run that ended at a moment: so what was noted of it goes without its row being read, and
// although there may be none.
func (s *Service) knowOver(id, endedAt int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, known := s.over[id]; known || len(s.over) < overRoom*s.cfg.Queue {
		s.over[id] = over{max(endedAt, o.endedAt), s.cfg.Now()}
	}
}

// forgetOver drops what is known of runs for which no commit asked.
func (s *Service) forgetOver() {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, o := range s.over {
		if now.Sub(o.since).Abs() > overFor {
			delete(s.over, id)
		}
	}
}
