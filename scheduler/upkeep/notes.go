package upkeep

import (
	"context"
	"time"
)

// keepNotes is how long notes are kept that are about no run; those of runs go with these.
const keepNotes = 400 * 24 * time.Hour

// forgetNotes deletes the notes of runs and jobs that are gone, and those that nothing shows any more.
func (s *Service) forgetNotes(ctx context.Context) error {
	if err := s.forgetNotesOfRuns(ctx); err != nil {
		return err
	}
	gone, err := s.queries.ListGoneJobsOfNotes(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	for _, job := range gone {
		if err := s.queries.DeleteNotesOfJob(ctx, s.cfg.Pool, job); err != nil {
			return err
		}
	}
	_, err = s.queries.DeleteNotesBefore(ctx, s.cfg.Pool, s.cfg.Now().Add(-keepNotes).UnixMilli())
	return err
}

func (s *Service) forgetNotesOfRuns(ctx context.Context) error {
	for {
		gone, err := s.queries.ListGoneRunsOfNotes(ctx, s.cfg.Pool, forgetPage)
		if err != nil || len(gone) == 0 {
			return err
		}
		if _, err := s.queries.DeleteNotesOfRuns(ctx, s.cfg.Pool, gone); err != nil || len(gone) < forgetPage {
			return err
		}
	}
}
