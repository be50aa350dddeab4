package upkeep

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestARunCountsAsUpstreamCountsIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                  string
		trigger, handle, left int64
		want                  State
	}{
		{"waiting to be sent", 0, 0, 2, StateRunning},
		{"sent", 200, 0, 2, StateRunning},
		{"succeeded", 200, 200, 2, StateSucceeded},
		{"succeeded although the sending counted as failed", 500, 200, 2, StateSucceeded},
		{"reported before the sending was recorded", 0, 200, 0, StateSucceeded},
		{"not sendable", 500, 0, 0, StateFailed},
		{"failed", 200, 500, 0, StateFailed},
		{"timed out", 200, 502, 0, StateFailed},
		{"ended with a code of its own", 200, 777, 0, StateFailed},
		{"not sendable, to be tried again", 500, 0, 1, StateAttempt},
		{"failed, to be tried again", 200, 500, 1, StateAttempt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := StateOf(event.Open, test.trigger, test.handle, test.left); got != test.want {
				t.Errorf("StateOf(%d, %d) = %d, want %d", test.trigger, test.handle, got, test.want)
			}
		})
	}
}

func reported(t *testing.T, s *Service, day time.Time) Day {
	t.Helper()
	r, err := s.queries.GetReport(t.Context(), s.cfg.Pool, nullTime(day))
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	return Day{Date: day, Running: r.RunningCount, Succeeded: r.SucCount, Failed: r.FailCount, Skipped: r.SkipCount}
}

func TestTwoNodesCountTogetherInWhateverOrderTheyWrite(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	begins, ends := newService(t, pool, nil), newService(t, pool, nil)
	day := begins.today()
	begins.Count(Change{Hour: day.Unix(), To: StateRunning}, Change{Hour: day.Unix(), To: StateRunning})
	ends.Count(Change{Hour: day.Unix(), From: StateRunning, To: StateSucceeded}, Change{Hour: day.Unix(), From: StateRunning, To: StateFailed})
	for _, s := range []*Service{ends, begins} { // the end is written before the beginning
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		days, _, err := Days(t.Context(), pool, pool.FromWall(day), pool.FromWall(day))
		if err != nil || days[0].Running != 0 || days[0].Succeeded != 1 || days[0].Failed != 1 {
			t.Errorf("days %+v, %v; want no running, one succeeded, one failed", days, err)
		}
	}
	if got, want := reported(t, ends, day), (Day{Date: day, Succeeded: 1, Failed: 1}); got != want {
		t.Errorf("report %+v, want %+v", got, want)
	}
}

func TestWhatACrashTookFromTheCountersIsRecounted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		crashes, next := newService(t, pool, nil), newService(t, pool, nil)
		day := next.today()
		addRuns(t, pool, aRun{at: day, handle: 200}, aRun{at: day, handle: 500}, aRun{at: day}, aRun{at: day, handle: 200})
		crashes.Count(Change{Hour: day.Unix(), To: StateSucceeded}, Change{Hour: day.Unix(), To: StateFailed}, Change{Hour: day.Unix(), To: StateRunning})
		if err := crashes.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		crashes.Count(Change{Hour: day.Unix(), To: StateSucceeded}) // which it never writes

		if got := reported(t, next, day); got.Total() != 3 {
			t.Fatalf("before the recount: %+v", got)
		}
		if err := next.Recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		if got, want := reported(t, next, day), (Day{Date: day, Running: 1, Succeeded: 2, Failed: 1}); got != want {
			t.Errorf("after the recount %+v, want %+v", got, want)
		}
	})
}

// TestTheRecountOfAnHourMindsNoOther: the hours around it change all the time, one group's runs within it do, and another's are put right.
func TestTheRecountOfAnHourMindsNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s, other := newService(t, pool, nil), newService(t, pool, nil)
		day := s.today()
		hour, next := day.Add(2*time.Hour), day.Add(3*time.Hour)
		addRuns(t, pool, aRun{at: hour, handle: 200}, aRun{at: hour.Add(59 * time.Minute), handle: 200}, aRun{at: hour, group: 2, handle: 200})
		s.Count(Change{Hour: hour.Unix(), Group: 1, To: StateRunning}, Change{Hour: hour.Unix(), Group: 1, To: StateRunning},
			Change{Hour: hour.Unix(), Group: 2, To: StateRunning}, Change{Hour: next.Unix(), Group: 1, To: StateFailed})
		if err := s.Flush(t.Context()); err != nil { // and the admin that saw them end was killed
			t.Fatal(err)
		}
		rests := 0
		s.rest = func(ctx context.Context, _ time.Duration) error {
			rests++
			other.Count(Change{Hour: next.Unix(), Group: 1, To: StateRunning}, Change{Hour: hour.Unix(), Group: 2, To: StateSucceeded})
			return other.Flush(ctx)
		}
		if err := s.RecountHour(t.Context(), hour); err != nil || rests != 1 {
			t.Fatalf("%d rests, %v", rests, err)
		}
		want := map[hourOfGroup]tally{
			{hour.Unix(), 1}: {StateSucceeded: 2}, {hour.Unix(), 2}: {StateRunning: 1, StateSucceeded: 1}, {next.Unix(), 1}: {StateRunning: 1, StateFailed: 1},
		}
		if diff := cmp.Diff(want, hoursOf(t, s, day)); diff != "" {
			t.Errorf("hours (-want +got):\n%s", diff)
		}
		if got, want := reported(t, s, day), (Day{Date: day, Running: 2, Succeeded: 3, Failed: 1}); got != want {
			t.Errorf("report %+v, want %+v", got, want)
		}
		if err := s.RecountHour(t.Context(), hour); err != nil || rests != 2 { // group 2 is still wrong, and still changes
			t.Errorf("once more: %d rests, %v", rests, err)
		}
	})
}

func TestARecountDoesNotForgetRunsThatWereDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		day := s.today()
		rows := []aRun{{at: day, handle: 200}, {at: day, handle: 500}, {at: day}}
		ids := addRuns(t, pool, rows...)
		s.Count(Change{Hour: day.Unix(), To: StateSucceeded}, Change{Hour: day.Unix(), To: StateFailed},
			Change{Hour: day.Unix(), To: StateRunning}, Change{Hour: day.Unix(), To: StateRunning})
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.queries.DeleteRuns(t.Context(), pool, ids[:2]); err != nil {
			t.Fatal(err)
		}
		if err := s.Recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		if got, want := reported(t, s, day), (Day{Date: day, Running: 1, Succeeded: 1, Failed: 1}); got != want {
			t.Errorf("after the recount %+v, want %+v", got, want)
		}
	})
}

func TestARecountLeavesADayAloneWhoseRunsKeepChanging(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s, other := newService(t, pool, nil), newService(t, pool, nil)
		day := s.today().AddDate(0, 0, -1)
		addRuns(t, pool, aRun{at: day, handle: 200})
		n := int64(0)
		s.rest = func(ctx context.Context, _ time.Duration) error { // a run begins whenever it waits
			n++
			other.Count(Change{Hour: day.Unix(), To: StateRunning})
			return other.Flush(ctx)
		}
		err := s.Recount(t.Context(), day)
		if !errors.Is(err, errBusyDay) {
			t.Errorf("recount: %v, want %v", err, errBusyDay)
		}
		if got, want := reported(t, s, day), (Day{Date: day, Running: n}); got != want {
			t.Errorf("report %+v, want %+v: what was added meanwhile", got, want)
		}
	})
}

// hoursOf are the counters of the hours around today, by what they count.
func hoursOf(t *testing.T, s *Service, days ...time.Time) map[hourOfGroup]tally {
	t.Helper()
	all := make(map[hourOfGroup]tally)
	for _, day := range days {
		hours, err := s.storedHours(t.Context(), day, day.AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, hours)
	}
	return all
}

func TestHoursOfGroupsAreCountedLikeDays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		day := s.today()
		three, four := day.Unix()+3*3600, day.Unix()+4*3600
		s.Count(Change{Hour: three, Group: 1, To: StateRunning}, Change{Hour: three, Group: 2, To: StateFailed}, Change{Hour: four, Group: 1, To: StateRunning})
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Count(Change{Hour: three, Group: 1, From: StateRunning, To: StateSucceeded}, Change{Hour: three, Group: 1, To: StateRunning})
		s.Count(Change{Hour: four, Group: 2, To: StateRunning}, Change{Hour: four, Group: 2, From: StateRunning}) // nothing, in the end
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[hourOfGroup]tally{
			{three, 1}: {StateRunning: 1, StateSucceeded: 1}, {three, 2}: {StateFailed: 1}, {four, 1}: {StateRunning: 1},
		}
		if diff := cmp.Diff(want, hoursOf(t, s, day)); diff != "" {
			t.Error(diff)
		}
		if got, want := reported(t, s, day), (Day{Date: day, Running: 2, Succeeded: 1, Failed: 1}); got != want {
			t.Errorf("the day is %+v, want %+v", got, want)
		}
	})
}

func TestHoursThatAnXXLJobAdminLeftAreCountedAtTheStart(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		old, today := s.today().AddDate(0, 0, -20), s.today()
		addRuns(t, pool, aRun{at: old.Add(2 * time.Hour), handle: 200}, aRun{at: old.Add(2*time.Hour + 59*time.Minute), handle: 500}, aRun{at: old.Add(23 * time.Hour)}, aRun{at: today, handle: 200})
		if err := s.queries.InsertReport(t.Context(), pool, db.InsertReportParams{TriggerDay: nullTime(old)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.queries.SetReport(t.Context(), pool, db.SetReportParams{Day: nullTime(old), Running: 1, Succeeded: 1, Failed: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.recountAtStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		group := int64(0)
		hours := hoursOf(t, s, old, today)
		for key := range hours {
			group = key.group
		}
		want := map[hourOfGroup]tally{
			{old.Unix() + 2*3600, group}: {StateSucceeded: 1, StateFailed: 1}, {old.Unix() + 23*3600, group}: {StateRunning: 1}, {today.Unix(), group}: {StateSucceeded: 1},
		}
		if diff := cmp.Diff(want, hours); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDaysOfBeforeSkippedFiresWereCountedAreCountedAnewOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		old := s.today().AddDate(0, 0, -20)
		hour := old.Add(2 * time.Hour)
		skipped := addRuns(t, pool, aRun{at: hour, handle: 200}, aRun{at: hour, trigger: 500})[1]
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", int64(event.Skipped), skipped); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time nobody looks so far back
			s.Count(Change{Hour: HourOf(hour), Group: 1, To: StateFailed})
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if reported(t, s, old).Succeeded == 0 {
				s.Count(Change{Hour: HourOf(hour), Group: 1, To: StateSucceeded})
			}
			if err := s.recountAtStart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := reported(t, s, old), (Day{Date: old, Succeeded: 1, Failed: 1, Skipped: 1}); got != want {
			t.Errorf("the day is %+v, want %+v", got, want)
		}
	})
}

func TestTheReportOfARangeHasEveryDayAndItsSum(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		now := time.Date(2026, 3, 10, 15, 0, 0, 0, dbtest.Zone)
		day := dayOf(pool.Wall(now))
		s.Count(Change{Hour: day, To: StateSucceeded}, Change{Hour: day, To: StateSucceeded}, Change{Hour: day, To: StateFailed},
			Change{Hour: day - 2*86_400, To: StateRunning}, Change{Hour: day - 9*86_400, To: StateFailed})
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		days, sum, err := Days(t.Context(), pool, now.AddDate(0, 0, -2), now)
		if err != nil {
			t.Fatal(err)
		}
		midnight := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, dbtest.Zone) }
		want := []Day{{Date: midnight(8), Running: 1}, {Date: midnight(9)}, {Date: midnight(10), Succeeded: 2, Failed: 1}}
		if diff := cmp.Diff(want, days); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Day{Date: midnight(8), Running: 1, Succeeded: 2, Failed: 1}, sum); diff != "" {
			t.Errorf("sum (-want +got):\n%s", diff)
		}
		if share, ok := sum.SuccessShare(); !ok || share < .66 || share > .67 {
			t.Errorf("success share %v, %v", share, ok)
		}
		if _, ok := days[1].SuccessShare(); ok {
			t.Error("a day without results has a success share")
		}
		if _, _, err := Days(t.Context(), pool, now, now.AddDate(0, 0, -1)); err == nil {
			t.Error("a range that ends before it begins is accepted")
		}
	})
}

func TestWhatWasLeftOutOnPurposeIsNoFailureInTheCounters(t *testing.T) {
	t.Parallel()
	for _, o := range event.AllOutcomes() {
		if got := StateOf(o, wire.CodeFail, 0, 0) == StateSkipped; got != (o.Passed() && o != event.Cancelled) { // whose fire has succeeded
			t.Errorf("%v counts as skipped: %v", o, got)
		}
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		day := s.today()
		ids := addRuns(t, pool, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500})
		for i, o := range []event.Outcome{event.Skipped, event.Discarded, event.Cancelled, event.NotSent} {
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", o, ids[i]); err != nil {
				t.Fatal(err)
			}
			s.Count(Change{Hour: HourOf(day), Group: 1, To: StateOf(o, wire.CodeFail, 0, 0)})
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := Day{Date: day, Failed: 1, Skipped: 2}
		agree := func(when string) {
			t.Helper()
			found, _, hours, err := s.count(t.Context(), day, day.AddDate(0, 0, 1))
			if err != nil {
				t.Fatal(err)
			}
			if got := reported(t, s, day); got != want || found != want {
				t.Errorf("%s: counted %+v, recounted %+v, want %+v", when, got, found, want)
			}
			if diff := cmp.Diff(hours, hoursOf(t, s, day)); diff != "" {
				t.Errorf("%s: hours (-rows +counted):\n%s", when, diff)
			}
		}
		agree("as it happened")

		// An XXL-JOB admin beside puts what it finds in the place of its counters: skipped fires are failures to it.
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log_report SET fail_count = 4"); err != nil {
			t.Fatal(err)
		}
		if err := s.Recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		agree("after an XXL-JOB admin's count")
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_run_hour SET fail_count = 4, skip_count = 0"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log_report SET fail_count = 4, skip_count = 0"); err != nil {
			t.Fatal(err)
		}
		if err := s.Recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		agree("after the recount of what an older version counted")

		days, sum, err := Days(t.Context(), pool, pool.FromWall(day), pool.FromWall(day))
		if err != nil || days[0].Failed != 1 || days[0].Skipped != 2 || sum.Total() != 3 {
			t.Errorf("days %+v, sum %+v, %v", days, sum, err)
		}
		if share, ok := sum.SuccessShare(); !ok || share != 0 {
			t.Errorf("success share %v, %v, want 0 of one", share, ok)
		}
		if _, ok := (Day{Skipped: 2}).SuccessShare(); ok {
			t.Error("a day of skipped fires has a success share")
		}
	})
}
