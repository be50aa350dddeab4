package link

import (
	"net/url"
	"slices"
)

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
	By       string // one of TimelineRows; "" is the first
	Range    string // one of TimelineRanges; "" is the first
	From, To string // 2006-01-02T15:04 in the reader's zone, for RangeCustom
	Group    int64
	Job      int64
	Tag      string
	Text     string // part of the description, or an id
}

// TimelineFrom reads a filter from a query. A value it cannot read counts as absent.
func TimelineFrom(q url.Values) TimelineFilter {
	f := TimelineFilter{By: q.Get("by"), Range: q.Get("range"), From: moment(q, "from"), To: moment(q, "to"), Group: Number(q, "group"), Job: Number(q, "job"), Tag: text(q, "tag"), Text: text(q, "q")}
	if !slices.Contains(TimelineRows(), f.By) {
		f.By = ""
	}
	if !slices.Contains(TimelineRanges(), f.Range) {
		f.Range = ""
	}
	if f.Range != RangeCustom {
		f.From, f.To = "", ""
	}
	if f.By == TimelineExecutors { // rows are of no job
		f.Job, f.Tag, f.Text = 0, "", ""
	}
	return f
}

// Timeline is a timeline under a filter.
func Timeline(f TimelineFilter) string {
	q := url.Values{}
	setText(q, "by", f.By)
	setText(q, "range", f.Range)
	setText(q, "from", f.From)
	setText(q, "to", f.To)
	setNumber(q, "group", f.Group)
	setNumber(q, "job", f.Job)
	setText(q, "tag", f.Tag)
	setText(q, "q", f.Text)
	return withQuery(TimelinePath, q)
}

// JobText is the job's number as a form sends it; empty for none.
func (f TimelineFilter) JobText() string {
	if f.Job == 0 {
		return ""
	}
	return id(f.Job)
}
