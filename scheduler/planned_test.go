package scheduler

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const dayBefore = "day=${{ planned | yyyy-MM-dd, -1d }}"

// sentFor are the requests of a run, which an executor got.
func (b *bundle) sentFor(run int64) (sent []wire.RunRequest) {
	for _, r := range b.executors.received() {
		if r.req.LogID == run {
			sent = append(sent, r.req)
		}
	}
	return sent
}

// The time that a run is for goes with it: through retries of a result and of a sending, to children, to whoever takes it over.
func TestThePlannedTimeGoesWithTheRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		zone := func(p *db.InsertJobParams) { p.TimeZone, p.ExecutorParam = "Asia/Shanghai", dayBefore }
		child := b.addJob(zone)
		job := b.addJob(func(p *db.InsertJobParams) {
			zone(p)
			p.ExecutorFailRetryCount, p.ChildJobIDs = 1, db.Text(strconv.FormatInt(child, 10))
		})
		at := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 8*3600)) // the day before is in UTC and in Shanghai another
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: job, Type: jobspec.TriggerManual, Planned: at})
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, run int64) {
			t.Helper()
			b.await(name+" is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			row, sent := b.run(run), b.sentFor(run)
			if row.PlannedFor != at.UnixMilli() || row.ExecutorParam != dayBefore {
				t.Errorf("%s: planned for %d with %q", name, row.PlannedFor, row.ExecutorParam)
			}
			if len(sent) != 1 || sent[0].ExecutorParams != "day=2026-02-28" || sent[0].LogDateTime != row.PlannedAt || sent[0].PlannedAt != 0 {
				t.Errorf("%s: sent %+v", name, sent)
			}
			if e, _ := event.Parse(string(row.Events)).Last(event.Filled); e.Text(0) != "day=2026-02-28" {
				t.Errorf("%s: the parameter is told as %q", name, e.Text(0))
			}
		}
		newest := func(job int64, n int) (id int64) {
			t.Helper()
			b.await(fmt.Sprintf("job %d has %d runs", job, n), func() bool {
				runs := b.runsOf(job)
				id = 0
				if len(runs) == n {
					id = runs[n-1].ID
				}
				return id != 0
			})
			return id
		}
		check("the run", ids[0])
		b.finish(ids[0], wire.CodeFail, "no")
		again := newest(job, 2)
		check("its retry", again)
		b.finish(again, wire.CodeSuccess, "")
		check("its child", newest(child, 1))

		dead := db.Node{ID: b.deadNode(db.NewRun{JobID: job, Param: dayBefore, PlannedAt: time.Now().UnixMilli(), PlannedFor: at.UnixMilli(), Type: jobspec.TriggerCron})}
		if err := b.engine.takeOver(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		check("one that is taken over", newest(job, 3))

		// An executor that says what it understands is told the time itself.
		if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, TakesEnvironment: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ids, err = b.engine.Trigger(t.Context(), TriggerRequest{JobID: child, Type: jobspec.TriggerManual, Planned: at}); err != nil {
			t.Fatal(err)
		}
		b.await("the last is sent", func() bool { return b.run(ids[0]).TriggerCode == wire.CodeSuccess })
		if sent := b.sentFor(ids[0]); len(sent) != 1 || sent[0].PlannedAt != at.UnixMilli() {
			t.Errorf("told %+v", sent)
		}
	})
}

func TestTheRetryOfASendingKeepsThePlannedTime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		refused := wire.Answer{Code: wire.CodeFail, Msg: "not now"}
		b.executors.run = func(_ wire.Target, r *wire.RunRequest) (wire.Answer, error) {
			if r.ExecutorParams != "day=2026-02-28" {
				t.Errorf("sent %q", r.ExecutorParams)
			}
			return refused, nil
		}
		job := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorFailRetryCount, p.ExecutorParam, p.TimeZone = 2, dayBefore, "UTC"
		})
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: job, Type: jobspec.TriggerManual, Planned: at}); err != nil {
			t.Fatal(err)
		}
		b.await("all attempts are over", func() bool {
			runs := b.runsOf(job)
			return len(runs) == 3 && runs[2].TriggerCode != 0
		})
	})
}

// What stands for missed fires is for the last of them; text that is nobody's expression arrives as it is.
func TestAMisfireIsForTheLastMissedFire(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		const param = "${{ planned | epochMillis }} ${{ foo }} ${{ planned | YYYY }} ${x}"
		job := b.addJob(func(p *db.InsertJobParams) {
			p.MisfireStrategy, p.ExecutorParam = jobspec.MisfireFireOnceNow, param
		})
		missed := time.Now().Add(-150 * time.Minute).Truncate(time.Millisecond)
		b.start(job, missed)
		b.await("it is sent", func() bool { runs := b.runsOf(job); return len(runs) == 1 && runs[0].TriggerCode == wire.CodeSuccess })
		run := b.runsOf(job)[0]
		last := missed.Add(2 * time.Hour).UnixMilli()
		want := fmt.Sprintf("%d ${{ foo }} ${{ planned | YYYY }} ${x}", last)
		if sent := b.sentFor(run.ID); run.PlannedFor != last || len(sent) != 1 || sent[0].ExecutorParams != want {
			t.Errorf("planned for %d, want %d; sent %+v", run.PlannedFor, last, sent)
		}
	})
}
