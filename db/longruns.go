package db

import (
	"cmp"
	"context"
)

// LongRuns are a job's runs of a day, in one group, that took a second or more.
type LongRuns struct {
	Day, Job  int64 // Day is its midnight by the installation's wall clock, in seconds as if that were UTC
	Group     int64 // that the runs were recorded with; 0: nobody knows
	Runs      int64
	TotalMs   int64
	LongestMs int64
	LongestID int64 // the run that took LongestMs
}

// Plus is the runs of both, of the same job, group and day.
func (l LongRuns) Plus(o LongRuns) LongRuns {
	if o.LongestMs > l.LongestMs {
		l.LongestMs, l.LongestID = o.LongestMs, o.LongestID
	}
	l.Day, l.Job, l.Group, l.Runs, l.TotalMs = o.Day, o.Job, o.Group, l.Runs+o.Runs, l.TotalMs+o.TotalMs
	return l
}

// Compare orders as the table does.
func (l LongRuns) Compare(o LongRuns) int {
	return cmp.Or(cmp.Compare(l.Day, o.Day), cmp.Compare(l.Job, o.Job), cmp.Compare(l.Group, o.Group))
}

// AddLongRuns adds to the counters of days and jobs. All who do so name them in the order of [LongRuns.Compare], so that they wait for each
// other and do not lock each other out.
func AddLongRuns(ctx context.Context, tx DBTX, list []LongRuns) error {
	return bulkInsert[LongRuns]{
		what: "count %d jobs' long runs",
		into: "INSERT INTO punctual_job_day (day_at, job_id, job_group, runs, total_ms, longest_id, longest_ms)",
		row: func(l *LongRuns) []any {
			return []any{l.Day, l.Job, l.Group, l.Runs, l.TotalMs, l.LongestID, l.LongestMs}
		},
		// MySQL assigns one after the other: the id is decided while the longest is still the old one.
		there: ` ON DUPLICATE KEY UPDATE runs = runs + VALUES(runs), total_ms = total_ms + VALUES(total_ms),
			longest_id = CASE WHEN VALUES(longest_ms) > longest_ms THEN VALUES(longest_id) ELSE longest_id END,
			longest_ms = CASE WHEN VALUES(longest_ms) > longest_ms THEN VALUES(longest_ms) ELSE longest_ms END`,
	}.exec(ctx, tx, list)
}
