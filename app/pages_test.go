package app

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestPagesOfHistoryMissNoneThatStays reads runs and the audit log page by page, with filters that indexes serve and others, while
// rows go, the one that a page ended with among them, and new ones come: each that is there all the time is listed once, in order.
func TestPagesOfHistoryMissNoneThatStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		runs := func() int64 {
			const n = 4 // all of one transaction, as the engine writes them
			var rows []db.NewRun
			for range n {
				rows = append(rows, db.NewRun{JobGroup: 1, JobID: 77, TriggerTime: a.pool.Wall(time.Now()), PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 500, Message: "paged"})
			}
			first, err := db.InsertRuns(t.Context(), a.pool, rows)
			if err != nil {
				t.Fatal(err)
			}
			return first + n - 1
		}
		entries := func() (newest int64) {
			for range 4 {
				c.json(http.StatusOK, new(struct{}), http.MethodPatch, "/groups/1", fmt.Sprintf(`{"title":"Orders %d"}`, time.Now().UnixNano()))
			}
			if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM punctual_audit").Scan(&newest); err != nil {
				t.Fatal(err)
			}
			return newest
		}
		for _, l := range []struct {
			list, table string
			add         func() int64 // adds some, and says which is the newest
		}{
			{"/runs?", "xxl_job_log", runs},
			{"/runs?job_id=77&", "xxl_job_log", runs},
			{"/runs?group_id=1&result=failed&", "xxl_job_log", runs},
			{"/runs?text=paged&", "xxl_job_log", runs},
			{"/runs?trigger=CRON&since=2020-01-01T00:00:00Z&", "xxl_job_log", runs},
			{"/audit?", "punctual_audit", entries},
			{"/audit?object_kind=group&object_id=1&", "punctual_audit", entries},
			{"/audit?text=Orders&", "punctual_audit", entries},
		} {
			for range 4 {
				l.add()
			}
			newest := l.add()
			c.walk(l.list, newest, func(last int64) {
				// The row that the page ended with, one behind it and one of those that are already listed.
				for _, gone := range []int64{last, last - 2, newest} {
					if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM "+l.table+" WHERE id = ?", gone); err != nil {
						t.Fatal(err)
					}
				}
				l.add()
			})
		}
	})
}

// walk reads a list from its newest row on in pages of three, has turn change something after each of the first four, and holds what
// was listed against what can be listed at the end.
func (c *caller) walk(list string, newest int64, turn func(last int64)) {
	c.t.Helper()
	var seen []int64
	page := func(cursor string) (ids []int64, next string) {
		c.t.Helper()
		var got struct {
			Items []struct{ ID int64 }
			Next  string
		}
		c.json(http.StatusOK, &got, http.MethodGet, list+"limit=3"+cursor, "")
		for _, item := range got.Items {
			ids = append(ids, item.ID)
		}
		return ids, got.Next
	}
	all := func(each func(ids []int64)) {
		for cursor := ""; ; {
			ids, next := page(cursor)
			each(ids)
			if next == "" {
				return
			}
			cursor = "&cursor=" + next
		}
	}
	turns := 0
	all(func(ids []int64) {
		seen = append(seen, ids...)
		if turns++; turns <= 4 && len(ids) > 0 {
			turn(ids[len(ids)-1])
		}
	})
	times := make(map[int64]int)
	for i, id := range seen {
		if times[id]++; times[id] > 1 || i > 0 && id > seen[i-1] {
			c.t.Errorf("%s: %d comes in %v", list, id, seen)
		}
	}
	stay := 0
	all(func(ids []int64) {
		for _, id := range ids {
			if id > newest {
				continue // it came later
			}
			if stay++; times[id] != 1 {
				c.t.Errorf("%s: %d stayed, and was listed %d times among %v", list, id, times[id], seen)
			}
		}
	})
	if turns < 5 || stay < 5 {
		c.t.Errorf("%s: %d pages, %d of which stayed: too few to say anything", list, turns, stay)
	}
}
