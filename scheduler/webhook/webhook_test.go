package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// got is an event as a receiver had it.
type got struct {
	ID, Type, Subject string
	Status            int // that it was answered with
}

// receiver is a program that is told.
type receiver struct {
	t      *testing.T
	secret string
	server *httptest.Server
	// answer says what to answer; nil: 204.
	answer func(e envelope) int
	header http.Header

	mu     sync.Mutex
	events []got
	bodies []envelope
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, secret: NewSecret()}
	r.server = executortest.NewServer(t, r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	verify, err := standard.NewWebhook(r.secret)
	if err != nil {
		r.t.Error(err)
		return
	}
	if err := verify.VerifyIgnoringTimestamp(body, req.Header); err != nil {
		r.t.Errorf("the signature: %v", err)
	}
	if err := verify.VerifyIgnoringTimestamp(append(body, ' '), req.Header); err == nil {
		r.t.Error("the signature holds for another body too")
	}
	if kind := req.Header.Get("Content-Type"); kind != "application/cloudevents+json; charset=utf-8" || req.Method != http.MethodPost {
		r.t.Errorf("%s with %s", req.Method, kind)
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		r.t.Errorf("%s: %v", body, err)
	}
	if e.ID != req.Header.Get("webhook-id") || e.SpecVersion != "1.0" {
		r.t.Errorf("id %s, header %v", e.ID, req.Header)
	}
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(e)
	}
	r.mu.Lock()
	r.events, r.bodies = append(r.events, got{e.ID, e.Type, e.Subject, status}), append(r.bodies, e)
	r.mu.Unlock()
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(status)
	if status >= 400 {
		fmt.Fprintf(w, "no\n  thanks")
	}
}

// take gives what came since the last time, in its order.
func (r *receiver) take() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// subjects are those of what came, sorted, with their types' last words.
func (r *receiver) subjects() []string {
	list := []string{}
	for _, e := range r.take() {
		list = append(list, fmt.Sprint(e.Subject, " ", e.Type[strings.LastIndexByte(e.Type, '.')+1:], " ", e.Status))
	}
	slices.Sort(list)
	return list
}

// bench is a service on a database with a clock of its own.
type bench struct {
	t    *testing.T
	pool *db.Pool
	now  atomic.Int64
	s    *Service
}

func newBench(t *testing.T, pool *db.Pool, change func(*Config)) *bench {
	b := &bench{t: t, pool: pool}
	b.now.Store(noon.UnixNano())
	b.s = b.service(change)
	return b
}

func (b *bench) service(change func(*Config)) *Service {
	cfg := Config{
		Pool: b.pool, Logger: slog.New(slog.DiscardHandler), Key: make([]byte, 32), Now: func() time.Time { return time.Unix(0, b.now.Load()) },
		Source: func() string { return "https://punctual.test" }, RunLink: func(id int64) string { return fmt.Sprintf("https://punctual.test/runs/%d", id) },
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) pass(d time.Duration) { b.now.Add(int64(d)) }

// hook makes a webhook to a receiver.
func (b *bench) hook(r *receiver, change func(*db.InsertWebhookParams)) int64 {
	b.t.Helper()
	sealed, err := b.s.Close(Settings{URL: r.server.URL + "/in?token=hush", Secret: r.secret})
	if err != nil {
		b.t.Fatal(err)
	}
	row := db.InsertWebhookParams{Name: r.server.URL, Config: sealed, State: string(On), UpdatedAt: 1}
	if change != nil {
		change(&row)
	}
	id, err := b.s.queries.InsertWebhook(b.t.Context(), b.pool, row)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.s.Reload(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// write puts events down, each in a transaction of its own.
func (b *bench) write(events ...Event) {
	b.t.Helper()
	for _, e := range events {
		e.At = b.s.cfg.Now()
		if err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error { return b.s.Write(b.t.Context(), tx, e) }); err != nil {
			b.t.Fatal(err)
		}
	}
}

// look has a service send what it may send now.
func (b *bench) look(s *Service) {
	b.t.Helper()
	if err := s.look(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	s.sends.Wait()
}

func (b *bench) row(id int64) db.Webhook {
	b.t.Helper()
	row, err := b.s.queries.GetWebhook(b.t.Context(), b.pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

func (b *bench) count(id, state int64) int64 {
	b.t.Helper()
	n, err := b.s.queries.CountDeliveries(b.t.Context(), b.pool, db.CountDeliveriesParams{WebhookID: id, State: state, Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// deliveries are those of a webhook in a state, the newest first, but for those that were refused.
func (b *bench) deliveries(id, state int64) []db.WebhookDelivery {
	b.t.Helper()
	rows, err := b.s.queries.ListDeliveries(b.t.Context(), b.pool, db.ListDeliveriesParams{WebhookID: id, State: state, Below: 1 << 60, Limit: 2000})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

func sent(run int64) Event { return Event{Type: RunSent, Group: 1, Job: 7, Run: run} }
func finished(run int64) Event {
	return Event{Type: RunFinished, Group: 1, Job: 7, Run: run, Outcome: event.Failed, Code: 500, Again: true}
}

func TestEventsAreSignedAndInOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		for run := range int64(40) {
			b.write(sent(run + 1))
		}
		for run := range int64(40) {
			b.write(finished(run + 1))
		}
		b.look(b.s)
		if n := b.count(id, Taken); n != 80 || b.count(id, Waiting) != 0 {
			t.Errorf("%d were taken, %d wait", n, b.count(id, Waiting))
		}
		seen, all := make(map[string]int), r.take()
		for _, e := range all {
			want := []string{string(RunSent), string(RunFinished)}[seen[e.Subject]]
			if seen[e.Subject]++; e.Type != want {
				t.Errorf("%s: %s came where %s should", e.Subject, e.Type, want)
			}
		}
		if len(all) != 80 || len(seen) != 40 {
			t.Errorf("%d events came of %d runs", len(all), len(seen))
		}
		var e envelope
		for _, body := range r.bodies {
			if body.Type == string(RunFinished) && body.Subject == "runs/5" {
				e = body
			}
		}
		at := noon
		want := envelope{
			SpecVersion: "1.0", ID: e.ID, Source: "https://punctual.test", Type: "punctual.run.finished", Time: "2026-03-02T12:00:00Z", Subject: "runs/5", DataContentType: "application/json",
			Data: data{
				Run: &runData{ID: 5, State: "failed", Code: 500, Again: true, Finished: &at, URL: "https://punctual.test/runs/5"},
				Job: &jobData{ID: 7}, Group: &groupData{ID: 1},
			},
		}
		want.Data.Group.App = e.Data.Group.App // what the seed calls it
		if diff := cmp.Diff(want, e); diff != "" {
			t.Error(diff)
		}
		if row := b.row(id); row.LastOkAt == 0 || row.Failures != 0 {
			t.Errorf("%+v", row)
		}
	})
}

// TestAnEventFollowsOneOnRecord says that an admin that dies at any moment has told nothing of which an earlier event would come again after
// it.
func TestAnEventFollowsOneOnRecord(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		b.write(sent(1), sent(2), finished(1), Event{Type: JobStopped, Group: 1, Job: 7}, Event{Type: JobStarted, Group: 1, Job: 7}, finished(2))
		r.answer = func(e envelope) int {
			switch e.Type {
			case string(RunFinished), string(JobStarted):
				if taken := b.count(id, Taken); taken != 3 {
					t.Errorf("%s of %s came when %d of the three before were on record", e.Type, e.Subject, taken)
				}
			}
			return http.StatusNoContent
		}
		b.look(b.s)
		if all := r.take(); len(all) != 6 || b.count(id, Waiting) != 0 {
			t.Errorf("%v came, %d wait", all, b.count(id, Waiting))
		}
	})
}

// TestNoEventHasTheIDOfAForgottenOne: a database that was restored, or a replica that was behind, gives the same numbers again, and the
// receiver remembers which ids it has had.
func TestNoEventHasTheIDOfAForgottenOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		b.hook(r, nil)
		had := make(map[string]bool)
		for range 3 {
			b.write(sent(1))
			b.look(b.s)
			var number int64
			if err := pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM punctual_webhook_delivery").Scan(&number); err != nil || number != 1 {
				t.Fatalf("delivery %d: %v", number, err)
			}
			for _, e := range r.take() {
				if had[e.ID] {
					t.Errorf("%s comes once more", e.ID)
				}
				had[e.ID] = true
			}
			forget := []string{"DELETE FROM punctual_webhook_delivery", "ALTER TABLE punctual_webhook_delivery AUTO_INCREMENT = 1"}
			if pool.Dialect() == db.SQLite {
				forget[1] = "DELETE FROM sqlite_sequence WHERE name = 'punctual_webhook_delivery'"
			}
			for _, statement := range forget {
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			b.pass(time.Minute)
		}
		if len(had) != 3 {
			t.Errorf("%d events came, want 3", len(had))
		}
	})
}

// TestAReceiverThatIsDown is left alone for longer each time, then tried with one event, and has all of them in the end.
func TestAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusServiceUnavailable }
		for run := range int64(20) {
			b.write(finished(run + 1))
		}
		rests := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}
		for i, rest := range rests {
			b.look(b.s)
			if events := r.take(); i == 0 && (len(events) == 0 || len(events) > b.s.cfg.Parallel) || i > 0 && len(events) != 1 {
				t.Fatalf("try %d: %d events were sent", i, len(events))
			}
			b.pass(rest - time.Millisecond)
			b.look(b.s)
			if events := r.take(); len(events) != 0 {
				t.Fatalf("it did not rest for %s: %v", rest, events)
			}
			b.pass(time.Millisecond)
		}
		row := b.row(id)
		if row.Failures != 3 || row.FailingSince != noon.UnixMilli() || row.LastReason != string(Answered) || row.LastStatus != 503 {
			t.Errorf("%+v", row)
		}
		r.header = http.Header{"Retry-After": {"600"}}
		b.look(b.s)
		r.take()
		b.pass(10*time.Minute - time.Second)
		r.answer = nil
		b.look(b.s)
		if events := r.take(); len(events) != 0 {
			t.Errorf("it was to come again in ten minutes: %v", events)
		}
		b.pass(time.Second)
		b.look(b.s)
		events := r.take()
		ids := make(map[string]bool)
		for _, e := range events {
			ids[e.ID] = true
		}
		if len(events) != 20 || len(ids) != 20 || b.count(id, Waiting) != 0 {
			t.Errorf("%d events came, %d of them different; %d wait", len(events), len(ids), b.count(id, Waiting))
		}
		if row := b.row(id); row.Failures != 0 || row.FailingSince != 0 || row.LastReason != "" {
			t.Errorf("it is well again: %+v", row)
		}
		// Nobody listens at all.
		r.server.Close()
		b.write(finished(99))
		b.look(b.s)
		if row := b.row(id); row.LastReason != string(Unreached) || b.count(id, Waiting) != 1 {
			t.Errorf("%+v", row)
		}
	})
}

// TestAClockThatIsPutBackHoldsUpNoEvent: a receiver that rests, and an event that was refused, until a time that is a day off now, are sent to at once.
func TestAClockThatIsPutBackHoldsUpNoEvent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, status := range []int{http.StatusServiceUnavailable, http.StatusUnprocessableEntity} {
			b, r := newBench(t, pool, nil), newReceiver(t)
			id := b.hook(r, nil)
			r.answer = func(envelope) int { return status }
			b.write(finished(1))
			b.pass(24 * time.Hour)
			b.look(b.s)
			if n := len(r.take()); n != 1 {
				t.Fatalf("%d: %d events were sent", status, n)
			}
			b.pass(-24 * time.Hour)
			r.answer = nil
			b.look(b.s)
			if n := len(r.take()); n != 1 || b.count(id, Waiting) != 0 {
				t.Errorf("%d: when the clock is put back %d are sent, and %d wait", status, n, b.count(id, Waiting))
			}
		}
	})
}

// TestAKeptConnectionAtItsEnd says nothing about the receiver: it is asked once more over another one, about the same event.
func TestAKeptConnectionAtItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var mu sync.Mutex
		had := make(map[string][]string) // by connection
		server := executortest.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			mu.Lock()
			defer mu.Unlock()
			if had[r.RemoteAddr] = append(had[r.RemoteAddr], r.Header.Get(standard.HeaderWebhookID)); len(had[r.RemoteAddr]) == 1 {
				return
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		}))
		t.Cleanup(server.Close)
		b := newBench(t, pool, nil)
		to := &Settings{URL: server.URL, Secret: NewSecret()}
		signers, err := to.signers(noon)
		if err != nil {
			t.Fatal(err)
		}
		for id := range int64(2) {
			if got := b.s.send(t.Context(), to, signers, &db.WebhookDelivery{ID: id + 1, Type: string(WebhookTest)}, &about{}); got.status != http.StatusOK {
				t.Errorf("event %d: %+v", id+1, got)
			}
		}
		first, second := EventID(1, 0), EventID(2, 0)
		if got := slices.SortedFunc(maps.Values(had), func(a, b []string) int { return len(b) - len(a) }); !cmp.Equal(got, [][]string{{first, second}, {second}}) {
			t.Errorf("by connection: %v", got)
		}
	})
}

// TestAReceiverThatClosesEachConnection is asked about an event over a kept one and a new one, however many are kept.
func TestAReceiverThatClosesEachConnection(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const kept = 4
		var asked atomic.Int64
		answer := make(chan struct{})
		server := executortest.NewServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if n := asked.Add(1); n > kept {
				panic(http.ErrAbortHandler)
			} else if n == kept {
				close(answer)
			}
			<-answer
		}))
		t.Cleanup(server.Close)
		b := newBench(t, pool, nil)
		to := &Settings{URL: server.URL, Secret: NewSecret()}
		signers, err := to.signers(noon)
		if err != nil {
			t.Fatal(err)
		}
		send := func(id int64) result {
			return b.s.send(t.Context(), to, signers, &db.WebhookDelivery{ID: id, Type: string(WebhookTest)}, &about{})
		}
		var sending sync.WaitGroup
		for id := range int64(kept) {
			sending.Go(func() {
				if got := send(id + 1); got.status != http.StatusOK {
					t.Errorf("event %d: %+v", id+1, got)
				}
			})
		}
		sending.Wait()
		if got := send(kept + 1); got.reason != Broken || asked.Load() > kept+2 {
			t.Errorf("%+v, asked %d times", got, asked.Load()-kept)
		}
	})
}

// TestWhyThereWasNoAnswer: an event that was sent and not answered may have arrived, which one that nobody could be sent has not.
func TestWhyThereWasNoAnswer(t *testing.T) {
	t.Parallel()
	plain := executortest.NewServer(t, http.NotFoundHandler())
	t.Cleanup(plain.Close)
	shut := executortest.NewServer(t, http.NotFoundHandler())
	shut.Close()
	// raw is the address of a receiver that reads a request and answers with bytes of its own.
	raw := func(answer string) string {
		server := executortest.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		for name, tt := range map[string]struct {
			url  string
			want Reason
		}{
			"nobody listens":         {shut.URL, Unreached},
			"it closes":              {raw(""), Broken},
			"it breaks off":          {raw("HTTP/1.1 200 OK\r\nContent-"), Broken},
			"it does not speak HTTP": {raw("220 mail.example.com ESMTP\r\n"), Broken},
			"its header has no end":  {raw("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 1<<20)), Broken},
			"it speaks no TLS":       {strings.Replace(plain.URL, "http:", "https:", 1), TLS},
		} {
			to := &Settings{URL: tt.url, Secret: NewSecret()}
			signers, err := to.signers(noon)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.s.send(t.Context(), to, signers, &db.WebhookDelivery{ID: 1, Type: string(WebhookTest)}, &about{}); got.reason != tt.want || got.status != 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

// TestARefusedEvent holds back only what is about the same run, is given up in the end, and can be sent again.
func TestARefusedEvent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.Tries = 2 })
		r := newReceiver(t)
		id := b.hook(r, nil)
		refuse := true
		r.answer = func(e envelope) int {
			if refuse && e.Subject == "runs/1" && e.Type == string(RunSent) {
				return http.StatusUnprocessableEntity
			}
			return http.StatusOK
		}
		b.write(sent(1), sent(2), finished(1), finished(2))
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/1 sent 422", "runs/2 finished 200", "runs/2 sent 200"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
		b.write(finished(3))
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/3 finished 200"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
		b.pass(10 * time.Second)
		b.look(b.s)
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/1 finished 200", "runs/1 sent 422"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
		if n := b.count(id, GivenUp); n != 1 || b.row(id).Failures != 0 {
			t.Errorf("%d were given up, the webhook: %+v", n, b.row(id))
		}
		var rows []db.WebhookDelivery
		rows, err := b.s.queries.ListDeliveries(t.Context(), pool, db.ListDeliveriesParams{WebhookID: id, State: GivenUp, Below: 1 << 60, Limit: 10})
		if err != nil || len(rows) != 1 || rows[0].Tries != 2 || rows[0].Status != 422 || rows[0].Reason != string(Refused) || rows[0].Answer != "no thanks" {
			t.Fatalf("%+v %v", rows, err)
		}
		refuse = false
		if n, err := b.s.queries.SendGivenUpAgain(t.Context(), pool, id); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/1 sent 200"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAReceiverThatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusGone }
		b.write(finished(1))
		b.look(b.s)
		if state := b.row(id).State; state != string(Gone) {
			t.Errorf("it is %s", state)
		}
		r.take()
		b.pass(time.Hour)
		b.look(b.s)
		b.write(finished(2))
		b.look(b.s)
		if events := r.take(); len(events) != 0 || b.count(id, Waiting) != 1 {
			t.Errorf("%v; %d wait", events, b.count(id, Waiting))
		}
		// What it said that of waits for whoever switches the webhook on again.
		h := b.row(id)
		if n, err := b.s.queries.UpdateWebhook(t.Context(), pool, db.UpdateWebhookParams{ID: id, Name: h.Name, Config: h.Config, State: string(On), UpdatedAt: h.UpdatedAt + 1, Version: h.UpdatedAt}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		r.answer = nil
		b.look(b.s)
		if events := r.take(); len(events) != 1 || events[0].Subject != "runs/1" || b.count(id, Taken) != 1 {
			t.Errorf("%v when it was switched on again", events)
		}
	})
}

// TestWhatIsBeingSentIsNotSentAgain: whoever asks for that is told that it waits, until it was taken; then it comes with the same id.
func TestWhatIsBeingSentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		b.write(finished(1))
		row := b.deliveries(id, Waiting)[0]
		again := func() int64 {
			n, err := b.s.queries.SendDeliveryAgain(t.Context(), pool, db.SendDeliveryAgainParams{ID: row.ID, WebhookID: id})
			if err != nil {
				t.Error(err)
			}
			return n
		}
		var begun []int64
		r.answer = func(envelope) int {
			begun = append(begun, again())
			return http.StatusNoContent
		}
		b.look(b.s)
		b.look(b.s)
		if n := again(); n != 1 {
			t.Errorf("%d are sent again that were taken", n)
		}
		b.look(b.s)
		b.look(b.s)
		all := r.take()
		if len(all) != 2 || all[0].ID != all[1].ID || !slices.Equal(begun, []int64{0, 0}) || b.count(id, Taken) != 1 {
			t.Errorf("%v came, %v were begun while they were sent", all, begun)
		}
	})
}

// TestOtherWebhooksTakeNoRoom has events of one webhook lie between those that wait for another.
func TestOtherWebhooksTakeNoRoom(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.MaxWaiting = 9 })
		away, there := newReceiver(t), newReceiver(t)
		away.answer = func(envelope) int { return http.StatusInternalServerError }
		waits, other := b.hook(away, nil), b.hook(there, func(h *db.InsertWebhookParams) { h.Name = "other" })
		for run := range int64(12) {
			b.write(finished(run + 1))
			b.look(b.s)
			b.pass(countEvery)
		}
		if row := b.row(waits); row.Dropped != 2 || b.count(waits, Waiting) != 10 {
			t.Errorf("%d dropped, %d wait", row.Dropped, b.count(waits, Waiting))
		}
		if row := b.row(other); row.Dropped != 0 || len(there.take()) != 12 {
			t.Errorf("%d dropped of the other", row.Dropped)
		}
	})
}

// TestWhatIsDroppedDuringALookIsTold: who writes may go by what was known before it.
func TestWhatIsDroppedDuringALookIsTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.MaxWaiting = 1 })
		away := newReceiver(t)
		away.answer = func(envelope) int { return http.StatusInternalServerError }
		id := b.hook(away, nil)
		for run := range int64(4) {
			b.write(finished(run + 1))
		}
		b.pass(countEvery)
		b.look(b.s)
		before := b.s.listening.Load()
		b.look(b.s)
		after := b.s.listening.Swap(before)
		b.write(finished(9))
		b.s.listening.Store(after)
		b.look(b.s)
		if row := b.row(id); row.Dropped != 1 {
			t.Errorf("%d dropped, want 1", row.Dropped)
		}
	})
}

// TestANewWebhookIsKnownAtOnce, and one that was deleted is not listened for, whoever reads the webhooks meanwhile.
func TestANewWebhookIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		if err := b.s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer dbtest.Meanwhile(t, func() error { return b.s.Reload(t.Context()) })()
		there := newReceiver(t)
		for i := range 30 {
			id := b.hook(there, nil)
			for range 50 {
				if b.s.Idle() {
					t.Fatalf("nobody knows of webhook %d", i+1)
				}
				runtime.Gosched()
			}
			if _, err := b.s.queries.DeleteWebhook(t.Context(), pool, id); err != nil {
				t.Fatal(err)
			}
			if err := b.s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if !b.s.Idle() {
					t.Fatalf("webhook %d is listened for after its end", i+1)
				}
				runtime.Gosched()
			}
		}
	})
}

// TestTooMuchWaits counts what it does not keep, and tells the receiver so.
func TestTooMuchWaits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.MaxWaiting, c.KeepTaken = 9, 3 })
		r := newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusInternalServerError }
		for run := range int64(10) {
			b.write(finished(run + 1))
		}
		b.look(b.s) // it notes that the queue is full
		for run := range int64(5) {
			b.write(finished(run + 20))
		}
		b.look(b.s)
		if row := b.row(id); row.Dropped != 5 || b.count(id, Waiting) != 10 {
			t.Errorf("%d dropped, %d wait", row.Dropped, b.count(id, Waiting))
		}
		r.answer = nil
		r.take()
		b.pass(time.Minute)
		b.look(b.s)
		b.look(b.s) // there is room
		if n := len(r.take()); n != 11 {
			t.Errorf("%d came", n)
		}
		last := r.bodies[len(r.bodies)-1]
		for _, e := range r.bodies {
			if e.Type == string(WebhookDropped) {
				last = e
			}
		}
		if last.Data.Dropped == nil || last.Data.Dropped.Count != 5 || !last.Data.Dropped.Since.Equal(noon) {
			t.Errorf("%+v", last.Data.Dropped)
		}
		// What was taken is forgotten but for the newest, what waits too long is dropped.
		b.pass(time.Minute)
		b.look(b.s)
		if n := b.count(id, Taken); n != 3 {
			t.Errorf("%d that were taken are kept", n)
		}
		r.answer = func(envelope) int { return http.StatusInternalServerError }
		b.write(finished(50), finished(51))
		b.look(b.s)
		b.pass(73 * time.Hour)
		b.look(b.s)
		if row := b.row(id); row.Dropped != 7 || b.count(id, Waiting) != 1 {
			t.Errorf("%d dropped, %d wait", row.Dropped, b.count(id, Waiting))
		}
	})
}

// TestOneAdminSends has two services on one database: the one that holds a webhook sends, the other when that one is silent.
func TestOneAdminSends(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		other := b.service(nil)
		now := b.s.cfg.Now()
		if n, err := b.s.queries.HoldWebhook(t.Context(), pool, db.HoldWebhookParams{ID: id, Holder: b.s.holder(), LeaseUntil: now.Add(time.Minute).UnixMilli(), NowMs: now.UnixMilli()}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.write(finished(1)) // and then it is killed
		b.look(other)
		if events := r.take(); len(events) != 0 {
			t.Errorf("another admin sent %v", events)
		}
		b.pass(time.Minute + time.Millisecond)
		b.look(other)
		if events := r.take(); len(events) != 1 {
			t.Errorf("it was not taken over: %v", events)
		}
		b.look(b.s)
		if events := r.take(); len(events) != 0 {
			t.Errorf("it was sent twice: %v", events)
		}
	})
}

// TestALeaseEndsWithItsAdmin: when that is killed and is alone, or is declared gone, nobody waits for the rest of the time that it had taken.
func TestALeaseEndsWithItsAdmin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		join := func(name string) (*Service, int64) {
			t.Helper()
			id, err := b.s.queries.InsertNode(t.Context(), pool, db.InsertNodeParams{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			return b.service(func(c *Config) { c.Node = func() int64 { return id } }), id
		}
		one, node := join("one")
		two, _ := join("two")
		id := b.hook(r, nil)
		if n, err := b.s.queries.HoldWebhook(t.Context(), pool, one.lease(id, "", b.s.cfg.Now())); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.write(finished(1)) // and then it is killed
		b.look(two)
		if all := r.take(); len(all) != 0 {
			t.Fatalf("%v came from another admin, while the first one is not known to be gone", all)
		}
		if n, err := b.s.queries.RetireNode(t.Context(), pool, db.RetireNodeParams{ID: node, Beat: 1}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.look(two)
		if all := r.take(); len(all) != 1 {
			t.Errorf("%v came when it was", all)
		}
		// It only was slow, and is back under another id: the webhook is the other's.
		back, _ := join("one")
		b.write(finished(2))
		b.look(one)
		b.look(back)
		if all := r.take(); len(all) != 0 {
			t.Errorf("%v came from the first one", all)
		}
		b.look(two)
		if all := r.take(); len(all) != 1 {
			t.Errorf("%v came from the second one", all)
		}
	})
}

// TestAnAdminThatMayHaveBeenReplacedBeginsNothing: others may take over what it has leased.
func TestAnAdminThatMayHaveBeenReplacedBeginsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var ready atomic.Bool
		ready.Store(true)
		b, r := newBench(t, pool, func(c *Config) { c.Parallel, c.Ready = 1, ready.Load }), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int {
			ready.Store(false)
			return http.StatusNoContent
		}
		b.write(finished(1), finished(2))
		b.look(b.s)
		b.look(b.s)
		if all := r.take(); len(all) != 1 || b.count(id, Taken) != 1 || b.count(id, Waiting) != 1 {
			t.Errorf("%v came, %d are on record as taken", all, b.count(id, Taken))
		}
		ready.Store(true)
		b.look(b.s)
		if all := r.take(); len(all) != 1 || b.count(id, Waiting) != 0 {
			t.Errorf("%v came when it was sure of itself again", all)
		}
	})
}

// TestWhatAWebhookIsToldOf goes by types, groups and tags.
func TestWhatAWebhookIsToldOf(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		for id, tags := range map[int64]string{71: "night,pay", 72: "day"} {
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_info (id, job_group, job_desc, add_time, update_time, tags, schedule_type, misfire_strategy, glue_type) VALUES (?, 1, 'j', '2026-01-01 00:00:00', '2026-01-01 00:00:00', ?, 'NONE', 'DO_NOTHING', 'BEAN')", id, tags); err != nil {
				t.Fatal(err)
			}
		}
		types, groups, tags := newReceiver(t), newReceiver(t), newReceiver(t)
		b.hook(types, func(p *db.InsertWebhookParams) { p.Types = "punctual.run.finished,punctual.job.deleted" })
		b.hook(groups, func(p *db.InsertWebhookParams) { p.GroupIds = "2,3" })
		tagged := b.hook(tags, func(p *db.InsertWebhookParams) { p.Tags = "pay" })
		b.write(
			Event{Type: RunSent, Group: 1, Job: 71, Run: 1}, Event{Type: RunFinished, Group: 1, Job: 71, Run: 1, Outcome: event.Succeeded, Code: 200},
			Event{Type: RunFinished, Group: 2, Job: 72, Run: 2, Outcome: event.Skipped}, Event{Type: JobDeleted, Group: 3, Job: 9, Facts: Facts{Name: "old", By: "ann"}},
			Event{Type: ExecutorRegistered, Group: 2, Facts: Facts{Address: "http://10.0.0.1:9999/", App: "orders"}},
			Event{Type: JobUpdated, Group: 1, From: 2, Job: 72}, Event{Type: JobUpdated, Group: 1, Job: 73},
		)
		b.look(b.s)
		for name, tt := range map[string]struct {
			r    *receiver
			want []string
		}{
			"types":  {types, []string{"jobs/9 deleted 204", "runs/1 finished 204", "runs/2 finished 204"}},
			"groups": {groups, []string{"groups/2 registered 204", "jobs/72 updated 204", "jobs/9 deleted 204", "runs/2 finished 204"}}, // also of what leaves one
			"tags":   {tags, []string{"runs/1 finished 204", "runs/1 sent 204"}},
		} {
			if diff := cmp.Diff(tt.want, tt.r.subjects()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if n := b.count(tagged, Waiting) + b.count(tagged, Taken); n != 2 {
			t.Errorf("%d deliveries are kept of the webhook with a tag", n)
		}
		for _, e := range groups.bodies {
			if e.Type == string(ExecutorRegistered) && (e.Data.Executor == nil || e.Data.Executor.Address != "http://10.0.0.1:9999/") {
				t.Errorf("%+v", e.Data)
			}
			if e.Type == string(JobDeleted) && (e.Data.Job.Name != "old" || e.Data.By != "ann") {
				t.Errorf("%+v", e.Data)
			}
		}
	})
}

// TestTagsAreThoseOfTheTime has a job lose its tags, and go, before what was told of it is sent.
func TestTagsAreThoseOfTheTime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		job := func(id int64, tags string) {
			exec("INSERT INTO xxl_job_info (id, job_group, job_desc, add_time, update_time, tags, schedule_type, misfire_strategy, glue_type) VALUES (?, 1, 'j', '2026-01-01 00:00:00', '2026-01-01 00:00:00', ?, 'NONE', 'DO_NOTHING', 'BEAN')", id, tags)
		}
		job(71, "night,pay")
		job(72, "day")
		r, all := newReceiver(t), newReceiver(t)
		id := b.hook(r, func(p *db.InsertWebhookParams) { p.Tags = "pay,tax" })
		plain := b.hook(all, nil)
		b.write(Event{Type: RunFinished, Group: 1, Job: 71, Run: 1, Outcome: event.Succeeded, Code: 200}, Event{Type: RunFinished, Group: 1, Job: 72, Run: 2, Outcome: event.Succeeded, Code: 200})
		exec("UPDATE xxl_job_info SET tags = '' WHERE id = 71")
		long := Facts{Name: strings.Repeat("界", 255), By: strings.Repeat("人", 64), Tags: "pay"} // more than a row holds
		b.write(Event{Type: JobUpdated, Group: 1, Job: 71, Facts: long}, Event{Type: RunFinished, Group: 1, Job: 71, Run: 3, Outcome: event.Succeeded, Code: 200})
		exec("DELETE FROM xxl_job_info WHERE id IN (71, 72)")
		b.write(Event{Type: JobDeleted, Group: 1, Job: 71, Facts: Facts{Name: "old", Tags: "tax"}}, Event{Type: JobDeleted, Group: 1, Job: 72, Facts: Facts{Name: "day", Tags: "day"}})
		if n := b.count(id, Waiting); n != 3 {
			t.Errorf("%d events wait, and three are wanted", n)
		}
		for range 3 { // one of a job at a time
			b.look(b.s)
		}
		if diff := cmp.Diff([]string{"jobs/71 deleted 204", "jobs/71 updated 204", "runs/1 finished 204"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
		for _, e := range r.bodies {
			if e.Type == string(JobDeleted) && e.Data.Job.Name != "old" {
				t.Errorf("%+v", e.Data.Job)
			}
		}
		var rows int64
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_webhook_delivery WHERE webhook_id = ? AND facts LIKE '%tags%'", plain).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d rows of a webhook that asks for no tags have some (%v)", rows, err)
		}

		// One that asks for other tags by the time is not told by those of before.
		job(73, "pay")
		b.write(Event{Type: JobStarted, Group: 1, Job: 73})
		exec("UPDATE punctual_webhook SET tags = 'tax' WHERE id = ?", id)
		b.look(b.s)
		if n := len(r.take()); n != 0 {
			t.Errorf("%d events came", n)
		}
	})
}

func TestAnAddressInsideIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.DenyPrivate = func() bool { return true } })
		r := newReceiver(t)
		id := b.hook(r, nil)
		b.write(finished(1))
		b.look(b.s)
		if reason := b.row(id).LastReason; reason != string(Private) || len(r.take()) != 0 {
			t.Errorf("it ended with %q", reason)
		}
	})
}

// TestSettingsOfAnotherKey leaves what waits where it is.
func TestSettingsOfAnotherKey(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		b.write(finished(1))
		fresh := slices.Repeat([]byte{9}, 32)
		other := b.service(func(c *Config) { c.Key = fresh })
		b.look(other)
		if row := b.row(id); row.LastReason != string(Sealed) || b.count(id, Waiting) != 1 {
			t.Errorf("%+v", row)
		}
		b.pass(time.Hour)
		if left, err := Reseal(t.Context(), pool, make([]byte, 32), fresh); err != nil || left != 0 {
			t.Fatal(left, err)
		}
		b.look(other)
		if events := r.take(); len(events) != 1 {
			t.Errorf("%v", events)
		}
		if text := b.row(id).Config; strings.Contains(text, "hush") || strings.Contains(text, r.secret) {
			t.Error("the settings are not sealed")
		}
	})
}

// TestTheSecretBeforeSignsToo lets a receiver change its secret in its own time.
func TestTheSecretBeforeSignsToo(t *testing.T) {
	t.Parallel()
	s := Settings{Secret: NewSecret(), Old: NewSecret(), OldUntil: noon}
	for at, want := range map[time.Time]int{noon.Add(-time.Second): 2, noon: 1} {
		if signers, err := s.signers(at); err != nil || len(signers) != want {
			t.Errorf("%s: %d signers, %v", at, len(signers), err)
		}
	}
}

// TestAChangeCountsForWhatWaits: while many events wait, what somebody changes counts from the next one on, and not only once all are sent.
func TestAChangeCountsForWhatWaits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for what, state := range map[string]State{"switched off": Off, "deleted": Deleted, "sent elsewhere": On} {
			b := newBench(t, pool, nil)
			r, elsewhere := newReceiver(t), newReceiver(t)
			elsewhere.secret = r.secret
			id := b.hook(r, nil)
			sealed, err := b.s.Close(Settings{URL: elsewhere.server.URL, Secret: r.secret})
			if err != nil {
				t.Fatal(err)
			}
			r.answer = func(envelope) int {
				if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_webhook SET state = ?, config = ?, updated_at = updated_at + 1 WHERE id = ?", string(state), sealed, id); err != nil {
					t.Error(err)
				}
				return http.StatusNoContent
			}
			for range 4 { // one after another, since they are about one job
				b.write(Event{Type: JobUpdated, Group: 1, Job: 7})
			}
			b.look(b.s)
			if n := len(r.take()); n != 1 {
				t.Errorf("%s: %d events were sent to where it was", what, n)
			}
			if n, want := len(elsewhere.take()), map[bool]int{true: 3}[state == On]; n != want {
				t.Errorf("%s: %d events were sent to the new address, want %d", what, n, want)
			}
		}
	})
}

// TestAnOldTryDoesNotHoldBackAChangedWebhook: that the former address fails says nothing of the one that somebody has just given.
func TestAnOldTryDoesNotHoldBackAChangedWebhook(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		b.write(finished(1))
		r.answer = func(envelope) int {
			h := b.row(id)
			if n, err := b.s.queries.UpdateWebhook(t.Context(), pool, db.UpdateWebhookParams{ID: id, Name: h.Name, Config: h.Config, State: h.State, UpdatedAt: h.UpdatedAt + 1, Version: h.UpdatedAt}); err != nil || n != 1 {
				t.Error(n, err)
			}
			return http.StatusServiceUnavailable
		}
		b.look(b.s)
		if h := b.row(id); h.Failures != 0 || h.RestUntil != 0 || len(r.take()) != 1 {
			t.Errorf("it rests for what the former one did: %+v", h)
		}
		r.answer = nil
		b.look(b.s)
		if n := len(r.take()); n != 1 {
			t.Errorf("%d events came at the next look", n)
		}
	})
}

// TestOneThatWaitsDoesNotHoldUpTheTry of a receiver that was down: another event shows whether it is well again.
func TestOneThatWaitsDoesNotHoldUpTheTry(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		b.hook(r, nil)
		r.answer = func(e envelope) int {
			if e.Subject == "runs/1" {
				return http.StatusUnprocessableEntity
			}
			return http.StatusServiceUnavailable
		}
		b.write(sent(1), finished(1))
		b.look(b.s)
		b.write(finished(2))
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/1 sent 422", "runs/2 finished 503"}, r.subjects()); diff != "" {
			t.Fatal(diff)
		}
		r.answer = nil
		b.pass(2 * time.Second)
		b.look(b.s)
		if diff := cmp.Diff([]string{"runs/2 finished 204"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhatWaitsTooLongGoesHoweverLongItLasts: that events were dropped is told once in the end, and keeps none that follow.
func TestWhatWaitsTooLongGoesHoweverLongItLasts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, func(c *Config) { c.KeepWaiting = time.Hour }), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusInternalServerError }
		b.look(b.s)
		for run := range int64(3) {
			b.write(finished(run + 1))
			b.pass(61 * time.Minute)
			b.look(b.s)
			if n := b.count(id, Waiting); n != 1 || b.row(id).Dropped != run+1 {
				t.Errorf("after %d hours %d wait, %d dropped", run+1, n, b.row(id).Dropped)
			}
		}
		r.take()
		r.answer = nil
		b.pass(10 * time.Minute)
		b.look(b.s)
		last := r.bodies[len(r.bodies)-1]
		if n := len(r.take()); n != 1 || last.Data.Dropped == nil || last.Data.Dropped.Count != 3 || !last.Data.Dropped.Since.Equal(noon) {
			t.Errorf("%d came, of them %+v", n, last.Data.Dropped)
		}
	})
}

// TestAnOutageIsNoRefusal: what was tried in vain while its receiver was down is not given up at the first answer that refuses it.
func TestAnOutageIsNoRefusal(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.Tries = 2 })
		r := newReceiver(t)
		id := b.hook(r, nil)
		status := http.StatusBadGateway
		r.answer = func(envelope) int { return status }
		b.write(finished(1))
		for range 3 {
			b.look(b.s)
			b.pass(time.Hour)
		}
		status = http.StatusUnprocessableEntity
		b.look(b.s)
		if b.count(id, GivenUp) != 0 {
			t.Error("it was given up when it was refused for the first time")
		}
		b.pass(9 * time.Second)
		b.look(b.s)
		if n := len(r.take()); n != 4 {
			t.Errorf("%d tries, and it waits ten seconds for the fifth", n)
		}
		b.pass(time.Second)
		b.look(b.s)
		rows, err := b.s.queries.ListDeliveries(t.Context(), pool, db.ListDeliveriesParams{WebhookID: id, State: GivenUp, Below: 1 << 60, Limit: 10})
		if err != nil || len(rows) != 1 || rows[0].Tries != 5 {
			t.Fatalf("given up: %+v %v", rows, err)
		}
		// Sent again, it is tried as often as before.
		if n, err := b.s.queries.SendDeliveryAgain(t.Context(), pool, db.SendDeliveryAgainParams{ID: rows[0].ID, WebhookID: id}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.look(b.s)
		if b.count(id, GivenUp) != 0 || b.count(id, Waiting) != 1 {
			t.Error("it was given up at once when it was sent again")
		}
	})
}

// TestManyThatWaitForOneHoldUpNothingElse: a receiver refuses an event about a group, of which more are behind it than are read at once.
func TestManyThatWaitForOneHoldUpNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(e envelope) int {
			if e.Subject == "groups/2" {
				return http.StatusUnprocessableEntity
			}
			return http.StatusNoContent
		}
		b.write(Event{Type: ExecutorRegistered, Group: 2})
		b.look(b.s)
		events := slices.Repeat([]Event{{Type: ExecutorSilent, Group: 2, At: b.s.cfg.Now()}}, pageSize)
		if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return b.s.Write(t.Context(), tx, events...) }); err != nil {
			t.Fatal(err)
		}
		b.write(finished(1))
		b.look(b.s)
		if diff := cmp.Diff([]string{"groups/2 registered 422", "runs/1 finished 204"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
		if n := b.count(id, Waiting); n != pageSize+1 {
			t.Errorf("%d wait", n)
		}
	})
}

// TestManyAboutOneThingDelayNothingElse: of what is about one thing one event is sent after the other, and more of it than is read at once is first.
func TestManyAboutOneThingDelayNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		b.hook(r, nil)
		came := 0
		r.answer = func(envelope) int {
			if came++; came > 2 {
				return http.StatusServiceUnavailable
			}
			return http.StatusNoContent
		}
		events := slices.Repeat([]Event{{Type: ExecutorSilent, Group: 2, At: b.s.cfg.Now()}}, pageSize+1)
		if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return b.s.Write(t.Context(), tx, events...) }); err != nil {
			t.Fatal(err)
		}
		b.write(finished(1))
		b.look(b.s)
		if diff := cmp.Diff([]string{"groups/2 silent 204", "groups/2 silent 503", "runs/1 finished 204"}, r.subjects()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestADeletedWebhook takes its deliveries with it.
func TestADeletedWebhook(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, nil)
		r := newReceiver(t)
		id := b.hook(r, nil)
		b.write(finished(1), finished(2))
		if n, err := b.s.queries.SetWebhookState(t.Context(), pool, db.SetWebhookStateParams{ID: id, State: string(Deleted), Name: "#1", UpdatedAt: 2, Version: 1}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.look(b.s)
		if _, err := b.s.queries.GetWebhook(t.Context(), pool, id); err == nil || b.count(id, Waiting) != 0 || len(r.take()) != 0 {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// TestNobodyListens shows that events cost nothing then.
func TestNobodyListens(t *testing.T) {
	var none *Service
	pool := dbtest.New(t, db.SQLite)
	b := newBench(t, pool, nil)
	for name, s := range map[string]*Service{"no service": none, "no webhook": b.s} {
		if !s.Idle() || s.Wants(RunFinished) {
			t.Errorf("%s: somebody listens", name)
		}
		if n := testing.AllocsPerRun(100, func() {
			if s.Wants(RunFinished) || s.Write(context.Background(), nil) != nil {
				t.Error("it wrote")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("no\n thanks"))
	f.Add([]byte(strings.Repeat("告警", 200)))
	f.Add([]byte(strings.Repeat("a", maxAnswer+1)))
	f.Add([]byte{0xff, 0, '\n'})
	f.Fuzz(func(t *testing.T, body []byte) {
		if text := excerpt(body); len(text) > maxAnswer || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r") {
			t.Errorf("%q", text)
		}
	})
}
