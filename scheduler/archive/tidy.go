package archive

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// tidying is where the rounds of the look stand.
type tidying struct {
	adopted time.Time
	counted time.Time
	tidied  time.Time
	summed  time.Time
	orphans int64                        // rows up to this run were looked at
	thin    int64                        // objects up to this one
	empty   db.ListEmptyOutputObjectsRow // what was empty up to this one
	held    int64                        // of these, so many could not be deleted
}

func (s *Service) lookLoop(ctx context.Context) {
	tick := time.NewTicker(s.cfg.LookEvery)
	defer tick.Stop()
	for {
		if s.cfg.Ready() {
			if err := s.look(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("look after kept outputs", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look finds what is to be copied and is not in memory, and looks after the rest of it.
func (s *Service) look(ctx context.Context) error {
	s.setRate()
	s.speed.mark(s.cfg.Now())
	s.forgetRefusals()
	if err := s.flushNotes(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.findDue(ctx); err != nil {
		return err
	}
	now := s.cfg.Now()
	if now.Sub(s.tidied.counted).Abs() >= 5*time.Second {
		s.tidied.counted = now
		ended, err := s.queries.SumEndedOutputs(ctx, s.cfg.Pool)
		if err != nil {
			return err
		}
		due, err := s.queries.CountDueOutputs(ctx, s.cfg.Pool)
		if err != nil {
			return err
		}
		s.waiting.Store(ended + due)
	}
	if !s.cfg.Leads() {
		return s.sum(ctx, now)
	}
	if now.Sub(s.tidied.adopted).Abs() >= 2*time.Second {
		s.tidied.adopted = now
		if err := s.adopt(ctx); err != nil {
			return err
		}
	}
	if now.Sub(s.tidied.tidied).Abs() >= s.cfg.TidyEvery {
		s.tidied.tidied = now
		if err := s.tidy(ctx); err != nil {
			return err
		}
	}
	return s.sum(ctx, now)
}

// sum adds up what is kept, for the page of the nodes.
func (s *Service) sum(ctx context.Context, now time.Time) error {
	if now.Sub(s.tidied.summed).Abs() < 10*s.cfg.TidyEvery {
		return nil
	}
	s.tidied.summed = now
	wall := s.cfg.Pool.Wall(now)
	today := s.cfg.Pool.FromWall(time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC))
	sum, err := s.queries.SumOutputObjects(ctx, s.cfg.Pool, today.UnixMilli())
	if err == nil {
		s.kept.Store(&sum)
	}
	return err
}

// dueRows is how many rows a look takes at a time.
const dueRows = 1000

// findDue queues this admin's rows whose time has come.
func (s *Service) findDue(ctx context.Context) error {
	if len(s.queue) > s.cfg.Queue/2 {
		return nil
	}
	rows, err := s.queries.ListDueOutputs(ctx, s.cfg.Pool, db.ListDueOutputsParams{Node: s.cfg.Node(), Now: s.cfg.Now().UnixMilli(), Limit: dueRows})
	if err != nil || len(rows) == 0 {
		return err
	}
	endedAt := make(map[int64]int64, len(rows))
	s.mu.Lock()
	for _, r := range rows {
		if !s.busy[r.LogID] {
			endedAt[r.LogID] = r.EndedAt
		}
	}
	s.mu.Unlock()
	return s.offerAgain(ctx, endedAt)
}

func (s *Service) forget(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error { return db.ForgetOutputs(ctx, tx, ids) })
}

// adopt takes over what admins were to copy that are gone.
func (s *Service) adopt(ctx context.Context) error {
	nodes, err := s.queries.ListOutputNodes(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	for _, node := range s.gone(nodes) {
		for {
			ids, err := s.queries.ListOutputsOfNode(ctx, s.cfg.Pool, db.ListOutputsOfNodeParams{Node: node, Limit: db.MaxBatch})
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			if _, err := s.queries.TakeOverOutputs(ctx, s.cfg.Pool, db.TakeOverOutputsParams{NewNode: s.cfg.Node(), OldNode: node, Ids: ids}); err != nil {
				return err
			}
		}
	}
	if nodes, err = s.queries.ListEndedOutputNodes(ctx, s.cfg.Pool); err != nil {
		return err
	}
	for _, node := range s.gone(nodes) {
		for {
			rows, err := s.queries.ListEndedOutputs(ctx, s.cfg.Pool, db.ListEndedOutputsParams{Node: node, Limit: db.MaxBatch})
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			ids := db.IDs(rows, func(r *db.ListEndedOutputsRow) int64 { return r.ID })
			if _, err := s.queries.TakeOverEndedOutputs(ctx, s.cfg.Pool, db.TakeOverEndedOutputsParams{NewNode: s.cfg.Node(), OldNode: node, Ids: ids}); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone are those of some admins that do not live.
func (s *Service) gone(nodes []int64) []int64 {
	me, alive := s.cfg.Node(), s.cfg.Alive()
	return slices.DeleteFunc(nodes, func(node int64) bool { return node == me || slices.Contains(alive, node) })
}

// tidy deletes what nobody needs any more. What cannot be done keeps nothing else from it.
func (s *Service) tidy(ctx context.Context) error {
	return errors.Join(s.endLive(ctx), s.findOrphans(ctx), s.thinOut(ctx), s.deleteEmpty(ctx))
}

// endLive decides what becomes of copies whose runs have ended without a wish to keep them, or through somebody else.
func (s *Service) endLive(ctx context.Context) error {
	rows, err := s.queries.ListLiveOutputsToEnd(ctx, s.cfg.Pool, db.ListLiveOutputsToEndParams{BeforeMs: s.cfg.Now().Add(-2 * s.cfg.LiveEvery).UnixMilli(), Limit: db.MaxBatch})
	if err != nil {
		return err
	}
	var unwanted []int64
	var due []db.LateOutput
	now := s.cfg.Now().UnixMilli()
	for _, r := range rows {
		if s.Wants(jobspec.Keep(r.KeepOutput), r.JobGroup, r.Outcome != event.Succeeded) {
			due = append(due, db.LateOutput{LogID: r.LogID, JobGroup: r.JobGroup, JobID: r.JobID, Node: s.cfg.Node(), EndedAt: now, NextAt: now})
		} else {
			unwanted = append(unwanted, r.LogID)
		}
	}
	if err := s.forget(ctx, unwanted); err != nil {
		return err
	}
	return db.PutOffOutputs(ctx, s.cfg.Pool, due)
}

// orphanRows is how many rows a round looks at.
const orphanRows = 2000

// findOrphans looks at some rows for those whose runs somebody else deleted, as an XXL-JOB admin does.
func (s *Service) findOrphans(ctx context.Context) error {
	ids, err := s.queries.ListOutputsAfter(ctx, s.cfg.Pool, db.ListOutputsAfterParams{LogID: s.tidied.orphans, Limit: orphanRows})
	if err != nil {
		return err
	}
	if len(ids) < orphanRows {
		s.tidied.orphans = 0
	} else {
		s.tidied.orphans = ids[len(ids)-1]
	}
	for part := range chunks(ids) {
		there, err := s.queries.ListRunsThere(ctx, s.cfg.Pool, part)
		if err != nil {
			return err
		}
		gone := slices.DeleteFunc(slices.Clone(part), func(id int64) bool { return slices.Contains(there, id) })
		if err := s.forget(ctx, gone); err != nil {
			return err
		}
	}
	return nil
}

// emptyObjects is how many objects a round deletes at a time, and after how many that cannot be deleted it ends.
const emptyObjects = 200

// shared is the last object that another installation may have too. What is in the database is this one's alone.
func (s *Service) shared() int64 {
	if s.cfg.Store.Name() == inDatabase {
		return 0
	}
	return s.cfg.Limits().Shared
}

// deleteEmpty deletes objects in which nothing is any more. Those of another store stay until that is set again; those that another
// installation may have are only forgotten. What the store holds is tried again when all others have been: the next round goes on behind it.
func (s *Service) deleteEmpty(ctx context.Context) error {
	if !s.storeRestsUntil(s.cfg.Now()).IsZero() {
		return nil
	}
	shared := s.shared()
	for held := 0; held < emptyObjects; {
		rows, err := s.queries.ListEmptyOutputObjects(ctx, s.cfg.Pool, db.ListEmptyOutputObjectsParams{Store: s.cfg.Store.Name(), BeforeMs: s.cfg.Now().Add(-s.cfg.DraftAge).UnixMilli(), AfterMs: s.tidied.empty.CreatedAt, AfterID: s.tidied.empty.ID, Limit: emptyObjects})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.ID > shared {
				err := s.cfg.Store.Delete(ctx, Object{ID: r.ID, Name: r.Name})
				if errors.Is(err, ErrHeld) {
					held++
					s.holds(err)
					s.tidied.empty = r
					continue
				}
				if err != nil {
					return err
				}
			}
			if err := s.queries.DeleteOutputFilter(ctx, s.cfg.Pool, r.ID); err != nil {
				return err
			}
			if _, err := s.queries.DeleteOutputObject(ctx, s.cfg.Pool, r.ID); err != nil {
				return err
			}
			s.metrics.objects.WithLabelValues("deleted").Inc()
		}
		if len(rows) < emptyObjects {
			s.heldBack.Store(s.tidied.held)
			s.tidied.empty, s.tidied.held = db.ListEmptyOutputObjectsRow{}, 0
			return nil
		}
		if !s.cfg.Leads() {
			return nil
		}
	}
	return nil
}

// holds counts an object that the store does not let be deleted, and says so of the first.
func (s *Service) holds(err error) {
	if s.tidied.held++; s.tidied.held > s.heldBack.Load() {
		if s.heldBack.Swap(s.tidied.held) == 0 {
			s.log.Warn("the output store lets an object of no use stay, and maybe others", "store", s.cfg.Store.Name(), "error", err)
		}
	}
}

// thinObjects is how many objects a round moves, and thinPage among how many it looks for them.
const (
	thinObjects = 20
	thinPage    = 20_000
)

// thinOut moves what is left in objects of which most is gone, so that what was deleted does not stay in the store for what was not.
func (s *Service) thinOut(ctx context.Context) error {
	if !s.storeRestsUntil(s.cfg.Now()).IsZero() {
		return nil
	}
	top, err := s.queries.MaxOutputObjectID(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	if s.tidied.thin >= top {
		s.tidied.thin = 0
	}
	s.tidied.thin = max(s.tidied.thin, s.shared()) // moving what is not deleted would give nothing back
	upto := s.tidied.thin + thinPage
	rows, err := s.queries.ListThinOutputObjects(ctx, s.cfg.Pool, db.ListThinOutputObjectsParams{AfterID: s.tidied.thin, UptoID: upto,
		Store: s.cfg.Store.Name(), BeforeMs: s.cfg.Now().Add(-s.cfg.DraftAge).UnixMilli(), Limit: thinObjects})
	if err != nil {
		return err
	}
	if s.tidied.thin = upto; len(rows) == thinObjects {
		s.tidied.thin = rows[len(rows)-1]
	}
	for _, id := range rows {
		// What cannot be read, because the store has lost it or it is sealed with another key, goes with its last row.
		if err := ignoreUnreadable(s.move(ctx, id)); err != nil {
			return err
		}
	}
	return nil
}

// move writes what is in an object into a new one.
func (s *Service) move(ctx context.Context, from int64) error {
	rows, err := s.queries.ListOutputsInObject(ctx, s.cfg.Pool, db.ListOutputsInObjectParams{ObjectID: from, Limit: maxTogether})
	if err != nil || len(rows) == 0 {
		return err
	}
	texts := make([][]byte, len(rows))
	for i := range rows {
		if texts[i], err = s.textOf(ctx, &rows[i]); err != nil {
			return err
		}
	}
	object, err := s.newObject(ctx)
	if err != nil {
		return err
	}
	data, places := s.pack(object.ID, texts)
	if err := s.cfg.Store.Put(ctx, object, data); err != nil {
		return err
	}
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		locked, err := s.lock(ctx, tx, db.IDs(rows, func(r *db.Output) int64 { return r.LogID }))
		if err != nil {
			return err
		}
		var keep []db.Output
		var left []int64
		for i := range rows {
			if now, there := locked[rows[i].LogID]; !there || now.ObjectID != from || now.State != rows[i].State {
				continue
			}
			rows[i].ObjectID, rows[i].Pos, rows[i].Size, rows[i].TextAt = object.ID, places[i].pos, places[i].size, places[i].textAt
			keep, left = append(keep, rows[i]), append(left, from)
		}
		if len(keep) == 0 {
			return nil
		}
		if err := db.KeepOutputs(ctx, tx, keep); err != nil {
			return err
		}
		if _, err := s.queries.SetOutputObject(ctx, tx, db.SetOutputObjectParams{ID: object.ID, Size: int64(len(data)), Live: int64(len(keep))}); err != nil {
			return err
		}
		if err := s.noteFilter(ctx, tx, object.ID, newFilter(texts)); err != nil {
			return err
		}
		return db.LeaveOutputObjects(ctx, tx, left)
	})
}
