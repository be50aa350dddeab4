// Package runtimes says how long the runs of a job usually take, by its newest successes: for the pages, and for the watch on deadlines.
package runtimes

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// timedRuns is how many runs of a job its usual duration is made of, and recentRuns how many successes of these are compared with
// those before them.
const (
	timedRuns   = 200
	recentRuns  = 10
	fewestTimed = 5
)

// Durations say how long a job's successes usually take. Of few runs a share says little: Runs tells of how many.
type Durations struct {
	Runs     int   // successes that were looked at; 0: nothing is known
	LastGood int64 // the newest of them
	P50, P95 time.Duration
	// Recent and Before are the medians of the newest successes and of those before them; both 0 where there are too few.
	Recent, Before time.Duration
}

// notable is the smallest difference of durations that is worth a word: below it everything varies.
const notable = 500 * time.Millisecond

// Trend is by how much the newest successes take longer (or, below 1, shorter) than those before them; 0 where they take as long as
// ever, which is between two thirds and one and a half times.
func (d Durations) Trend() float64 {
	if d.Before <= 0 || d.Recent <= 0 || (d.Recent-d.Before).Abs() < notable {
		return 0
	}
	if f := float64(d.Recent) / float64(d.Before); f >= 1.5 || f <= 1/1.5 {
		return f
	}
	return 0
}

// Unlike is how many times as long as usual a run took that is unlike the job's past: more than three times the median and more
// than nearly all; 0 for all others.
func (d Durations) Unlike(took time.Duration) float64 {
	if d.Runs < fewestTimed || d.P50 <= 0 || took <= d.P95 || took-d.P50 < notable || took < 3*d.P50 {
		return 0
	}
	return float64(took) / float64(d.P50)
}

// Of is how long the newest successes of a job took, also of one that was moved those of before: a deadline would be judged by nothing otherwise until the
// job has run in its new group for a while, and what it does there is mostly the same. The newest count, so that these are soon of there.
func Of(ctx context.Context, q *db.Queries, pool *db.Pool, jobID int64) (Durations, error) {
	return Among(ctx, q, pool, jobID, 0, nil)
}

// Among is [Of] the runs below one or, with 0, of all, and those of some groups or, with none, of any.
func Among(ctx context.Context, q *db.Queries, pool *db.Pool, jobID, before int64, groups []int64) (Durations, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	of := db.ListRunTimesOfJobParams{JobID: jobID, BeforeID: before, GroupIds: groups, Limit: timedRuns}
	if len(groups) == 0 {
		of.AllGroups = 1
	} else {
		var err error
		if of.FromID, of.BeforeID, err = db.NearRuns(ctx, pool, jobID, 0, before, true); err != nil {
			return Durations{}, db.Error(err)
		}
	}
	rows, err := q.ListRunTimesOfJob(ctx, pool, of)
	if err != nil {
		return Durations{}, fmt.Errorf("read durations: %w", db.Error(err))
	}
	var newest []time.Duration // first
	good := int64(0)
	for _, r := range rows {
		if r.HandleCode != wire.CodeSuccess {
			continue
		}
		run := runstate.Run{TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, Planned: r.PlannedAt, Sent: r.SentAt, Finished: r.FinishedAt,
			Triggered: pool.InstantOf(r.TriggerTime), Handled: pool.InstantOf(r.HandleTime)}
		if run.Outcome = r.Outcome; good == 0 && run.State() == runstate.Success {
			good = r.ID
		}
		if r.Unsure != 0 {
			continue // what is known is how long it took at most
		}
		if began, end := run.Span(); !began.IsZero() && !end.IsZero() {
			newest = append(newest, max(0, end.Sub(began)))
		}
	}
	d := durationsOf(newest)
	d.LastGood = good
	return d, nil
}

// durationsOf says what is usual of durations, newest first.
func durationsOf(newest []time.Duration) Durations {
	d := Durations{Runs: len(newest)}
	if d.Runs == 0 {
		return d
	}
	if d.Runs >= recentRuns+fewestTimed {
		d.Recent, d.Before = quantile(newest[:recentRuns], 0.5), quantile(newest[recentRuns:], 0.5)
	}
	d.P50, d.P95 = quantile(newest, 0.5), quantile(newest, 0.95)
	return d
}

// quantile is the smallest duration that a share of them does not exceed.
func quantile(of []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
