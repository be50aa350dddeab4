package link

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiltersReadBackWhatTheyWrite(t *testing.T) {
	t.Parallel()
	jobs := []JobFilter{
		{}, {Group: 3, State: JobStopped, Text: "对账 & co", Handler: "h", Author: "ann", Page: 4},
	}
	for _, want := range jobs {
		if diff := cmp.Diff(want, JobsFrom(query(t, Jobs(want)))); diff != "" {
			t.Errorf("Jobs(%+v): %s", want, diff)
		}
	}
	runs := []RunFilter{
		{}, {Group: 3, Job: 9, Result: ResultFailed, Range: RangeCustom, From: "2026-01-02T03:04", To: "2026-01-03T00:00", Text: "超时?"},
		{Range: RangeAll, Before: 99}, {Range: RangeToday, After: 7},
		{Trigger: "MANUAL", Executor: "10.0.0.1:9999", Longer: 600},
	}
	for _, want := range runs {
		if diff := cmp.Diff(want, RunsFrom(query(t, Runs(want)))); diff != "" {
			t.Errorf("Runs(%+v): %s", want, diff)
		}
	}
	group := GroupFilter{Text: "a b", Page: 2}
	if diff := cmp.Diff(group, ExecutorsFrom(query(t, Executors(group)))); diff != "" {
		t.Error(diff)
	}
}

func TestPagesHaveABound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "-1": 0, "7": 7, "4294967297": maxPage, "9223372036854775807": maxPage, "9223372036854775808": 0} {
		q := url.Values{"page": {text}}
		if jobs, groups, users := JobsFrom(q).Page, ExecutorsFrom(q).Page, UsersFrom(q).Page; jobs != want || groups != want || users != want {
			t.Errorf("page %q of jobs, executors and users: %d, %d, %d, want %d", text, jobs, groups, users, want)
		}
	}
}

func TestFiltersIgnoreWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	q := url.Values{"group": {"x"}, "state": {"maybe"}, "page": {"-2"}, "q": {strings.Repeat("长", 500)}, "result": {"?"}, "range": {"2y"},
		"from": {"2026-01-02T03:04"}, "before": {"1e9"}, "trigger": {"cron"}, "longer": {"7"}}
	if got, want := JobsFrom(q), (JobFilter{Text: strings.Repeat("长", 100)}); got != want {
		t.Errorf("jobs: got %+v, want %+v", got, want)
	}
	if got, want := RunsFrom(q), (RunFilter{Text: strings.Repeat("长", 100)}); got != want {
		t.Errorf("runs: got %+v, want %+v", got, want)
	}
}

func TestPlainAddressesCarryNoEmptyQuery(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{Jobs(JobFilter{Page: 1}), "/jobs"},
		{Runs(RunFilter{}), "/runs"},
		{RunsLive(RunFilter{Group: 2, Before: 5}), "/runs/events?group=2"},
		{RunsOfJob(1, 2), "/runs?group=1&job=2&range=all"},
		{RunLogDownload(5), "/runs/5/log?from=1&download=1"},
		{RunEvents(5, 12), "/runs/5/events?from=12"},
		{JobNew(0), "/jobs/new"},
		{Dashboard(0), "/"}, {Dashboard(30), "/?days=30"}, {JobRunAgain(3, 9), "/jobs/3/run?from=9"},
		{LoginNext("/jobs?q=a&page=2"), "/login?next=%2Fjobs%3Fq%3Da%26page%3D2"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func query(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/jobs?q=a": "/jobs?q=a", "/": "/", "": "", "jobs": "", "//evil.example": "", "/\\evil.example": "", "https://evil.example/": "",
		"/a\r\nSet-Cookie: x": "", "javascript:alert(1)": "", "/%zz": "",
	} {
		if got := Local(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
