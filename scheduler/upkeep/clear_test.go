package upkeep

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestUpstreamsClearTypes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 15, 0, 0, 0, dbtest.Zone)
	before := func(year int, month time.Month, day int) ClearRequest { // of a month that is too short the last day, as upstream
		return ClearRequest{GroupID: 1, JobID: 2, Before: time.Date(year, month, day, 15, 0, 0, 0, dbtest.Zone)}
	}
	keep := func(n int) ClearRequest { return ClearRequest{GroupID: 1, JobID: 2, KeepNewest: n} }
	want := []ClearRequest{before(2026, 2, 28), before(2025, 12, 31), before(2025, 9, 30), before(2025, 3, 31), keep(1000), keep(10_000), keep(30_000), keep(100_000), keep(0)}
	for i, w := range want {
		if got, err := ClearType(i+1).Request(now, 1, 2); err != nil || !got.Before.Equal(w.Before) || got.KeepNewest != w.KeepNewest {
			t.Errorf("type %d: %+v, %v; want %+v", i+1, got, err, w)
		}
	}
	for _, bad := range []ClearType{0, 10, -1} {
		if _, err := bad.Request(now, 0, 0); err == nil {
			t.Errorf("type %d is accepted", bad)
		}
	}
}

func TestClearingDeletesWhatThePreviewSaid(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		now := s.cfg.Now()
		at := func(days int) time.Time { return pool.Wall(now.AddDate(0, 0, -days)) }
		rows := []aRun{
			0: {at: at(50), group: 1, job: 1, handle: 200},
			1: {at: at(50), group: 1, job: 1}, // open
			2: {at: at(50), group: 2, job: 3, handle: 500},
			3: {at: at(5), group: 1, job: 1, handle: 200},
			4: {at: at(5), group: 1, job: 2, handle: 200},
			5: {at: at(5), group: 2, job: 1, trigger: 500}, // of job 1 when it was in group 2
			6: {at: at(1), group: 1, job: 2, handle: 200},
			7: {at: at(60), group: 1, job: 1, handle: 200}, // written late: it goes together with those it was written with
			8: {at: at(0), group: 2, job: 3, handle: 200},
			9: {at: at(0), group: 1, job: 1},
		}
		tests := []struct {
			name string
			r    ClearRequest
			gone []int
			open int64
		}{
			{"everything", ClearRequest{}, []int{0, 2, 3, 4, 5, 6, 7, 8}, 2},
			{"a group", ClearRequest{GroupID: 1}, []int{0, 3, 4, 6, 7}, 2},
			{"a job", ClearRequest{JobID: 1}, []int{0, 3, 5, 7}, 2},
			{"a job as far as it is the group's", ClearRequest{GroupID: 1, JobID: 1}, []int{0, 3, 7}, 2},
			{"what is older than a month", ClearRequest{Before: now.AddDate(0, -1, 0)}, []int{0, 2}, 1},
			{"of a job what is older than a month", ClearRequest{JobID: 3, Before: now.AddDate(0, -1, 0)}, []int{2}, 0},
			{"all but the newest three", ClearRequest{KeepNewest: 3}, []int{0, 2, 3, 4, 5, 6}, 1},
			{"of a job all but the newest two", ClearRequest{JobID: 2, KeepNewest: 2}, nil, 0},
			{"of a job all but the newest", ClearRequest{JobID: 2, KeepNewest: 1}, []int{4}, 0},
			{"of a group all but the newest", ClearRequest{GroupID: 2, KeepNewest: 1}, []int{2, 5}, 0},
			{"of a job nobody knows", ClearRequest{JobID: 77}, nil, 0},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log"); err != nil {
					t.Fatal(err)
				}
				ids := addRuns(t, pool, rows...)
				preview, err := s.PreviewClear(t.Context(), test.r)
				if err != nil {
					t.Fatal(err)
				}
				if want := (ClearPreview{Runs: int64(len(test.gone)), Exact: true, Open: test.open}); preview != want {
					t.Errorf("preview %+v, want %+v", preview, want)
				}
				id, err := s.Clear(t.Context(), test.r, "ada")
				if err != nil {
					t.Fatal(err)
				}
				later := addRuns(t, pool, aRun{at: at(70), group: 1, job: 1, handle: 200}) // after it was asked for
				if err := s.clearDue(t.Context()); err != nil {
					t.Fatal(err)
				}
				var want []int64
				for i, id := range ids {
					if !slices.Contains(test.gone, i) {
						want = append(want, id)
					}
				}
				if diff := cmp.Diff(append(want, later...), runIDs(t, pool)); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				if id == 0 {
					return
				}
				list, err := s.Clearings(t.Context(), 1)
				if err != nil || len(list) != 1 {
					t.Fatalf("clearings: %+v, %v", list, err)
				}
				c := list[0]
				if c.ID != id || c.User != "ada" || c.Deleted != int64(len(test.gone)) || c.Open != test.open || c.Progress != 1 || c.State != ClearingDone {
					t.Errorf("clearing %+v", c)
				}
			})
		}
	})
}

func TestAClearingGoesOnWhereAnotherAdminLeftItAndCanBeStopped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, func(c *Config) { c.Leads = never }) // it stops after each page
		many := make([]aRun, 700)
		for i := range many {
			many[i] = aRun{at: pool.Wall(s.cfg.Now()), handle: 200}
		}
		addRuns(t, pool, many...)
		id, err := s.Clear(t.Context(), ClearRequest{}, "ada")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			row, err := s.queries.GetClearing(t.Context(), pool, id)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.clearOne(t.Context(), row); !errors.Is(err, errNotLeader) {
				t.Fatalf("clear a page: %v", err)
			}
		}
		list, err := s.Clearings(t.Context(), 10)
		if err != nil || len(list) != 1 || list[0].Deleted != 2*pageStart || list[0].State != ClearingOpen || list[0].Progress < .5 || list[0].Progress > .6 {
			t.Fatalf("after two of four pages: %+v, %v", list, err)
		}
		old, err := s.queries.GetClearing(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		if stopped, err := s.StopClearing(t.Context(), id); err != nil || !stopped {
			t.Fatalf("stop: %v, %v", stopped, err)
		}
		if err := s.clearOne(t.Context(), old); !errors.Is(err, errChanged) {
			t.Errorf("a page after it was stopped: %v, want %v", err, errChanged)
		}
		if n := len(runIDs(t, pool)); n != 300 {
			t.Errorf("%d runs left, want 300", n)
		}
		if stopped, err := s.StopClearing(t.Context(), id); err != nil || stopped {
			t.Errorf("stop again: %v, %v", stopped, err)
		}
	})
}

func TestAPreviewOfMuchIsAnEstimate(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	s := newService(t, pool, nil)
	rows := make([]aRun, previewRows*2)
	for i := range rows {
		rows[i] = aRun{at: pool.Wall(s.cfg.Now()), handle: 200}
		if i%4 == 0 {
			rows[i].handle = 0
		}
	}
	addRuns(t, pool, rows...)
	got, err := s.PreviewClear(context.WithoutCancel(t.Context()), ClearRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (ClearPreview{Runs: previewRows * 2 * 3 / 4, Open: previewRows / 4}); got != want {
		t.Errorf("preview %+v, want %+v", got, want)
	}
}
