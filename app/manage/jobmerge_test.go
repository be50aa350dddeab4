package manage

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// formed is a job as a form posts it.
func formed(change func(*JobInput)) JobInput {
	in := JobInput{Group: 1, Job: jobspec.Job{
		Name: "close the day", Author: "ann", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?", Handler: "closeDay", Param: "a\nb",
	}.WithDefaults()}
	if change != nil {
		change(&in)
	}
	return in
}

func TestMergeJobs(t *testing.T) {
	t.Parallel()
	script := func(in *JobInput) {
		in.Glue, in.Handler, in.GlueSource = wire.GlueShell, "", strings.Repeat("echo\n", 100_000)
	}
	rate := func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "30" }
	call := func(param string) func(*JobInput) {
		return func(in *JobInput) { in.Handler, in.Param = httpcall.Handler, param }
	}
	for _, tt := range []struct {
		name               string
		base, mine, theirs func(*JobInput)
		noMarks            bool
		want               func(*JobInput) // from the base
		changed            string          // part:by
	}{
		{name: "nobody changed anything"},
		{
			name: "what I did not touch is theirs", mine: func(in *JobInput) { in.Param = "mine" }, theirs: func(in *JobInput) { in.Author, in.Retries = "mina", 3 },
			want: func(in *JobInput) { in.Param, in.Author, in.Retries = "mine", "mina", 3 }, changed: "author:them param:me retries:them",
		},
		{
			name: "what both changed stays mine", mine: func(in *JobInput) { in.Param = "mine" }, theirs: func(in *JobInput) { in.Param = "theirs" },
			want: func(in *JobInput) { in.Param = "mine" }, changed: "param:both",
		},
		{
			name: "what both changed to the same is no change", mine: func(in *JobInput) { in.Param = "same" }, theirs: func(in *JobInput) { in.Param = "same" },
			want: func(in *JobInput) { in.Param = "same" },
		},
		{
			name: "another group", mine: func(in *JobInput) { in.Param = "mine" }, theirs: func(in *JobInput) { in.Group = 2 },
			want: func(in *JobInput) { in.Group, in.Param = 2, "mine" }, changed: "group:them param:me",
		},
		{
			name: "a schedule is one thing with its type", mine: func(in *JobInput) { in.ScheduleConf = "0 0 3 * * ?" }, theirs: rate,
			want: func(in *JobInput) { in.ScheduleConf = "0 0 3 * * ?" }, changed: "schedule_type:both",
		},
		{
			name: "another type is taken with its schedule", theirs: rate, want: rate, changed: "schedule_type:them",
		},
		{
			name:   "a calendar is one thing with its rule",
			base:   func(in *JobInput) { in.Calendar, in.CalendarRule = "cn", jobspec.AllCalendarRules[0] },
			mine:   func(in *JobInput) { in.CalendarRule = jobspec.AllCalendarRules[1] },
			theirs: func(in *JobInput) { in.Calendar, in.CalendarRule = "", "" },
			want:   func(in *JobInput) { in.CalendarRule = jobspec.AllCalendarRules[1] }, changed: "calendar:both",
		},
		{
			name: "what a choice says by default is not typed", mine: func(in *JobInput) {
				in.WhenLost, in.CalendarRule, in.MisfireLast = jobspec.WhenLostFail, jobspec.AllCalendarRules[0], 3
			},
		},
		{
			name: "a browser's ends of lines are not typed", mine: func(in *JobInput) { in.Param = "a\r\nb" }, theirs: func(in *JobInput) { in.Retries = 1 },
			want: func(in *JobInput) { in.Retries = 1 }, changed: "retries:them",
		},
		{
			name: "a moment is the same without its seconds",
			base: func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleOnce, "2030-01-02 03:04:00" },
			mine: func(in *JobInput) { in.ScheduleConf = "2030-01-02 03:04" },
		},
		{
			name: "a moment is the same in another notation",
			base: func(in *JobInput) {
				in.ScheduleType, in.ScheduleConf = jobspec.ScheduleOnce, "2030-01-02T11:04:00+08:00"
			},
			mine: func(in *JobInput) { in.ScheduleConf = "2030-01-02 03:04" },
		},
		{
			name: "a moment that is read in another zone is not the same, though it may be as late",
			base: func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleOnce, "2030-01-02 03:04:00" },
			mine: func(in *JobInput) { in.ScheduleConf, in.Zone = "2030-01-02 11:04:00", "Asia/Shanghai" },
			want: func(in *JobInput) { in.ScheduleConf, in.Zone = "2030-01-02 11:04:00", "Asia/Shanghai" }, changed: "schedule_type:me time_zone:me",
		},
		{
			name: "a bound is a moment, whatever its zone", base: func(in *JobInput) { in.Start = 1_900_000_000_000 }, theirs: func(in *JobInput) { in.Zone = "UTC" },
			want: func(in *JobInput) { in.Zone = "UTC" }, changed: "time_zone:them",
		},
		{
			name: "a call is what it says", base: call(`{"url": "http://a/", "method": "GET"}`), mine: call((&httpcall.Call{URL: "http://a/", Method: "GET"}).String()),
		},
		{
			name: "a long script has a short mark", base: script, mine: func(in *JobInput) { in.GlueSource += "more" }, theirs: func(in *JobInput) { in.Name = "x" },
			want: func(in *JobInput) { in.GlueSource, in.Name = in.GlueSource+"more", "x" }, changed: "name:them source:me",
		},
		{
			name: "nothing is known of what there was", noMarks: true, mine: func(in *JobInput) { in.Param = "mine" }, theirs: func(in *JobInput) { in.Author = "mina" },
			want: func(in *JobInput) { in.Param = "mine" }, changed: "author:both param:both",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := func(change func(*JobInput)) JobInput {
				in := formed(tt.base)
				if change != nil {
					change(&in)
				}
				return in
			}
			marks := JobMarks(from(nil), time.UTC)
			if len(marks) > 400 {
				t.Errorf("a form carries %d characters", len(marks))
			}
			if tt.noMarks {
				marks = "of another version"
			}
			merged, changed := MergeJobs(marks, from(tt.mine), from(tt.theirs), time.UTC)
			var got []string
			for _, c := range changed {
				got = append(got, c.Name+":"+map[ChangedBy]string{ChangedByMe: "me", ChangedByThem: "them", ChangedByBoth: "both"}[c.By])
			}
			if strings.Join(got, " ") != tt.changed {
				t.Errorf("changed: %q, want %q", got, tt.changed)
			}
			want := from(tt.want)
			for _, p := range jobParts {
				if p.text(merged, time.UTC) != p.text(want, time.UTC) {
					t.Errorf("%s is %q, want %q", p.name, p.text(merged, time.UTC), p.text(want, time.UTC))
				}
			}
		})
	}
}

// Every field of the table is merged by its own mark, so that a new one is too.
func TestEveryFieldIsMerged(t *testing.T) {
	t.Parallel()
	for _, f := range jobspec.Fields {
		if f.Name == jobspec.FieldGlue || f.Name == jobspec.FieldRemark {
			continue
		}
		base := formed(func(in *JobInput) {
			switch f.Name {
			case jobspec.FieldSeconds:
				in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "5"
			case jobspec.FieldMoment:
				in.ScheduleType, in.ScheduleConf = jobspec.ScheduleOnce, "2030-01-02 03:04:00"
			case jobspec.FieldRule:
				in.Calendar = "cn"
			case jobspec.FieldMisfireLast:
				in.Misfire = jobspec.MisfireFireLast
			case jobspec.FieldMisfireSpan:
				in.Misfire = jobspec.MisfireFireWithin
			}
		})
		theirs, mine := base, base
		text := "7"
		switch f.Kind {
		case jobspec.Choice:
			text = f.Options[len(f.Options)-1]
		case jobspec.Moments:
			text = "2031-01-02 03:04:05"
		case jobspec.Text, jobspec.List, jobspec.Number, jobspec.Flag:
		}
		if fault := f.Put(&theirs.Job, text, time.UTC); fault != nil {
			t.Fatal(fault)
		}
		merged, changed := MergeJobs(JobMarks(base, time.UTC), mine, theirs, time.UTC)
		if len(changed) != 1 || changed[0].By != ChangedByThem || !slices.Contains(changed[0].Fields, f) || f.Value(&merged.Job) != f.Value(&theirs.Job) {
			t.Errorf("%s: changed %+v, merged to %v", f.Name, changed, f.Value(&merged.Job))
		}
		if merged, changed = MergeJobs(JobMarks(base, time.UTC), theirs, base, time.UTC); len(changed) != 1 || changed[0].By != ChangedByMe || f.Value(&merged.Job) != f.Value(&theirs.Job) {
			t.Errorf("%s of mine: changed %+v, merged to %v", f.Name, changed, f.Value(&merged.Job))
		}
	}
}
