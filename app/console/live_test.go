package console

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
)

// talking has two pieces of output of every run, and then nothing new.
type talking struct{}

func (talking) StoreSilent() time.Duration { return 0 }

func (talking) Read(_ context.Context, _ *db.Run, from int) (scheduler.Piece, error) {
	if from > 2 {
		return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: from}}, nil
	}
	return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: from, ToLineNum: from, LogContent: "a line\n"}}, nil
}

// TestALookAtARunReadsItOnce counts what two looks a second, of up to 500 streams, ask the database.
func TestALookAtARunReadsItOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	pool.SetMaxOpenConns(1) // whose statements the server counts
	now := time.Now()
	const logID = 7
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, trigger_time, trigger_code, handle_code, planned_at, sent_at) VALUES (?, 1, 1, 'http://10.0.0.1:9999/', ?, 200, 0, ?, ?)",
		logID, pool.Wall(now), now.UnixMilli(), now.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	service := manage.New(manage.Config{Pool: pool, Outputs: talking{}, Now: func() time.Time { return now }})
	pages := &runPages{
		timelines: &timelines{frame: &frame{zone: time.UTC, now: func() time.Time { return now }, wall: pool, groups: service.Groups, open: service.OpenAlarms, notes: service.Notes}, runs: service.Runs, jobs: service.Jobs},
		runs:      service.Runs,
	}
	w := &runWatch{pages: pages, page: layout.Page{Printer: locales.New().Printer(locales.English)}, who: auth.Principal{Admin: true}, logID: logID, next: 1}
	recorder := httptest.NewRecorder()
	s := live.NewStream(recorder)
	asked := func() (n int) {
		var name string
		if err := pool.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_select'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	look := func() int {
		before := asked()
		if ended, _, err := w.Look(t.Context(), s); ended || err != nil {
			t.Fatal(ended, err)
		}
		return asked() - before
	}
	if n := look(); w.next != 3 || n > 10 {
		t.Errorf("the first look, which draws the page and the runs beside it, asks %d times and comes to line %d", n, w.next)
	}
	w.next = 1
	if n := look(); w.next != 3 || n != 1 {
		t.Errorf("a look with new output asks %d times and comes to line %d", n, w.next)
	}
	if n := look(); n != 1 {
		t.Errorf("a look at nothing new asks %d times", n)
	}
}

// forgetful has no output of any run.
type forgetful struct{}

func (forgetful) StoreSilent() time.Duration { return 0 }

func (forgetful) Read(_ context.Context, _ *db.Run, from int) (scheduler.Piece, error) {
	return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: from, LogContent: wire.LogMissing, IsEnd: true}}, nil
}

// TestOutputThatIsGoneIsNotTakenForNone asks an executor that has cleared its logs away.
func TestOutputThatIsGoneIsNotTakenForNone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Now()
		service := manage.New(manage.Config{Pool: pool, Outputs: forgetful{}, Now: func() time.Time { return now }})
		pages := &runPages{
			timelines: &timelines{frame: &frame{zone: time.UTC, now: func() time.Time { return now }, wall: pool, groups: service.Groups, open: service.OpenAlarms, notes: service.Notes}, runs: service.Runs, jobs: service.Jobs},
			runs:      service.Runs,
		}
		page, admin := layout.Page{Printer: locales.New().Printer(locales.English)}, auth.Principal{Admin: true}
		for id, tt := range map[int64]struct {
			handled int
			status  runs.LogStatus
			note    string
		}{
			7: {200, runs.LogMissing, "The executor has no output of this run"},
			8: {0, runs.LogLive, ""}, // it may not have begun
		} {
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, trigger_time, trigger_code, handle_code, planned_at, sent_at) VALUES (?, 1, 1, 'http://10.0.0.1:9999/', ?, 200, ?, ?, ?)",
				id, pool.Wall(now), tt.handled, now.UnixMilli(), now.UnixMilli()); err != nil {
				t.Fatal(err)
			}
			r, err := service.Runs.Get(t.Context(), admin, id)
			if err != nil {
				t.Fatal(err)
			}
			if log := pages.firstLog(t.Context(), page, r, 1); log.Status != tt.status || len(log.Lines) != 0 {
				t.Errorf("run %d: its page says %+v, want %s", id, log, tt.status)
			}
			recorder := httptest.NewRecorder()
			s := live.NewStream(recorder)
			w := &runWatch{pages: pages, page: page, who: admin, logID: id, next: 1}
			ended, _, err := w.Look(t.Context(), s)
			if _, says, _ := strings.Cut(recorder.Body.String(), "event: note\n"); err != nil || ended != (tt.handled != 0) || !strings.Contains(says, tt.note) || tt.note == "" && says != "" {
				t.Errorf("run %d: its stream ends: %v, %v, with %q", id, ended, err, says)
			}
		}
	})
}

// endless has one more line whenever it is asked, and lets time pass.
type endless struct{}

func (endless) StoreSilent() time.Duration { return 0 }

func (endless) Read(_ context.Context, _ *db.Run, from int) (scheduler.Piece, error) {
	time.Sleep(10 * time.Millisecond)
	return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: from, ToLineNum: from, LogContent: "a line\n"}}, nil
}

// TestALookEndsWhileARunWrites: a run that never stops writing does not keep a stream from asking whether its reader may still see it.
func TestALookEndsWhileARunWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pages := &runPages{runs: manage.New(manage.Config{Pool: new(db.Pool), Zone: time.UTC, Outputs: endless{}}).Runs}
		w := &runWatch{pages: pages, page: layout.Page{Printer: locales.New().Printer(locales.English)}, next: 1}
		began := time.Now()
		end, err := w.sendLog(ctx, live.NewStream(httptest.NewRecorder()), &db.Run{})
		if took := time.Since(began); end || err != nil || took > live.Recheck || w.next < 50 {
			t.Errorf("a look takes %v and comes to line %d: %v, %v", took, w.next, end, err)
		}
		if _, err := w.sendLog(ctx, live.NewStream(httptest.NewRecorder()), &db.Run{}); err != nil || w.next < 100 {
			t.Errorf("the next one comes to line %d: %v", w.next, err)
		}
	})
}
