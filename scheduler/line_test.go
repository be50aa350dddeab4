package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// asked counts the queries that are sent, and how long the longest is with its arguments.
type asked struct {
	db.DBTX
	queries, longest int
}

func (a *asked) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	a.queries++
	a.longest = max(a.longest, len(query), len(args))
	return a.DBTX.QueryContext(ctx, query, args...)
}

// fullJobs are jobs of a group that have as many runs as they may, with some that wait. Their runs are running for the group since.
func (b *bundle) fullJobs(n, waiting int, since int64) {
	b.t.Helper()
	at := time.Now().Add(-2 * time.Hour)
	var jobs []int64
	err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error {
		now := sql.NullTime{Time: b.pool.Wall(at), Valid: true}
		for range n {
			id, err := b.engine.queries.InsertJob(b.t.Context(), tx, db.InsertJobParams{
				JobGroup: b.group, JobDesc: "full", AddTime: now, UpdateTime: now, Author: "me", ScheduleType: jobspec.ScheduleNone, MaxConcurrent: 1,
				ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "handler", GlueType: "BEAN", GlueUpdateTime: now,
			})
			if err != nil {
				return err
			}
			jobs = append(jobs, id)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var runs []db.NewRun
	var slots []db.Slot
	for _, job := range jobs {
		for range waiting + 1 {
			runs = append(runs, db.NewRun{JobGroup: b.group, JobID: job, Type: jobspec.TriggerManual, TriggerTime: b.pool.Wall(at), PlannedAt: at.UnixMilli(), Owner: waitingOwner})
		}
	}
	for len(runs) > 0 {
		part := runs[:min(len(runs), db.MaxBatch)]
		first, err := db.InsertRuns(b.t.Context(), b.pool, part)
		if err != nil {
			b.t.Fatal(err)
		}
		for i, r := range part {
			slots = append(slots, db.Slot{JobID: r.JobID, LogID: first + int64(i), PlannedAt: r.PlannedAt, GroupID: b.group})
		}
		runs = runs[len(part):]
	}
	for rest := slots; len(rest) > 0; rest = rest[min(len(rest), db.MaxBatch):] {
		if err := db.InsertSlots(b.t.Context(), b.pool, rest[:min(len(rest), db.MaxBatch)]); err != nil {
			b.t.Fatal(err)
		}
	}
	for i := 0; i < len(slots); i += waiting + 1 {
		b.exec("UPDATE punctual_slot SET running = 1, group_id = ? WHERE log_id = ?", since, slots[i].LogID)
	}
}

// TestThousandsOfFullJobsAreAFewShortQueries in the line of their group, read while its gate is locked, and the one behind them that has room has its turn.
func TestThousandsOfFullJobsAreAFewShortQueries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		moved         bool // their runs began in another group
		full, waiting int
	}{
		{"", false, 3000, 2},
		{"that moved while they ran", true, 900, 2},
		{"that moved, and more of them", true, 1200, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
				ran := b.group
				if c.moved {
					ran = b.addGroup("stock", addressB)
				}
				b.fullJobs(c.full, c.waiting, ran)
				limit := int64(c.full + 1)
				if c.moved {
					limit = 1
				}
				low := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent, p.Priority = 1, string(jobspec.PriorityLowest) })
				b.limitGroup(limit)
				b.wait(low, 2)
				b.exec("UPDATE punctual_slot SET line = 2 WHERE job_id = ?", low)
				want := b.runsOf(low)[0].ID

				from := &asked{DBTX: pool}
				next, err := b.engine.lineOf(b.group).read(t.Context(), from, 1)
				if err != nil || len(next) != 1 || next[0].LogID != want {
					t.Errorf("the next is %+v, %v, want run %d", next, err, want)
				}
				if from.queries > 3 || from.longest > 4096 {
					t.Errorf("the line was read with %d queries, of %d bytes or arguments at most", from.queries, from.longest)
				}
				b.engine.startNextOf(b.group)
				b.wantGoing("the one with room runs", want)
			})
		})
	}
}

// TestALineCostsWhatIsFoundInIt, and not the runs that are passed: those of a few full jobs that wait before the next with room.
func TestALineCostsWhatIsFoundInIt(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
	b.limitGroup(30)
	b.fullJobs(20, 400, b.group)
	b.exec("ANALYZE TABLE punctual_slot")
	last := b.addJob(nil)
	b.wait(last, 5)
	var next []db.ListWaitingRunsOfGroupRow
	read := make(map[string]int)
	err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "FLUSH STATUS")
		if err == nil {
			next, err = b.engine.lineOf(b.group).read(t.Context(), tx, 3)
		}
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			var n int
			if err := rows.Scan(&name, &n); err != nil {
				return err
			}
			read["rows"] += n
			read[name] = n
		}
		return rows.Err()
	})
	if err != nil || len(next) != 3 || next[0].JobID != last || next[2].JobID != last {
		t.Errorf("next are %+v, %v", next, err)
	}
	if read["rows"] == 0 || read["rows"] > 1000 {
		t.Errorf("of 8000 runs of full jobs were read: %v", read)
	}
}

// TestALineOfOneMomentIsReadOnce: those of a job are passed that were read before those of the full jobs between them, and no more is read of a
// job whose time has not come.
func TestALineOfOneMomentIsReadOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1000)
		job, early := b.addJob(nil), b.addJob(nil)
		b.wait(job, 1)
		b.fullJobs(2*nextRuns, 1, b.group)
		b.wait(job, 1)
		b.wait(early, 1)
		now := time.Now()
		b.exec("UPDATE punctual_slot SET planned_at = ?", now.Add(-time.Hour).UnixMilli())
		b.exec("UPDATE punctual_slot SET planned_at = ? WHERE job_id = ?", now.Add(time.Hour).UnixMilli(), early)
		line, from := b.engine.lineOf(b.group), &asked{DBTX: pool}
		var got []int64
		for {
			next, err := line.read(t.Context(), from, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(next) == 0 {
				break
			}
			got = append(got, next[0].LogID)
		}
		runs := b.runsOf(job)
		if want := []int64{runs[0].ID, runs[1].ID}; !slices.Equal(got, want) || from.queries != 5 {
			t.Errorf("read %v with %d queries, want %v", got, from.queries, want)
		}
	})
}

// TestALineIsReadInItsOrder, however many are read at a time, and also from where it is read job by job.
func TestALineIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1000)
		at := time.Now().Add(-time.Hour).UnixMilli()
		for seed := range uint64(12) {
			rnd := rand.New(rand.NewPCG(seed, 16))
			b.exec("DELETE FROM punctual_slot")
			var runs []db.NewRun
			var slots []db.Slot
			most, room := make(map[int64]int64), make(map[int64]int64)
			for range 6 {
				id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = int64(rnd.IntN(4)) })
				most[id] = b.job(id).MaxConcurrent
				room[id] = most[id]
				for range 10 + rnd.IntN(60) {
					planned := at + int64(rnd.IntN(40))
					if rnd.IntN(8) == 0 {
						planned += 7_200_000 // its time has not come
					}
					runs = append(runs, db.NewRun{JobGroup: b.group, JobID: id, Type: jobspec.TriggerManual, TriggerTime: b.pool.Wall(time.Now()), PlannedAt: planned, Owner: waitingOwner})
				}
			}
			first, err := db.InsertRuns(t.Context(), pool, runs)
			if err != nil {
				t.Fatal(err)
			}
			over := make(map[int64]bool)
			for i, r := range runs {
				s := db.Slot{JobID: r.JobID, LogID: first + int64(i), PlannedAt: r.PlannedAt, GroupID: b.group, Line: r.JobID%2 - 1}
				if rnd.IntN(16) == 0 {
					s.Line = 1 // it was made before the job had its priority
				}
				if rnd.IntN(16) == 0 {
					over[s.LogID] = true
					b.exec("UPDATE xxl_job_log SET handle_code = 500 WHERE id = ?", s.LogID)
				}
				slots = append(slots, s)
			}
			if err := db.InsertSlots(t.Context(), pool, slots); err != nil {
				t.Fatal(err)
			}
			for _, s := range slots[:10] {
				over[s.LogID] = true // it runs
				b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", s.LogID)
				room[s.JobID]--
			}
			slices.SortFunc(slots, func(x, y db.Slot) int {
				return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.PlannedAt, y.PlannedAt), cmp.Compare(x.LogID, y.LogID))
			})
			var want, got []int64
			for _, s := range slots {
				if over[s.LogID] || s.PlannedAt > at+3_600_000 || most[s.JobID] > 0 && room[s.JobID] <= 0 {
					continue
				}
				room[s.JobID]--
				want = append(want, s.LogID)
			}
			line, queries := b.engine.lineOf(b.group), &asked{DBTX: pool}
			for {
				next, err := line.read(t.Context(), queries, 1+rnd.IntN(20))
				if err != nil {
					t.Fatal(err)
				}
				if len(next) == 0 {
					break
				}
				for _, r := range next {
					got = append(got, r.LogID)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: the line is %v, want %v", seed, got, want)
			}
		}
	})
}

// TestALineIsReadInPieces: everything in it is given once, in its order, and nothing after the end.
func TestALineIsReadInPieces(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		first, urgent := b.addJob(nil), b.addJob(nil)
		b.wait(first, 3*nextRuns)
		b.wait(urgent, 2)
		b.exec("UPDATE punctual_slot SET line = -2 WHERE job_id = ?", urgent)
		var want, got []int64
		for _, r := range b.allRuns() {
			want = append(want, r.ID)
		}
		want = append(want[len(want)-2:], want[:len(want)-2]...)
		l := b.engine.lineOf(b.group)
		for range len(want) {
			next, err := l.read(t.Context(), pool, 7)
			if err != nil || len(next) > 7 {
				t.Fatalf("%d at once, %v", len(next), err)
			}
			for _, r := range next {
				got = append(got, r.LogID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("read %v, want %v", got, want)
		}
	})
}

// TestWhoIsBehindCountsTheRunsThatHaveSlots: of two that wait there is room for one beside the one that runs, and whoever is first has it.
func TestWhoIsBehindCountsTheRunsThatHaveSlots(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"group", "job"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
				var limit int64
				if of == "group" {
					b.limitGroup(2)
				} else {
					limit = 2
				}
				asks := b.asks(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = limit }), 3)
				b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", asks[0].d.id)
				if err := b.engine.admitOnce(t.Context(), asks[2:]); err != nil || asks[2].given || asks[2].lacks == nil || !asks[2].lacks.behind {
					t.Errorf("the second in line: given %v, lacks %+v, %v", asks[2].given, asks[2].lacks, err)
				}
				if err := b.engine.admitOnce(t.Context(), asks[1:2]); err != nil || !asks[1].given {
					t.Errorf("the first in line: given %v, lacks %+v, %v", asks[1].given, asks[1].lacks, err)
				}
			})
		})
	}
}

// TestNobodyIsBehindRunsThatCannotBegin, however many of them are before: their job has as many as it may.
func TestNobodyIsBehindRunsThatCannotBegin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(3)
		full := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		b.wait(full, nextRuns) // and room for one more in the first piece of the line
		b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", b.allRuns()[0].ID)
		asks := b.asks(b.addJob(nil), 3)
		for _, i := range []int{2, 1, 0} { // there is room for two
			a := asks[i]
			if err := b.engine.admitOnce(t.Context(), []*admission{a}); err != nil || a.given != (i < 2) {
				t.Errorf("number %d in line: given %v, lacks %+v, %v", i, a.given, a.lacks, err)
			}
		}
	})
}

// TestWhatWaitsGoesAtOnceWhereItHasRoomNow, without a sweep: its job came to a group with room, or may have more runs.
func TestWhatWaitsGoesAtOnceWhereItHasRoomNow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		stock := b.addGroup("stock", addressB)
		b.limitGroup(1)
		first := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", first)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		second, third := b.trigger(job), b.trigger(job)
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 })
		b.exec("UPDATE xxl_job_info SET job_group = ? WHERE id = ?", stock, job)
		if err := b.engine.queries.MoveSlots(t.Context(), pool, db.MoveSlotsParams{JobID: job, GroupID: stock}); err != nil {
			t.Fatal(err)
		}
		b.engine.StartWaiting(stock)
		b.wantGoing("the job's first runs where it came to", first, second)
		b.exec("UPDATE xxl_job_info SET max_concurrent = 2 WHERE id = ?", job)
		b.engine.StartWaiting(stock)
		b.wantGoing("and the second, now that it may have two", first, second, third)
	})
}

// TestASweepPutsIntoItsLineWhatAnOldAdminMade, or what it left there when it changed a job: without one it would be the last of its group, or be found by none.
func TestASweepPutsIntoItsLineWhatAnOldAdminMade(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		first := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", first)
		var jobs []int64
		for _, p := range slices.Concat(jobspec.AllPriorities, []jobspec.Priority{"", "NEWER"}) {
			jobs = append(jobs, b.addJob(func(row *db.InsertJobParams) { row.Priority = string(p) }))
			b.wait(jobs[len(jobs)-1], 2)
		}
		flows := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", jobs[0])}}, nil)
		b.wait(flows, 1)
		b.exec("UPDATE punctual_slot SET planned_at = ?, group_id = 7 WHERE job_id = ?", time.Now().Add(time.Hour).UnixMilli(), flows)
		b.exec("UPDATE punctual_slot SET group_id = 0 WHERE job_id IN (?, ?) AND running = 0", jobs[0], jobs[2])
		b.exec("UPDATE punctual_slot SET group_id = 99, line = -2 WHERE job_id = ?", jobs[4])
		if err := b.engine.sweepGates(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, id := range append(jobs, flows) {
			row := b.job(id)
			want := db.Slot{GroupID: SlotGroup(row.GlueType, row.JobGroup), Line: jobspec.Priority(row.Priority).Line()}
			var wrong int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_slot WHERE job_id = ? AND running = 0 AND (group_id <> ? OR line <> ?)", id, want.GroupID, want.Line).Scan(&wrong); err != nil || wrong > 0 {
				t.Errorf("%d of job %d wait elsewhere than in %+v, %v", wrong, i, want, err)
			}
		}
		var running int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_slot WHERE running = 1 AND group_id = ?", b.group).Scan(&running); err != nil || running != 1 {
			t.Errorf("%d runs count for the group, %v", running, err)
		}
		b.finish(first, 200, "")
		b.wantGoing("the most urgent is the next", b.runsOf(jobs[0])[0].ID)
	})
}

// TestASweepMovesNothingBack that somebody has moved since it looked: the run would wait in a line in which nobody looks for it.
func TestASweepMovesNothingBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		stock := b.addGroup("stock", addressB)
		job, other := b.addJob(nil), b.addJob(nil)
		b.wait(job, 2)
		b.wait(other, 1)
		b.exec("UPDATE punctual_slot SET group_id = 0") // an old admin made them
		seen, err := b.engine.queries.ListSlotsElsewhere(t.Context(), pool)
		if err != nil || len(seen) != 2 {
			t.Fatalf("elsewhere: %+v, %v", seen, err)
		}
		b.exec("UPDATE xxl_job_info SET job_group = ?, priority = 'HIGH' WHERE id = ?", stock, job)
		if err := b.engine.queries.MoveSlots(t.Context(), pool, db.MoveSlotsParams{JobID: job, GroupID: stock, Line: -1}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.putInLine(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
		left, err := b.engine.queries.ListSlotsElsewhere(t.Context(), pool)
		if err != nil || len(left) > 0 {
			t.Errorf("elsewhere are %+v, %v", left, err)
		}
	})
}

// TestAStepWaitsHoweverLongTheLineIs: discarded it would be lost to its flow, whose runs and items have limits of their own. What is no step is discarded.
func TestAStepWaitsHoweverLongTheLineIs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		first := b.trigger(job)
		b.wantGoing("one runs", first)
		for range 4 {
			b.wait(job, maxWaiting/4)
		}
		fan := step("each", job)
		fan.Foreach = &flow.Foreach{Items: "1..3"}
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{fan}}, nil))
		b.await("its items wait", func() bool {
			return b.countRuns("job_id = ? AND flow_step <> 0", job) == 3 && b.engine.pending.len() == 0
		})
		plain := b.trigger(job)
		b.await("what is no step is discarded", func() bool { return b.run(plain).Outcome == event.Discarded })
		if n := b.countRuns("flow_step <> 0 AND owner_node = ? AND trigger_code = 0 AND handle_code = 0", waitingOwner); n != 3 {
			t.Errorf("%d of 3 items wait: %s, %s", n, b.states(run), b.dump())
		}
		b.exec("UPDATE xxl_job_log SET handle_code = 500 WHERE job_id = ? AND flow_step = 0 AND trigger_code = 0", job)
		b.exec("DELETE FROM punctual_slot WHERE log_id IN (SELECT id FROM xxl_job_log WHERE handle_code = 500)")
		b.finish(first, 200, "")
		for range 3 {
			var item int64
			b.await("the next item runs", func() bool {
				for _, id := range b.going() {
					if b.run(id).JobID == job {
						item = id
					}
				}
				return item != 0
			})
			b.finish(item, 200, "")
		}
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow: %v, %s", r.Outcome, b.states(run))
		}
	})
}
