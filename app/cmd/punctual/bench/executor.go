package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// executorStats is what the executor process tells about the runs since it was last asked.
type executorStats struct {
	Executed int
	// Lateness from a run's planned time to its request being read by the executor, milliseconds.
	P50, P90, P99, Max float64
	// From the end of a step of a flow to the request for the next one being read, milliseconds.
	NextP50, NextP90, NextP99, NextMax float64
	// Doubled counts run ids that were executed more than once since the process began.
	Doubled int
}

// recorder keeps the lateness of runs.
type recorder struct {
	mu      sync.Mutex
	late    []float64
	next    []float64
	ended   map[string]time.Time // when the last step of a flow ended, by the flow
	seen    map[int64]struct{}
	doubled int
}

func (r *recorder) handle(_ context.Context, run *executor.Run) error {
	late := float64(run.Received.Sub(run.Planned).Microseconds()) / 1000
	r.mu.Lock()
	r.late = append(r.late, late)
	if _, again := r.seen[run.LogID]; again {
		r.doubled++
	}
	r.seen[run.LogID] = struct{}{}
	r.mu.Unlock()
	return nil
}

// step is a step of a flow, whose parameter is "flow/step".
func (r *recorder) step(ctx context.Context, run *executor.Run) error {
	flow, step, _ := strings.Cut(run.Param, "/")
	err := r.handle(ctx, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ended, ok := r.ended[flow]; ok && step != "0" {
		r.next = append(r.next, float64(run.Received.Sub(ended).Microseconds())/1000)
	}
	r.ended[flow] = time.Now()
	return err
}

// fail is a job that never succeeds.
func (r *recorder) fail(ctx context.Context, run *executor.Run) error {
	return errors.Join(r.handle(ctx, run), errors.New("no luck"))
}

func (r *recorder) take() executorStats {
	r.mu.Lock()
	late, next := r.late, r.next
	r.late, r.next = nil, nil
	s := executorStats{Executed: len(late), Doubled: r.doubled}
	r.mu.Unlock()
	s.P50, s.P90, s.P99, s.Max = quantiles(late)
	s.NextP50, s.NextP90, s.NextP99, s.NextMax = quantiles(next)
	return s
}

func quantiles(values []float64) (p50, p90, p99, most float64) {
	n := len(values)
	if n == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(values)
	at := func(p float64) float64 { return values[min(n-1, int(p*float64(n)))] }
	return at(.5), at(.9), at(.99), values[n-1]
}

// ExecutorCmd is the executor process of a bench: a real executor with handlers that do nothing but note when they were called.
type ExecutorCmd struct {
	Admin   []string
	Token   string
	Dir     string
	Control string
	Pull    int // so many executors that ask for their calls; 0: one that is called
	Idle    int // so many that ask and have nothing to do, beside them
	// PushesNothing has the admin ask for outputs, as it does of executors that are not ours.
	PushesNothing bool
	Plain         bool // one that is called does no more than XXL-JOB's protocol asks for
}

// lines is a job that writes some lines.
func (r *recorder) lines(ctx context.Context, run *executor.Run) error {
	for i := range outputLines {
		run.Logf("order %d of %d is settled, and what it was about stands in a line of some hundred bytes", i+1, outputLines)
	}
	return r.handle(ctx, run)
}

// pushless lets no output through that is pushed.
type pushless struct{ http.RoundTripper }

func (t pushless) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/api/output") {
		_ = r.Body.Close()
		return nil, errors.New("nothing is pushed here")
	}
	return t.RoundTripper.RoundTrip(r)
}

// Run works until ctx ends.
func (c *ExecutorCmd) Run(ctx context.Context) error {
	r := &recorder{seen: make(map[int64]struct{}), ended: make(map[string]time.Time)}
	var client *http.Client
	if c.PushesNothing {
		client = wire.NewHTTPClient(8)
		client.Transport = pushless{client.Transport}
	}
	cfg := executor.Config{
		AppName: "bench", HTTPClient: client, Admins: c.Admin, Token: c.Token, Listen: "127.0.0.1:0", DataDir: c.Dir, QueueLimit: 100_000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	configs := make([]executor.Config, 0, max(1, c.Pull))
	for i := range c.Pull {
		one := cfg
		one.Mode, one.Listen, one.Name, one.DataDir = executor.Pull, "", fmt.Sprintf("bench-%d", i), filepath.Join(c.Dir, strconv.Itoa(i))
		configs = append(configs, one)
	}
	var all errgroup.Group
	switch {
	case c.Pull+c.Idle > 0:
	case c.Plain:
		p := newPlain(c.Admin, c.Token, map[string]executor.Handler{"noop": r.handle, "fail": r.fail, "step": r.step})
		all.Go(func() error { return p.run(ctx) })
	default:
		configs = append(configs, cfg)
	}
	for i := range configs {
		ex, err := executor.New(configs[i])
		if err != nil {
			return err
		}
		ex.Handle("noop", r.handle)
		ex.Handle("fail", r.fail)
		ex.Handle("step", r.step)
		ex.Handle("lines", r.lines)
		all.Go(func() error { return ex.Run(ctx) })
	}
	if c.Idle > 0 {
		all.Go(func() error { return c.idle(ctx, c.Idle) })
	}
	l, err := net.Listen("tcp", c.Control)
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(r.take())
	}))
	return all.Wait()
}
