package scheduler

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// oldPass begins a pass of XXL-JOB's schedule loop as docs/compat.md §4.2 tells it and gives the function that ends it: what
// the jobs' times were to become when they were read is written back unconditionally.
func (b *bundle) oldPass(now time.Time) (end func()) {
	b.t.Helper()
	type job struct{ id, next, last int64 }
	var jobs []job
	rows, err := b.pool.QueryContext(b.t.Context(),
		"SELECT id, trigger_next_time, schedule_conf FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time <= ? ORDER BY id LIMIT 6000", now.UnixMilli()+5000)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var j job
		var every int64
		if err := rows.Scan(&j.id, &j.last, &every); err != nil {
			b.t.Fatal(err)
		}
		j.next = j.last + every*1000
		if now.UnixMilli() >= j.last { // due already: it goes on from now
			j.next = now.UnixMilli() + every*1000
		}
		jobs = append(jobs, j)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		for _, j := range jobs {
			b.exec("UPDATE xxl_job_info SET trigger_last_time = ?, trigger_next_time = ?, trigger_status = 1 WHERE id = ?", j.last, j.next, j.id)
		}
	}
}

// fires counts the runs of a job by their planned times.
func (b *bundle) fires(jobID int64) map[int64]int {
	n := make(map[int64]int)
	for _, r := range b.allRuns() {
		if r.JobID == jobID {
			n[r.PlannedAt]++
		}
	}
	return n
}

// TestNoFireIsClaimedAgainBecauseAnOldAdminPutItBack: its pass begins before a claim and ends after it.
func TestNoFireIsClaimedAgainBecauseAnOldAdminPutItBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		var log executortest.Output
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			clock.rule(c)
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}, addressA)
		defer clock.pass(time.Minute) // what is claimed ahead is sent when the engine stops
		rates := []string{"1", "2", "3", "7"}
		ids := make([]int64, len(rates))
		for i, rate := range rates {
			ids[i] = b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = db.Text(rate) })
			b.start(ids[i], clock.start)
		}
		claimFor := func(steps int) {
			for range steps {
				clock.pass(500 * time.Millisecond)
				if err := b.engine.claimDue(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 8 {
			end := b.oldPass(clock.now())
			claimFor(6) // a slow pass: while it lasts, fires are claimed that it does not know of
			end()
			claimFor(2)
		}
		for i, id := range ids {
			fires := b.fires(id)
			if len(fires) == 0 {
				t.Errorf("every %s s: no fire at all", rates[i])
			}
			for at, n := range fires {
				if n > 1 {
					t.Errorf("every %s s: %d runs for %s", rates[i], n, time.UnixMilli(at))
				}
			}
		}
		if counter(t, b.engine, "foreign_scheduler_total", signPutBack) == 0 {
			t.Error("no job was put back, so the test says nothing")
		}
		if n := strings.Count(log.String(), "another scheduler works on this database"); n != 1 {
			t.Errorf("said %d times in the log, want once a minute", n)
		}
	})
}

// TestAClaimThatWasPutBackInBetweenIsNotMadeTwice: two nodes read a job, one claims it, an old admin puts it back to what both
// have read, and then the other claims.
func TestAClaimThatWasPutBackInBetweenIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		ids := b.jobsDue(3, at)
		rows := b.due(at)
		for range 2 {
			if err := b.engine.claim(t.Context(), rows, at); err != nil {
				t.Fatal(err)
			}
			b.exec("UPDATE xxl_job_info SET trigger_next_time = ?", at.UnixMilli())
		}
		for _, id := range ids {
			if n := b.fires(id)[at.UnixMilli()]; n != 1 {
				t.Errorf("job %d: %d runs for one fire", id, n)
			}
		}
		// What is put back goes on where it was.
		if err := b.engine.claim(t.Context(), b.due(at), at.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if got := b.fires(id); got[at.UnixMilli()] != 1 || got[at.Add(time.Second).UnixMilli()] != 1 || len(got) != 2 {
				t.Errorf("job %d: fires %v", id, got)
			}
		}
	})
}

// TestAJobThatIsStartedAgainFires: what was claimed by a clock an hour ahead holds nothing back when somebody starts the job anew.
func TestAJobThatIsStartedAgainFires(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(nil)
		b.exec("UPDATE xxl_job_info SET claimed_until = ? WHERE id = ?", time.Now().Add(time.Hour).UnixMilli(), id)
		b.start(id, time.Now())
		b.await("it is sent", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", id) == 1 })
		delayed := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "1" })
		b.start(delayed, time.Now())
		for n := 1; n < 3; n++ {
			b.await("the delayed one is sent", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", delayed) == n })
			for _, r := range b.allRuns() {
				if r.JobID == delayed && r.HandleCode == 0 {
					b.finish(r.ID, 200, "")
				}
			}
		}
		if b.engine.foreignSeen() {
			t.Error("what we did ourselves is taken for another scheduler")
		}
	})
}

// TestAJobThatIsStartedInTheTableStartsThen: scripts of operators set the status and leave the time, which is 0 where it was stopped. What would have
// been due before, since 1970 or since it was claimed last, was missed by nobody; nor is the script another scheduler. Not even a group that cannot be
// keeps a job from being looked at.
func TestAJobThatIsStartedInTheTableStartsThen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		for _, misfire := range jobspec.AllMisfires {
			for _, text := range []struct {
				of   jobspec.ScheduleType
				conf string
			}{{jobspec.ScheduleFixRate, "60"}, {jobspec.ScheduleCron, "0 0 0 1 1 ?"}, {jobspec.ScheduleFixDelay, "60"}} {
				for _, since := range []int64{0, hourAgo().UnixMilli()} {
					for _, next := range []int64{0, -1} {
						id := b.addJob(func(p *db.InsertJobParams) {
							p.ScheduleType, p.ScheduleConf = text.of, db.Text(text.conf)
							p.MisfireStrategy, p.MisfireMore = misfire.Plain(), misfire.More()
							p.MisfireLast, p.MisfireWithin = 5, 3600
						})
						b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?, claimed_until = ? WHERE id = ?", next, since, id)
						if id%2 == 0 {
							b.exec("UPDATE xxl_job_info SET job_group = 0 WHERE id = ?", id)
						}
					}
				}
			}
		}
		began := time.Now()
		b.await("the jobs have times", func() bool {
			var n int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status <> 1 OR trigger_next_time <= ?", began.UnixMilli()).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if err := b.engine.claimer.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
		if n := b.countRuns("1=1"); n != 0 {
			t.Errorf("%d rows: %+v", n, b.allRuns()[0])
		}
		if b.engine.foreignSeen() {
			t.Error("the script is taken for another scheduler")
		}
	})
}

func TestRunsOfAnOldAdminAreNoticed(t *testing.T) {
	t.Parallel()
	insert := "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, 1, '2026-01-01 00:00:00', 0, 0)"
	pool := dbtest.New(t, db.MySQL)
	if _, err := pool.ExecContext(t.Context(), insert); err != nil { // from before Punctual came
		t.Fatal(err)
	}
	b := setup(t, pool, nil, addressA)
	run := b.trigger(b.addJob(nil))
	b.await("a run of ours is sent", func() bool { return b.run(run).TriggerCode == 200 })
	b.await("some sweeps have looked", func() bool { return b.engine.open.Load() != nil })
	if b.engine.foreignSeen() {
		t.Error("a row that was there before is taken for another scheduler at work")
	}
	b.exec(insert)
	b.await("the other scheduler is noticed", func() bool { return b.engine.foreignSeen() })
	if n := counter(t, b.engine, "foreign_scheduler_total", signRun); n != 1 {
		t.Errorf("counted %.0f, want 1", n)
	}
}
