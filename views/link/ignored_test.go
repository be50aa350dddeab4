package link

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestWhatAListDoesNotKnowIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query string
		list  func(url.Values) string
		want  []string
	}{
		{"", jobsOf, nil},
		{"q=pay&state=running&group=3&page=1", jobsOf, nil},
		{"state=&group=&group=0&q=+", jobsOf, nil},
		{"state=sleeping&colour=red&group=abc", jobsOf, []string{"colour=red", "group=abc", "state=sleeping"}},
		{"show=due&at=2026-11-22T10%3A00", jobsOf, nil},
		{"at=2026-11-22T10%3A00", jobsOf, []string{"at=2026-11-22T10:00"}},
		{"range=24h&result=final&trigger=CRON", runsOf, nil},
		{"range=1h&from=2026-11-22T10%3A00&to=2026-11-22T11%3A00", runsOf, nil}, // a form without script sends them along
		{"range=5y&from=2026-11-22T10%3A00&result=odd", runsOf, []string{"from=2026-11-22T10:00", "range=5y", "result=odd"}},
		{"range=custom&from=2026-11-22T10%3A00&to=2026-11-22", runsOf, nil},
		{"range=custom&from=yesterday&to=2026-02-30T10%3A00", runsOf, []string{"from=yesterday", "to=2026-02-30T10:00"}},
		{"range=custom&from=yesterday", auditOf, []string{"from=yesterday"}},
		{"range=custom&to=noon", timelineOf, []string{"to=noon"}},
		{"show=due&at=noon", jobsOf, []string{"at=noon"}},
		{"state=lost&q=x", executorsOf, nil},
		{"state=asleep", executorsOf, []string{"state=asleep"}},
		{"group=3&group=4&group=3&group=", jobsOf, []string{"group=4"}},
		{"colour=red&colour=blue", jobsOf, []string{"colour=red", "colour=blue"}},
		{"q=pay&x=%zz&&state=running;group=1", jobsOf, []string{"x=%zz", "state=running;group=1"}},
		{"%&q=%e4%b8%ad&\xff;", runsOf, []string{"%", "\ufffd;"}},
		{"q=;" + strings.Repeat("x", 200), runsOf, []string{"q=;" + strings.Repeat("x", 97)}},
	} {
		given, _ := url.ParseQuery(tt.query)
		if got := Ignored(tt.query, tt.list(given)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: ignored %q, want %q", tt.query, got, tt.want)
		}
	}
}

func jobsOf(q url.Values) string      { return Jobs(JobsFrom(q)) }
func auditOf(q url.Values) string     { return Audit(AuditFrom(q)) }
func timelineOf(q url.Values) string  { return Timeline(TimelineFrom(q)) }
func runsOf(q url.Values) string      { return Runs(RunsFrom(q)) }
func executorsOf(q url.Values) string { return Executors(ExecutorsFrom(q)) }
