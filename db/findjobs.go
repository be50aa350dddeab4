package db

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// JobFilter says which jobs are looked for. The zero value is all of them. As with [RunFilter], only what is asked for becomes
// a condition.
type JobFilter struct {
	Groups  []int64 // empty: any
	IDs     []int64 // empty: any
	Status  *int64  // stopped, or anything else for those that are started, which have one of two statuses
	Text    string  // LIKE patterns, in which ! escapes the wildcards; empty: any
	TextID  int64   // the id, if the text is one; 0: it is none
	TextIDs []int64 // jobs that the text means as well
	Name    string  // the whole description, as the database compares; empty: any
	Handler string
	Author  string
	Tag     string // a tag between commas
	Flows   *bool  // flows, or what is none; nil: both
	Below   int64  // only smaller ids; 0: any
	Held    *HeldJobs
	Order   JobOrder // of [SortJobs]
	Desc    bool     // from its other end
	After   *JobPlace

	wide         bool    // the groups have so many jobs that their index is no help: see measured
	some         bool    // they have so few that reading them is quicker than any other index
	names        bool    // read from the index on the names: see byName
	ids          bool    // read by their ids
	grouped      bool    // read from the index on the groups: see Plain
	from, before int64   // ids; 0: any
	dialect      Dialect // lets texts be compared in the way that is quickest there; see textMatch
}

// Plain says that nothing is asked for that only reading the jobs can tell.
func (f JobFilter) Plain() bool {
	return f.Text == "" && f.Name == "" && f.Handler == "" && f.Author == "" && f.Tag == "" && f.Flows == nil && f.Held == nil && len(f.IDs) == 0
}

// HeldJobs narrows a [JobFilter] to started schedules that pauses are about.
type HeldJobs struct {
	All    bool
	IDs    []int64
	Groups []int64
	Tags   []string // as JobFilter.Tag
}

// Any says whether there can be one.
func (h *HeldJobs) Any() bool { return h.All || len(h.IDs)+len(h.Groups)+len(h.Tags) > 0 }

func (h *HeldJobs) where(w *where) {
	w.and("trigger_status > 0 AND schedule_type <> ?", jobspec.ScheduleNone)
	if h.All {
		return
	}
	var either []string
	var args []any
	for column, ids := range map[string][]int64{"id": h.IDs, "job_group": h.Groups} {
		if len(ids) > 0 {
			either = append(either, column+" IN (?"+strings.Repeat(",?", len(ids)-1)+")")
			for _, id := range ids {
				args = append(args, id)
			}
		}
	}
	for _, tag := range h.Tags {
		either, args = append(either, hasTag), append(args, tag)
	}
	w.and("("+strings.Join(either, " OR ")+")", args...)
}

// where are the conditions. With walk, the one for started jobs is put so that no index serves it.
func (f JobFilter) where(walk bool) *where {
	w := new(where)
	switch {
	case f.wide:
		w.in("job_group + 0", f.Groups)
	case len(f.Groups) > 0:
		w.in("job_group", f.Groups)
	}
	if len(f.IDs) > 0 {
		w.in("id", f.IDs)
	}
	if f.from != 0 {
		w.and("id >= ?", f.from)
	}
	if f.before != 0 {
		w.and("id < ?", f.before)
	}
	if f.Below != 0 {
		w.and("id < ?", f.Below)
	}
	switch {
	case f.Status == nil:
	case *f.Status == int64(jobspec.StatusStopped):
		w.and("trigger_status = 0")
	case walk:
		w.and("trigger_status + 0 > 0")
	default:
		w.and("trigger_status > 0")
	}
	switch {
	case f.Text != "" && f.TextID != 0:
		w.and("(id = ? OR "+textMatch(f.dialect, "job_desc", f.Text)+")", f.TextID, f.Text)
	case f.Text != "" && len(f.TextIDs) > 0:
		w.and("(id IN ("+numbers(f.TextIDs)+") OR "+textMatch(f.dialect, "job_desc", f.Text)+")", f.Text)
	case f.Text != "":
		w.and(textMatch(f.dialect, "job_desc", f.Text), f.Text)
	}
	if f.Name != "" {
		w.and("job_desc = ?", f.Name)
	}
	if f.Handler != "" {
		w.and(textMatch(f.dialect, "executor_handler", f.Handler), f.Handler)
	}
	if f.Author != "" {
		w.and(textMatch(f.dialect, "author", f.Author), f.Author)
	}
	switch {
	case f.Flows != nil && *f.Flows:
		w.and("glue_type = ?", jobspec.GlueFlow)
	case f.Flows != nil:
		w.and("glue_type <> ?", jobspec.GlueFlow)
	}
	if f.Held != nil {
		f.Held.where(w)
	}
	if f.Tag != "" {
		w.and(hasTag, f.Tag)
	}
	return w
}

// FindJobs reads the ids of jobs, the newest first, from an offset on, at most so many. It is one pass over the jobs at most,
// and a short one where the offset is small and there is enough.
func FindJobs(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	return findJobs(ctx, tx, f, "DESC", offset, limit)
}

// SearchJobs is FindJobs for filters that only reading the jobs can answer. Parts of them are read at the same time, on several
// connections: where nothing matches, a database that reads with one thread is done sooner.
func SearchJobs(ctx context.Context, pool *Pool, f JobFilter, offset, limit int64) ([]int64, error) {
	f, some, err := f.narrowed(ctx, pool)
	if err != nil || !some {
		return nil, err
	}
	if len(f.Groups) == 0 && f.Plain() {
		return FindJobs(ctx, pool, f, offset, limit)
	}
	if !f.reads() {
		f.grouped = len(f.IDs) == 0 // with a small limit the databases would rather walk over all jobs than sort those of the groups
		return FindJobs(ctx, pool, f, offset, limit)
	}
	if f.byName() {
		return searchNames(ctx, pool, f, offset, limit)
	}
	parts, err := f.parts(ctx, pool)
	if err != nil {
		return nil, err
	}
	found := make([][]int64, len(parts))
	err = pool.sideBySide(ctx, len(parts), func(i int) (err error) {
		found[i], err = FindJobs(ctx, pool, parts[i], 0, offset+limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(found...)
	return ids[min(offset, int64(len(ids))):min(offset+limit, int64(len(ids)))], nil
}

// fewValues bounds the values of a column that narrowed goes through, and the jobs that it takes for few.
const fewValues = 2000

// indexed is a column of the jobs that has an index of its own.
type indexed struct{ column, index string }

var (
	handlers = indexed{"executor_handler", "i_job_handler"}
	tagLists = indexed{"tags", "i_job_tags"}
)

// matches is the condition that the column has what a pattern says, which follows it as an argument.
func (c indexed) matches(dialect Dialect, pattern string) string {
	if c == tagLists {
		return hasTag
	}
	return textMatch(dialect, c.column, pattern)
}

// hasTag is the condition that jobs have a tag; the pattern of [JobFilter.Tag] follows it as an argument. Nearly all jobs may have some: no
// index is to serve it.
const hasTag = "LENGTH(tags) > 0 AND CONCAT(',', tags, ',') LIKE ? ESCAPE '!'"

// narrowed is a filter that has the jobs of its handler or its tag in place of that, where those are few: most handlers have some of all jobs, and
// a pass over the jobs that looks for them reads all. some is false where none has such a handler or tag.
func (f JobFilter) narrowed(ctx context.Context, pool *Pool) (_ JobFilter, some bool, err error) {
	f.dialect = pool.dialect
	if f, err = f.measured(ctx, pool); err != nil {
		return f, false, err
	}
	for _, by := range []struct {
		indexed

		pattern *string
	}{{handlers, &f.Handler}, {tagLists, &f.Tag}} {
		if *by.pattern == "" || f.some || len(f.IDs) > 0 {
			continue
		}
		var ids []int64
		few := false
		err = pool.sideBySide(ctx, 1, func(int) (err error) {
			ids, few, err = by.jobs(ctx, pool, f.dialect, *by.pattern)
			return err
		})
		if err != nil || few && len(ids) == 0 {
			return f, false, err
		}
		if few {
			*by.pattern, f.IDs = "", ids
		}
	}
	return f, true, nil
}

// jobs reads from the index which jobs have a value that a pattern matches. few is false where there are more than fewValues.
func (c indexed) jobs(ctx context.Context, tx DBTX, dialect Dialect, pattern string) (ids []int64, few bool, err error) {
	w := new(where)
	values, all, err := c.values(ctx, tx, dialect, pattern)
	switch {
	case err != nil:
		return nil, false, err
	case all && len(values) == 0:
		return nil, true, nil
	case all:
		args := make([]any, len(values))
		for i, v := range values {
			args[i] = v
		}
		w.and(c.column+" IN (?"+strings.Repeat(",?", len(values)-1)+")", args...)
	}
	w.and(c.matches(dialect, pattern), pattern)
	table := "xxl_job_info INDEXED BY " + c.index
	if dialect == MySQL {
		table = "xxl_job_info FORCE INDEX (" + c.index + ")"
	}
	ids, err = findIDs(ctx, tx, "jobs by "+c.index, "SELECT id FROM "+table+w.String()+" LIMIT ?", append(w.args, fewValues+1))
	return ids, len(ids) <= fewValues, err
}

// values are those of the column that a pattern matches as the column compares, which is no less than what matches finds. all is false where
// there are too many values to go through, or one would not stand for those that the column takes for the same. Both databases skip from one
// value to the next.
func (c indexed) values(ctx context.Context, tx DBTX, dialect Dialect, pattern string) (values []string, all bool, err error) {
	if dialect == MySQL && strings.ContainsFunc(pattern, mayExpand) {
		return nil, false, nil
	}
	like := "v LIKE ? ESCAPE '!'"
	if c == tagLists {
		like = "CONCAT(',', v, ',') LIKE ? ESCAPE '!'"
	}
	query := strings.NewReplacer("{c}", c.column, "{like}", like).Replace(`WITH RECURSIVE d (v) AS (SELECT MIN({c}) FROM xxl_job_info
		UNION ALL SELECT (SELECT MIN({c}) FROM xxl_job_info WHERE {c} > d.v) FROM d WHERE d.v IS NOT NULL LIMIT ?)
		SELECT v, {like} FROM d WHERE v IS NOT NULL`)
	args := []any{fewValues + 1, pattern}
	if dialect == MySQL {
		slices.Reverse(args)
		query = strings.NewReplacer("{c}", c.column, "{like}", like).Replace("SELECT v, {like} FROM (SELECT DISTINCT {c} AS v FROM xxl_job_info WHERE {c} IS NOT NULL LIMIT ?) d")
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, fmt.Errorf("find values of %s: %w", c.column, err)
	}
	read := 0
	err = scanAll(rows, func() error {
		var value string
		var matches bool
		if err := rows.Scan(&value, &matches); err != nil {
			return fmt.Errorf("read values of %s: %w", c.column, err)
		}
		if read++; matches || dialect == MySQL && strings.ContainsFunc(value, mayExpand) {
			values = append(values, value)
		}
		return nil
	})
	return values, read <= fewValues, err
}

// measured notes whether its groups have so many jobs that reading these one by one takes longer than reading all jobs in a row. The index has
// the stopped ones of a group in the order of their ids.
func (f JobFilter) measured(ctx context.Context, pool *Pool) (JobFilter, error) {
	if f.wide, f.some = false, false; len(f.Groups) == 0 || len(f.IDs) > 0 || f.Order == OrderNewest && f.Plain() && f.Status != nil && *f.Status == int64(jobspec.StatusStopped) {
		return f, nil
	}
	first, last, err := rangeOfJobs(ctx, pool)
	if err != nil {
		return f, err
	}
	few := min(max(pool.fewJobs, (last-first)/fewOfJobs), 5*pool.fewJobs)
	w := new(where)
	w.in("job_group", f.Groups)
	var n int64
	if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM xxl_job_info"+w.String()+" LIMIT ?) counted", append(w.args, few+1)...).Scan(&n); err != nil {
		return f, fmt.Errorf("measure the jobs of groups: %w", err)
	}
	f.wide, f.some = n > few, n <= pool.fewJobs
	return f, nil
}

// byName says that the index on the names has all that a search asks for. Walking through it takes well under half of the time that the
// jobs themselves take.
func (f JobFilter) byName() bool {
	return f.reads() && f.Handler == "" && f.Author == "" && f.Tag == "" && f.Flows == nil && f.Held == nil
}

// table is what jobs are read from.
func (f JobFilter) table() string {
	switch {
	case f.ids && f.dialect == MySQL:
		return "xxl_job_info FORCE INDEX (PRIMARY)" // or MySQL skips through the index on the names, and sorts
	case f.grouped && f.dialect == MySQL:
		return "xxl_job_info FORCE INDEX (i_job_group)"
	case f.grouped:
		return "xxl_job_info INDEXED BY i_job_group"
	case !f.names:
		return "xxl_job_info"
	case f.dialect == MySQL:
		return "xxl_job_info FORCE INDEX (i_job_name)"
	default:
		return "xxl_job_info INDEXED BY i_job_name"
	}
}

// newestFirst is how many of the newest jobs a search looks at before it walks through the index: a text that many have fills a page from them.
const newestFirst = 2000

// newest narrows a filter to the newest jobs up to one.
func (f JobFilter) newest(pool *Pool, last int64) JobFilter {
	f.from, f.before, f.ids, f.dialect = max(1, last-pool.newestFirst+1), last+1, true, pool.dialect
	return f
}

// searchNames is SearchJobs for what the index on the names knows.
func searchNames(ctx context.Context, pool *Pool, f JobFilter, offset, limit int64) ([]int64, error) {
	last := int64(0)
	if err := pool.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM xxl_job_info").Scan(&last); err != nil {
		return nil, fmt.Errorf("find the newest job: %w", err)
	}
	if f.Below != 0 {
		last = min(last, f.Below-1)
	}
	ids, err := FindJobs(ctx, pool, f.newest(pool, last), offset, limit)
	if err != nil || int64(len(ids)) == limit {
		return ids, err
	}
	if f.Plain() { // the index on the groups knows all of it
		f.grouped, f.wide = true, false
	} else {
		f.names = true
	}
	err = pool.sideBySide(ctx, 1, func(int) (err error) {
		ids, err = FindJobs(ctx, pool, f, offset, limit)
		return err
	})
	return ids, err
}

// sideBySide reads several things at a time, for two callers at most: the connections are there for the engine too.
func (p *Pool) sideBySide(ctx context.Context, n int, read func(i int) error) error {
	select {
	case p.searching <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.searching }()
	var group errgroup.Group
	for i := range n {
		group.Go(func() error { return read(i) })
	}
	return group.Wait()
}

// reads says that all jobs have to be read, which the index of groups and a list of ids spare. Beside those, bounds on the ids
// would only lead the database astray.
func (f JobFilter) reads() bool {
	return f.wide || !f.Plain() && len(f.Groups) == 0 && len(f.IDs) == 0
}

// searchParts is how many parts of the jobs are read at the same time. More than a server has cores do no harm: they share them
// out more evenly.
const searchParts = 4

// parts splits what a filter looks at by the ids, the newest first.
func (f JobFilter) parts(ctx context.Context, tx DBTX) ([]JobFilter, error) {
	first, last, err := rangeOfJobs(ctx, tx)
	if err != nil {
		return nil, err
	}
	parts := make([]JobFilter, searchParts)
	before := last + 1
	for i := range parts {
		from := first + (last+1-first)*int64(searchParts-1-i)/searchParts
		parts[i] = f
		parts[i].from, parts[i].before = from, before
		before = from
	}
	return parts, nil
}

// rangeOfJobs finds the ids of the oldest and the newest job; both 0: there is none.
func rangeOfJobs(ctx context.Context, tx DBTX) (first, last int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT COALESCE((SELECT MIN(id) FROM xxl_job_info), 0), COALESCE((SELECT MAX(id) FROM xxl_job_info), 0)").Scan(&first, &last)
	if err != nil {
		return 0, 0, fmt.Errorf("find the range of jobs: %w", err)
	}
	return first, last, nil
}

// FindJobsFromEnd is FindJobs with an offset from the oldest job, for pages beyond the middle; still the newest first.
func FindJobsFromEnd(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	ids, err := findJobs(ctx, tx, f, "ASC", offset, limit)
	slices.Reverse(ids)
	return ids, err
}

func findJobs(ctx context.Context, tx DBTX, f JobFilter, order string, offset, limit int64) ([]int64, error) {
	// Nearly all jobs are started: by the index on that the databases would collect them all, and sort them.
	w := f.where(f.wide || len(f.Groups) == 0 && len(f.IDs) == 0)
	from := f.table() + w.String()
	if f.names { // MariaDB takes twice as long where it sorts what it walks through; the bound keeps the two apart
		from = "(SELECT id FROM " + from + " LIMIT " + strconv.Itoa(math.MaxInt) + ") found"
	}
	return findIDs(ctx, tx, "jobs", "SELECT id FROM "+from+" ORDER BY id "+order+" LIMIT ? OFFSET ?", append(w.args, limit, offset))
}

// CountJobs counts what FindJobs finds. For a plain filter the index on the groups tells; for others it reads as SearchJobs does.
func CountJobs(ctx context.Context, pool *Pool, f JobFilter) (n int64, err error) {
	if f.Plain() {
		return countJobs(ctx, pool, f)
	}
	f, some, err := f.narrowed(ctx, pool)
	if err != nil || !some {
		return 0, err
	}
	if !f.reads() {
		return countJobs(ctx, pool, f)
	}
	if f.byName() {
		f.names = true
		err = pool.sideBySide(ctx, 1, func(int) error {
			n, err = countJobs(ctx, pool, f)
			return err
		})
		return n, err
	}
	parts, err := f.parts(ctx, pool)
	if err != nil {
		return 0, err
	}
	counts := make([]int64, len(parts))
	err = pool.sideBySide(ctx, len(parts), func(i int) (err error) {
		counts[i], err = countJobs(ctx, pool, parts[i])
		return err
	})
	for _, c := range counts {
		n += c
	}
	return n, err
}

func countJobs(ctx context.Context, tx DBTX, f JobFilter) (n int64, err error) {
	w := f.where(false)
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+f.table()+w.String(), w.args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return n, nil
}
