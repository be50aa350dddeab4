package scheduler

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestP6WhatTheQueueCannotHoldFailsWithAReasonAndTheEngineGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.MaxWaiting, c.PerAddress, c.PerJob = 3, 1, 1 }, addressA)
		release, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			<-release
			return yes, nil
		}
		id := b.addJob(nil)
		b.trigger(id)
		b.await("the first is being sent", func() bool { _, n := b.engine.queues.depth(); return n == 1 })
		for range 9 {
			b.trigger(id)
		}
		b.await("those beyond the limit have failed", func() bool { return b.countRuns("trigger_code = 500") == 6 })
		if n := b.countRuns("trigger_code = 500 AND outcome = 4 AND events LIKE '%\"queuefull\",%'"); n != 6 {
			t.Errorf("%d of 6 failures give the reason: %s", n, b.dump())
		}
		open()
		b.await("the others are sent", func() bool { return b.countRuns("trigger_code = 200") == 4 })
		again := b.trigger(id)
		b.await("and new ones too", func() bool { return b.run(again).TriggerCode == 200 })
	})
}

func TestP6AnEngineWithTooMuchUnsentClaimsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.MaxQueued, c.PerAddress = 2, 1 }, addressA)
		release, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			<-release
			return yes, nil
		}
		id := b.addJob(nil)
		b.trigger(id)
		b.trigger(id)
		held := func() float64 { return counter(t, b.engine, "claims_total", "held back") }
		b.await("claims are held back", func() bool { return held() > 0 })
		due := b.addJob(nil)
		b.start(due, time.Now())
		before := held()
		b.await("claims are still held back", func() bool { return held() > before+2 })
		if n := b.countRuns("job_id = ?", due); n != 0 {
			t.Errorf("%d fires were claimed", n)
		}
		open()
		b.await("the due job is claimed", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", due) == 1 })
	})
}

// TestP6WhatExecutorsSayIsCutToWhatTheRowsHold gives texts and codes that no column can hold, among others that are fine.
func TestP6WhatExecutorsSayIsCutToWhatTheRowsHold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		huge := strings.Repeat("时间到了😀", 50_000)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			switch req.ExecutorParams {
			case "long":
				return wire.Answer{Code: 500, Msg: huge}, nil
			case "code":
				return wire.Answer{Code: math.MaxInt, Msg: "much"}, nil
			case "bytes":
				return wire.Answer{Code: 500, Msg: "not \xff\xfe text"}, nil
			}
			return yes, nil
		}
		ids := make(map[string]int64)
		for _, p := range []string{"fine", "long", "code", "bytes"} {
			ids[p] = b.trigger(b.addJob(func(j *db.InsertJobParams) { j.ExecutorParam = db.Text(p) }))
		}
		b.await("all are recorded", func() bool { return b.unsettled() == 0 })
		for p, want := range map[string]int64{"fine": 200, "long": 500, "code": 500, "bytes": 500} {
			r := b.run(ids[p])
			if r.TriggerCode != want || !utf8.ValidString(string(r.TriggerMsg)) || len(r.TriggerMsg) > maxMessage || !strings.Contains(string(r.TriggerMsg), "result: ") {
				t.Errorf("%s: code %d, message of %d bytes: %.300q", p, r.TriggerCode, len(r.TriggerMsg), r.TriggerMsg)
			}
		}
		if msg := string(b.run(ids["long"]).TriggerMsg); !strings.HasSuffix(msg, "…") || !strings.Contains(msg, "时间到了😀") {
			t.Errorf("the cut is not marked: …%q", msg[max(0, len(msg)-30):])
		}
		// The same of results, reported together with one that is fine.
		err := b.engine.Complete(t.Context(), []wire.Callback{
			{LogID: ids["long"], HandleCode: 500, HandleMsg: huge},
			{LogID: ids["code"], HandleCode: math.MaxInt, HandleMsg: "much"},
			{LogID: ids["bytes"], HandleCode: 500, HandleMsg: "not \xff\xfe text"},
			{LogID: ids["fine"], HandleCode: 200},
		})
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range map[string]int64{"fine": 200, "long": 500, "code": 500, "bytes": 500} {
			r := b.run(ids[p])
			if r.HandleCode != want || !utf8.ValidString(string(r.HandleMsg)) || len(r.HandleMsg) > maxMessage {
				t.Errorf("%s: result %d, message of %d bytes", p, r.HandleCode, len(r.HandleMsg))
			}
		}
		if msg := string(b.run(ids["long"]).HandleMsg); !strings.HasSuffix(msg, " … (cut)") || len(msg) < maxResult-20 {
			t.Errorf("the result's message of %d bytes is not cut and marked", len(msg))
		}
	})
}

func TestP6AnAddressThatNoRowHoldsStopsNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		long := "http://" + strings.Repeat("x", 400) + "/"
		group, err := b.engine.queries.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "long", Title: "long", AddressType: 1, AddressList: db.Text(long)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range []jobspec.Route{jobspec.RouteFirst, jobspec.RouteShardingBroadcast} {
			b.start(b.addJob(func(p *db.InsertJobParams) { p.JobGroup, p.ExecutorRouteStrategy = group, r }), time.Now())
			b.start(b.addJob(nil), time.Now())
		}
		b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == 4 })
		if n := b.countRuns("executor_address = '' OR executor_address IS NULL"); n != 2 {
			t.Errorf("%d runs have no address in their row, want those of the long one: %s", n, b.dump())
		}
	})
}

// TestP6AClaimThatTheDatabaseRefusesStopsNobody makes one job's runs impossible to insert.
func TestP6AClaimThatTheDatabaseRefusesStopsNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		bad := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "bad" })
		b.refuse("xxl_job_log", "BEFORE INSERT", "NEW.executor_param = 'bad'")
		for range 5 {
			b.start(b.addJob(nil), time.Now())
		}
		b.start(bad, time.Now())
		b.start(b.addJob(nil), time.Now())
		b.await("the others are sent", func() bool { return b.countRuns("trigger_code = 200") == 6 })
		b.await("the refusal is counted", func() bool { return counter(t, b.engine, "claims_total", "refused") > 0 })
	})
}

// TestP6AnOutcomeThatTheDatabaseRefusesStopsNobody makes one run's outcome, and one run's result, impossible to write.
func TestP6AnOutcomeThatTheDatabaseRefusesStopsNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorParams == "bad" {
				return wire.Answer{Code: 200, Msg: "poison"}, nil
			}
			return yes, nil
		}
		b.refuse("xxl_job_log", "BEFORE UPDATE", "NEW.trigger_msg LIKE '%poison%' OR NEW.handle_msg LIKE '%poison%'")
		bad := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "bad" })
		good := b.addJob(nil)
		var ids []int64
		for i := range 10 {
			ids = append(ids, b.trigger(map[bool]int64{true: bad, false: good}[i == 4]))
		}
		b.await("all are recorded", func() bool { return b.unsettled() == 0 })
		if r := b.run(ids[4]); r.TriggerCode != 200 || !b.has(r.ID, event.NotRecorded) || !strings.Contains(string(r.TriggerMsg), "\nresult: its record was refused: ") {
			t.Errorf("the refused one: %+v", r)
		}
		results := make([]error, len(ids))
		reported := make(chan int)
		for i, id := range ids {
			go func() {
				msg := "fine"
				if i == 2 {
					msg = "poison"
				}
				results[i] = b.engine.Complete(t.Context(), []wire.Callback{{LogID: id, HandleCode: 200, HandleMsg: msg}})
				reported <- i
			}()
		}
		for range ids {
			<-reported
		}
		for i, err := range results {
			if (err != nil) != (i == 2) {
				t.Errorf("result %d: %v", i, err)
			}
		}
	})
}

// refuse has the database refuse rows of a table.
func (b *bundle) refuse(table, when, condition string) {
	b.t.Helper()
	statement := fmt.Sprintf("CREATE TRIGGER refuse_%[1]s %[2]s ON %[1]s FOR EACH ROW WHEN %[3]s BEGIN SELECT RAISE(ABORT, 'refused'); END", table, when, condition)
	if b.pool.Dialect() == db.MySQL {
		statement = fmt.Sprintf("CREATE TRIGGER refuse_%[1]s %[2]s ON %[1]s FOR EACH ROW IF %[3]s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF", table, when, condition)
	}
	if _, err := b.pool.ExecContext(b.t.Context(), statement); err != nil {
		b.t.Fatal(err)
	}
}

func TestAskingDeadExecutorsOfOneGroupDelaysNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.PerAddress, c.PerJob = 2, 2 }, addressA)
		release, open := b.latch()
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == addressB {
				<-release
			}
			return yes, nil
		}
		dead := b.addGroup("dead", addressB)
		failover := func(group int64) int64 {
			return b.addJob(func(p *db.InsertJobParams) { p.JobGroup, p.ExecutorRouteStrategy = group, jobspec.RouteFailover })
		}
		slow := failover(dead)
		for range 5 {
			b.trigger(slow)
		}
		b.await("two ask", func() bool { _, n := b.engine.queues.depth(); return n == 2 })
		quick := b.trigger(failover(b.group))
		b.await("the other group's run is sent", func() bool { return b.run(quick).TriggerCode == 200 })
		open()
	})
}
