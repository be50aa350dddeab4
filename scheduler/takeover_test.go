package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// alone is an engine whose own beats do nothing while a test lasts.
func alone(c *Config) { c.BeatEvery, c.Lease = time.Hour, 10*time.Hour }

// waiting are runs of a job that are far from their time.
func waiting(job int64, n int) []db.NewRun {
	runs := make([]db.NewRun, n)
	for i := range runs {
		runs[i] = db.NewRun{JobID: job, PlannedAt: time.Now().Add(time.Hour).UnixMilli(), Type: jobspec.TriggerCron}
	}
	return runs
}

// TestP3MoreThanABatchIsTakenOver: what a dead admin left is read in batches.
func TestP3MoreThanABatchIsTakenOver(t *testing.T) {
	t.Parallel()
	const n = db.MaxBatch + 2
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), n)...)}
	if err := b.engine.takeOver(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if got := b.engine.timer.len(); got != n {
		t.Errorf("%d runs wait for their time, want %d", got, n)
	}
	for _, r := range b.allRuns() {
		if r.OwnerNode != b.engine.node.ID() {
			t.Fatalf("run %d is of %d", r.ID, r.OwnerNode)
		}
	}
}

// TestP8ALockedRunIsLeftOutOfATakeOver: the others are taken over at once, and it with the next time.
func TestP8ALockedRunIsLeftOutOfATakeOver(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Somebody whose sessions are not ours, or the database would end its transaction soon.
	somebody, err := sql.Open("mysql", url)
	if err != nil {
		t.Fatal(err)
	}
	defer somebody.Close()
	b := setup(t, pool, alone, addressA)
	const all = db.MaxBatch + 3 // the locked one is in the first batch
	dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), all)...)}
	held := b.allRuns()[1].ID
	tx, err := somebody.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_msg = 'x' WHERE id = ?", held); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.takeOver(t.Context(), dead); !db.IsLocked(err) {
		t.Errorf("the take-over says %v, want that a row is locked", err)
	}
	owned := func() (n int) {
		for _, r := range b.allRuns() {
			if r.OwnerNode == b.engine.node.ID() {
				n++
			}
		}
		return n
	}
	if n := owned(); n != all-1 || b.engine.timer.len() != all-1 {
		t.Errorf("%d runs are taken over, and %d wait for their time, want %d", n, b.engine.timer.len(), all-1)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.takeOver(t.Context(), dead); err != nil || owned() != all || b.engine.timer.len() != all {
		t.Errorf("afterwards: %v, %d runs", err, owned())
	}
}

// TestP3ResultsOfADeadAdminsRunsSayThatTheyWereSent: it died between a call and its record, and the executor reported to another.
// Noted are runs that have a result, up to the last that it can have made.
func TestP3ResultsOfADeadAdminsRunsSayThatTheyWereSent(t *testing.T) {
	t.Parallel()
	const n = db.MaxBatch + 3
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), n)...)}
	runs := b.allRuns()
	open, last, above := runs[1].ID, runs[n-2].ID, runs[n-1].ID
	if _, err := b.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 200, executor_address = ? WHERE id <> ?", addressA, open); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.recordReported(t.Context(), dead, last); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.allRuns() {
		sent := r.ID != open && r.ID != above
		if (r.TriggerCode == wire.CodeSuccess) != sent || b.has(r.ID, event.Known) != sent {
			t.Errorf("run %d of %d to %d: code %d, %s", r.ID, runs[0].ID, above, r.TriggerCode, b.eventsOf(r.ID))
		}
	}
}

// TestP3ARetryThatIsTakenOverIsWithdrawn: its admin died before it was its time, and meanwhile the run before it succeeded.
func TestP3ARetryThatIsTakenOverIsWithdrawn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		job := b.addJob(nil)
		retryOf := make(map[int]int64) // by the code of what it is to repeat
		for _, code := range []int{wire.CodeSuccess, wire.CodeFail} {
			run := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			b.complete(run, code)
			dead := db.Node{ID: b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerRetry, Origin: run})}
			if err := b.engine.takeOver(t.Context(), dead); err != nil {
				t.Fatal(err)
			}
			all := b.runsOf(job)
			retryOf[code] = all[len(all)-1].ID
		}
		b.await("both are settled", func() bool { return b.unsettled() == 0 })
		if r := b.run(retryOf[wire.CodeSuccess]); r.Outcome != event.Cancelled {
			t.Errorf("the retry of a success is %v, with code %d", r.Outcome, r.TriggerCode)
		}
		if r := b.run(retryOf[wire.CodeFail]); r.TriggerCode != wire.CodeSuccess {
			t.Errorf("the retry of a failure has code %d: %s", r.TriggerCode, b.eventsOf(r.ID))
		}
	})
}

// TestP3WhatIsDecidedMeanwhileIsNotTakenOver: between the look at the runs of a dead admin and their taking, its last record or an executor's
// result may arrive.
func TestP3WhatIsDecidedMeanwhileIsNotTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), 3)...)}
		rows, err := b.engine.queries.ListUnsentRunsOfNode(t.Context(), pool, db.ListUnsentRunsOfNodeParams{OwnerNode: dead.ID, Limit: 10})
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d runs: %v", len(rows), err)
		}
		b.exec("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = ?", rows[0].ID)
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", rows[1].ID)
		if err := b.engine.adopt(t.Context(), dead, rows); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{dead.ID, dead.ID, b.engine.node.ID()} {
			if r := b.run(rows[i].ID); r.OwnerNode != want {
				t.Errorf("run %d is of %d, want %d", i, r.OwnerNode, want)
			}
		}
		if n := b.engine.timer.len(); n != 1 {
			t.Errorf("%d runs wait for their time, want 1", n)
		}
	})
}

// TestP3WhatIsTakenOverIsAsItsRowSays: which of them may have been sent, and to whom.
func TestP3WhatIsTakenOverIsAsItsRowSays(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	b := setup(t, dbtest.New(t, db.SQLite), clock.rule, addressA)
	row, err := b.engine.queries.GetJob(t.Context(), b.pool, b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 }))
	if err != nil {
		t.Fatal(err)
	}
	one := jobOf(&row, b.pool)
	row.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast
	all := jobOf(&row, b.pool)
	const (
		first = clockSkew                    // the last moment that may have come on the other's clock
		later = clockSkew + time.Millisecond // not come yet
	)
	whole := wireShard{Total: 1}
	for name, tt := range map[string]struct {
		trigger   jobspec.TriggerType
		job       *job
		in        time.Duration // until its time
		address   string
		shard     string
		wantShard wireShard
		taken     bool
		pinned    bool
		dead      bool
		limit     int
	}{
		"it was time":                      {jobspec.TriggerCron, one, -time.Second, addressA, "", whole, true, true, false, 2},
		"it was time, for whom is open":    {jobspec.TriggerCron, one, -time.Second, "", "", whole, true, false, false, 2},
		"it may have been time":            {jobspec.TriggerCron, one, first, addressA, "", whole, true, true, false, 2},
		"it was not time":                  {jobspec.TriggerCron, one, later, addressA, "", whole, false, false, false, 2},
		"by hand":                          {jobspec.TriggerManual, one, later, addressA, "", whole, false, true, false, 2},
		"by hand, for whom is open":        {jobspec.TriggerManual, one, later, "", "", whole, false, false, false, 2},
		"a trial":                          {jobspec.TriggerTrial, one, later, addressA, "", whole, false, true, false, 0},
		"a retry":                          {jobspec.TriggerRetry, one, later, addressA, "", whole, false, false, false, 2},
		"a shard":                          {jobspec.TriggerCron, all, later, addressA, "1/3", wireShard{1, 3}, false, true, false, 2},
		"a shard, whose is open":           {jobspec.TriggerCron, all, later, "", "1/3", wireShard{1, 3}, false, false, false, 2},
		"who is passed over by all":        {jobspec.TriggerCron, all, later, addressA, "", whole, false, false, true, 2},
		"for all, before they are counted": {jobspec.TriggerCron, all, later, "", "", whole, false, false, false, 2},
		"its job is gone":                  {jobspec.TriggerCron, nil, later, addressA, "", whole, false, false, false, 0},
	} {
		at := b.engine.now().Add(tt.in).Truncate(0)
		d := b.engine.adopted(&db.ListUnsentRunsOfNodeRow{
			ID: 7, JobID: 3, JobGroup: 5, ExecutorHandler: "h", TriggerType: tt.trigger, PlannedAt: at.UnixMilli(), ExecutorAddress: db.Text(tt.address), ExecutorShardingParam: db.Text(tt.shard),
		}, 9, tt.job)
		if d.owner != 9 || d.id != 7 || d.address != tt.address || d.planned.UnixMilli() != at.UnixMilli() || d.recheck != (tt.trigger == jobspec.TriggerRetry) || !d.read {
			t.Errorf("%s: %+v", name, d)
		}
		if d.shard != tt.wantShard || d.taken != tt.taken || d.pinned != tt.pinned || d.dead.IsZero() == tt.dead || d.job.limit != tt.limit {
			t.Errorf("%s: shard %v, taken %v, pinned %v, dead %v, limit %d", name, d.shard, d.taken, d.pinned, d.dead, d.job.limit)
		}
		if tt.job == nil && (d.job.id != 3 || d.job.group != 5 || d.job.handler != "h") {
			t.Errorf("%s: %+v", name, d.job)
		}
	}
}

// TestP3WhatExecutorsSayOfARunThatIsTakenOver decides whether it is sent, and to whom. The first is A. Whoever is
// chosen is asked once more as it leaves.
func TestP3WhatExecutorsSayOfARunThatIsTakenOver(t *testing.T) {
	t.Parallel()
	refused := &wire.CallError{Stage: wire.StageDial, Err: syscall.ECONNREFUSED}
	away := &wire.CallError{Stage: wire.StageDial, Err: context.DeadlineExceeded}
	silent := &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("silence")}
	asked := func(a, what, answer string) string { return "asked " + a + " " + what + " " + answer }
	noLog := func(a string) string { return asked(a, event.AskLog, event.AnswerNo) }
	busyAt := func(a string) string { return asked(a, event.AskIdle, event.AnswerNo) }
	mayHave := func(a string) string { return "mayhave " + a }
	for name, tt := range map[string]struct {
		address string           // in its row
		log     map[string]error // who does not answer whether it has a log
		knows   string           // who has one
		idle    map[string]error // who does not say what it is busy with
		busy    string           // who has something of the job
		kill    bool             // somebody wants it ended
		again   bool             // its job would rather be done twice
		beats   map[string]error // who does not answer when its route asks who is there; nil: it does not ask
		outcome event.Outcome
		sent    string // to whom
		events  []string
	}{
		"nobody has it":                    {outcome: event.Open, sent: addressA, events: []string{noLog(addressA), noLog(addressB), noLog(addressA)}},
		"the one that it was for has not":  {address: addressB, outcome: event.Open, sent: addressB, events: []string{noLog(addressB)}},
		"the second has it":                {knows: addressB, outcome: event.Open, events: []string{noLog(addressA), "known " + addressB + " " + event.KnownLog}},
		"the second may have it waiting":   {busy: addressB, outcome: event.Open, sent: addressB, events: []string{noLog(addressA), noLog(addressB), busyAt(addressB), noLog(addressB), busyAt(addressB)}},
		"what the second does is not said": {idle: map[string]error{addressB: silent}, outcome: event.Open, sent: addressA, events: []string{noLog(addressA), noLog(addressB), noLog(addressA)}},
		"nobody is at the first, to whom it would go": {log: map[string]error{addressA: refused}, outcome: event.Unconfirmed,
			events: []string{asked(addressA, event.AskLog, event.AnswerUnknown), noLog(addressB), mayHave(addressA)}},
		"the first is silent": {log: map[string]error{addressA: silent}, outcome: event.Unconfirmed, events: []string{mayHave(addressA)}},
		"there is no way to the first, nor was there for the route": {log: map[string]error{addressA: away}, beats: map[string]error{addressA: away}, outcome: event.Unconfirmed, events: []string{mayHave(addressA)}},
		"nobody is at the first, nor for the route": {log: map[string]error{addressA: refused}, beats: map[string]error{addressA: refused}, outcome: event.Open, sent: addressB,
			events: []string{asked(addressA, event.AskLog, event.AnswerUnknown), noLog(addressB), asked(addressA, event.AskBeat, event.AnswerUnknown), asked(addressB, event.AskBeat, event.AnswerYes), noLog(addressB)}},
		"the second is silent":              {log: map[string]error{addressB: silent}, outcome: event.Unconfirmed, events: []string{noLog(addressA), mayHave(addressB)}},
		"nobody is where it was to go":      {address: addressB, log: map[string]error{addressB: refused}, outcome: event.Unconfirmed, events: []string{mayHave(addressB)}},
		"the same, and twice is better":     {address: addressB, log: map[string]error{addressB: refused}, again: true, outcome: event.Unconfirmed, events: []string{mayHave(addressB)}},
		"nobody has it, nor is it wanted":   {kill: true, outcome: event.Killed, events: []string{noLog(addressA), noLog(addressB)}},
		"it may wait somewhere, and is not": {kill: true, busy: addressB, outcome: event.Open, sent: addressB, events: []string{noLog(addressA), noLog(addressB), busyAt(addressB), noLog(addressB), busyAt(addressB)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) { alone(c); c.AskAfter = time.Hour }, addressA, addressB)
			job := b.addJob(func(p *db.InsertJobParams) {
				if tt.again {
					p.WhenLost = string(jobspec.WhenLostAgain)
				}
				if tt.beats != nil {
					p.ExecutorRouteStrategy = jobspec.RouteFailover
				}
			})
			b.executors.beat = func(a string) (wire.Answer, error) {
				if err := tt.beats[a]; err != nil {
					return wire.Answer{}, err
				}
				return yes, nil
			}
			dead := db.Node{Name: "dead", ID: b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, Address: tt.address})}
			id := b.runsOf(job)[0].ID
			if tt.knows != "" {
				b.executors.has[id] = tt.knows
			}
			b.executors.log = func(a string) error { return tt.log[a] }
			b.executors.idle = func(a string) (wire.Answer, error) {
				if tt.kill {
					b.engine.pending.kill(id, "ada")
				}
				if err := tt.idle[a]; err != nil {
					return wire.Answer{}, err
				}
				if a == tt.busy {
					return wire.Answer{Code: wire.CodeFail, Msg: "busy"}, nil
				}
				return yes, nil
			}
			if err := b.engine.takeOver(t.Context(), dead); err != nil {
				t.Fatal(err)
			}
			b.await("it is settled", func() bool { return b.run(id).TriggerCode != 0 })
			if r := b.run(id); r.Outcome != tt.outcome && (!tt.kill || r.Outcome != event.Killed) {
				t.Errorf("it is %v, want %v: %s", r.Outcome, tt.outcome, b.eventsOf(id))
			}
			if r := b.run(id); tt.knows != "" && string(r.ExecutorAddress) != tt.knows {
				t.Errorf("it is at %s", r.ExecutorAddress)
			}
			sent := ""
			for _, r := range b.executors.received() {
				if r.req.LogID == id {
					sent += r.to.Address
				}
			}
			if sent != tt.sent {
				t.Errorf("sent to %q, want %q", sent, tt.sent)
			}
			tells := map[event.Key]func(e event.Event) string{
				event.Asked:   func(e event.Event) string { return asked(e.Text(0), e.Text(1), e.Text(2)) },
				event.MayHave: func(e event.Event) string { return mayHave(e.Text(0)) },
				event.Known:   func(e event.Event) string { return "known " + e.Text(0) + " " + e.Text(1) },
			}
			var said []string
			for _, e := range b.events(id) {
				if tell := tells[e.Key]; tell != nil {
					said = append(said, tell(e))
				}
			}
			if !slices.Equal(said, tt.events) {
				t.Errorf("it says %q, want %q", said, tt.events)
			}
			if n, want := len(b.runsOf(job)), map[bool]int{false: 1, true: 2}[tt.again]; n != want {
				t.Errorf("%d attempts, want %d", n, want)
			}
		})
	}
}
