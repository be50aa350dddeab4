package webhook

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// TestWhatAnAnswerMeans goes by its status. Where it leads to another address, nobody follows.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	elsewhere := executortest.NewServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	t.Cleanup(elsewhere.Close)
	var status int
	server := executortest.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere.URL)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	b := newBench(t, dbtest.New(t, db.SQLite), nil)
	to := &Settings{URL: server.URL, Secret: NewSecret()}
	signers, err := to.signers(noon)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]Reason{
		200: "", 204: "", 299: "", 300: Redirect, 302: Redirect, 307: Redirect, 399: Redirect, 400: Refused, 401: Answered, 404: Answered, 408: Answered, 410: Gone410,
		413: Refused, 422: Refused, 429: Answered, 500: Answered, 503: Answered,
	} {
		status = code
		got := b.s.send(t.Context(), to, signers, &db.WebhookDelivery{ID: 1, Type: string(WebhookTest)}, &about{})
		if asked := code == 429 || code == 503; got.reason != want || got.status != code || (got.wait == 7*time.Second) != asked {
			t.Errorf("%d: %+v, want %q", code, got, want)
		}
	}
}

// answering answers requests as a function says.
type answering func(r *http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// sending is a service without a database that sends one event at a time.
func sending(answer answering) *Service {
	return &Service{
		cfg: Config{
			Now: time.Now, Parallel: 1, Lease: time.Minute, Timeout: time.Minute, Source: func() string { return "here" }, RunLink: func(int64) string { return "" }, Ready: func() bool { return true },
		},
		web: &http.Client{Transport: answer},
	}
}

// all is what became of three events.
func (s *Service) all(ctx context.Context) map[int64]result {
	page := []db.WebhookDelivery{{ID: 1, Type: string(WebhookTest)}, {ID: 2, Type: string(WebhookTest)}, {ID: 3, Type: string(WebhookTest)}}
	return s.sendAll(ctx, &Settings{URL: "http://hub.test/"}, nil, page, new(about))
}

// TestNothingBeginsLateInALease: another admin may begin to send when it is over.
func TestNothingBeginsLateInALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sending(func(*http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Second)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		if got := s.all(t.Context()); len(got) != 2 || got[1].reason != "" || got[2].reason != "" {
			t.Errorf("%+v, want what began within half a minute", got)
		}
	})
}

// TestWhatAStopCutsOffSaysNothing of the receiver; what is answered within the time that it is given still counts.
func TestWhatAStopCutsOffSaysNothing(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]int{grace - time.Second: 1, grace + time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			s := sending(func(r *http.Request) (*http.Response, error) {
				stop()
				select {
				case <-time.After(takes):
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("yes"))}, nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			})
			if got := s.all(ctx); len(got) != want {
				t.Errorf("an answer after %s of a stop: %+v", takes, got)
			}
		})
	}
}

// TestOneThatIsGoneAmongOthersThatFail switches the webhook off, in whatever order they are.
func TestOneThatIsGoneAmongOthersThatFail(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		var both sync.WaitGroup // are under way before either is answered
		both.Add(2)
		r.answer = func(e envelope) int {
			both.Done()
			both.Wait()
			return map[string]int{"runs/1": http.StatusServiceUnavailable, "runs/2": http.StatusGone}[e.Subject]
		}
		b.write(finished(1), finished(2))
		b.look(b.s)
		if row := b.row(id); row.State != string(Gone) || row.LastReason != string(Gone410) || len(r.take()) != 2 {
			t.Errorf("%+v", row)
		}
	})
}

// TestARunIsToldAsItWasThen, whatever has become of it since; and whose retry it is only where it is one.
func TestARunIsToldAsItWasThen(t *testing.T) {
	t.Parallel()
	s := sending(nil)
	row := db.ListRunsToTellRow{ID: 5, TriggerCode: 200, HandleCode: 200, OriginLogID: 3, TriggerType: jobspec.TriggerRetry}
	tell := func(d db.WebhookDelivery, trigger jobspec.TriggerType) *runData {
		row.TriggerType, d.LogID = trigger, row.ID
		return s.runData(&d, &about{runs: map[int64]db.ListRunsToTellRow{row.ID: row}})
	}
	failed := db.WebhookDelivery{Type: string(RunFinished), Outcome: int64(event.Failed), Code: 500, Again: 1}
	if got := tell(failed, jobspec.TriggerRetry); got.State != runstate.Failed || got.Code != 500 || !got.Again || got.RetryOf != 3 {
		t.Errorf("a failure of a run that was reported to have succeeded since: %+v", got)
	}
	if got := tell(failed, jobspec.TriggerParent); got.RetryOf != 0 {
		t.Errorf("one that no failure came before: %+v", got)
	}
	if got := tell(db.WebhookDelivery{Type: string(RunFinished), Outcome: int64(event.Open), Code: 500}, jobspec.TriggerCron); got.State != runstate.Failed {
		t.Errorf("an end without an outcome goes by its code: %+v", got)
	}
	if got := tell(db.WebhookDelivery{Type: string(RunSent)}, jobspec.TriggerCron); got.State != runstate.Sent || got.Finished != nil {
		t.Errorf("a sending: %+v", got)
	}
}

// TestWhatComesAfterARefusedOne is sent when that one is on record, also when both may be sent at the same look.
func TestWhatComesAfterARefusedOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusUnprocessableEntity }
		b.write(sent(1))
		b.look(b.s)
		b.write(finished(1))
		b.look(b.s)
		r.answer = func(e envelope) int {
			if taken := b.count(id, Taken); e.Type == string(RunFinished) && taken != 1 {
				t.Errorf("the end came when %d before it were on record", taken)
			}
			return http.StatusOK
		}
		b.pass(10*time.Second - time.Millisecond)
		b.look(b.s)
		if n := len(r.take()); n != 1 {
			t.Errorf("%d were sent before the pause was over", n-1)
		}
		b.pass(time.Millisecond)
		b.look(b.s)
		if all := r.take(); len(all) != 2 || b.count(id, Waiting) != 0 {
			t.Errorf("%v came", all)
		}
	})
}

// refuse makes rows what is left of events that were refused, and are tried again at a moment each, by their places.
func (b *bench) refuse(webhook int64, again map[int]time.Time) {
	b.t.Helper()
	rows := b.deliveries(webhook, Waiting)
	slices.SortFunc(rows, func(x, y db.WebhookDelivery) int { return cmp.Compare(x.ID, y.ID) })
	for place, at := range again {
		if err := b.s.queries.DelayDelivery(b.t.Context(), b.pool, db.DelayDeliveryParams{ID: rows[place].ID, Refused: 1, NextAt: at.UnixMilli()}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestTheFirstThatWaitsHoldsBackTheOthers, whichever of them is tried again first.
func TestTheFirstThatWaitsHoldsBackTheOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		for range 3 {
			b.write(Event{Type: JobUpdated, Group: 1, Job: 7})
		}
		b.refuse(id, map[int]time.Time{0: noon.Add(time.Hour), 2: noon.Add(time.Minute)}) // the one between them was given up, and is to be sent again
		b.look(b.s)
		if all := r.take(); len(all) != 0 {
			t.Errorf("%v came before the first", all)
		}
		b.pass(time.Hour)
		for range 3 {
			b.look(b.s)
		}
		if all := r.take(); len(all) != 3 {
			t.Errorf("%v came", all)
		}
	})
}

// TestAReceiverThatTakesNothing is said to fail as one that is down, while everything goes on being sent to it, until it takes something.
func TestAReceiverThatTakesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		is := func(when string, since time.Time, reason Reason, status, failures int64) {
			t.Helper()
			var want int64
			if !since.IsZero() {
				want = since.UnixMilli()
			}
			if row := b.row(id); row.FailingSince != want || row.LastReason != string(reason) || row.LastStatus != status || row.Failures != failures {
				t.Errorf("%s: failing since %d for %q (%d), %d in a row; want %d for %q (%d), %d", when, row.FailingSince, row.LastReason, row.LastStatus, row.Failures, want, reason, status, failures)
			}
		}
		status := http.StatusUnprocessableEntity
		r.answer = func(e envelope) int {
			if e.Subject == "runs/9" {
				return http.StatusNoContent
			}
			return status
		}
		b.write(sent(1), sent(2))
		b.look(b.s)
		is("refused once", time.Time{}, "", 0, 0)
		b.pass(time.Second)
		b.write(sent(9))
		b.look(b.s)
		b.pass(9 * time.Second)
		b.look(b.s)
		is("refused again, and another taken in between", time.Time{}, "", http.StatusNoContent, 0)
		first := b.s.cfg.Now()
		b.pass(20 * time.Second)
		b.look(b.s)
		is("refused again, and nothing taken", first, Refused, http.StatusUnprocessableEntity, 0)
		status = http.StatusBadRequest
		b.write(sent(3))
		r.take()
		b.look(b.s)
		is("refused otherwise", first, Refused, http.StatusBadRequest, 0)
		if got := len(r.take()); got != 1 {
			t.Errorf("%d events were sent while it refuses", got)
		}
		b.write(finished(9))
		b.look(b.s)
		is("something was taken", time.Time{}, "", http.StatusNoContent, 0)

		// One that was down, and refuses when it is back, is not down any more.
		down := b.s.cfg.Now()
		status = http.StatusInternalServerError
		b.write(sent(4))
		b.look(b.s)
		is("down", down, Answered, http.StatusInternalServerError, 1)
		status = http.StatusBadRequest
		b.pass(2 * time.Second)
		b.look(b.s)
		is("back", down, Refused, http.StatusBadRequest, 0)
	})
}

// TestAReceiverThatRefusesEverything gets nothing else while so many events wait for another try that no more are looked at.
func TestAReceiverThatRefusesEverything(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		many := make([]Event, maxBlocked)
		for i := range many {
			many[i] = sent(int64(i + 1))
			many[i].At = noon
		}
		if err := b.s.Write(t.Context(), pool, many...); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_webhook_delivery SET refusals = 1, next_at = ? WHERE webhook_id = ?", noon.Add(time.Hour).UnixMilli(), id); err != nil {
			t.Fatal(err)
		}
		b.write(sent(maxBlocked + 1))
		b.look(b.s)
		if all := r.take(); len(all) != 0 {
			t.Errorf("%v came", all)
		}
		b.pass(time.Hour)
		b.look(b.s)
		if all := r.take(); len(all) != maxBlocked+1 {
			t.Errorf("%d came", len(all))
		}
	})
}

// TestWhatNobodyWantsAnyMoreHoldsNothingUp: what follows it is sent at the same look.
func TestWhatNobodyWantsAnyMoreHoldsNothingUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, func(p *db.InsertWebhookParams) { p.Tags = "pay,tax" })
		b.write(Event{Type: JobStarted, Group: 1, Job: 7, Facts: Facts{Tags: "pay"}}, Event{Type: JobStopped, Group: 1, Job: 7, Facts: Facts{Tags: "tax"}})
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_webhook SET tags = 'tax' WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		b.look(b.s)
		if got := r.subjects(); !slices.Equal(got, []string{"jobs/7 stopped 204"}) {
			t.Errorf("%q", got)
		}
		// That events were dropped everybody is told.
		if err := b.s.WriteTo(t.Context(), pool, id, Event{Type: WebhookDropped, At: noon, Facts: Facts{Count: 1, Since: &noon}}); err != nil {
			t.Fatal(err)
		}
		b.look(b.s)
		if got := r.subjects(); !slices.Equal(got, []string{" dropped 204"}) {
			t.Errorf("%q", got)
		}
	})
}

// TestDropsThatCannotBeNotedAreNotedLater, with the moment of the first.
func TestDropsThatCannotBeNotedAreNotedLater(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, away := newBench(t, pool, func(c *Config) { c.MaxWaiting = 1 }), newReceiver(t)
		away.answer = func(envelope) int { return http.StatusInternalServerError }
		id := b.hook(away, nil)
		b.write(finished(1), finished(2))
		b.look(b.s)
		first := b.s.cfg.Now()
		b.write(finished(3), finished(4))
		refuse := "CREATE TRIGGER refuse BEFORE UPDATE OF dropped ON punctual_webhook FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'refused'); END"
		if pool.Dialect() != db.SQLite {
			refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON punctual_webhook FOR EACH ROW IF NEW.dropped <> OLD.dropped THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF"
		}
		exec := func(statement string) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		exec(refuse)
		b.pass(time.Second)
		err := errors.Join(b.s.look(t.Context()), b.s.look(t.Context()))
		exec("DROP TRIGGER refuse")
		if row := b.row(id); err != nil || row.Dropped != 0 {
			t.Errorf("%d are noted as dropped: %v", row.Dropped, err)
		}
		b.s.sends.Wait()
		away.answer = nil
		b.pass(time.Minute)
		b.look(b.s)
		b.pass(countEvery)
		b.look(b.s)
		for _, e := range away.bodies {
			if e.Type == string(WebhookDropped) && e.Data.Dropped.Count == 2 && e.Data.Dropped.Since.Equal(first) && b.row(id).Dropped == 2 {
				return
			}
		}
		t.Errorf("%d are noted as dropped, and told: %+v", b.row(id).Dropped, away.bodies)
	})
}

// TestAFullQueueGrowsNoMore, however long its receiver is away and however often the webhooks are looked at: a busy engine has them looked at
// fifty times a second. What was not kept in all that time is one event, when there is room.
func TestAFullQueueGrowsNoMore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, func(c *Config) { c.MaxWaiting = 9 }), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusServiceUnavailable }
		for run := range int64(10) {
			b.write(finished(run + 1))
		}
		b.look(b.s)
		first := b.s.cfg.Now()
		for run := range int64(60) {
			b.write(finished(run + 20))
			b.pass(time.Second)
			b.look(b.s)
		}
		if n, row := b.count(id, Waiting), b.row(id); n != 10 || row.Dropped != 60 {
			t.Errorf("%d wait where 10 may, and %d of 60 were dropped", n, row.Dropped)
		}
		b.s = b.service(func(c *Config) { c.MaxWaiting = 9 }) // what was dropped outlives the admin
		r.answer = nil
		r.take()
		for range 5 {
			b.pass(2 * time.Minute)
			b.look(b.s)
		}
		b.write(finished(90))
		b.look(b.s)
		var told []envelope
		for _, e := range r.bodies {
			if e.Type == string(WebhookDropped) {
				told = append(told, e)
			}
		}
		if all := r.take(); len(all) != 12 || all[10].Type != string(WebhookDropped) || all[11].Subject != "runs/90" {
			t.Errorf("%v came", all)
		}
		if len(told) != 1 || told[0].Data.Dropped.Count != 60 || !told[0].Data.Dropped.Since.Equal(first) || b.row(id).Untold != 0 {
			t.Errorf("told: %+v", told)
		}
	})
}

// TestAFullQueueIsNotReadAgain: that it still is full is seen by what has come, and by the oldest event that waits.
func TestAFullQueueIsNotReadAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, func(c *Config) { c.MaxWaiting = 9 }), newReceiver(t)
		id := b.hook(r, nil)
		for run := range int64(12) {
			b.write(finished(run + 1))
		}
		var ids []int64
		rows, err := db.New().ListDeliveries(t.Context(), pool, db.ListDeliveriesParams{WebhookID: id, State: Waiting, Below: 1 << 60, Limit: 100})
		if err != nil || len(rows) != 12 {
			t.Fatalf("%d wait, %v", len(rows), err)
		}
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
		slices.Sort(ids)
		full := func(what string, want bool, beyond int64) {
			t.Helper()
			b.pass(countEvery)
			if got, err := b.s.isFull(t.Context(), id); err != nil || got != want || got && b.s.counts[id].beyond != beyond {
				t.Errorf("%s: full %v, beyond %d (of %v), %v", what, got, b.s.counts[id].beyond, ids, err)
			}
		}
		take := func(taken ...int64) {
			t.Helper()
			for _, one := range taken {
				if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_webhook_delivery SET state = 1 WHERE id = ?", one); err != nil {
					t.Fatal(err)
				}
			}
		}
		full("twelve of nine", true, ids[2])
		full("the same", true, ids[2])
		take(ids[0])
		full("the first is gone", true, ids[2])
		take(ids[4], ids[5], ids[6]) // as nothing does: who read all would find too few
		full("what is between is not read", true, ids[2])
		b.write(finished(13), finished(14))
		full("two have come", true, ids[7])
		take(ids[1], ids[2], ids[3], ids[7])
		full("the oldest is newer", false, 0)
	})
}

// TestWhatWaitsIsCountedSeldom, because that reads all of it.
func TestWhatWaitsIsCountedSeldom(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, away, there := newBench(t, pool, func(c *Config) { c.MaxWaiting = 2 }), newReceiver(t), newReceiver(t)
		away.answer = func(envelope) int { return http.StatusInternalServerError }
		id := b.hook(away, nil)
		b.hook(there, func(p *db.InsertWebhookParams) { p.Name = "other" }) // its events lie between those of the first, so that there are fewer than it seems
		b.write(finished(1), finished(2))
		b.look(b.s)
		b.write(finished(3), finished(4))
		b.look(b.s)
		b.write(finished(5))
		if b.look(b.s); b.row(id).Dropped != 0 {
			t.Error("what waits was counted again at once")
		}
		b.pass(countEvery)
		b.look(b.s)
		b.write(finished(6))
		if b.look(b.s); b.row(id).Dropped != 1 {
			t.Errorf("%d dropped, although more wait than may", b.row(id).Dropped)
		}
	})
}

// TestWhatIsKeptAndForHowLong: of what was given up as many as of what was taken, and what waits to the end of its time.
func TestWhatIsKeptAndForHowLong(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, func(c *Config) { c.KeepTaken, c.Tries, c.KeepWaiting = 1, 1, time.Hour }), newReceiver(t)
		id := b.hook(r, nil)
		r.answer = func(envelope) int { return http.StatusBadRequest }
		b.write(sent(1), sent(2), sent(3))
		b.look(b.s)
		if n := b.count(id, GivenUp); n != 3 {
			t.Fatalf("%d were given up", n)
		}
		b.pass(time.Minute)
		b.look(b.s)
		if n := b.count(id, GivenUp); n != 1 {
			t.Errorf("%d that were given up are kept", n)
		}
		r.answer = func(envelope) int { return http.StatusInternalServerError }
		b.write(sent(4))
		b.pass(time.Hour)
		if b.look(b.s); b.count(id, Waiting) != 1 || b.row(id).Dropped != 0 {
			t.Errorf("it was dropped at the end of its hour: %d wait", b.count(id, Waiting))
		}
		b.pass(time.Minute)
		if b.look(b.s); b.row(id).Dropped != 1 {
			t.Errorf("it waits still: %d dropped", b.row(id).Dropped)
		}
	})
}

// TestADeletedWebhookOfWhichManyWait goes when all of them have.
func TestADeletedWebhookOfWhichManyWait(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, r := newBench(t, pool, nil), newReceiver(t)
		id := b.hook(r, nil)
		if err := b.s.Write(t.Context(), pool, slices.Repeat([]Event{{Type: JobUpdated, Group: 1, Job: 7, At: noon}}, tidyPage+1)...); err != nil {
			t.Fatal(err)
		}
		if n, err := b.s.queries.SetWebhookState(t.Context(), pool, db.SetWebhookStateParams{ID: id, State: string(Deleted), Name: "#1", UpdatedAt: 2, Version: 1}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if b.look(b.s); b.count(id, Waiting) != 0 || len(r.take()) != 0 {
			t.Errorf("%d wait for nobody", b.count(id, Waiting))
		}
	})
}
