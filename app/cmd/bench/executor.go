package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/punctual-job/punctual/executor"
)

// executorStats is what the executor process tells about the runs since it was last asked.
type executorStats struct {
	Executed int
	// Lateness from a run's planned time to its request being read by the executor, milliseconds.
	P50, P90, P99, Max float64
	// Doubled counts run ids that were executed more than once since the process began.
	Doubled int
}

// recorder keeps the lateness of runs.
type recorder struct {
	mu      sync.Mutex
	late    []float64
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

// fail is a job that never succeeds.
func (r *recorder) fail(ctx context.Context, run *executor.Run) error {
	return errors.Join(r.handle(ctx, run), errors.New("no luck"))
}

func (r *recorder) take() executorStats {
	r.mu.Lock()
	late := r.late
	r.late = nil
	s := executorStats{Executed: len(late), Doubled: r.doubled}
	r.mu.Unlock()
	slices.Sort(late)
	if n := len(late); n > 0 {
		at := func(p float64) float64 { return late[min(n-1, int(p*float64(n)))] }
		s.P50, s.P90, s.P99, s.Max = at(.5), at(.9), at(.99), late[n-1]
	}
	return s
}

// runExecutor is the executor process: a real executor with one handler that does nothing but note when it was called.
func runExecutor(args []string) {
	flags := flag.NewFlagSet("executor", flag.ExitOnError)
	admin := flags.String("admin", "", "")
	token := flags.String("token", "", "")
	dir := flags.String("dir", "", "")
	control := flags.String("control", "", "")
	_ = flags.Parse(args)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	r := &recorder{seen: make(map[int64]struct{})}
	ex, err := executor.New(executor.Config{
		AppName: "bench", Admins: strings.Split(*admin, ","), Token: *token, Listen: "127.0.0.1:0", DataDir: *dir, QueueLimit: 100_000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ex.Handle("noop", r.handle)
	ex.Handle("fail", r.fail)
	l, err := net.Listen("tcp", *control)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(r.take())
	}))
	if err := ex.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
