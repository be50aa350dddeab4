package scheduler

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// tail is what a database loses when it goes back.
type tail struct {
	b    *bundle
	run  int64 // the newest before it
	jobs map[int64][4]int64
}

// remember notes the state that the database goes back to.
func (b *bundle) remember() tail {
	b.t.Helper()
	s := tail{b: b, jobs: make(map[int64][4]int64)}
	if err := b.pool.QueryRowContext(b.t.Context(), "SELECT COALESCE(MAX(id), 0) FROM xxl_job_log").Scan(&s.run); err != nil {
		b.t.Fatal(err)
	}
	rows, err := b.pool.QueryContext(b.t.Context(), "SELECT id, trigger_status, trigger_last_time, trigger_next_time, claimed_until FROM xxl_job_info")
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var was [4]int64
		if err := rows.Scan(&id, &was[0], &was[1], &was[2], &was[3]); err != nil {
			b.t.Fatal(err)
		}
		s.jobs[id] = was
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// lose has the database forget what was committed since, numbers too, as the replica has that takes the place of its source.
func (s tail) lose() {
	s.b.t.Helper()
	s.b.exec("DELETE FROM xxl_job_log WHERE id > ?", s.run)
	for id, was := range s.jobs {
		s.b.exec("UPDATE xxl_job_info SET trigger_status = ?, trigger_last_time = ?, trigger_next_time = ?, claimed_until = ? WHERE id = ?", was[0], was[1], was[2], was[3], id)
	}
	if s.b.pool.Dialect() == db.SQLite {
		s.b.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'xxl_job_log'", s.run)
		return
	}
	s.b.exec(fmt.Sprintf("ALTER TABLE xxl_job_log AUTO_INCREMENT = %d", s.run+1))
}

// started makes a job and starts it as people do, with its history.
func (b *bundle) started(next time.Time, change func(*db.InsertJobParams)) int64 {
	b.t.Helper()
	id := b.addJob(change)
	b.restart(id, next)
	return id
}

func (b *bundle) restart(id int64, next time.Time) {
	b.t.Helper()
	err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error {
		if _, err := b.engine.schedules.Stop(b.t.Context(), tx, id, sql.NullTime{}); err != nil {
			return err
		}
		_, err := b.engine.schedules.Start(b.t.Context(), tx, db.StartJobParams{ID: id, NextTime: next.UnixMilli()})
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// claimAfter has the clock show a time, and what is due then claimed and sent.
func (b *bundle) claimAfter(clock *handClock, passed time.Duration) {
	b.t.Helper()
	clock.passed.Store(int64(passed))
	if err := b.engine.claimDue(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.await("it is sent", func() bool { return b.unsettled() == 0 })
}

func TestADatabaseThatWentBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			clock.rule(c)
			c.DeadAfter = 24 * time.Hour // an hour passes at once
		}, addressA)
		at := clock.start.Add(time.Hour)
		rate := b.started(at, func(p *db.InsertJobParams) { p.ScheduleConf = "60" })
		delay := b.started(at, func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "120" })
		changed := b.started(at, func(p *db.InsertJobParams) { p.ScheduleConf = "3600" })
		b.claimAfter(clock, time.Hour)
		b.finish(b.executors.received()[slices.IndexFunc(b.executors.received(), func(r received) bool { return r.req.JobID == delay })].req.LogID, 200, "")

		was := b.remember()
		for i := range 3 {
			b.claimAfter(clock, time.Hour+time.Duration(i+1)*time.Minute)
		}
		b.restart(changed, at.Add(3*time.Minute))
		b.claimAfter(clock, time.Hour+3*time.Minute)
		sent := b.executors.received()
		lost := slices.MaxFunc(sent, func(a, b received) int { return cmp.Compare(a.req.LogID, b.req.LogID) }).req.LogID
		if len(sent) != 3+3+1+1 || lost != was.run+5 {
			t.Fatalf("%d requests, the last is run %d\n%s", len(sent), lost, b.dump())
		}

		was.lose()
		b.restart(changed, at.Add(3*time.Minute)) // somebody does so after it
		b.claimAfter(clock, time.Hour+3*time.Minute)
		again := b.executors.received()[len(sent):]
		if len(again) != 1 || again[0].req.JobID != changed {
			t.Errorf("sent again: %v; want the job alone that was started since", again)
		}
		for job, want := range map[int64]int{rate: 1, delay: 1, changed: 0} {
			if n := b.countRuns("job_id = ? AND outcome = ?", job, event.Skipped); n != want {
				t.Errorf("job %d: %d rows say what is not made again, want %d", job, n, want)
			}
		}
		for _, r := range b.allRuns() {
			if r.Outcome != event.Skipped {
				continue
			}
			count, from, to := int64(3), at.Add(time.Minute), at.Add(3*time.Minute)
			if r.JobID == delay {
				count, from, to = 1, at.Add(2*time.Minute), at.Add(2*time.Minute)
			}
			e, ok := event.Parse(string(r.Events)).Last(event.MadeBefore)
			if !ok || e.Number(0) != count || !e.Time(2).Equal(from) || !e.Time(3).Equal(to) {
				t.Errorf("the row says %v", e)
			}
		}

		b.claimAfter(clock, time.Hour+4*time.Minute)
		last := b.executors.received()
		next := last[len(last)-1].req // which was sent alone
		if next.JobID != rate || next.LogDateTime != at.Add(4*time.Minute).UnixMilli() || len(last) != len(sent)+2 {
			t.Errorf("the fire after it: job %d at %s, %d requests\n%s", next.JobID, time.UnixMilli(next.LogDateTime), len(last), b.dump())
		}
		for _, r := range last[len(sent):] {
			if r.req.LogID <= lost+100_000 {
				t.Errorf("run %d has a number near those that the database has forgotten", r.req.LogID)
			}
		}
		if n := counter(t, b.engine, "database_went_back_total", ""); n == 0 {
			t.Error("it was not noticed")
		}

		// The run that the fixed delay waits for is forgotten: the sweep finds nothing under way.
		clock.pass(10 * time.Minute)
		b.await("the fixed delay goes on", func() bool {
			var next int64
			err := pool.QueryRowContext(t.Context(), "SELECT trigger_next_time FROM xxl_job_info WHERE id = ?", delay).Scan(&next)
			return err == nil && next < jobspec.Waiting.UnixMilli()
		})

		// A result of a run that is forgotten is no other run's.
		open := b.countRuns("handle_code = 0 AND trigger_code = 200")
		if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: lost, HandleCode: wire.CodeSuccess}, {LogID: lost - 1, HandleCode: wire.CodeFail}}); err != nil {
			t.Error(err)
		}
		if n := b.countRuns("handle_code = 0 AND trigger_code = 200"); n != open {
			t.Errorf("%d runs were ended by the results of others", open-n)
		}
	})
}

// TestNumbersOfRunsDoNotComeAgain: whoever makes a run, and however many at once.
func TestNumbersOfRunsDoNotComeAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		id := b.addJob(nil)
		many := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast })
		b.trigger(id)
		was := b.remember()
		highest := b.trigger(id)
		b.await("all are sent", func() bool { return b.unsettled() == 0 })
		was.lose()
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: many, Type: jobspec.TriggerManual, Addresses: []string{addressA, addressB, "http://10.0.0.3:9999/"}})
		if err != nil || len(ids) != 3 {
			t.Fatal(ids, err)
		}
		ids = append(ids, b.trigger(id))
		for i, n := range ids {
			if n <= highest+1000 || i > 0 && n != ids[i-1]+1 {
				t.Errorf("the numbers are %v, where %d was given before", ids, highest)
			}
		}
		if n := b.countRuns("1 = 1"); n != 1+4 {
			t.Errorf("%d runs, want %d", n, 1+4)
		}
	})
}

func TestClaimsAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	var m memory
	now := time.Now()
	at := now.UnixMilli()
	rows := []db.ListDueJobsRow{{ID: 1}, {ID: 2, ClaimedUntil: at + 1}, {ID: 3}}
	m.note(now, []db.Advance{{ID: 1, Claimed: at + 1}, {ID: 2, Claimed: at + 1}, {ID: 3, OldClaimed: at + 1, Claimed: at + 1}})
	if n := len(m.beyond([]db.ListDueJobsRow{{ID: 1, ScheduleType: jobspec.ScheduleFixDelay}}, now)); n != 0 {
		t.Error("a fixed delay whose run was ended before it was due is held back")
	}
	found := func(until time.Time) int { return len(m.beyond(rows, until)) }
	if n := found(now); n != 1 {
		t.Errorf("%d, want the one that the database does not know to be claimed", n)
	}
	if n := found(now.Add(-time.Second)); n != 0 {
		t.Errorf("%d, want none: it was claimed by a clock that was ahead", n)
	}
	now = now.Add(rememberFor + time.Second)
	m.note(now, nil)
	if n := found(now); n != 1 {
		t.Errorf("%d after the time, want it to be remembered once more", n)
	}
	now = now.Add(rememberFor + time.Second)
	m.note(now, nil)
	if n := found(now); n != 0 {
		t.Errorf("%d after twice the time, want none", n)
	}
	many := make([]db.Advance, 1000)
	for i := range 4 * rememberMost / len(many) {
		for k := range many {
			many[k] = db.Advance{ID: int64(i*len(many) + k), Claimed: at}
		}
		m.note(now, many)
	}
	if n := len(m.newer) + len(m.older); n > 2*(rememberMost+len(many)) {
		t.Errorf("%d jobs are remembered", n)
	}
}
