package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// patient notes how long a reading of a log may take.
type patient struct {
	*fakeExecutors
	left chan time.Duration
}

func (p patient) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	if until, ok := ctx.Deadline(); ok {
		p.left <- time.Until(until)
	}
	return p.fakeExecutors.Log(ctx, to, req)
}

func TestReadingALogMayTakeLongerThanACall(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		left := make(chan time.Duration, 10)
		b := setup(t, pool, func(c *Config) { c.Executors = patient{c.Executors.(*fakeExecutors), left} }, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		sent := b.run(run)
		if _, err := b.engine.outputs.Read(t.Context(), &sent, 1); err != nil {
			t.Fatal(err)
		}
		if got := <-left; got < 4*b.engine.cfg.Limits().CallTimeout || got > b.engine.cfg.LogTimeout {
			t.Errorf("reading a log may take %v", got)
		}
	})
}

// nothingNew answers the line that was asked for when there is none.
type nothingNew struct{ *fakeExecutors }

func (nothingNew) Log(_ context.Context, _ wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	return wire.LogResult{FromLineNum: req.FromLineNum, ToLineNum: req.FromLineNum}, wire.Answer{Code: wire.CodeSuccess}, nil
}

// TestALineWithoutTextIsNone: whoever follows an output would ask for the next one without an end.
func TestALineWithoutTextIsNone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Executors = nothingNew{c.Executors.(*fakeExecutors)} }, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		b.complete(run, wire.CodeSuccess)
		ended := b.run(run)
		piece, err := b.engine.outputs.Read(t.Context(), &ended, 5)
		if err != nil || piece.ToLineNum >= 5 || !piece.IsEnd {
			t.Errorf("%+v, %v", piece.LogResult, err)
		}
	})
}

// heldBody is an answer of which the rest comes when the test says so.
type heldBody struct {
	*strings.Reader
	read *atomic.Int64 // of all
	goOn chan struct{}
}

func (b heldBody) Read(p []byte) (int, error) {
	if before := 4<<20 - int(b.Size()) + b.Len(); before > 0 {
		p = p[:min(len(p), before)]
	} else {
		<-b.goOn
	}
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (heldBody) Close() error { return nil }

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestManyLongOutputsAreReadInTurn: an executor of XXL-JOB answers with all the rest of an output, up to 8 MB. However many ask, what is in
// memory of long answers is bounded, short ones do not wait for them, and what is handed on is a piece.
func TestManyLongOutputsAreReadInTurn(t *testing.T) {
	t.Parallel()
	const lines = 78_000
	long := `{"code":200,"data":{"fromLineNum":1,"toLineNum":78000,"logContent":"` + strings.Repeat(strings.Repeat("x", 99)+`\n`, lines) + `","isEnd":true}}`
	short := `{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"logContent":"hello\n","isEnd":true}}`
	for _, says := range []bool{true, false} { // how long it is
		t.Run(fmt.Sprintf("it says how long: %v", says), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64
				goOn := make(chan struct{})
				client := wire.NewExecutorClient(&http.Client{Transport: roundTrips(func(r *http.Request) (*http.Response, error) {
					text := long
					if r.URL.Host == "short" {
						text = short
					}
					resp := &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: heldBody{strings.NewReader(text), &read, goOn}}
					if says {
						resp.ContentLength = int64(len(text))
					}
					return resp, nil
				})})
				o := &Outputs{held: semaphore.NewWeighted(answersHeld), cfg: outputsConfig{
					Log: client.Log, Limit: func() time.Duration { return time.Minute },
					Target: func(_ int64, address string) wire.Target { return wire.Target{Address: address} },
				}}
				ask := func(address string) (Piece, error) {
					return o.Read(t.Context(), &db.Run{ID: 1, ExecutorAddress: db.Text(address), TriggerCode: 200, HandleCode: 200, PlannedAt: 1}, 1)
				}
				const many = 20
				var asking sync.WaitGroup
				for range many {
					asking.Go(func() {
						p, err := ask("http://long/")
						if n := strings.Count(p.LogContent, "\n"); err != nil || len(p.LogContent) > pieceBytes || n == 0 || p.FromLineNum != 1 || p.ToLineNum != n || p.IsEnd {
							t.Errorf("%d bytes, %d lines, %d to %d, end %v; %v", len(p.LogContent), n, p.FromLineNum, p.ToLineNum, p.IsEnd, err)
						}
					})
				}
				synctest.Wait()
				if got, most := read.Load(), int64(many)*(256<<10)+answersHeld; got > most {
					t.Errorf("%d bytes are read at the same time, want %d at most", got, most)
				}
				if p, err := ask("http://short/"); err != nil || p.LogContent != "hello\n" {
					t.Errorf("a short one: %q, %v", p.LogContent, err)
				}
				close(goOn)
				asking.Wait()
				if !o.held.TryAcquire(answersHeld) {
					t.Error("something is still held")
				}
			})
		})
	}
}

func TestTheBeginningOfAPieceIsWholeLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content    string
		from, to, wantTo int
		want             string
	}{
		{"short", "a\nb\n", 5, 6, 6, "a\nb\n"},
		{"long", "aaaa\nbbb\ncccc\n", 5, 7, 6, "aaaa\nbbb\n"},
		{"a last line without an end", "aaaa\nbbb\ncccc", 5, 7, 6, "aaaa\nbbb\n"},
		{"a line that is too long", "aaaaaaaaaaaa\nb\n", 5, 6, 5, "aaaaaaaaaaaa\n"},
		{"nothing but such a line", "aaaaaaaaaaaa", 5, 5, 5, "aaaaaaaaaaaa"},
		{"other lines than it says", "aaaa\nbbb\ncccc\n", 5, 9, 9, "aaaa\nbbb\ncccc\n"},
	} {
		got := firstOf(wire.LogResult{FromLineNum: tt.from, ToLineNum: tt.to, LogContent: tt.content, IsEnd: true}, 10)
		if got.LogContent != tt.want || got.ToLineNum != tt.wantTo || got.IsEnd != (tt.want == tt.content) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
