package manage

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// toldOf writes what became of each job in a line.
func toldOf(items []BulkItem) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, fmt.Sprintf("%d %v %s", item.ID, item.Changes, kind(item.Err)))
	}
	return lines
}

func TestManyJobsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		one := b.create(t, func(in *JobInput) { in.Tags = "night,money" })
		byHand := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleNone, "" })
		over := b.create(t, func(in *JobInput) { in.ScheduleConf = "0 0 2 * * ? 2020" })
		script := b.create(t, shellJob)
		secret := b.create(t, func(in *JobInput) { in.Group = b.closed })
		ids := []int64{one, byHand, over, script, secret, 999, one}
		do := func(deed Bulk, want ...string) []BulkItem {
			t.Helper()
			items, err := b.Jobs.Bulk(ctx, b.user, deed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				want[i] = strconv.FormatInt(append(ids[:4:4], secret, 999)[i], 10) + " " + want[i]
			}
			if diff := cmp.Diff(want, toldOf(items)); diff != "" {
				t.Errorf("%s: %s", deed.Do, diff)
			}
			return items
		}
		undo := func(deed Bulk, items []BulkItem, want int) {
			t.Helper()
			back, ok := deed.Undo(items)
			if !ok || len(back.IDs) != want {
				t.Fatalf("undo of %s: %+v, %v", deed.Do, back, ok)
			}
			items, err := b.Jobs.Bulk(ctx, b.user, back)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				if !item.Changes || item.Err != nil {
					t.Errorf("undo of %s: %+v", deed.Do, item)
				}
			}
		}
		start := Bulk{Do: BulkStart, IDs: ids}
		preview, err := b.Jobs.Preview(ctx, b.user, start)
		if err != nil || len(preview) != 6 || !preview[0].Changes || b.read(t, one).TriggerStatus != 0 {
			t.Fatalf("preview %+v, %v", preview, err)
		}
		if preview[4].Name != "" {
			t.Error("the preview names a job of another group")
		}
		started := do(start, "true ok", "false 409 problem.job.noschedule", "false 409 cron:job.error.no_time", "true ok", "false 404 problem.job.gone", "false 404 problem.job.gone")
		do(start, "false ok", "false 409 problem.job.noschedule", "false 409 cron:job.error.no_time", "false ok", "false 404 problem.job.gone", "false 404 problem.job.gone")
		undo(start, started, 2)
		if b.read(t, one).TriggerStatus != 0 {
			t.Error("undone, but it runs")
		}
		do(Bulk{Do: BulkStop, IDs: ids}, "false ok", "false ok", "false ok", "false ok", "false 404 problem.job.gone", "false 404 problem.job.gone")

		tag := Bulk{Do: BulkTag, IDs: ids, Add: []string{"eu", "money"}, Drop: []string{"night"}}
		// A schedule that has ended cannot be saved again as it is; the others are.
		tagged, err := b.Jobs.Bulk(ctx, b.user, tag)
		if err != nil || b.read(t, one).Tags != "money,eu" || b.read(t, script).Tags != "eu,money" || b.read(t, secret).Tags != "" {
			t.Errorf("tags %q, %q, %v", b.read(t, one).Tags, b.read(t, script).Tags, err)
		}
		changed := 0
		for _, item := range tagged {
			if item.Changes {
				changed++
			}
		}
		undo(tag, tagged, changed)
		if got := b.read(t, one).Tags; got != "night,money" {
			t.Errorf("tags after the undo: %q", got)
		}

		for _, deed := range []Bulk{tag, {Do: BulkEdit, IDs: ids, Field: jobspec.FieldTimeout, To: "77"}, {Do: BulkSpread, IDs: ids, Window: time.Hour}} {
			done, err := b.Jobs.Bulk(ctx, b.user, deed)
			if err != nil {
				t.Fatal(err)
			}
			in := inputOf(b.read(t, one)) // somebody goes on with one of them
			in.Tags, in.TimeoutSeconds, in.ScheduleConf, in.Version = in.Tags+",mine", 5, "30 0 3 * * ?", ""
			if err := b.Jobs.Update(ctx, b.admin, one, in); err != nil {
				t.Fatal(err)
			}
			back, ok := deed.Undo(done)
			if !ok {
				t.Fatalf("%s cannot be undone: %v", deed.Do, toldOf(done))
			}
			items, err := b.Jobs.Bulk(ctx, b.user, back)
			if err != nil || items[0].ID != one || kind(items[0].Err) != "409 problem.bulk.since" || len(items) > 1 && items[1].Err != nil {
				t.Errorf("undo of %s where somebody has gone on: %v, %v", deed.Do, toldOf(items), err)
			}
			in.Tags = "night,money"
			if err := b.Jobs.Update(ctx, b.admin, one, in); err != nil {
				t.Fatal(err)
			}
		}

		move := Bulk{Do: BulkMove, IDs: []int64{one}, Group: b.closed}
		if items, err := b.Jobs.Bulk(ctx, b.user, move); err != nil || kind(items[0].Err) != "403" {
			t.Errorf("to another's group: %+v, %v", items, err)
		}
		b.user = b.user.Grant(b.closed, auth.RightEdit)
		move.IDs = []int64{one, script}
		moved, err := b.Jobs.Bulk(ctx, b.user, move)
		if err != nil || !moved[0].Changes || kind(moved[1].Err) != "403 problem.scripts.right" || b.read(t, one).JobGroup != b.closed {
			t.Errorf("moved %v, %v: a script needs the right to write scripts there", toldOf(moved), err)
		}
		undo(move, moved, 1)
		if b.read(t, one).JobGroup != b.group {
			t.Error("undone, but moved")
		}
		gone := Bulk{Do: BulkDelete, IDs: []int64{one, script}}
		deleted, err := b.Jobs.Bulk(ctx, b.user, gone)
		if _, ok := gone.Undo(deleted); ok || err != nil || !deleted[0].Changes || !deleted[1].Changes {
			t.Errorf("deleted %v, undo %v, %v", toldOf(deleted), ok, err)
		}
		for _, bad := range []Bulk{{Do: "burn", IDs: ids}, {Do: BulkStart}, {Do: BulkStart, IDs: make([]int64, MaxBulk+1)}} {
			if _, err := b.Jobs.Bulk(ctx, b.admin, bad); err == nil {
				t.Errorf("%s of %d jobs was done", bad.Do, len(bad.IDs))
			}
		}
	})
}

// editing changes a job when the runs of another are deleted: what somebody else does while a deed is under way.
type editing struct {
	*engine
	edit func()
}

func (e *editing) DeleteRunsOfJob(context.Context, int64, int32) (int, error) {
	e.edit()
	return 0, nil
}

// TestADeedLeavesWhatIsChangedWhileItIsDone: deleting many jobs takes a while, and one that somebody has another use for by then stays.
func TestADeedLeavesWhatIsChangedWhileItIsDone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		meanwhile := &editing{engine: &engine{pool: pool}}
		b := setup(t, pool, func(c *Config) { c.Upkeep = meanwhile })
		ctx := t.Context()
		first, second := b.create(t, nil), b.create(t, nil)
		meanwhile.edit = func() {
			if err := b.Jobs.Update(ctx, b.admin, second, b.job(func(in *JobInput) { in.Param = "of use" })); err != nil {
				t.Error(kind(err))
			}
		}
		items, err := b.Jobs.Bulk(ctx, b.user, Bulk{Do: BulkDelete, IDs: []int64{first, second}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("%d true ok", first), fmt.Sprintf("%d false 409 problem.changed", second)}
		if diff := cmp.Diff(want, toldOf(items)); diff != "" {
			t.Error(diff)
		}
		if j := b.read(t, second); j.ExecutorParam != "of use" {
			t.Errorf("what was changed meanwhile is %+v", j)
		}
	})
}
