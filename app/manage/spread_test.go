package manage

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestJobsOfOneMomentAreSpread: what the preview foresees is what the jobs are due afterwards, and an undo brings their times back.
func TestJobsOfOneMomentAreSpread(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		var ids []int64
		for range 30 {
			ids = append(ids, b.create(t, func(in *JobInput) { in.ScheduleConf = "0 0 2 * * ?" }))
		}
		rate := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "60" })
		list := b.create(t, func(in *JobInput) { in.ScheduleConf = "0 0,30 2 * * ?" })
		secret := b.create(t, func(in *JobInput) { in.Group = b.closed })
		unread := b.create(t, nil) // an XXL-JOB admin may have taken it
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET schedule_conf = '0 0 25 * * ?' WHERE id = ?", unread); err != nil {
			t.Fatal(err)
		}
		deed := Bulk{Do: BulkSpread, IDs: append(slices.Clone(ids), rate, list, secret, unread), Window: 15 * time.Minute}

		_, foreseen, err := b.Jobs.PreviewSpread(ctx, b.user, deed)
		if err != nil {
			t.Fatal(err)
		}
		night := time.Date(2026, 3, 5, 2, 0, 0, 0, pool.Zone())
		if !foreseen.Worst.At.Equal(night) || foreseen.Worst.N != 30 || !foreseen.From.Equal(night) || foreseen.Before[0] != 30 || foreseen.Thereby.N > 8 || foreseen.Thereby.At.Before(night) || !foreseen.Thereby.At.Before(night.Add(15*time.Minute)) {
			t.Errorf("foreseen: %+v", foreseen)
		}
		done, err := b.Jobs.Bulk(ctx, b.user, deed)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"problem.job.nocron", "problem.job.unspread", "problem.job.gone"} {
			if item := done[30+i]; item.Changes || item.Err == nil || problem.From(item.Err).Key != want {
				t.Errorf("%d: %v, want %s", item.ID, item.Err, want)
			}
		}
		if item := done[33]; item.Changes || item.Err == nil {
			t.Errorf("a text that is none was spread: %+v", item)
		}
		var after [60]int64
		for _, id := range ids {
			times, err := b.Jobs.Upcoming(new(b.read(t, id)).Spec(), 1)
			if err != nil || len(times) != 1 {
				t.Fatalf("job %d is due %v, %v", id, times, err)
			}
			if by := times[0].Sub(night); by < 0 || by >= 15*time.Minute {
				t.Errorf("job %d is due at %v", id, times[0])
			} else {
				after[by/time.Minute]++
			}
		}
		if after != foreseen.After {
			t.Errorf("due %v, foreseen %v", after, foreseen.After)
		}
		back, ok := deed.Undo(done)
		if !ok {
			t.Fatal("it cannot be taken back")
		}
		if _, err := b.Jobs.Bulk(ctx, b.user, back); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if conf := b.read(t, id).ScheduleConf; conf != "0 0 2 * * ?" {
				t.Errorf("job %d is back at %s", id, conf)
			}
		}
		for _, window := range []time.Duration{0, time.Second, 2 * time.Hour} {
			deed.Window = window
			var refused *problem.Error
			if _, err := b.Jobs.Bulk(ctx, b.user, deed); !errors.As(err, &refused) || refused.Key != "problem.bulk.none" {
				t.Errorf("a window of %v: %v", window, err)
			}
		}
	})
}

// TestAPreviewOfASpreadReadsSchedules: of thousands of jobs it reads when they are due, in few statements, and no scripts. What was changed since then is
// left alone, and what has nothing to do with a spread is none of its concern.
func TestAPreviewOfASpreadReadsSchedules(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		cron := func(in *JobInput) { in.ScheduleConf = "0 0 2 * * ?" }
		left, edited, moved, renamed := b.create(t, cron), b.create(t, cron), b.create(t, cron), b.create(t, cron)
		deed := Bulk{Do: BulkSpread, IDs: []int64{left, edited, moved, renamed}, Window: 15 * time.Minute}
		sent := dbtest.Watch(t, pool)
		items, _, err := b.Jobs.PreviewSpread(ctx, b.user, deed)
		if err != nil {
			t.Fatal(err)
		}
		if got := sent.Transactions("ListJobsToSpread"); len(got) != 1 || len(sent.Transactions("ListJobsByID")) > 0 {
			t.Errorf("read by %v and %v", got, sent.Transactions("ListJobsByID"))
		}
		deed.Versions = make(map[int64]string)
		for _, item := range items {
			deed.Versions[item.ID] = item.Version
		}
		in := inputOf(b.read(t, edited))
		in.Retries = 2
		if err := b.Jobs.Update(ctx, b.user, edited, in); err != nil {
			t.Fatal(err)
		}
		for id, change := range map[int64]string{moved: "schedule_conf = '0 0 3 * * ?'", renamed: "job_desc = 'by an XXL-JOB admin'"} {
			if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET "+change+" WHERE id = ?", id); err != nil {
				t.Fatal(err)
			}
		}
		done, err := b.Jobs.Bulk(ctx, b.user, deed)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, false, false, true} {
			if done[i].Changes != want || !want && problem.From(done[i].Err).Key != "problem.bulk.changed" {
				t.Errorf("job %d: %+v, want it to be changed: %v", i, done[i], want)
			}
		}
		if j := b.read(t, renamed); j.JobDesc != "by an XXL-JOB admin" || j.ScheduleConf == "0 0 2 * * ?" {
			t.Errorf("an XXL-JOB admin's change is gone, or the job was left: %+v", j)
		}
	})
}

// TestThePreviewOfASpreadIsNoUndo, whatever an address says that somebody has put together.
func TestThePreviewOfASpreadIsNoUndo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id := b.create(t, nil)
		items, _, err := b.Jobs.PreviewSpread(t.Context(), b.user, Bulk{Do: BulkSpread, IDs: []int64{id}, Window: time.Minute, Was: map[int64]string{id: ""}})
		if err != nil || len(items) != 1 || items[0].becomes == "" {
			t.Errorf("%+v, %v", items, err)
		}
	})
}
