package jobs

import "github.com/punctual-job/punctual/views/layout"

// SlowPage is the jobs that took longest in the last days ([Slowest]).
type SlowPage struct {
	layout.Page
	By   string // of [link.SlowOrders]
	Days int
	Rows []SlowRow
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
