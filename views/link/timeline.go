package link

import "net/url"

// TimelinePath is runs against time.
const TimelinePath = "/timeline"

// What the rows of a timeline are.
const (
	TimelineJobs      = "jobs"
	TimelineExecutors = "executors"
)

// TimelineRows are the kinds of rows, TimelineRanges the times of a timeline, in display order; the first of each is the usual one. The ranges end
// at now, but for RangeCustom, which takes From and To.
func TimelineRows() []string { return []string{TimelineJobs, TimelineExecutors} }

func TimelineRanges() []string { return []string{RangeHour, RangeSixHours, RangeDay, RangeCustom} }

// RangeSixHours is of timelines alone.
const RangeSixHours = "6h"

// TimelineFilter is what a timeline shows.
type TimelineFilter struct {
	By    string `q:"by,word"`     // one of TimelineRows; "" is the first
	Range string `q:"range,word"`  // one of TimelineRanges; "" is the first
	From  string `q:"from,moment"` // 2006-01-02T15:04 in the reader's zone, for RangeCustom
	To    string `q:"to,moment"`
	Group int64  `q:"group"`
	Job   int64  `q:"job"`
	Tag   string `q:"tag"`
	Text  string `q:"q"` // part of the description, or an id
}

// TimelineFrom reads a filter from a query. A value it cannot read counts as absent.
func TimelineFrom(q url.Values) TimelineFilter {
	f := read[TimelineFilter](q)
	only(&f.By, TimelineRows()...)
	ranged(&f.Range, &f.From, &f.To, "", TimelineRanges()...)
	if f.By == TimelineExecutors { // rows are of no job
		f.Job, f.Tag, f.Text = 0, "", ""
	}
	return f
}

// Timeline is a timeline under a filter.
func Timeline(f TimelineFilter) string { return withQuery(TimelinePath, values(f)) }

// JobText is the job's number as a form sends it; empty for none.
func (f TimelineFilter) JobText() string {
	if f.Job == 0 {
		return ""
	}
	return id(f.Job)
}
