package upkeep

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// newService makes a service that is not started, as another admin would see the database.
func newService(t *testing.T, pool *db.Pool, configure func(*Config)) *Service {
	t.Helper()
	cfg := Config{Pool: pool, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), ReportEvery: time.Millisecond}
	if configure != nil {
		configure(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func never() bool { return false }

// addJob adds a job with a retention of its own.
func addJob(t *testing.T, pool *db.Pool, retentionDays int64) int64 {
	t.Helper()
	id, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 1, JobDesc: "job", ExecutorRouteStrategy: "FIRST", ExecutorHandler: "x", GlueType: "BEAN", RetentionDays: retentionDays})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// aRun is a run's row as maintenance sees it.
type aRun struct {
	at              time.Time // wall clock
	trigger, handle int64     // trigger 0 means 200
	group, job      int64     // 0 means 1
}

func addRuns(t *testing.T, pool *db.Pool, rows ...aRun) []int64 {
	t.Helper()
	ids := make([]int64, len(rows))
	err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
		for i, r := range rows {
			r.trigger = cmp.Or(r.trigger, 200)
			res, err := tx.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (?, ?, ?, ?, ?)",
				max(1, r.group), max(1, r.job), sql.NullTime{Time: r.at, Valid: !r.at.IsZero()}, r.trigger, r.handle)
			if err != nil {
				return err
			}
			if ids[i], err = res.LastInsertId(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// logged collects a log.
type logged struct{ executortest.Output }

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) want(t *testing.T, part string) {
	t.Helper()
	if !strings.Contains(l.String(), part) {
		t.Errorf("the log does not say %q:\n%s", part, l)
	}
}

func TestAStopLeavesToItselfWhatDoesNotEndAndNamesIt(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite) // nothing is asked of it
	synctest.Test(t, func(t *testing.T) {
		log := new(logged)
		s := newService(t, pool, func(c *Config) { c.Leads, c.Logger, c.ReportEvery = never, log.logger(), time.Hour })
		s.Start()
		release := make(chan struct{})
		for _, what := range []string{"delete old runs", "clear runs"} {
			s.loops.Go(func() {
				s.do(t.Context(), what, func(context.Context) error {
					<-release
					return nil
				})
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > StopsWithin {
			t.Errorf("the stop took %v", took)
		}
		log.want(t, `msg="stopped without waiting for maintenance that does not end" work="clear runs, delete old runs"`)
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("a second stop: %v", err)
		}
		s.Start() // what was left to itself is not waited for again
		began = time.Now()
		if err := s.Stop(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("the stop after it: %v after %v", err, time.Since(began))
		}
		close(release)
	})
}

func TestAStopWritesTheLastCountersOrSaysThatItCannot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		log := new(logged)
		s := newService(t, pool, func(c *Config) { c.Logger, c.ReportEvery = log.logger(), time.Hour })
		day := s.today()
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("a stop before the start: %v", err)
		}
		s.Start()
		s.Count(Change{Hour: day.Unix(), To: StateSucceeded})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Stop(over); !errors.Is(err, context.Canceled) {
			t.Errorf("a stop without time: %v", err)
		}
		log.want(t, "stopped without having written the last of the daily counters")
		if got := reported(t, s, day); got.Total() != 0 {
			t.Errorf("the report is %+v", got)
		}
		s.Start() // and has them still
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got, want := reported(t, s, day), (Day{Date: day, Succeeded: 1}); got != want {
			t.Errorf("the report is %+v, want %+v", got, want)
		}
	})
}

// TestCallsThatAnAdminLeftAreForgotten: it was killed between writing them down and deleting them.
func TestCallsThatAnAdminLeftAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		now := s.cfg.Now()
		old, fresh := now.Add(-pullGrace-time.Second).UnixMilli(), now.UnixMilli()
		err := errors.Join(
			db.InsertPulls(t.Context(), pool, []db.Pull{{ID: "a", Body: []byte("p"), ExpiresAt: old}, {ID: "b", Body: []byte("p"), ExpiresAt: fresh}}),
			db.InsertPullAnswers(t.Context(), pool, []db.PullAnswer{{ID: "a", Asker: "x", Body: []byte("p"), ExpiresAt: old}, {ID: "b", Asker: "x", Body: []byte("p"), ExpiresAt: fresh}}),
			db.UpsertPullSeen(t.Context(), pool, []db.PullSeen{{AppName: "g", Address: "a", SeenAt: now.Add(-keepSeen - time.Second).UnixMilli()}, {AppName: "g", Address: "b", SeenAt: fresh}}),
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.forgetOld(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().GetPullSeen(t.Context(), pool, db.GetPullSeenParams{AppName: "g", Address: "a"}); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("an executor that was seen long ago: %v", err)
		}
		if row, err := db.New().GetPullSeen(t.Context(), pool, db.GetPullSeenParams{AppName: "g", Address: "b"}); err != nil || row.SeenAt != fresh {
			t.Errorf("an executor that was just seen: %+v, %v", row, err)
		}
		calls, err := db.New().ListPulls(t.Context(), pool, 0)
		if err != nil || len(calls) != 1 || calls[0].ID != "b" {
			t.Errorf("calls: %+v, %v", calls, err)
		}
		answers, err := db.New().ListPullAnswers(t.Context(), pool, "x")
		if err != nil || len(answers) != 1 || answers[0].ID != "b" {
			t.Errorf("answers: %+v, %v", answers, err)
		}
	})
}
