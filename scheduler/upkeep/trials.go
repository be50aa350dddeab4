package upkeep

import (
	"context"

	"github.com/punctual-job/punctual/db"
)

// forgetTrials deletes the texts that were tried in runs which are gone.
func (s *Service) forgetTrials(ctx context.Context) error {
	before := s.cfg.Now().Add(-trialGrace).UnixMilli()
	for {
		gone, err := s.queries.ListTrialsWithoutRun(ctx, s.cfg.Pool, db.ListTrialsWithoutRunParams{MadeBefore: before, Limit: forgetPage})
		if err != nil || len(gone) == 0 {
			return err
		}
		if _, err := s.queries.DeleteTrials(ctx, s.cfg.Pool, gone); err != nil || len(gone) < forgetPage {
			return err
		}
	}
}
