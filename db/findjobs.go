package db

import (
	"context"
	"fmt"
	"slices"
)

// JobFilter says which jobs are looked for. The zero value is all of them. As with [RunFilter], only what is asked for becomes
// a condition.
type JobFilter struct {
	Groups  []int64 // empty: any
	IDs     []int64 // empty: any
	Status  *int64  // a jobspec.TriggerStatus
	Text    string  // LIKE patterns, in which ! escapes the wildcards; empty: any
	TextID  int64   // the id, if the text is one; 0: it is none
	Handler string
	Author  string
	Tag     string // a tag between commas
}

// Plain says that nothing is asked for that only reading the jobs can tell.
func (f JobFilter) Plain() bool {
	return f.Text == "" && f.Handler == "" && f.Author == "" && f.Tag == "" && len(f.IDs) == 0
}

func (f JobFilter) where() *where {
	w := new(where)
	if len(f.Groups) > 0 {
		w.in("job_group", f.Groups)
	}
	if len(f.IDs) > 0 {
		w.in("id", f.IDs)
	}
	if f.Status != nil {
		w.and("trigger_status = ?", *f.Status)
	}
	switch {
	case f.Text != "" && f.TextID != 0:
		w.and("(id = ? OR job_desc LIKE ? ESCAPE '!')", f.TextID, f.Text)
	case f.Text != "":
		w.and("job_desc LIKE ? ESCAPE '!'", f.Text)
	}
	if f.Handler != "" {
		w.and("executor_handler LIKE ? ESCAPE '!'", f.Handler)
	}
	if f.Author != "" {
		w.and("author LIKE ? ESCAPE '!'", f.Author)
	}
	if f.Tag != "" {
		w.and("tags <> '' AND CONCAT(',', tags, ',') LIKE ? ESCAPE '!'", f.Tag)
	}
	return w
}

// FindJobs reads the ids of jobs, the newest first, from an offset on, at most so many. It is one pass over the jobs at most,
// and a short one where the offset is small and there is enough.
func FindJobs(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	return findJobs(ctx, tx, f, "DESC", offset, limit)
}

// FindJobsFromEnd is FindJobs with an offset from the oldest job, for pages beyond the middle; still the newest first.
func FindJobsFromEnd(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	ids, err := findJobs(ctx, tx, f, "ASC", offset, limit)
	slices.Reverse(ids)
	return ids, err
}

func findJobs(ctx context.Context, tx DBTX, f JobFilter, order string, offset, limit int64) ([]int64, error) {
	w := f.where()
	rows, err := tx.QueryContext(ctx, "SELECT id FROM xxl_job_info"+w.String()+" ORDER BY id "+order+" LIMIT ? OFFSET ?", append(w.args, limit, offset)...)
	if err != nil {
		return nil, fmt.Errorf("find jobs: %w", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read job: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// CountJobs counts what FindJobs finds. For a plain filter the index on the groups tells.
func CountJobs(ctx context.Context, tx DBTX, f JobFilter) (n int64, err error) {
	w := f.where()
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_info"+w.String(), w.args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return n, nil
}
