package pull_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// ofTwo is an admin that knows of another.
func ofTwo(c *pull.Config) { c.Admins = func() int { return 2 } }

// doEverything has both admins call the executor, also at the same time.
func doEverything(t *testing.T, one, two *admin, b *begun) {
	t.Helper()
	both := func(logID int64) int { return one.of(logID) + two.of(logID) }
	everything(t, one, 1, b, both)
	everything(t, two, 11, b, both)
	var calls sync.WaitGroup
	for i := range int64(60) {
		calls.Go(func() {
			a := []*admin{one, two}[i%2]
			if answer, err := a.client.Run(limited(t), target, runOf(100+i, "count")); err != nil || !answer.OK() {
				t.Errorf("run %d: %+v, %v", i, answer, err)
			}
		})
	}
	calls.Wait()
	for i := range int64(60) {
		eventually(t, "all results", func() bool { return both(100+i) == 1 })
		if n := b.of(100 + i); n != 1 {
			t.Errorf("run %d began %d times", i, n)
		}
	}
}

// TestBehindABalancerEachAdminIsAsked, so that it hands over what it has by itself.
func TestBehindABalancerEachAdminIsAsked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true, ofTwo), newAdmin(t, pool, true, ofTwo)
		_, b := startExecutor(t, balance(t, one, two))
		eventually(t, "both are asked", func() bool { return one.Open() == 1 && two.Open() == 1 })
		doEverything(t, one, two, b)
		if one.asked.Load() == 0 || two.asked.Load() == 0 {
			t.Errorf("one handed over %d times, the other %d times", one.asked.Load(), two.asked.Load())
		}
	})
}

// TestOverHTTP2 goes through a proxy that speaks it to the executor, and HTTP/1.1 to the admins, as most do.
func TestOverHTTP2(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true, ofTwo), newAdmin(t, pool, true, ofTwo)
		behind, err := url.Parse(balance(t, one, two))
		if err != nil {
			t.Fatal(err)
		}
		var others atomic.Int32
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			if r.In.ProtoMajor != 2 {
				others.Add(1)
			}
			r.SetURL(behind)
		}}
		server := httptest.NewUnstartedServer(proxy)
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		_, b := startExecutorWith(t, executor.Config{Admins: []string{server.URL}, AdminTLS: wire.TLSOptions{CAFile: ca}})
		eventually(t, "both are asked", func() bool { return one.Open() == 1 && two.Open() == 1 })
		doEverything(t, one, two, b)
		if n := others.Load(); n != 0 {
			t.Errorf("%d requests were not made over HTTP/2", n)
		}
	})
}

// TestAPullApart is told of one that is open, and what it says of a lost one counts all the same.
func TestAPullApart(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("written %t", written), func(t *testing.T) { pullApart(t, written) })
	}
}

func pullApart(t *testing.T, written bool) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true, ofTwo), newAdmin(t, pool, true, ofTwo)
		answered := make(chan error, 1)
		go func() {
			_, err := one.client.Beat(limited(t), target)
			answered <- err
		}()
		lost, err := one.Pull(t.Context(), ask("p-1"))
		if err != nil || len(lost.Calls) != 1 || lost.Admins != 2 || lost.Admin == "" {
			t.Fatalf("%+v, %v", lost, err)
		}
		second := make(chan wire.PullResponse, 1)
		go func() {
			r, err := one.Pull(limited(t), ask("p-2"))
			if err != nil {
				t.Error(err)
			}
			second <- r
		}()
		eventually(t, "one is open", func() bool { return one.Open() == 1 })
		if written { // so that another admin can hand it over, too
			eventually(t, "the call is written down", func() bool {
				rows, err := db.New().ListPulls(t.Context(), pool, 0)
				return err == nil && len(rows) == 1
			})
		}
		third := ask("p-3", "p-1")
		third.Apart = true
		r, err := one.Pull(t.Context(), third)
		if err != nil || !r.Elsewhere || len(r.Calls) != 0 || r.Admin != lost.Admin {
			t.Errorf("beside one that is open: %+v, %v", r, err)
		}
		again := <-second
		if len(again.Calls) != 1 || again.Calls[0].ID != lost.Calls[0].ID {
			t.Errorf("what was lost is not given again: %+v", again)
		}
		// The other admin does not take its answer, and writes nothing down, until it is asked to.
		answer := answersOf(yes, again.Calls[0].ID)
		answer.Apart = true
		r, err = two.Pull(t.Context(), answer)
		if err != nil || !slices.Equal(r.Left, []string{again.Calls[0].ID}) || r.Elsewhere || r.Admin == lost.Admin {
			t.Errorf("the other's answer: %+v, %v", r, err)
		}
		answer.Max, answer.Instance, answer.Pull, answer.Wait = 1, "hand.1", "p-4", 60_000
		if r, err = two.Pull(t.Context(), answer); err != nil || !r.Elsewhere || len(r.Left) != 1 {
			t.Errorf("a pull that carries it: %+v, %v", r, err)
		}
		waiting, err := db.New().CountAllPullAnswers(t.Context(), pool)
		if err != nil || waiting.Answers != 0 {
			t.Errorf("%d answers were written, %v", waiting.Answers, err)
		}
		answer.Apart, answer.Max = false, 0
		if r, err = two.Pull(t.Context(), answer); err != nil || len(r.Left) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}
