package link

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// States a job list can be narrowed to.
const (
	JobRunning = "running" // its schedule is started
	JobStopped = "stopped"
	JobPaused  = "paused" // started, and a pause holds it still now
	JobReview  = "review" // a change of its script waits for a second person
)

// Results a run list can be narrowed to.
const (
	ResultSuccess = "success"
	ResultFailed  = "failed"
	ResultFinal   = "final"   // failed, and not tried again
	ResultRunning = "running" // not finished yet, sent or not
	ResultSkipped = "skipped" // left out on purpose
)

// Time ranges a run list can be narrowed to. RangeCustom takes From and To; RangeAll has no bound.
const (
	RangeHour      = "1h"
	RangeDay       = "24h"
	RangeToday     = "today"
	RangeYesterday = "yesterday"
	RangeWeek      = "7d"
	RangeMonth     = "30d"
	RangeAll       = "all"
	RangeCustom    = "custom"
)

// Triggers lists what a run list can be narrowed to by cause, as stored, in the order the filter shows them.
func Triggers() []string {
	return []string{"CRON", "MANUAL", "RETRY", "PARENT", "API", "MISFIRE", "TRIAL", "FLOW"}
}

// RangeDefault is the range of a run list whose query names none.
const RangeDefault = RangeDay

// Ranges lists the time ranges in the order the filter shows them.
func Ranges() []string {
	return []string{RangeHour, RangeDay, RangeToday, RangeYesterday, RangeWeek, RangeMonth, RangeAll, RangeCustom}
}

// JobFilter is what a job list is narrowed to. The zero value is every job, first page.
type JobFilter struct {
	Group   int64  `q:"group"`
	State   string `q:"state,word"` // "", JobRunning, JobStopped, JobPaused or JobReview
	Text    string `q:"q"`          // part of the description, or an id
	Handler string `q:"handler"`
	Author  string `q:"author"`
	Tag     string `q:"tag"`          // one tag, whole
	Show    string `q:"show,word"`    // "", ShowFailing, ShowLate, ShowDue or ShowMine
	At      string `q:"at,moment"`    // the minute of ShowDue, or when it begins: 2006-01-02T15:04 in the reader's zone
	Until   string `q:"until,moment"` // when ShowDue ends; "": after a minute
	Sort    string `q:"sort,word"`    // one of JobSorts; "": the newest first
	Page    int    `q:"page"`         // from 1; 0 means 1
}

// JobSorts are the orders of jobs, each with a minus before it from its other end.
func JobSorts() []string { return []string{"name", "-name", "next", "-next", "-last", "last"} }

// RunSorts are the orders of runs.
func RunSorts() []string { return []string{"-duration", "duration", "-lateness", "lateness"} }

// SortBy is an order without its direction, and whether it goes from the other end.
func SortBy(sort string) (by string, desc bool) {
	by, desc = strings.CutPrefix(sort, "-")
	return by, desc
}

// What lists can be narrowed to by the numbers of the dashboard.
const (
	ShowFailing = "failing" // jobs that failed and have not succeeded since
	ShowLate    = "late"    // jobs and runs that should have been sent
	ShowDue     = "due"     // jobs that fire in a minute, or from one moment to another
	ShowLong    = "long"    // runs that take longer than they should
	ShowMine    = "mine"    // jobs that the reader has marked, or is the owner of
)

// JobsFrom reads a job filter from a query. A value it cannot read counts as absent.
func JobsFrom(q url.Values) JobFilter {
	f := read[JobFilter](q)
	only(&f.State, JobRunning, JobStopped, JobPaused, JobReview)
	only(&f.Show, ShowFailing, ShowLate, ShowDue, ShowMine)
	only(&f.Sort, JobSorts()...)
	if f.Show != ShowDue {
		f.At, f.Until = "", ""
	}
	return f
}

// Jobs is the job list under a filter.
func Jobs(f JobFilter) string { return withQuery(JobsPath, values(f)) }

// JobCount is where it is told how many jobs a filter finds.
func JobCount(f JobFilter) string {
	f.Page = 0
	return withQuery(JobsPath+"/count", values(f))
}

// Active says whether the filter leaves anything out.
func (f JobFilter) Active() bool {
	f.Page, f.Sort = 0, ""
	return f != JobFilter{}
}

// RunFilter is what a run list is narrowed to, and the place in it: runs with an id below Before or above After.
type RunFilter struct {
	Group    int64  `q:"group"`
	Job      int64  `q:"job"`
	Result   string `q:"result,word"` // "", ResultSuccess, ResultFailed, ResultFinal, ResultRunning, ResultSkipped or another of Results
	Range    string `q:"range,word"`  // one of Ranges; "" means RangeDefault
	From     string `q:"from,moment"` // 2006-01-02T15:04 in the installation's zone, for RangeCustom
	To       string `q:"to,moment"`
	Text     string `q:"q"`            // part of the message, the parameter, the address; or a run id
	Trigger  string `q:"trigger,word"` // a trigger type as stored, one of Triggers; "" is any
	Executor string `q:"executor"`     // part of the address
	Longer   int64  `q:"longer"`       // one of Lengths: runs that took at least so many seconds; 0 is any
	Show     string `q:"show,word"`    // "", ShowLate or ShowLong
	Before   int64  `q:"before"`
	After    int64  `q:"after"`
	Sort     string `q:"sort,word"` // one of RunSorts, and no place then; "": the newest first
	Deep     bool   `q:"deep"`      // search for longer: somebody asked for what lies further back
}

// Lengths are the seconds of RunFilter.Longer, in display order.
func Lengths() []int64 { return []int64{1, 10, 60, 600, 3600} }

// Results are what a run list can be narrowed to, in display order: the results, and then the states of runs one by one ([ResultState]).
func Results() []string {
	return []string{
		ResultSuccess, ResultFailed, ResultFinal, ResultRunning, ResultSkipped,
		"waiting", "sent", "reported", "timeout", "sendfailed", "unconfirmed", "killed", "lost", "missed", "discarded", "cancelled", "stopped",
	}
}

// ResultState is the state that a result stands for; "" for one that is of several. What is failed or skipped as a result is more than the
// states of these names.
func ResultState(result string) string {
	switch result {
	case "", ResultSuccess, ResultFailed, ResultFinal, ResultRunning, ResultSkipped:
		return ""
	case "reported":
		return "failed"
	case "missed":
		return "skipped"
	}
	return result
}

// RunsFrom reads a run filter from a query. A value it cannot read counts as absent.
func RunsFrom(q url.Values) RunFilter {
	f := read[RunFilter](q)
	if f.Show != "" { // also one that there is not
		f.Sort = ""
	}
	if only(&f.Sort, RunSorts()...); f.Sort != "" {
		f.Before, f.After = 0, 0
	}
	only(&f.Result, Results()...)
	only(&f.Show, ShowLate, ShowLong)
	only(&f.Trigger, Triggers()...)
	if !slices.Contains(Lengths(), f.Longer) {
		f.Longer = 0
	}
	ranged(&f.Range, &f.From, &f.To, RangeDefault, Ranges()...)
	return f
}

// Runs is the run list under a filter.
func Runs(f RunFilter) string { return withQuery(RunsPath, values(f)) }

// Values are the filter's fields that are set, without the place of the page.
func (f RunFilter) Values() url.Values {
	f.Before, f.After, f.Deep, f.Sort = 0, 0, false, ""
	return values(f)
}

// RunsLive is the event stream of the run list under a filter.
func RunsLive(f RunFilter) string {
	return withQuery(RunsEvents, f.Values())
}

// RunsOfJob is the list of one job's runs.
func RunsOfJob(groupID, jobID int64) string {
	return Runs(RunFilter{Group: groupID, Job: jobID, Range: RangeAll})
}

// Active says whether the filter leaves anything out, apart from the default time range.
func (f RunFilter) Active() bool {
	f.Before, f.After, f.Deep, f.Sort = 0, 0, false, ""
	return f != RunFilter{}
}

// GroupFilter is what an executor list is narrowed to.
type GroupFilter struct {
	Text  string `q:"q"`          // part of the app name or the title
	State string `q:"state,word"` // "", ExecutorsOnline or ExecutorsLost
	Page  int    `q:"page"`       // from 1; 0 means 1
}

// States an executor list can be narrowed to: groups with such addresses, and of these only such addresses.
const (
	ExecutorsOnline = "online"
	ExecutorsLost   = "lost" // fallen silent, or a group with started jobs that has no address at all
)

// ExecutorsFrom reads a group filter from a query.
func ExecutorsFrom(q url.Values) GroupFilter {
	f := read[GroupFilter](q)
	only(&f.State, ExecutorsOnline, ExecutorsLost)
	return f
}

// Executors is the executor list under a filter.
func Executors(f GroupFilter) string { return withQuery(ExecutorsPath, values(f)) }

// Ignored are the parts of a query that the list at an address does not know, as they were typed: names that it has no filter for, values
// that a filter does not have, a second value, and what cannot be read. What says the same as nothing, and the times of another range, are no such parts.
func Ignored(query, address string) []string {
	given, unread := url.ParseQuery(query)
	_, asked, _ := strings.Cut(address, "?")
	known, err := url.ParseQuery(asked)
	if err != nil {
		return nil
	}
	var ignored []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		for n, value := range given[name] {
			value = shortened(strings.TrimSpace(value))
			switch {
			case value == "" || n == 0 && known.Get(name) != "" || n > 0 && value == text(given, name) || slices.Contains(unsaid[name], value):
			case (name == "from" || name == "to") && given.Get("range") != RangeCustom && (slices.Contains(Ranges(), given.Get("range")) || given.Get("range") == RangeSixHours):
			default:
				ignored = append(ignored, name+"="+value)
			}
		}
	}
	if unread == nil {
		return ignored
	}
	for part := range strings.SplitSeq(query, "&") {
		if _, err := url.ParseQuery(part); err != nil {
			ignored = append(ignored, shortened(strings.ToValidUTF8(part, "\ufffd")))
		}
	}
	return ignored
}

// unsaid are values that say what a list shows without them.
var unsaid = map[string][]string{
	"page": {"0", "1"}, "group": {"0"}, "job": {"0"}, "object": {"0"}, "before": {"0"}, "after": {"0"}, "deep": {"0"}, "range": {RangeDefault, AuditRangeDefault},
}

// textLimit bounds a filter's text, which goes into a LIKE pattern.
const textLimit = 100

func text(q url.Values, name string) string {
	return shortened(strings.TrimSpace(q.Get(name)))
}

func shortened(s string) string {
	if r := []rune(s); len(r) > textLimit {
		return string(r[:textLimit])
	}
	return s
}

// Number is the value of a parameter that is an id or a count; 0 where it is none.
func Number(q url.Values, name string) int64 {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// maxPage is the last page of a list that an address can name.
const maxPage = 100_000

func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setNumber(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, id(n))
	}
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
