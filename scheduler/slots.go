package scheduler

import (
	"context"
	"math"

	"github.com/punctual-job/punctual/db"
)

// SlotsTaken is how full a limit of runs at a time is.
type SlotsTaken struct {
	Limit   int64 // 0: there is none
	Running int64
	Waiting int64 // whose time has come
}

// Full reports whether no other run may begin.
func (s SlotsTaken) Full() bool { return s.Limit > 0 && s.Running >= s.Limit }

// WaitsForSlot reports whether nobody has given a run the slot that it needs, by its owner and the codes that it has yet.
func WaitsForSlot(owner, triggerCode, handleCode int64) bool {
	return owner == waitingOwner && triggerCode == 0 && handleCode == 0
}

// GroupSlots tells how full the limit of a group of executors is, of all admins' runs.
func (e *Engine) GroupSlots(ctx context.Context, groupID int64) (SlotsTaken, error) {
	s := SlotsTaken{Limit: int64(e.directory.limit(groupID))}
	if s.Limit == 0 {
		return s, nil
	}
	rows, err := e.queries.CountGroupSlots(ctx, e.cfg.Pool, []int64{groupID})
	if err != nil {
		return s, db.Error(err)
	}
	for _, row := range rows {
		s.Running = row.Running
	}
	s.Waiting, err = e.queries.CountWaitingOfGroup(ctx, e.cfg.Pool, db.CountWaitingOfGroupParams{GroupID: groupID, NowMs: e.now().UnixMilli()})
	return s, db.Error(err)
}

// JobSlots tells how full a job's own limit is.
func (e *Engine) JobSlots(ctx context.Context, row *db.Job) (SlotsTaken, error) {
	j := jobOf(row, e.cfg.Pool)
	s := SlotsTaken{Limit: int64(j.limit)}
	if s.Limit == 0 {
		return s, nil
	}
	rows, err := db.CountSlots(ctx, e.cfg.Pool, []int64{j.id}, math.MaxInt32)
	for _, r := range rows {
		s.Running, s.Waiting = r.Running, r.Waiting
	}
	return s, db.Error(err)
}
