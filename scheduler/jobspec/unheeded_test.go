package jobspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

func TestWhatSaysNothingIsNamed(t *testing.T) {
	t.Parallel()
	all := func(*Field) bool { return true }
	for name, tt := range map[string]struct {
		job   Job
		named func(*Field) bool
		want  []string
	}{
		"nothing":                            {Job{Misfire: MisfireDoNothing}, all, nil},
		"what belongs together":              {Job{Misfire: MisfireFireLast, MisfireLast: 3, Calendar: "cn", CalendarRule: "WORKDAYS"}, all, nil},
		"a number of another strategy":       {Job{Misfire: MisfireFireLast, MisfireLast: 3, MisfireWithin: 60}, all, []string{FieldMisfireSpan + " " + CodeStrategy}},
		"a rule without a calendar":          {Job{Calendar: " ", CalendarRule: "WORKDAYS"}, all, []string{FieldRule + " " + CodeNoCalendar}},
		"what was there before, not named":   {Job{MisfireLast: 3, MisfireWithin: 60, CalendarRule: "WORKDAYS"}, func(*Field) bool { return false }, nil},
		"one is named of two that are there": {Job{MisfireLast: 3, MisfireWithin: 60}, func(f *Field) bool { return f.Name == FieldMisfireLast }, []string{FieldMisfireLast + " " + CodeStrategy}},
	} {
		if diff := cmp.Diff(tt.want, keys(Unheeded(tt.job, tt.named))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatNoFormCanShowIsNamed(t *testing.T) {
	t.Parallel()
	old := Job{Param: "a\x00b", Tags: "x\ny", GlueRemark: "fine"}
	now := old
	if got := keys(Unshown(now, &old)); got != nil {
		t.Errorf("what a job has already: %v", got)
	}
	now.GlueRemark, now.GlueSource, now.Author = "two\r\nlines", "echo\n\x00", "a\nb"
	want := []string{FieldAuthor + " " + CodeText, FieldSource + " " + CodeText, FieldRemark + " " + CodeText}
	if diff := cmp.Diff(want, keys(Unshown(now, &old))); diff != "" {
		t.Errorf("what is new: %s", diff)
	}
	if got := keys(Unshown(Job{Param: "two\nlines", GlueSource: "a\r\nb", ScheduleType: ScheduleCron, ScheduleConf: "0 0\t2 * * ?"}, nil)); got != nil {
		t.Errorf("what a form can show: %v", got)
	}
	if got := keys(Unshown(old, nil)); len(got) != 2 {
		t.Errorf("of a new job: %v", got)
	}
}

func keys(faults []invalid.Field) (list []string) {
	for _, f := range faults {
		list = append(list, f.Name+" "+f.Key)
	}
	return list
}
