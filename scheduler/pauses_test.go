package scheduler

import (
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// pause makes a pause as a use case does, without telling any engine.
func (b *bundle) pause(p db.InsertPauseParams) (id int64) {
	b.t.Helper()
	p.Reason, p.MadeBy = "database moves", "ana"
	err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) (err error) {
		if id, err = b.engine.queries.InsertPause(b.t.Context(), tx, p); err != nil {
			return err
		}
		return b.engine.queries.RaisePauseRevision(b.t.Context(), tx)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// endPause ends a pause early.
func (b *bundle) endPause(id int64, at time.Time) {
	b.t.Helper()
	err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error {
		n, err := b.engine.queries.EndPause(b.t.Context(), tx, db.EndPauseParams{ID: id, UntilAt: at.UnixMilli(), EndedBy: "ana", EndedAt: at.UnixMilli()})
		if err == nil && n != 1 {
			err = errors.New("there is no such pause")
		}
		if err != nil {
			return err
		}
		return b.engine.queries.RaisePauseRevision(b.t.Context(), tx)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// claimAt claims what is due at a moment.
func (b *bundle) claimAt(e *Engine, until time.Time) {
	b.t.Helper()
	if err := e.claim(b.t.Context(), b.due(until), until); err != nil {
		b.t.Fatal(err)
	}
}

// claimsOnlyByHand keeps engines from claiming by themselves, which they do also between their rounds, as when another admin goes.
func (b *bundle) claimsOnlyByHand(engines ...*Engine) {
	for _, e := range engines {
		e.claimer.reading.Lock()
		b.t.Cleanup(e.claimer.reading.Unlock)
	}
}

// hourAgo is where the fires begin that the tests look at: nothing waits for a time to come.
func hourAgo() time.Time { return time.Now().Add(-time.Hour).Truncate(time.Second) }

// TestAPauseHoldsBackUntilItIsEnded follows a job of every minute: a pause made by somebody else a moment before the claim holds its
// fires back, whoever claims, and its early end decides them by the strategy, once.
func TestAPauseHoldsBackUntilItIsEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy   jobspec.Pausing
		made, rows int // runs that make up, rows in all
	}{{jobspec.PauseSkip, 0, 1}, {jobspec.PauseOnce, 1, 1}, {jobspec.PauseEach, 60, 60}} {
		t.Run(string(c.strategy), func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, byHand, addressA)
				two := b.second(byHand)
				b.claimsOnlyByHand(b.engine, two)
				id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "60" })
				from := hourAgo()
				paused := b.pause(db.InsertPauseParams{Scope: "group", Target: b.group, FromAt: from.UnixMilli(), Strategy: string(c.strategy)})
				b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", from.UnixMilli(), id)

				b.claimAt(b.engine, time.Now())
				j := b.job(id)
				if n := b.countRuns("1=1"); n != 0 || j.PausedAt != from.UnixMilli() || j.TriggerNextTime != j.PausedNext || j.TriggerNextTime <= jobspec.Waiting.UnixMilli() || j.ClaimedUntil != 0 {
					t.Fatalf("in the pause: %d runs, held at %d until %d, next %d, claimed until %d", n, j.PausedAt, j.PausedNext, j.TriggerNextTime, j.ClaimedUntil)
				}
				b.claimAt(two, time.Now())
				if n := b.countRuns("1=1"); n != 0 {
					t.Fatalf("the other admin made %d runs", n)
				}

				end := from.Add(time.Hour)
				b.endPause(paused, end)
				for _, e := range []*Engine{two, b.engine, two} { // each that notices, in any order
					if err := e.PausesChanged(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if next := b.job(id).TriggerNextTime; next != from.UnixMilli() {
					t.Fatalf("it goes on at %d, want where it was held, %d", next, from.UnixMilli())
				}
				rows := b.due(end)
				for i := 0; len(rows) > 0 && i < 20; i++ { // both read the same, and claim it one behind the other
					if err := b.engine.claim(t.Context(), rows, end.Add(-time.Millisecond)); err != nil {
						t.Fatal(err)
					}
					if err := two.claim(t.Context(), rows, end.Add(-time.Millisecond)); err != nil {
						t.Fatal(err)
					}
					rows = b.due(end.Add(-time.Millisecond))
				}
				made, skipped := b.countRuns("outcome <> ?", event.Skipped), b.countRuns("outcome = ?", event.Skipped)
				if fired := b.countRuns("trigger_type = 'CRON'"); made-fired != c.made || made-fired+skipped != c.rows || fired > 1 {
					t.Fatalf("%d made up, %d skipped, %d fires; want %d and %d: %s", made-fired, skipped, fired, c.made, c.rows-c.made, b.dump())
				}
				if n := b.countRuns("alarm_status = -1"); n != 0 {
					t.Errorf("%d rows have an alarm", n)
				}
				for _, r := range b.allRuns() {
					if r.TriggerType == jobspec.TriggerCron {
						continue
					}
					e, ok := b.events(r.ID).Last(event.PausedFires, event.HeldBack)
					if !ok || e.Text(len(e.Args)-2) != "ana" || e.Text(len(e.Args)-1) != "database moves" {
						t.Errorf("run %d does not say who paused and why: %v", r.ID, b.events(r.ID))
					}
				}
				if next := b.job(id).TriggerNextTime; (next-from.UnixMilli())%60_000 != 0 || next < end.UnixMilli() {
					t.Errorf("next is %v, off the beat", time.UnixMilli(next))
				}
			})
		})
	}
}

// TestWhatAPauseIsAbout: of each scope, the jobs that it concerns are held back, and no others.
func TestWhatAPauseIsAbout(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		other := b.addGroup("other", addressB)
		one := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "60" })
		tagged := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf, p.Tags = "60", "etl,night" })
		apart := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf, p.JobGroup, p.Tags = "60", other, "nightly" })
		for _, c := range []struct {
			scope  jobspec.PauseScope
			target int64
			tag    string
			held   []int64
		}{
			{jobspec.PauseJob, one, "", []int64{one}},
			{jobspec.PauseGroup, other, "", []int64{apart}},
			{jobspec.PauseTag, 0, "night", []int64{tagged}},
			{jobspec.PauseAll, 0, "", []int64{one, tagged, apart}},
		} {
			b.exec("DELETE FROM xxl_job_log")
			b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?, claimed_until = 0, paused_rev = 0", at.UnixMilli())
			id := b.pause(db.InsertPauseParams{Scope: string(c.scope), Target: c.target, Tag: c.tag, FromAt: at.UnixMilli(), UntilAt: at.Add(time.Hour).UnixMilli(), Strategy: "skip"})
			b.claimAt(b.engine, at)
			for _, job := range []int64{one, tagged, apart} {
				held := false
				for _, h := range c.held {
					held = held || h == job
				}
				if n := b.countRuns("job_id = ?", job); n > 0 == held {
					t.Errorf("%s: job %d has %d runs, held: %v", c.scope, job, n, held)
				}
				if next := b.job(job).TriggerNextTime; held != (next == at.Add(time.Hour).UnixMilli()+1) {
					t.Errorf("%s: job %d is due next at %v", c.scope, job, time.UnixMilli(next))
				}
			}
			b.endPause(id, at)
		}
	})
}

// TestAHoldThatIsCommittedLateIsLetGo: a claim that was decided by old pauses is committed when their end has been dealt with.
func TestAHoldThatIsCommittedLateIsLetGo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		id := b.jobsDue(1, at)[0]
		paused := b.pause(db.InsertPauseParams{Scope: "all", FromAt: at.UnixMilli(), Strategy: "once"})
		b.claimAt(b.engine, at)
		held := b.job(id)
		b.endPause(paused, at)
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE xxl_job_info SET trigger_next_time = ?, paused_at = ?, paused_next = ?, paused_rev = ?", held.TriggerNextTime, held.PausedAt, held.PausedNext, held.PausedRev)
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next := b.job(id).TriggerNextTime; next != at.UnixMilli() {
			t.Errorf("it is due at %d, want %d", next, at.UnixMilli())
		}
	})
}

// TestWhoeverMovesAPausedJobMovesIt: an operator, or an XXL-JOB admin that knows no pauses, gives a job that is held back another time, or
// stops it. The end of the pause leaves that as it is.
func TestWhoeverMovesAPausedJobMovesIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		ids := b.jobsDue(3, at)
		paused := b.pause(db.InsertPauseParams{Scope: "all", FromAt: at.UnixMilli(), Strategy: "all"})
		b.claimAt(b.engine, at)
		later := at.Add(10 * time.Minute)
		b.exec("UPDATE xxl_job_info SET trigger_next_time = ? WHERE id = ?", later.UnixMilli(), ids[0])
		b.exec("UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0 WHERE id = ?", ids[1])
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", ids[2])
		b.claimAt(b.engine, later)
		if j := b.job(ids[0]); j.PausedAt != later.UnixMilli() {
			t.Errorf("it is held at %v, want %v", time.UnixMilli(j.PausedAt), later)
		}
		b.exec("UPDATE xxl_job_info SET trigger_next_time = ? WHERE id = ?", later.UnixMilli(), ids[0])
		b.endPause(paused, later)
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next := b.job(ids[0]).TriggerNextTime; next != later.UnixMilli() {
			t.Errorf("it is due at %v, want %v", time.UnixMilli(next), later)
		}
		if j := b.job(ids[1]); j.TriggerNextTime != 0 || j.TriggerStatus != 0 {
			t.Errorf("the job that was stopped is due at %d", j.TriggerNextTime)
		}
	})
}

// TestP3AReleaseThatIsCutOffIsFinished: an admin dies while it lets jobs go behind a pause that was ended. It has let go half of them, has
// made some of the runs of those, and has sent none, because the pause ends some minutes later. Another admin finishes it: each fire has one
// run, and waits for its time there once.
func TestP3AReleaseThatIsCutOffIsFinished(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		short := func(c *Config) { byHand(c); shortLease(c) }
		b := setup(t, pool, short, addressA)
		const jobs, fires = 4, 60
		from := time.Now().Add(-40 * time.Minute).Truncate(time.Second)
		paused := b.pause(db.InsertPauseParams{Scope: "group", Target: b.group, FromAt: from.UnixMilli(), Strategy: string(jobspec.PauseEach)})
		ids := make([]int64, jobs)
		for i := range ids {
			ids[i] = b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "60" })
			b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", from.UnixMilli(), ids[i])
		}
		b.claimAt(b.engine, time.Now())
		for _, id := range ids {
			if j := b.job(id); j.PausedAt != from.UnixMilli() || b.countRuns("job_id = ?", id) != 0 {
				t.Fatalf("job %d is held at %d with %d runs", id, j.PausedAt, b.countRuns("job_id = ?", id))
			}
		}

		// The first admin lets the jobs go and dies on the way.
		end := from.Add(fires * time.Minute)
		behind := end.Add(time.Millisecond) // where jobs are that are held back until then
		b.endPause(paused, end)
		b.engine.claimer.reading.Lock() // by itself it would decide by now, before the end, and hold them back anew
		free := sync.OnceFunc(b.engine.claimer.reading.Unlock)
		t.Cleanup(free)
		if err := b.engine.pauses.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := b.engine.queries.ResumeJobs(t.Context(), pool, db.ResumeJobsParams{Ids: ids[:jobs/2], Revision: b.engine.pauses.current.Load().revision}); err != nil || n != jobs/2 {
			t.Fatalf("%d jobs go on, %v", n, err)
		}
		b.claimAt(b.engine, behind)
		free()
		made := b.countRuns("1=1")
		if made == 0 || made >= jobs/2*fires || b.unsettled() != made {
			t.Fatalf("%d runs are made, %d of them not sent: the release is not in its middle", made, b.unsettled())
		}
		b.die(b.engine)

		two := b.second(short)
		b.await("what the dead admin has made is taken over", func() bool { return b.countRuns("owner_node = ?", two.node.ID()) == made })
		for i := 0; ; i++ {
			if err := two.PausesChanged(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows := b.due(behind)
			if len(rows) == 0 {
				break
			}
			if i > fires {
				t.Fatalf("%d jobs are still due: %s", len(rows), b.dump())
			}
			if err := two.claim(t.Context(), rows, behind); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			stand := make(map[int64]int)
			for _, r := range b.runsOf(id) {
				if r.TriggerType == jobspec.TriggerCron { // the fire at the end itself
					continue
				}
				e, ok := b.events(r.ID).Last(event.StandsFor)
				if !ok {
					t.Fatalf("run %d stands for nothing: %v", r.ID, b.events(r.ID))
				}
				stand[e.Time(2).UnixMilli()]++
			}
			for i := range fires {
				due := from.Add(time.Duration(i) * time.Minute).UnixMilli()
				if stand[due] != 1 {
					t.Errorf("job %d: fire %d has %d runs", id, i, stand[due])
				}
			}
			if len(stand) != fires {
				t.Errorf("job %d: runs of %d fires, want %d", id, len(stand), fires)
			}
			if next := b.job(id).TriggerNextTime; next < end.UnixMilli() || next > end.Add(time.Minute).UnixMilli() {
				t.Errorf("job %d goes on at %v", id, time.UnixMilli(next))
			}
		}
		if all, mine, wait := b.countRuns("1=1"), b.countRuns("owner_node = ?", two.node.ID()), two.timer.len(); mine != all || wait != all || len(b.executors.received()) != 0 {
			t.Errorf("of %d runs %d are the other admin's, %d wait there, and %d were sent", all, mine, wait, len(b.executors.received()))
		}
	})
}
