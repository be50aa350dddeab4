package manage

import (
	"context"
	"fmt"

	"github.com/punctual-job/punctual/db"
)

// HistoryRuns is how many runs of a job its history bars show.
const HistoryRuns = 30

// Outcomes are the newest runs of some jobs, newest first, by job. The jobs must be ones the principal may see.
func (s *Jobs) Outcomes(ctx context.Context, jobIDs []int64) (map[int64][]db.Outcome, error) {
	list, err := db.ListOutcomes(ctx, s.cfg.Pool, jobIDs, HistoryRuns)
	if err != nil {
		return nil, fmt.Errorf("list outcomes: %w", db.Error(err))
	}
	byJob := make(map[int64][]db.Outcome, len(jobIDs))
	for _, o := range list {
		byJob[o.JobID] = append(byJob[o.JobID], o)
	}
	return byJob, nil
}
