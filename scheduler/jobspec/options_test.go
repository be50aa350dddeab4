package jobspec_test

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestScheduleWindowsAndNewTypes(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		tm, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	shanghai, err := jobspec.Location("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	noon := at("2026-05-01 12:00:00")
	tests := []struct {
		name  string
		s     jobspec.Schedule
		after time.Time
		want  time.Time
	}{
		{"a fixed rate begins at the start of its window", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Start: noon}, noon.Add(-time.Hour), noon},
		{"and keeps its own pace inside", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Start: noon}, noon, noon.Add(time.Minute)},
		{"a cron time on the start counts", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 12 * * ?", Start: noon}, noon.Add(-48 * time.Hour), noon},
		{"a time on the end counts", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 12 * * ?", End: noon}, noon.Add(-time.Hour), noon},
		{"nothing is due after the end", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 12 * * ?", End: noon}, noon, time.Time{}},
		{"a moment is read in the job's zone", jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-05-01 20:00:00", Zone: shanghai}, noon.Add(-time.Hour), noon},
		{"a moment that has passed is never due", jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-05-01 20:00:00", Zone: shanghai}, noon, time.Time{}},
		{"a fixed delay is due that long after the end of a run", jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "90"}, noon, noon.Add(90 * time.Second)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.s.Next(tt.after)
			if err != nil || !got.Equal(tt.want) {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestAFixedDelayWaitsForItsRunAndIsNeverMissed(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "60"}
	plan, err := jobspec.Decide(s, next, next.Add(time.Hour), next.Add(time.Hour), 0)
	if err != nil || len(plan.Fires) != 1 || !plan.Fires[0].Equal(next) || !plan.Next.Equal(jobspec.Waiting) || plan.Skipped != nil || plan.Misfire != nil {
		t.Errorf("an hour late: %+v, %v", plan, err)
	}
	plan, err = jobspec.Decide(s, jobspec.Waiting, next, next, 0)
	if err != nil || len(plan.Fires) != 0 || !plan.Next.Equal(jobspec.Waiting) {
		t.Errorf("while its run goes on: %+v, %v", plan, err)
	}
	s.End = next.Add(-time.Second)
	plan, err = jobspec.Decide(s, jobspec.Waiting, next, next, 0)
	if err != nil || !plan.Next.Equal(jobspec.Waiting) {
		t.Errorf("while its run goes on over the end of its window: %+v, %v", plan, err)
	}
}

func TestMissedFiresEndWithTheWindow(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, typ := range []jobspec.Schedule{{Type: jobspec.ScheduleFixRate, Conf: "60"}, {Type: jobspec.ScheduleCron, Conf: "0 * * * * ?"}} {
		typ.End, typ.Misfire = first.Add(150*time.Second), jobspec.MisfireDoNothing
		now := first.Add(time.Hour)
		plan, err := jobspec.Decide(typ, first, now, now, 0)
		if err != nil || plan.Skipped == nil || plan.Skipped.Count != 3 || !plan.Next.IsZero() || len(plan.Fires) != 0 {
			t.Errorf("%s: %+v skipped %+v, %v; want the three fires of the window and the end", typ.Type, plan, plan.Skipped, err)
		}
	}
}
