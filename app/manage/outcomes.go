package manage

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// HistoryRuns is how many runs of a job its history bars show.
const HistoryRuns = 30

// Outcomes are the newest runs of some jobs that the principal may see, newest first, by job. There are
// none while their index is being built: each job would read the log from its end.
func (s *Jobs) Outcomes(ctx context.Context, p auth.Principal, jobIDs []int64) (map[int64][]db.Outcome, error) {
	if _, building := s.cfg.Pool.Building(); building {
		return nil, nil
	}
	list, err := db.ListOutcomes(ctx, s.cfg.Pool, jobIDs, runsOfJob(p, 0).Groups, HistoryRuns)
	if err != nil {
		return nil, fmt.Errorf("list outcomes: %w", db.Error(err))
	}
	byJob := make(map[int64][]db.Outcome, len(jobIDs))
	for _, o := range list {
		byJob[o.JobID] = append(byJob[o.JobID], o)
	}
	return byJob, nil
}

// LastOutcome is the newest run whose time has come. Fires are claimed ahead: a job that fires every few seconds would else
// always be about to run, and never have failed. A broadcast stands where its parts do: of these it is one that goes on or, when all have
// ended, one that did not succeed.
func LastOutcome(newestFirst []db.Outcome, now time.Time) db.Outcome {
	for i, o := range newestFirst {
		if o.TriggerCode != 0 || o.HandleCode != 0 || o.PlannedAt <= now.UnixMilli() {
			return decisive(newestFirst[i:])
		}
	}
	return newestFirst[0]
}

// decisive is the part by which a broadcast is judged, of runs of which the first is one of its parts; of others it is the first. The parts have one time. Which
// run is a part is known of those that did not succeed.
func decisive(newestFirst []db.Outcome) db.Outcome {
	weight := func(o db.Outcome) int {
		switch s := runstate.Of(o.Outcome, o.TriggerCode, o.HandleCode, o.Note); {
		case s.Open():
			return 2
		case s != runstate.Success:
			return 1
		default:
			return 0
		}
	}
	of := newestFirst[0]
	for _, o := range newestFirst[1:] {
		if !o.TriggerTime.Time.Equal(of.TriggerTime.Time) {
			break
		}
		if o.Part != "" && weight(o) > weight(of) {
			of = o
		}
	}
	return of
}
