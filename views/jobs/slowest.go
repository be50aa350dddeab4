package jobs

import (
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// SlowPage is the jobs that took longest in the last days ([Slowest]).
type SlowPage struct {
	layout.Page
	Filter link.SlowFilter
	Days   int
	Rows   []SlowRow
	Usage  Usage
}

// Usage is what groups of executors did in the last days, ready to print.
type Usage struct {
	From, Until, Kept string // days; Kept is the first of those that are known
	Days              int    // how many those are
	Rows              []UsageRow
}

// UsageRow is one of them.
type UsageRow struct {
	ID                          int64  // 0: it is gone
	Group                       string // empty: jobs that are deleted
	Runs, Failed, Skipped, Took string // empty: none
}

// SlowRow is one of them, ready to print.
type SlowRow struct {
	ID                            int64
	Name, Group                   string
	Longest, Average, Total, Runs string
	LongestRun                    int64
	Grown                         string // "×2.4": its average by that of the days before; empty: unknown
	Slower                        bool   // by so much that it should be looked at
}
