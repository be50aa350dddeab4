package upkeep

import (
	"context"

	"github.com/punctual-job/punctual/db"
)

// forgetFlows deletes what is kept of runs of flows that have been deleted themselves, by their retention or with their job, and the
// definitions that no run goes by any more.
func (s *Service) forgetFlows(ctx context.Context) error {
	const page = 1000
	for after := int64(0); ; {
		rows, err := s.queries.ListFlowRunsWithoutRun(ctx, s.cfg.Pool, db.ListFlowRunsWithoutRunParams{AfterID: after, Limit: page})
		if err != nil {
			return err
		}
		var gone []int64
		for _, r := range rows {
			after = r.LogID
			if r.Gone == 1 && r.State != 0 { // what goes on is stopped first
				gone = append(gone, r.LogID)
			}
		}
		for _, id := range gone {
			for n := int64(page); n >= page; {
				if n, err = s.queries.DeleteFlowSteps(ctx, s.cfg.Pool, id); err != nil {
					return err
				}
			}
		}
		if len(gone) > 0 {
			if _, err := s.queries.DeleteFlowRuns(ctx, s.cfg.Pool, gone); err != nil {
				return err
			}
		}
		if len(rows) < page {
			break
		}
	}
	return s.forgetFlowTexts(ctx)
}

// forgetFlowTexts deletes the definitions that no run goes by any more.
func (s *Service) forgetFlowTexts(ctx context.Context) error {
	before := s.cfg.Now().Add(-trialGrace).UnixMilli()
	for {
		unused, err := s.queries.ListFlowTextsUnused(ctx, s.cfg.Pool, db.ListFlowTextsUnusedParams{MadeBefore: before, Limit: forgetPage})
		if err != nil || len(unused) == 0 {
			return err
		}
		if _, err := s.queries.DeleteFlowTexts(ctx, s.cfg.Pool, db.DeleteFlowTextsParams{Ids: unused, MadeBefore: before}); err != nil || len(unused) < forgetPage {
			return err
		}
	}
}
