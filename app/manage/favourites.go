package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// maxFavourites bounds the jobs that one person marks, maxOwn those of which they are the owner and that count as theirs.
const (
	maxFavourites = 500
	maxOwn        = 5000
)

// SetFavourite marks a job for somebody, or takes the mark away. It is theirs alone, and in no audit log.
func (s *Jobs) SetFavourite(ctx context.Context, p auth.Principal, id int64, on bool) error {
	if _, err := s.Get(ctx, p, id); err != nil {
		return err
	}
	if !on {
		_, err := s.queries.DeleteFavourite(ctx, s.cfg.Pool, db.DeleteFavouriteParams{UserID: p.UserID, JobID: id})
		return db.Error(err)
	}
	marked, err := s.queries.ListFavourites(ctx, s.cfg.Pool, p.UserID)
	if err == nil && len(marked) >= maxFavourites {
		// Jobs that are gone count no more.
		if err = s.forgetFavourites(ctx, p.UserID); err == nil {
			marked, err = s.queries.ListFavourites(ctx, s.cfg.Pool, p.UserID)
		}
	}
	if err != nil {
		return fmt.Errorf("read favourites: %w", db.Error(err))
	}
	if len(marked) >= maxFavourites && !slices.Contains(marked, id) {
		return problem.New(problem.Conflict, "problem.favourite.many", "Max", maxFavourites)
	}
	return db.Error(s.queries.InsertFavourite(ctx, s.cfg.Pool, db.InsertFavouriteParams{UserID: p.UserID, JobID: id, MadeAt: s.cfg.Now().UnixMilli()}))
}

// forgetFavourites takes somebody's marks from jobs that are gone.
func (s *Jobs) forgetFavourites(ctx context.Context, userID int64) error {
	gone, err := s.queries.ListFavouritesWithoutJob(ctx, s.cfg.Pool, userID)
	if err == nil && len(gone) > 0 {
		_, err = s.queries.DeleteFavourites(ctx, s.cfg.Pool, db.DeleteFavouritesParams{UserID: userID, Ids: gone})
	}
	return err
}

// Favourites are those of some jobs that somebody has marked.
func (s *Jobs) Favourites(ctx context.Context, p auth.Principal, ids []int64) (map[int64]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.queries.ListFavouritesAmong(ctx, s.cfg.Pool, db.ListFavouritesAmongParams{UserID: p.UserID, Ids: ids})
	if err != nil {
		return nil, fmt.Errorf("read favourites: %w", db.Error(err))
	}
	marked := make(map[int64]bool, len(rows))
	for _, id := range rows {
		marked[id] = true
	}
	return marked, nil
}

// mine are the jobs that somebody has marked, and those of which they are the owner by name.
func (s *Jobs) mine(ctx context.Context, p auth.Principal) ([]int64, error) {
	ids, err := s.queries.ListFavourites(ctx, s.cfg.Pool, p.UserID)
	if err != nil {
		return nil, fmt.Errorf("read favourites: %w", db.Error(err))
	}
	if p.Name == "" {
		return ids, nil
	}
	own, err := s.queries.ListJobsOfAuthor(ctx, s.cfg.Pool, db.ListJobsOfAuthorParams{Author: db.Text(p.Name), Limit: maxOwn})
	if err != nil {
		return nil, fmt.Errorf("read the jobs of an owner: %w", db.Error(err))
	}
	ids = append(ids, own...)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
