package jobspec_test

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestBackoffWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []time.Duration // of the first retries
	}{
		{"", []time.Duration{0, 0}},
		{"1m,5m,20m", []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, 20 * time.Minute}},
		{"0s, 168h,604800", []time.Duration{0, jobspec.MaxBackoff, jobspec.MaxBackoff}},
		{"1 0 s * 1 <= 2 0 s", []time.Duration{10 * time.Second, 10 * time.Second}},
		{" 10 ， 1h ", []time.Duration{10 * time.Second, time.Hour}},
		{"30s*2", []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}},
		{"30s*2<=1m", []time.Duration{30 * time.Second, time.Minute, time.Minute}},
		{"1h*100", []time.Duration{time.Hour, 100 * time.Hour, jobspec.MaxBackoff, jobspec.MaxBackoff}},
	}
	for _, tt := range tests {
		b, err := jobspec.ParseBackoff(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		for i, want := range tt.want {
			if got := b.Wait(i + 1); got != want {
				t.Errorf("%q: retry %d waits %s, want %s", tt.text, i+1, got, want)
			}
		}
	}
	for _, bad := range []string{"soon", "-1s", "200h", "7d", "604801", "1m*100.5", "1m*0.9", "1m,,x", "*2", "1m*", "1m*0", "1m*NaN", "1m*2<=", "1m*2<=9999h", ","} {
		if _, err := jobspec.ParseBackoff(bad); !errors.Is(err, jobspec.ErrBackoff) {
			t.Errorf("%q: error %v, want ErrBackoff", bad, err)
		}
	}
}

func FuzzParseBackoff(f *testing.F) {
	for _, s := range []string{"1m,5m", "30s*2<=1h", "", "9999999999999999999", "1s*1e300"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		b, err := jobspec.ParseBackoff(text)
		if err != nil {
			return
		}
		if w := b.Wait(n % 1000); w < 0 || w > jobspec.MaxBackoff {
			t.Errorf("%q: retry %d waits %s", text, n, w)
		}
	})
}

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
		if err != nil || plan.Skipped == nil || plan.Skipped.Count != 3 || !plan.Ended() || len(plan.Fires) != 0 {
			t.Errorf("%s: %+v skipped %+v, %v; want the three fires of the window and the end", typ.Type, plan, plan.Skipped, err)
		}
	}
}
