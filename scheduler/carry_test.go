package scheduler

import (
	"database/sql"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// TestAResultTakesItsSendingAlong finishes runs whose sendings are not written yet. The engine is not started: each write is made by hand.
func TestAResultTakesItsSendingAlong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  string  // of the row before the result is written
		groups  []int64 // the only ones that the reporter may speak for
		trigger int64   // what the row then says of the sending
		result  int64
		carried float64
		told    int  // how often a webhook is told that it was sent
		quick   bool // the result came before the answer to the request
	}{
		{"an open run", "", nil, 200, 200, 1, 1, false},
		{"a quick one", "", nil, 200, 200, 1, 1, true},
		{"another admin has it", "owner_node = 77", nil, 0, 200, 0, 0, false},
		{"it is recorded as not sent", "trigger_code = 500", nil, 500, 200, 0, 0, false},
		{"the result is another group's", "", []int64{99}, 200, 0, 0, 1, false},
		{"it has a result already", "handle_code = 500, outcome = 2", nil, 200, 500, 0, 0, false},
		{"somebody wants it ended", "kill_asked_at = 5", nil, 200, 200, 1, 1, false},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		webhooks, err := webhook.New(webhook.Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Key: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().InsertWebhook(t.Context(), pool, db.InsertWebhookParams{Name: "sent", Types: string(webhook.RunSent), State: string(webhook.On)}); err != nil {
			t.Fatal(err)
		}
		if err := webhooks.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tt := range tests {
			e, err := New(Config{Pool: pool, Executors: &fakeExecutors{}, Name: "admin-1", Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Webhooks: webhooks})
			if err != nil {
				t.Fatal(err)
			}
			j := &job{id: 1, group: 1, handler: "handler", route: jobspec.RouteRound, block: "SERIAL_EXECUTION"}
			runs := e.newRuns(j, cause{trigger: jobspec.TriggerCron, planned: time.Now(), given: []string{addressA}})
			d := runs[0]
			d.owner = 5
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return e.insert(t.Context(), tx, runs) }); err != nil {
				t.Fatal(err)
			}
			e.pending.add(d)
			if !e.carrier.wait(recorded(e, d)) || e.carrier.wait(recorded(e, d)) {
				t.Fatal("of two outcomes the first waits")
			}
			if tt.change != "" {
				if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET "+tt.change+" WHERE id = ?", d.id); err != nil {
					t.Fatal(err)
				}
			}
			var writers sync.WaitGroup
			e.work = t.Context()
			e.recorder.start(t.Context(), 1, &writers)
			reply := &reply{left: make(chan error, 1)}
			result := finishing{id: d.id, code: wire.CodeSuccess, groups: tt.groups, reply: reply}
			if !tt.quick {
				result.sending = e.carrier.take(d.id)
			}
			e.finishBatch(t.Context(), []finishing{result})
			if err := <-reply.left; err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			e.recorder.stop()
			writers.Wait()
			row, err := db.New().GetRun(t.Context(), pool, d.id)
			if err != nil {
				t.Fatal(err)
			}
			if killed := row.Outcome == event.Killed; killed != (row.KillAskedAt > 0) {
				t.Errorf("%s: ended as %s", tt.name, row.Outcome)
			}
			if row.TriggerCode != tt.trigger || row.HandleCode != tt.result {
				t.Errorf("%s: sent %d and ended %d, want %d and %d", tt.name, row.TriggerCode, row.HandleCode, tt.trigger, tt.result)
			}
			if _, sent := event.Parse(string(row.Events)).Last(event.Sent); sent != (tt.trigger == 200) || sent != (row.SentAt > 0) {
				t.Errorf("%s: sent at %d, and its events say: %s", tt.name, row.SentAt, row.Events)
			}
			var told int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_webhook_delivery WHERE log_id = ?", d.id).Scan(&told); err != nil || told != tt.told {
				t.Errorf("%s: a webhook is told %d times that it was sent, want %d, %v", tt.name, told, tt.told, err)
			}
			if n := counter(t, e, "record_carried_total", ""); n != tt.carried {
				t.Errorf("%s: %v sendings went with results, want %v", tt.name, n, tt.carried)
			}
			if n := e.pending.len() + e.carrier.len(); n != 0 {
				t.Errorf("%s: %d are taken for unwritten still", tt.name, n)
			}
		}
	})
}

// TestSendingsWaitLongerWhileResultsDo: theirs may be among them.
func TestSendingsWaitLongerWhileResultsDo(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{CarryFor: time.Second}, finisher: quietFinisher()}
	e.finisher.stopc = make(chan struct{})
	want := func(when string, want time.Duration) {
		t.Helper()
		if got := e.carryNow(); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	want("when all is quiet", time.Second)
	for range db.MaxBatch {
		if err := e.finisher.add(t.Context(), finishing{}); err != nil {
			t.Fatal(err)
		}
	}
	want("while a batch of results waits", carryCrowded*time.Second)
	e.draining.Store(true)
	want("when the program stops", 0)
}

func TestASendingWaitsForItsResultForAWhileOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCarrier()
		one, two := &outcome{d: &dispatch{id: 1}}, &outcome{d: &dispatch{id: 2}}
		c.wait(one)
		time.Sleep(carryFor / 2)
		c.wait(two)
		if due, more := c.due(carryFor); len(due) != 0 || !more {
			t.Errorf("too early: %d are due, more %t", len(due), more)
		}
		time.Sleep(carryFor / 2)
		if due, more := c.due(carryFor); len(due) != 1 || due[0] != one || !more {
			t.Errorf("the first: %d are due, more %t", len(due), more)
		}
		if c.take(1) != nil || c.take(2) != two || c.take(2) != nil {
			t.Error("what is due cannot be taken, and what waits can be once")
		}
		if due, more := c.due(0); len(due) != 0 || more {
			t.Errorf("what was taken is not due: %d, more %t", len(due), more)
		}
	})
}

// TestWhichSendingsWaitForAResult: those that came to an executor, and no other, since something follows from the rest.
func TestWhichSendingsWaitForAResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sent db.Sent
		want bool
	}{
		{db.Sent{Code: wire.CodeSuccess, Outcome: event.Open}, true},
		{db.Sent{Code: wire.CodeSuccess, Outcome: event.Cancelled}, false},
		{db.Sent{Code: wire.CodeFail, Outcome: event.Open}, false},
		{db.Sent{Code: wire.CodeFail, Outcome: event.NotSent}, false},
	} {
		if got := (&outcome{sent: tt.sent}).calm(); got != tt.want {
			t.Errorf("%d, %v: %t", tt.sent.Code, tt.sent.Outcome, got)
		}
	}
}

// TestWhatAResultTakesAlong: the sending by the owner of a row that says nothing of one yet.
func TestWhatAResultTakesAlong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		owner int64 // that sent it; 0: nobody did
		row   db.ListRunsToEndRow
		want  bool
	}{
		"its own row":                   {3, db.ListRunsToEndRow{OwnerNode: 3}, true},
		"another's by now":              {3, db.ListRunsToEndRow{OwnerNode: 4}, false},
		"one that says what came of it": {3, db.ListRunsToEndRow{OwnerNode: 3, TriggerCode: 500}, false},
		"one that nobody owns":          {0, db.ListRunsToEndRow{}, false},
		"one of an XXL-JOB admin":       {-1, db.ListRunsToEndRow{OwnerNode: -1}, false},
	} {
		f := &finishing{sending: &outcome{d: &dispatch{owner: tt.owner}, sent: db.Sent{Code: wire.CodeSuccess, At: 7, Address: addressA}}}
		f.carry(&tt.row)
		if got := f.along != nil; got != tt.want || (tt.row.SentAt == 7) != tt.want || (string(tt.row.ExecutorAddress) == addressA) != tt.want {
			t.Errorf("%s: %t, the row is %+v", name, got, tt.row)
		}
	}
	row := db.ListRunsToEndRow{OwnerNode: 3}
	if none := new(finishing); none.carried(&row) != nil {
		t.Error("a result without a sending takes one along")
	}
}
