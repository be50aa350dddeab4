package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
)

// TestWhoHasRoom: a run gets a slot where its job and its group have one left and nobody is before it, and each that is given counts for the next.
func TestWhoHasRoom(t *testing.T) {
	t.Parallel()
	const id, jobID, group = 1, 7, 3
	counts := func(running, waiting int64) map[int64]db.SlotCount {
		return map[int64]db.SlotCount{jobID: {JobID: jobID, Running: running, Waiting: waiting}}
	}
	groups := func(running, limit int64) map[int64]*groupRoom { return map[int64]*groupRoom{group: {running, limit}} }
	for name, tt := range map[string]struct {
		limit int
		room  room
		want  *lack
	}{
		"no limit":                       {0, room{jobs: counts(100, 1)}, nil},
		"one is left":                    {2, room{jobs: counts(1, 4)}, nil},
		"none of the job":                {2, room{jobs: counts(2, 4)}, &lack{running: 2, limit: 2, waiting: 4}},
		"one of the group is left":       {0, room{jobs: counts(9, 4), groups: groups(4, 5)}, nil},
		"none of the group":              {0, room{jobs: counts(1, 4), groups: groups(5, 5)}, &lack{group: true, running: 5, limit: 5, waiting: 4}},
		"more than the group may":        {0, room{jobs: counts(1, 4), groups: groups(6, 5)}, &lack{group: true, running: 6, limit: 5, waiting: 4}},
		"none of both":                   {2, room{jobs: counts(2, 4), groups: groups(5, 5)}, &lack{running: 2, limit: 2, waiting: 4}},
		"others of its job are before":   {2, room{jobs: counts(1, 4), behind: map[int64]int64{id: 0}}, &lack{behind: true, running: 2, limit: 2, waiting: 4}},
		"others of its group are before": {0, room{jobs: counts(1, 4), groups: groups(4, 5), behind: map[int64]int64{id: group}}, &lack{group: true, behind: true, running: 5, limit: 5, waiting: 4}},
		"others are before another":      {2, room{jobs: counts(1, 4), behind: map[int64]int64{id + 1: 0}}, nil},
	} {
		d := &dispatch{id: id}
		d.job = &job{id: jobID, group: group, limit: tt.limit}
		before := tt.room.jobs[jobID]
		if diff := cmp.Diff(tt.want, tt.room.take(d), cmp.AllowUnexported(lack{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		given := int64(0)
		if tt.want == nil {
			given = 1
		}
		if now := tt.room.jobs[jobID]; now.Running != before.Running+given || now.Waiting != before.Waiting-given {
			t.Errorf("%s: of %+v it makes %+v", name, before, now)
		}
	}
	slots := room{slots: map[int64]db.ListSlotGroupsRow{1: {LogID: 1}, 2: {LogID: 2, Running: 1}}}
	for id, want := range map[int64]bool{1: true, 2: false, 3: false} {
		if slots.waits(&dispatch{id: id}) != want {
			t.Errorf("run %d waits: %t", id, !want)
		}
	}
}
