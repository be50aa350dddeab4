package shadow

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func minutely(retries int) Job {
	return Job{ID: 1, Spec: jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 * * * * ?", Zone: time.UTC}, Next: noon.Add(time.Minute), Retries: retries}
}

// watched looks every 5 s for so long, with the runs of an admin at their times, and then until all is settled.
func watched(job func(now time.Time) (Job, bool), runs []Run, length time.Duration) *Watch {
	w := NewWatch()
	for now := noon; now.Before(noon.Add(length + 2*Patience)); now = now.Add(5 * time.Second) {
		var jobs []Job
		if j, started := job(now); started && now.Before(noon.Add(length)) {
			jobs = append(jobs, j)
		}
		w.See(jobs, now)
		var made []Run
		for _, r := range runs {
			if !r.At.After(now) { // each is seen many times
				made = append(made, r)
			}
		}
		w.Made(made)
		w.Settle(now)
	}
	return w
}

// TestWatch tells for each fire what became of it.
func TestWatch(t *testing.T) {
	t.Parallel()
	at := func(minute int, late time.Duration) Run {
		return Run{ID: int64(minute)*100 + int64(late/time.Second), JobID: 1, At: noon.Add(time.Duration(minute)*time.Minute + late)}
	}
	retry := func(r Run, left int) Run {
		r.ID, r.Retries = r.ID+50, left
		return r
	}
	each := func(runs ...Run) []Run { return runs }
	tests := []struct {
		name    string
		retries int
		runs    []Run
		want    Tally
		found   []Kind
	}{
		{"all kept", 0, each(at(1, 0), at(2, time.Second), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 4, Worst: time.Second}, nil},
		{"a run that was dropped takes none of another's", 0, each(at(1, 0), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 3, Missed: 1}, []Kind{Missed}},
		{"one late", 0, each(at(1, 0), at(2, 20*time.Second), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 3, Late: 1, Worst: 20 * time.Second}, []Kind{Late}},
		{"one dropped and the next late", 0, each(at(2, 20*time.Second), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 2, Late: 1, Missed: 1, Worst: 20 * time.Second}, []Kind{Missed, Late}},
		{"one doubled", 0, each(at(1, 0), at(2, 0), at(2, time.Second), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 4, Doubled: 1}, []Kind{Doubled}},
		{"one by hand", 0, each(at(1, 0), at(2, 0), at(2, 30*time.Second), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 4, Other: 1}, nil},
		{"a retry is no fire", 2, each(retry(at(1, 0), 2), retry(at(1, time.Second), 1), retry(at(2, 0), 2), retry(at(3, 0), 2), retry(at(4, 0), 2)),
			Tally{Planned: 4, OnTime: 4, Other: 1}, nil},
		{"one of before", 0, each(at(0, 0), at(1, 0), at(2, 0), at(3, 0), at(4, 0)), Tally{Planned: 4, OnTime: 4}, nil},
		{"none at all", 0, nil, Tally{Planned: 4, Missed: 4}, []Kind{Missed, Missed, Missed, Missed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := watched(func(time.Time) (Job, bool) { return minutely(tt.retries), true }, tt.runs, 4*time.Minute+30*time.Second)
			if diff := cmp.Diff(tt.want, w.Total); diff != "" {
				t.Errorf("tally (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, w.Jobs[1]); diff != "" {
				t.Errorf("of the job (-want +got):\n%s", diff)
			}
			var found []Kind
			for _, f := range w.Findings {
				found = append(found, f.Kind)
			}
			if diff := cmp.Diff(tt.found, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(w.plans) != 0 {
				t.Errorf("%d jobs are still held", len(w.plans))
			}
		})
	}
}

// TestWatchFollowsChanges: what a job was is judged up to its change, and what it is from its next time on.
func TestWatchFollowsChanges(t *testing.T) {
	t.Parallel()
	second := func(s int) Run { return Run{ID: int64(s), JobID: 1, At: noon.Add(time.Duration(s) * time.Second)} }
	rate := func(next int) Job {
		return Job{ID: 1, Spec: jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Zone: time.UTC}, Next: noon.Add(time.Duration(next) * time.Second)}
	}
	tests := []struct {
		name string
		job  func(now time.Time) (Job, bool)
		runs []Run
		want Tally
	}{
		{"edited", func(now time.Time) (Job, bool) {
			if now.Before(noon.Add(90 * time.Second)) {
				return minutely(0), true
			}
			j := minutely(0)
			j.Spec.Conf, j.Next = "30 * * * * ?", noon.Add(150*time.Second)
			return j, true
		}, []Run{second(60), second(150), second(210)}, Tally{Planned: 3, OnTime: 3}},
		{"stopped and started", func(now time.Time) (Job, bool) {
			j := minutely(0)
			j.Next = noon.Add(now.Sub(noon).Truncate(time.Minute) + time.Minute)
			return j, now.Before(noon.Add(70*time.Second)) || now.After(noon.Add(130*time.Second))
		}, []Run{second(60), second(180), second(240)}, Tally{Planned: 3, OnTime: 3}},
		{"a fixed rate whose phase moved", func(now time.Time) (Job, bool) {
			if now.Before(noon.Add(90 * time.Second)) {
				return rate(60), true
			}
			return rate(145), true
		}, []Run{second(60), second(145), second(205)}, Tally{Planned: 3, OnTime: 3}},
		{"overdue for days", func(time.Time) (Job, bool) { return rate(-864_000), true }, []Run{second(0), second(60), second(120), second(180), second(240)}, Tally{Planned: 5, OnTime: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := watched(tt.job, tt.runs, 4*time.Minute+5*time.Second)
			if diff := cmp.Diff(tt.want, w.Total); diff != "" {
				t.Errorf("tally (-want +got):\n%s\n%v", diff, w.Findings)
			}
		})
	}
	w := NewWatch()
	for range 2 {
		w.See([]Job{{ID: 3, Spec: jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "daily", Zone: time.UTC}, Next: noon}}, noon)
		if w.Unread[3] == nil {
			t.Error("a text that cannot be read is not told of")
		}
	}
}
