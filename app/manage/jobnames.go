package manage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/pinyin"
	"github.com/punctual-job/punctual/db"
)

const (
	// namesKept is how many jobs there may be for their names to be kept as they are typed: reading and spelling more of them would
	// take a search longer than somebody who types waits.
	namesKept = 20_000
	namesLife = 30 * time.Second
)

// jobNames are the Chinese names of jobs as they are typed.
type jobNames struct {
	mu   sync.Mutex
	made time.Time
	list []typedName
}

type typedName struct {
	id, group int64
	name      pinyin.Name
}

// Typed are the jobs that the principal may see whose Chinese names are typed so, by name, at most so many. Of an installation with more
// than [namesKept] jobs there are none; a name that was changed lately is found by its new spelling some seconds later.
func (s *Jobs) Typed(ctx context.Context, p auth.Principal, text string, limit int) ([]db.ListJobsRow, error) {
	ids, err := s.typed(ctx, p, text, limit)
	if err != nil {
		return nil, err
	}
	var list JobList
	if err := s.read(ctx, p, ids, false, &list); err != nil {
		return nil, db.Error(err)
	}
	return list.Jobs, nil
}

// typed are the ids of [Jobs.Typed].
func (s *Jobs) typed(ctx context.Context, p auth.Principal, text string, limit int) (ids []int64, err error) {
	if !pinyin.Typed(text) {
		return nil, nil
	}
	names, err := s.typedNames(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if p.CanUseGroup(n.group) && n.name.Has(text) {
			if ids = append(ids, n.id); len(ids) == limit {
				break
			}
		}
	}
	return ids, nil
}

func (s *Jobs) typedNames(ctx context.Context) ([]typedName, error) {
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	now := s.cfg.Now()
	if age := now.Sub(s.names.made); !s.names.made.IsZero() && age >= 0 && age < namesLife {
		return s.names.list, nil
	}
	rows, err := s.queries.ListJobsByName(ctx, s.cfg.Pool, namesKept+1)
	if err != nil {
		return nil, fmt.Errorf("read the names of jobs: %w", db.Error(err))
	}
	var list []typedName
	if len(rows) <= namesKept {
		for _, r := range rows {
			if name := pinyin.Of(r.JobDesc); name.Chinese() {
				list = append(list, typedName{r.ID, r.JobGroup, name})
			}
		}
	}
	s.names.list, s.names.made = list, now
	return list, nil
}
