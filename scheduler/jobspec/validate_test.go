package jobspec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// options are what a field may be, as a refusal lists them.
func options(field string) string { return strings.Join(jobspec.Named(field).Options, ", ") }

// validJob is a definition without a fault; each case spoils one thing.
func validJob() jobspec.Job {
	return jobspec.Job{
		ID: 7, Name: "nightly report", Author: "ann", AlarmEmail: "ops@example.com,night@example.com",
		ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 30 2 * * ?", Misfire: jobspec.MisfireDoNothing,
		Route: jobspec.RouteFirst, Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: "report",
		ChildJobIDs: "8,9", TimeoutSeconds: 60, Retries: 3,
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	one := func(field string, code string, args []any) []invalid.Field {
		return []invalid.Field{{Name: field, Key: code, Args: args}}
	}
	type args = []any
	for _, tt := range []struct {
		name  string
		spoil func(*jobspec.Job)
		want  []invalid.Field
	}{
		{"a good definition has no fault", func(*jobspec.Job) {}, nil},
		{"a name is required", func(j *jobspec.Job) { j.Name = " " }, one("name", jobspec.CodeRequired, nil)},
		{"a name of 255 Chinese characters fits", func(j *jobspec.Job) { j.Name = strings.Repeat("夜", 255) }, nil},
		{"a longer one does not", func(j *jobspec.Job) { j.Name = strings.Repeat("夜", 256) }, one("name", jobspec.CodeTooLong, args{"Max", 255})},
		{"an author is required", func(j *jobspec.Job) { j.Author = "" }, one("author", jobspec.CodeRequired, nil)},
		{"nobody need be alarmed", func(j *jobspec.Job) { j.AlarmEmail = "" }, nil},
		{"an address needs its @", func(j *jobspec.Job) { j.AlarmEmail = "ops@example.com, night" }, one("alarm_email", jobspec.CodeEmail, args{"Value", "night"})},
		{"an address has no name beside it", func(j *jobspec.Job) { j.AlarmEmail = "Ops <ops@example.com>" }, one("alarm_email", jobspec.CodeEmail, args{"Value", "Ops <ops@example.com>"})},
		{"a cron has to parse", func(j *jobspec.Job) { j.ScheduleConf = "0 61 2 * * ?" }, []invalid.Field{
			{Name: "cron", Key: "cron.error.out_of_range", Noun: "cron.field.minute", Args: args{"Element", "61", "Symbol", "", "Min", 0, "Max", 59, "Count", 0}}}},
		{"a cron is required", func(j *jobspec.Job) { j.ScheduleConf = "" }, one("cron", jobspec.CodeRequired, nil)},
		{"a cron has to fit", func(j *jobspec.Job) { j.ScheduleConf = "0 0" + strings.Repeat(",0", 60) + " 2 * * ?" }, one("cron", jobspec.CodeTooLong, args{"Max", 128})},
		{"a cron whose years are over may be saved", func(j *jobspec.Job) { j.ScheduleConf = "0 0 0 1 1 ? 2020" }, nil},
		{"a fixed rate is at least a second", func(j *jobspec.Job) { j.ScheduleType, j.ScheduleConf = jobspec.ScheduleFixRate, "0" },
			one("seconds", jobspec.CodeInterval, args{"Min", 1, "Max", 2147483647})},
		{"a job without schedule needs no conf", func(j *jobspec.Job) { j.ScheduleType, j.ScheduleConf = jobspec.ScheduleNone, "" }, nil},
		{"a moment is readable", func(j *jobspec.Job) { j.ScheduleType, j.ScheduleConf = jobspec.ScheduleOnce, "tomorrow" }, one("moment", jobspec.CodeMoment, nil)},
		{"the zone is known", func(j *jobspec.Job) { j.Zone = "Mars/Base" }, one("time_zone", jobspec.CodeZone, args{"Value", "Mars/Base"})},
		{"the zone is known by its own name", func(j *jobspec.Job) { j.Zone = "Asia" + strings.Repeat("/.", 40) + "/Shanghai" },
			one("time_zone", jobspec.CodeZone, args{"Value", "Asia" + strings.Repeat("/.", 40) + "/Shanghai"})},
		{"a tag does not turn what stands behind it", func(j *jobspec.Job) { j.Tags = "night,a\u202eb" }, one("tags", jobspec.CodeCharacters, nil)},
		{"the address of a page has to fit", func(j *jobspec.Job) { j.Runbook = "https://wiki.example.com/" + strings.Repeat("x", 488) }, one("runbook", jobspec.CodeTooLong, args{"Max", 512})},
		{"a fixed rate has to fit", func(j *jobspec.Job) {
			j.ScheduleType, j.ScheduleConf = jobspec.ScheduleFixRate, strings.Repeat("0", 127)+"60"
		},
			one("seconds", jobspec.CodeInterval, args{"Min", 1, "Max", 2147483647})},
		{"a moment has to fit", func(j *jobspec.Job) {
			j.ScheduleType, j.ScheduleConf = jobspec.ScheduleOnce, "2026-11-27T19:00:00."+strings.Repeat("0", 128)+"Z"
		}, one("moment", jobspec.CodeMoment, nil)},
		{"a start that is none", func(j *jobspec.Job) { j.Start = -1 }, one("start_at", jobspec.CodeNotThen, args{"Min", "1970-01-01", "Max", "9999-12-31"})},
		{"an end that is none", func(j *jobspec.Job) { j.End = -1 }, one("end_at", jobspec.CodeNotThen, args{"Min", "1970-01-01", "Max", "9999-12-31"})},
		{"the window has a length", func(j *jobspec.Job) { j.Start, j.End = 2, 1 }, one("end_at", jobspec.CodeWindow, nil)},
		{"the back-off is readable", func(j *jobspec.Job) { j.Backoff = "soon" }, one("retry_backoff", jobspec.CodeBackoff, args{"Value", "soon"})},
		{"the concurrency policy is known", func(j *jobspec.Job) { j.Concurrency = "MAYBE" }, one("concurrency_policy", jobspec.CodeUnknown, args{"Value", "MAYBE", "Values", "QUEUE, DISCARD"})},
		{"the GLUE type is known", func(j *jobspec.Job) { j.Glue = "GLUE_COBOL" }, one("glue", jobspec.CodeUnknown, args{"Value", "GLUE_COBOL", "Values", options(jobspec.FieldGlue)})},
		{"a BEAN needs a handler", func(j *jobspec.Job) { j.Handler = "" }, one("handler", jobspec.CodeHandler, nil)},
		{"a script needs none", func(j *jobspec.Job) { j.Glue, j.Handler = wire.GlueShell, "" }, nil},
		{"a parameter has to fit", func(j *jobspec.Job) { j.Param = strings.Repeat("x", 65536) }, one("param", jobspec.CodeTooLong, args{"Max", 65535})},
		{"the route is known", func(j *jobspec.Job) { j.Route = "first" }, one("route", jobspec.CodeUnknown, args{"Value", "first", "Values", options(jobspec.FieldRoute)})},
		{"the misfire strategy is known", func(j *jobspec.Job) { j.Misfire = "" }, one("misfire", jobspec.CodeChoose, args{"Values", options(jobspec.FieldMisfire)})},
		{"the block strategy is known", func(j *jobspec.Job) { j.Block = "" }, one("block", jobspec.CodeChoose, args{"Values", options(jobspec.FieldBlock)})},
		{"children are ids", func(j *jobspec.Job) { j.ChildJobIDs = "8, x9" }, one("children", jobspec.CodeChildID, args{"Value", "x9"})},
		{"ids are positive", func(j *jobspec.Job) { j.ChildJobIDs = "0" }, one("children", jobspec.CodeChildID, args{"Value", "0"})},
		{"a job does not start itself", func(j *jobspec.Job) { j.ChildJobIDs = "8,7" }, one("children", jobspec.CodeChildSelf, nil)},
		{"a time-out is not negative", func(j *jobspec.Job) { j.TimeoutSeconds = -1 }, one("timeout", jobspec.CodeOutOfRange, args{"Min", 0, "Max", 999999})},
		{"retries have an end", func(j *jobspec.Job) { j.Retries = 10000 }, one("retries", jobspec.CodeOutOfRange, args{"Min", 0, "Max", 9999})},
		{"all faults are listed, in the order of the form", func(j *jobspec.Job) { j.Retries, j.Name, j.Handler = -1, "", "" }, []invalid.Field{
			{Name: "name", Key: jobspec.CodeRequired}, {Name: "handler", Key: jobspec.CodeHandler},
			{Name: "retries", Key: jobspec.CodeOutOfRange, Args: args{"Min", 0, "Max", 9999}}}},
	} {
		j := validJob()
		tt.spoil(&j)
		if diff := cmp.Diff(tt.want, jobspec.Validate(j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestScheduleError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schedule jobspec.Schedule
		want     string
	}{
		{jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 9 1 L ?"}, "cron.error.no_value"},
		{jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 9 ? * ?"}, "cron.error.no_day"},
		{jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "x"}, jobspec.CodeInterval},
	} {
		_, err := tt.schedule.Next(at("10:00:00"))
		if e, ok := jobspec.ScheduleError(fmt.Errorf("plan job: %w", err)); !ok || e.Key != tt.want {
			t.Errorf("%v: got %+v, %v, want %s", tt.schedule, e, ok, tt.want)
		}
	}
	for _, err := range []error{nil, errors.New("something else")} {
		if e, ok := jobspec.ScheduleError(err); ok {
			t.Errorf("%v: got %+v, want nothing", err, e)
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	got := jobspec.Job{
		Name: " nightly ", Handler: " report\t", ScheduleConf: " 60 ", AlarmEmail: "a@example.com ，b@example.com,",
		ChildJobIDs: " 8 ,,9", Glue: wire.GlueShell, GlueSource: "echo 1\r\necho 2\r\n", Param: " kept as it is ",
	}.Normalize()
	want := jobspec.Job{
		Name: "nightly", Handler: "report", ScheduleConf: "60", AlarmEmail: "a@example.com,b@example.com",
		ChildJobIDs: "8,9", Glue: wire.GlueShell, GlueSource: "echo 1\necho 2\n", Param: " kept as it is ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnums(t *testing.T) {
	t.Parallel()
	if !jobspec.ScheduleFixDelay.Valid() || !jobspec.ScheduleCron.Valid() || jobspec.ScheduleNone.Schedules() {
		t.Error("FIX_DELAY and CRON can be chosen, and NONE does not schedule")
	}
	if len(jobspec.AllRoutes) != 10 || jobspec.Route("").Valid() {
		t.Error("there are ten routes, and none of them is empty")
	}
	var r jobspec.Route
	for _, src := range []any{"RANDOM", []byte("RANDOM"), nil} {
		want := jobspec.RouteRandom
		if src == nil {
			want = ""
		}
		if err := r.Scan(src); err != nil || r != want {
			t.Errorf("scan %v: got %q, %v, want %q", src, r, err, want)
		}
	}
	if err := r.Scan(5); err == nil {
		t.Error("a number was scanned into a route")
	}
}
