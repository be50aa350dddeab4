package db_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// sortable is what a job is sorted and narrowed by.
type sortable struct {
	id, group, status, next int64
	name, author            string
}

// TestJobsAreSortedAsAsked compares every order, filter and page with a sort in memory, in pages by number and page after page.
func TestJobsAreSortedAsAsked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		random := rand.New(rand.NewPCG(7, 7))
		var jobs []sortable
		for range 60 {
			j := sortable{group: 1 + random.Int64N(3), status: random.Int64N(3), name: fmt.Sprintf("job %02d", random.IntN(20)), author: fmt.Sprintf("a%d", random.IntN(2))}
			if j.status > 0 {
				j.next = 1000 + random.Int64N(12)
			}
			id, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{
				JobGroup: j.group, JobDesc: j.name, Author: db.Text(j.author), ScheduleType: "CRON", MisfireStrategy: "DO_NOTHING", GlueType: "BEAN",
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = ?, trigger_next_time = ? WHERE id = ?", j.status, j.next, id); err != nil {
				t.Fatal(err)
			}
			j.id = id
			jobs = append(jobs, j)
		}
		stopped, running := int64(0), int64(1)
		for name, f := range map[string]db.JobFilter{
			"all": {}, "a group": {Groups: []int64{2}}, "groups": {Groups: []int64{1, 3}}, "running": {Status: &running}, "stopped": {Status: &stopped}, "stopped in a group": {Status: &stopped, Groups: []int64{1}},
			"running of many groups": {Status: &running, Groups: []int64{1, 2}}, "a text": {Text: "%job 1%"}, "an author": {Author: "%a1%"}, "an author in a group": {Author: "%a1%", Groups: []int64{1}},
			"ids": {IDs: []int64{jobs[3].id, jobs[5].id, jobs[20].id, jobs[40].id, jobs[59].id}}, "nothing": {Text: "%nothing%"},
		} {
			for _, order := range []db.JobOrder{db.OrderName, db.OrderNext} {
				for _, desc := range []bool{false, true} {
					f.Order, f.Desc = order, desc
					want := sortedHere(jobs, f)
					for _, bounds := range [][2]int64{{0, 13}, {0, 2000}, {2000, 13}} {
						pool.FewJobs(bounds[0])
						pool.NewestFirst(bounds[1])
						for offset := int64(0); offset <= 60; offset += 7 {
							got, err := db.SortJobs(t.Context(), pool, f, offset, 10)
							page := want[min(offset, int64(len(want))):min(offset+10, int64(len(want)))]
							if err != nil || !slices.Equal(got, ids(page)) {
								t.Errorf("%s by %s (from the end: %v), from %d: %v, %v, want %v", name, order, desc, offset, got, err, ids(page))
							}
						}
						if got := pageAfterPage(t, pool, f, jobs); !slices.Equal(got, ids(want)) {
							t.Errorf("%s by %s (from the end: %v), page after page: %v, want %v", name, order, desc, got, ids(want))
						}
					}
				}
			}
		}
	})
}

// pageAfterPage reads all of a list, each page behind the last job of the one before.
func pageAfterPage(t *testing.T, pool *db.Pool, f db.JobFilter, jobs []sortable) (all []int64) {
	t.Helper()
	for len(all) < 100 {
		page, err := db.SortJobs(t.Context(), pool, f, 0, 9)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); len(page) < 9 {
			return all
		}
		last := jobs[slices.IndexFunc(jobs, func(j sortable) bool { return j.id == page[8] })]
		f.After = &db.JobPlace{Name: last.name, Started: last.status > 0, Next: last.next, ID: last.id}
	}
	return all
}

func ids(jobs []sortable) []int64 {
	var list []int64
	for _, j := range jobs {
		list = append(list, j.id)
	}
	return list
}

// sortedHere does in memory what the database is asked for.
func sortedHere(jobs []sortable, f db.JobFilter) []sortable {
	var list []sortable
	for _, j := range jobs {
		switch {
		case len(f.Groups) > 0 && !slices.Contains(f.Groups, j.group), f.Status != nil && (*f.Status > 0) != (j.status > 0), len(f.IDs) > 0 && !slices.Contains(f.IDs, j.id),
			f.Text == "%job 1%" && j.name[:5] != "job 1", f.Text == "%nothing%", f.Author != "" && j.author != "a1":
			continue
		}
		list = append(list, j)
	}
	sign := 1
	if f.Desc {
		sign = -1
	}
	slices.SortFunc(list, func(a, b sortable) int {
		if f.Order == db.OrderName {
			return sign * cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
		}
		return cmp.Or(cmp.Compare(min(b.status, 1), min(a.status, 1)), sign*cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.id, b.id)))
	})
	return list
}
