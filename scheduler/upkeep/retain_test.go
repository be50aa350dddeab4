package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestWhichRunsAreTooOld(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return today.AddDate(0, 0, -days) }
	r := retention{today: today, of: Retention{Days: 30}, perJob: map[int64]int{2: 7, 3: 90, 4: -1}}
	less := retention{today: today, of: Retention{Days: 30, Succeeded: 5}, perJob: map[int64]int{2: 7}}
	more := retention{today: today, of: Retention{Days: 30, Succeeded: 60}}
	forever := retention{today: today, perJob: map[int64]int{2: 7}}
	tests := []struct {
		name   string
		of     retention
		job    int64
		at     time.Time
		handle int64
		want   bool
	}{
		{"of the day that is just kept", r, 1, ago(30), 200, false},
		{"a second before that day", r, 1, ago(30).Add(-time.Second), 200, true},
		{"a failed one as well", r, 1, ago(31), 500, true},
		{"without a planned time", r, 1, time.Time{}, 200, true},
		{"an open one stays", r, 1, ago(31), 0, false},
		{"an open one that nobody can believe in any more", r, 1, ago(30 + 91), 0, true},
		{"a job that keeps less", r, 2, ago(8), 200, true},
		{"a job that keeps less, in its time", r, 2, ago(7), 200, false},
		{"a job that keeps more", r, 3, ago(60), 200, false},
		{"a job that keeps more, too old for it too", r, 3, ago(91), 200, true},
		{"a job that keeps everything", r, 4, ago(5000), 200, false},
		{"an installation that keeps everything", forever, 1, ago(5000), 200, false},
		{"a job that does not, in such an installation", forever, 2, ago(8), 200, true},
		{"a success where those are kept for less", less, 1, ago(6), 200, true},
		{"a success there, in its time", less, 1, ago(5), 200, false},
		{"a failure there", less, 1, ago(30), 500, false},
		{"an old failure there", less, 1, ago(31), 500, true},
		{"an open one there", less, 1, ago(31), 0, false},
		{"a success of a job with a time of its own there", less, 2, ago(7), 200, false},
		{"a success where those would be kept for more", more, 1, ago(31), 200, true},
		{"a success where only those go", retention{today: today, of: Retention{Succeeded: 1}}, 1, ago(2), 200, true},
		{"a failure where only successes go", retention{today: today, of: Retention{Succeeded: 1}}, 1, ago(5000), 500, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run := db.ListRunStatesRow{JobID: test.job, TriggerCode: 200, HandleCode: test.handle}
			if !test.at.IsZero() {
				run.TriggerTime = nullTime(test.at)
			}
			if got := test.of.old(&run); got != test.want {
				t.Errorf("old = %v, want %v", got, test.want)
			}
		})
	}
}

func TestTheRetentionHasALeast(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("unreadable")
	tests := []struct {
		days, want int
		err, fails error
	}{
		{days: 3, want: 3}, {days: 365, want: 365}, {days: 0, want: 0}, {days: -1, want: 0}, {days: 2, want: 2, fails: ErrRetention}, {err: unreadable, fails: unreadable},
	}
	for _, tt := range tests {
		s, err := New(Config{Pool: new(db.Pool), Logger: slog.New(slog.DiscardHandler),
			Retention: func(context.Context) (Retention, error) { return Retention{Days: tt.days}, tt.err }})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.RetentionDays(t.Context()); got != tt.want || !errors.Is(err, tt.fails) {
			t.Errorf("%d, %v: RetentionDays = %d, %v; want %d, %v", tt.days, tt.err, got, err, tt.want, tt.fails)
		}
	}
	if _, err := New(Config{Pool: new(db.Pool), Logger: slog.New(slog.DiscardHandler), RetentionDays: 2}); !errors.Is(err, ErrRetention) {
		t.Errorf("a configured retention of two days: %v, want %v", err, ErrRetention)
	}
}

// runIDs are the ids of all runs there are.
func runIDs(t *testing.T, pool *db.Pool) []int64 {
	t.Helper()
	rows, err := db.New().ListRunStates(t.Context(), pool, db.ListRunStatesParams{UptoID: 1 << 62, Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestOldRunsAreDeletedAndNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first := time.Date(2026, 3, 31, 15, 4, 5, 0, dbtest.Zone)
		var passed atomic.Int64 // days
		s := newService(t, pool, func(c *Config) {
			c.Now = func() time.Time { return first.AddDate(0, 0, int(passed.Load())) }
		})
		short, long := addJob(t, pool, 5), addJob(t, pool, -1)
		at := func(days int) time.Time { return s.today().AddDate(0, 0, -days).Add(12 * time.Hour) }
		var gone, rows []aRun
		for range 1100 { // several pages
			gone = append(gone, aRun{at: at(31), handle: 200, job: 999})
		}
		addRuns(t, pool, gone...)
		addRuns(t, pool, aRun{at: at(31), trigger: 500, job: 999}, aRun{at: at(6), handle: 200, job: short}, aRun{at: at(400), job: 999})
		rows = []aRun{
			{at: at(31), job: 999},                // open
			{at: at(400), handle: 200, job: long}, // kept for ever
			{at: at(30), handle: 200, job: 999},   // of the last day that is kept
			{at: at(5), handle: 200, job: short},
			{at: at(0), handle: 200, job: 999},
			{at: at(0), job: short},
		}
		want := addRuns(t, pool, rows...)
		if err := s.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, runIDs(t, pool)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
		// A straggler, planned long ago and written now, goes together with those it was written with. Another round of the
		// same day has nothing to do, the next day's has.
		late := addRuns(t, pool, aRun{at: at(50), handle: 200, job: 999})
		if err := s.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		passed.Add(1)
		if err := s.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(slices.Delete(slices.Clone(want), 2, 4), late...), runIDs(t, pool)); diff != "" {
			t.Errorf("left on the next day (-want +got):\n%s", diff)
		}
	})
}

// TestSuccessesAreKeptForLess than failures, if somebody says so, and the account of a time knows that.
func TestSuccessesAreKeptForLess(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		keep := Retention{Days: 30}
		s := newService(t, pool, func(c *Config) { c.Retention = func(context.Context) (Retention, error) { return keep, nil } })
		own := addJob(t, pool, 90)
		at := func(days int) time.Time { return s.today().AddDate(0, 0, -days).Add(12 * time.Hour) }
		ids := addRuns(t, pool,
			aRun{at: at(60), handle: 200, job: own},
			aRun{at: at(6), handle: 200, job: 999},
			aRun{at: at(6), handle: 500, job: 999},
			aRun{at: at(6), job: 999},
			aRun{at: at(5), handle: 200, job: 999})
		for _, want := range [][]int64{ids, {ids[0], ids[2], ids[3], ids[4]}} {
			if err := s.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, runIDs(t, pool)); diff != "" {
				t.Errorf("%+v: left (-want +got):\n%s", keep, diff)
			}
			keep.Succeeded = 5 // counts at once, and not on the next day
		}
		d, err := s.queries.GetDeletion(t.Context(), pool, db.GetDeletionParams{What: DeletedByRetention})
		if want := pool.FromWall(s.today().AddDate(0, 0, -5)).UnixMilli(); err != nil || d.BeforeAt != want {
			t.Errorf("noted: before %d, %v; want %d", d.BeforeAt, err, want)
		}
	})
}

// TestBesideXXLJOBTheirAdminsDelete: their retention is set there, and the log is theirs as well.
func TestBesideXXLJOBTheirAdminsDelete(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	s := newService(t, pool, nil)
	want := addRuns(t, pool, aRun{at: s.today().AddDate(-2, 0, 0), handle: 200, job: 999})
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_beside (group_id) VALUES (?)", db.ModeGroup); err != nil {
		t.Fatal(err)
	}
	if err := pool.CheckCurrent(t.Context()); err != nil || !pool.Beside() {
		t.Fatalf("the mode is not on: %v", err)
	}
	if err := s.retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, runIDs(t, pool)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestAnotherAdminThatLeadsEndsARoundAfterAPage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, func(c *Config) { c.Leads = never })
		many := make([]aRun, pageStart+1)
		for i := range many {
			many[i] = aRun{at: s.today().AddDate(0, 0, -40), handle: 200}
		}
		last := addRuns(t, pool, many...)[pageStart:]
		addRuns(t, pool, aRun{at: s.today(), handle: 200})
		if err := s.retain(t.Context()); !errors.Is(err, errNotLeader) {
			t.Errorf("the round: %v, want %v", err, errNotLeader)
		}
		if left := runIDs(t, pool); len(left) != 2 || left[0] != last[0] {
			t.Errorf("left %v, want %v and today's", left, last)
		}
	})
}

func TestOldSessionsAndClearingsAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		now := s.cfg.Now().UnixMilli()
		for i := range 1002 {
			expires := now - 1000
			if i == 0 {
				expires = now + 60_000
			}
			if err := s.queries.InsertSession(t.Context(), pool, db.InsertSessionParams{ID: fmt.Sprint("s", i), UserID: 1, ExpiresAt: expires}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.forgetOld(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left string
		if err := pool.QueryRowContext(t.Context(), "SELECT id FROM punctual_session").Scan(&left); err != nil || left != "s0" {
			t.Errorf("left %q, %v; want the one that has not expired", left, err)
		}
	})
}
