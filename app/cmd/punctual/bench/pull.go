package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// pulling executors are called as late as what they are asked for comes to them: the time from the planned millisecond to the moment at
// which the executor has read the call. Their admins are one, two that the executors know both, and two behind a balancer that takes
// each request to the next one.
func pulling(admins int, balance bool, name string) func(context.Context, Settings, string) error {
	return func(ctx context.Context, s Settings, database string) error {
		if admins > 1 && database == embedded {
			return nil // the embedded database has one admin
		}
		return pullingFrom(ctx, s, database, admins, balance, name)
	}
}

func pullingFrom(ctx context.Context, s Settings, database string, admins int, balance bool, name string) error {
	const rate = 1000
	y, err := unattended(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(8*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	if admins > 1 {
		if err := y.startSecond(ctx); err != nil {
			return err
		}
	}
	y.pulls = s.Executors
	if balance {
		var turn atomic.Uint32
		proxy := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				to, _ := url.Parse([]string{y.address, y.second}[turn.Add(1)%2])
				r.SetURL(to)
			},
			Transport:    &http.Transport{MaxIdleConnsPerHost: 1000},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		})
		defer proxy.Close()
		y.balancer = proxy.URL
	}
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	before, err := y.allMetrics()
	if err != nil {
		return err
	}
	w, err := y.window(ctx, 15*time.Second, time.Duration(s.Seconds)*time.Second)
	if err != nil {
		return err
	}
	after, err := y.allMetrics()
	if err != nil {
		return err
	}
	way := func(way string) float64 {
		metric := `punctual_pulled_calls_total{way="` + way + `"}`
		return after[metric] - before[metric]
	}
	s.report(database, fmt.Sprintf("pull at %d/s, %s", rate, name),
		"%d executors: executed %.0f/s, %d twice; lateness p50 %.1f p90 %.1f p99 %.1f max %.0f ms; %.0f %% by the database; CPU admin %.2f, executors %.2f, database %.2f cores",
		s.Executors, float64(w.executor.Executed)/w.seconds, w.executor.Doubled, w.executor.P50, w.executor.P90, w.executor.P99, w.executor.Max,
		100*way("database")/max(1, way("memory")+way("database")), w.adminCPU, w.execCPU, w.dbCPU)
	return nil
}

// idlePullers measures what executors cost an admin that ask for calls, and register, while there are none.
func idlePullers(ctx context.Context, s Settings, database string) error {
	y, err := unattended(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, 1, 24*time.Hour, time.Now().Add(time.Hour), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	cost := func() (admin, database, rss float64, err error) {
		a, _ := usage(y.admin)
		d, _ := usage(y.maria)
		began := time.Now()
		if err := wait(ctx, 2*time.Duration(s.Seconds)*time.Second); err != nil {
			return 0, 0, 0, err
		}
		a2, rss := usage(y.admin)
		d2, _ := usage(y.maria)
		took := time.Since(began).Seconds()
		return (a2 - a).Seconds() / took, (d2 - d).Seconds() / took, rss, nil
	}
	if err := wait(ctx, 10*time.Second); err != nil {
		return err
	}
	admin, maria, rss, err := cost()
	if err != nil {
		return err
	}
	s.report(database, "pull, nobody", "CPU admin %.3f, database %.3f cores; admin %.0f MB", admin, maria, rss)
	y.idle = s.Pollers
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	open := 0.0
	err = poll(ctx, 3*time.Minute, func() error {
		m, err := y.metrics()
		if open = m["punctual_pulls_open"]; err == nil && open < float64(s.Pollers)*0.99 {
			err = fmt.Errorf("%.0f of %d ask", open, s.Pollers)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := wait(ctx, min(100*time.Second, 7*time.Duration(s.Seconds)*time.Second)); err != nil { // after 100 s what it took to come is collected
		return err
	}
	with, mariaWith, rssWith, err := cost()
	if err != nil {
		return err
	}
	s.report(database, fmt.Sprintf("pull, %d idle", s.Pollers), "CPU admin %.3f, database %.3f cores; admin %.0f MB; more by %.3f and %.3f cores, %.0f MB",
		with, mariaWith, rssWith, with-admin, mariaWith-maria, rssWith-rss)
	return nil
}

// idle is a process of many executors that ask for calls and have nothing to do: what an executor of ours sends, without the rest of it.
func (c *ExecutorCmd) idle(ctx context.Context, n int) error {
	client := wire.NewAdminClient(wire.NewHTTPClient(2*n), c.Admin, c.Token, "bench", 0)
	registration := func(i int) wire.RegistryRequest {
		address, _ := wire.PullAddress("idle-" + strconv.Itoa(i))
		return wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "bench", RegistryValue: address}
	}
	var coming errgroup.Group
	coming.SetLimit(64)
	for i := range n {
		coming.Go(func() error { return client.Registry(ctx, registration(i)) })
	}
	if err := coming.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	var all sync.WaitGroup
	for i := range n {
		share := func(of time.Duration) time.Duration { return of * time.Duration(i) / time.Duration(n) }
		all.Go(func() {
			for next := share(30 * time.Second); wait(ctx, next) == nil; next = 30 * time.Second {
				if err := client.Registry(ctx, registration(i)); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "register:", err)
				}
			}
		})
		all.Go(func() {
			req := wire.PullRequest{RegistryKey: "bench", RegistryValue: registration(i).RegistryValue, Instance: "idle." + strconv.Itoa(i), Max: 200, Wait: 10_000}
			for k := 0; wait(ctx, share(10*time.Second)) == nil; k++ {
				for ; ctx.Err() == nil; k++ {
					req.Pull = fmt.Sprintf("idle.%d.%d", i, k)
					if _, err := client.Pull(ctx, 0, &req, nil); err != nil && ctx.Err() == nil {
						fmt.Fprintln(os.Stderr, "pull:", err)
						break
					}
				}
			}
		})
	}
	all.Wait()
	return nil
}
