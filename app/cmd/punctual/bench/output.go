package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	outputRate  = 5000 // runs a second whose outputs are kept
	outputLines = 10   // of each
)

// keepingCost measures what it costs to keep the output of every run, of ten lines each: with nothing kept, as executors of ours push it,
// and as others are asked for it. The three are measured in turns, twice, because a machine is not the same for a quarter of an hour.
func keepingCost(ctx context.Context, s Settings, database string) error {
	rate := min(s.Rate, outputRate)
	for range 2 {
		for _, way := range []string{"off", "pushed", "copied"} {
			store, err := os.MkdirTemp("", "punctual-bench-outputs")
			if err != nil {
				return err
			}
			place := store
			if way == "off" {
				place = "off"
			}
			w, err := s.keeping(ctx, database, rate, place, way == "copied")
			if err = errors.Join(err, os.RemoveAll(store)); err != nil {
				return err
			}
			s.report(database, "output, cost: "+way, "executed %.0f/s; lateness p50 %.1f p99 %.1f ms; CPU admin %.2f cores, database %.2f, executor %.2f; kept %.0f/s; admin %.0f MB",
				float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.adminCPU, w.dbCPU, w.execCPU, w.rate(`punctual_outputs_total{outcome="kept"}`), w.adminRSS)
		}
	}
	return nil
}

func (s *Settings) keeping(ctx context.Context, database string, rate int, place string, copied bool) (window, error) {
	y, err := newSystem(ctx, *s, database)
	if err != nil {
		return window{}, err
	}
	w, err := func() (window, error) {
		pool, err := y.open(ctx)
		if err != nil {
			return window{}, err
		}
		err = addJobsOf(ctx, pool, "lines", 0, rate, time.Second, time.Now().Add(3*time.Second), true)
		if err == nil {
			_, err = pool.ExecContext(ctx, "UPDATE xxl_job_info SET keep_output = 'ALL'")
		}
		if err = errors.Join(err, pool.Close()); err != nil {
			return window{}, err
		}
		if _, err := y.startAdmin(ctx, "PUNCTUAL_OUTPUT_STORE="+place); err != nil {
			return window{}, err
		}
		if err := y.startExecutor(ctx, fmt.Sprintf("--pushes-nothing=%t", copied)); err != nil {
			return window{}, err
		}
		return y.window(ctx, 15*time.Second, time.Duration(s.Seconds)*time.Second)
	}()
	return w, errors.Join(err, y.close())
}

// keptRun is how many bytes the runs of the search have, as a Java program writes them.
const keptRun = 10 << 10

// searchOutput fills a store with --text MB of outputs and measures how long a search takes to what lies behind a hundredth, a half and
// all of them, from the question to the first hit.
func searchOutput(ctx context.Context, s Settings, database string) error {
	for _, kind := range []string{"folder", "database"} {
		if err := s.searchIn(ctx, database, kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) searchIn(ctx context.Context, database, kind string) error {
	y, err := newSystem(ctx, *s, database)
	if err != nil {
		return err
	}
	pool, err := y.open(ctx)
	if err != nil {
		return errors.Join(err, y.close())
	}
	err = func() error {
		place := "database"
		if kind == "folder" {
			place = filepath.Join(y.dir, "outputs")
		}
		at, err := archive.ParsePlace(place)
		if err != nil {
			return err
		}
		store, err := at.Open(pool)
		if err != nil {
			return err
		}
		if open, ok := store.(io.Closer); ok {
			defer open.Close()
		}
		runs := s.Text << 20 / keptRun
		keeper, err := fillOutputs(ctx, pool, store, runs)
		if err != nil {
			return err
		}
		var figures []string
		for _, share := range []int{1, 50, 100} {
			began := time.Now()
			found, err := keeper.Search(ctx, archive.Search{Job: 1, Text: needle(share), Before: 1 << 60, Runs: 1, Lines: 1, Time: time.Hour})
			if err != nil || len(found.Hits) != 1 {
				return fmt.Errorf("the search for %s found %d runs in %d: %v", needle(share), len(found.Hits), found.Looked, err)
			}
			took := time.Since(began)
			figures = append(figures, fmt.Sprintf("behind %d %% %.2f s (%.0f MB/s)", share, took.Seconds(), float64(found.Bytes)/1e6/took.Seconds()))
		}
		s.report(database, "output, search: "+kind, "%d MB of text in %d runs: %s", s.Text, runs, strings.Join(figures, ", "))
		return nil
	}()
	return errors.Join(err, pool.Close(), y.close())
}

func needle(share int) string { return fmt.Sprintf("needle-%d.", share) }

// fillOutputs has a service keep the outputs of runs as executors push them.
func fillOutputs(ctx context.Context, pool *db.Pool, store archive.Store, runs int) (*archive.Service, error) {
	s, err := archive.New(archive.Config{
		Pool: pool, Logger: slog.New(slog.DiscardHandler), Store: store,
		Limits: func() archive.Limits { return archive.Limits{Keep: jobspec.KeepAll, RunBytes: 64 << 10} },
		Read: func(context.Context, archive.Run, int, func(wire.LogResult)) error {
			return errors.New("nobody is asked")
		},
		Node: func() int64 { return 1 }, Alive: func() []int64 { return []int64{1} },
		Mine: func() func(int64) bool { return func(int64) bool { return false } }, LookEvery: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	wall, ms := pool.Wall(time.Now()), time.Now().UnixMilli()
	err = insert(ctx, pool, "xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status, executor_fail_retry_count, planned_at, trigger_type, sent_at)", runs, func(int) []any {
		return []any{1, 1, wall, 200, 0, 0, 0, ms, "CRON", ms}
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	random := rand.New(rand.NewPCG(1, 2))
	for id := 1; id <= runs; {
		var batch []archive.Pushed
		for ; id <= runs && len(batch) < 200; id++ {
			batch = append(batch, archive.Pushed{Run: archive.Run{ID: int64(id), Group: 1, Job: 1}, Output: wire.PushedOutput{LogID: int64(id), Head: outputText(random, id, runs)}})
		}
		for err = archive.ErrFull; errors.Is(err, archive.ErrFull); err = s.Take(batch) {
			if err := wait(ctx, 5*time.Millisecond); err != nil {
				return nil, errors.Join(err, s.Stop(context.Background()))
			}
		}
	}
	if err := s.Stop(ctx); err != nil { // which writes the rest
		return nil, err
	}
	var kept int
	if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_output WHERE object_id > 0").Scan(&kept); err != nil {
		return nil, err
	}
	if kept != runs {
		return nil, fmt.Errorf("%d outputs of %d are kept: %s", kept, runs, s.Status().Trouble)
	}
	return s, nil
}

func outputText(random *rand.Rand, id, runs int) string {
	var b strings.Builder
	for b.Len() < keptRun {
		fmt.Fprintf(&b, "2026-03-02 12:00:%02d.%03d INFO  [worker-%d] c.e.orders.SettlementService - order %d settled in %d ms, customer %x\n",
			random.IntN(60), random.IntN(1000), random.IntN(16), random.IntN(1e9), random.IntN(5000), random.Uint64())
	}
	for _, share := range []int{1, 50, 100} { // counted from the newest
		if id == runs-runs*share/100+1 {
			b.WriteString(needle(share) + "\n")
		}
	}
	return b.String()
}
