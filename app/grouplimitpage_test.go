package app

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheLimitOfAnExecutorOnItsPages has an executor that may have one run at a time: one goes on, and one waits for its turn.
func TestTheLimitOfAnExecutorOnItsPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		group := url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}, "max_running": {"many"}}
		refused := b.post("/executors", group)
		if doc := refused.document(t); refused.status != http.StatusUnprocessableEntity || doc.Find("[name=max_running]").AttrOr("value", "") != "many" {
			t.Fatalf("a limit that is no number: %d %s", refused.status, refused.body)
		}
		group.Set("max_running", "1")
		b.post("/executors", group)
		b.post("/executors", url.Values{"app_name": {"stock"}, "title": {"Stock"}, "type": {"auto"}, "max_running": {"1"}})
		b.post("/executors", url.Values{"app_name": {"spare"}, "title": {"Spare"}, "type": {"auto"}})
		if got := b.get("/executors/1/edit").document(t).Find("[name=max_running]").AttrOr("value", ""); got != "1" {
			t.Errorf("the form says %q", got)
		}
		for i, group := range []string{"1", "1", "2"} {
			if got := b.post("/jobs", form(url.Values{"name": {fmt.Sprintf("job %d", i+1)}, "group": {group}})); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		now := time.Now()
		runs := []db.NewRun{
			{JobGroup: 1, JobID: 1, Type: jobspec.TriggerManual, TriggerTime: a.pool.Wall(now), PlannedAt: now.UnixMilli(), Owner: 1, TriggerCode: 200},
			{JobGroup: 1, JobID: 2, Type: jobspec.TriggerManual, TriggerTime: a.pool.Wall(now), PlannedAt: now.UnixMilli(), Owner: -1},
			{JobGroup: 2, JobID: 3, Type: jobspec.TriggerManual, TriggerTime: a.pool.Wall(now), PlannedAt: now.UnixMilli(), Owner: 1, TriggerCode: 200},
		}
		first, err := db.InsertRuns(t.Context(), a.pool, runs)
		if err != nil {
			t.Fatal(err)
		}
		slots := []db.Slot{{JobID: 1, LogID: first, GroupID: 1}, {JobID: 2, LogID: first + 1, GroupID: 1}, {JobID: 3, LogID: first + 2, GroupID: 2}}
		err = a.pool.Tx(t.Context(), func(tx *sql.Tx) error { // or the engine gives them out
			if err := db.InsertSlots(t.Context(), tx, slots); err != nil {
				return err
			}
			_, err := db.New().TakeSlots(t.Context(), tx, []int64{first, first + 2})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := b.get("/executors/1").document(t).Find("#results").Text(); !strings.Contains(text, "Runs going on: 1 of 1. Waiting for their turn: 1.") {
			t.Errorf("the executor's page: %q", text)
		}
		if text := b.get("/executors/3").document(t).Find("#results").Text(); strings.Contains(text, "Runs going on") {
			t.Errorf("the page of one without a limit: %q", text)
		}
		if got := b.get("/executors/1").document(t).Find("#results a.link").AttrOr("href", ""); got != "/runs?group=1&range=all&result=running" {
			t.Errorf("the executor's page leads to %q", got)
		}
		job := b.get("/jobs/2").document(t).Find(`.notice.info a[href="/runs?group=1&range=all&result=sent"]`)
		if text := job.Text(); text != "It waits for its turn: runs of Orders that are going on: 1, and it may have 1 at a time." {
			t.Errorf("the page of the job whose run waits: %q", text)
		}
		if text := b.get("/jobs/1").document(t).Find("main").Text(); strings.Contains(text, "its turn") {
			t.Errorf("the page of the job whose run goes on: %q", text)
		}
		waits := fmt.Sprintf("/runs/%d", first+1)
		if text := b.get(waits).document(t).Find("main").Text(); !strings.Contains(text, "It waits for its turn: runs of Orders that are going on: 1, and it may have 1 at a time.") {
			t.Errorf("the page of the run that waits: %q", text)
		}
		steps := b.get(waits).document(t).Find(".timeline")
		if text := strings.Join(strings.Fields(steps.Find("li.waiting").Text()), " "); text != "Waiting for its turn waiting" || steps.Find("li.active").Length() != 0 {
			t.Errorf("its steps: %q waits, goes on: %q", text, steps.Find("li.active").Text())
		}
		if text := b.get(fmt.Sprintf("/runs/%d", first)).document(t).Find("main").Text(); strings.Contains(text, "its turn") {
			t.Errorf("the page of the run that goes on: %q", text)
		}

		// What waits goes with its job to another executor, what goes on counts where it began.
		for id, want := range map[int64]int64{1: 1, 2: 2} {
			edit := b.get(fmt.Sprintf("/jobs/%d/edit", id)).document(t)
			version := edit.Find("[name=version]").AttrOr("value", "")
			if got := b.post(fmt.Sprintf("/jobs/%d", id), form(url.Values{"name": {"moved"}, "group": {"2"}, "version": {version}})); got.status != http.StatusSeeOther {
				t.Fatalf("move: %d %s", got.status, got.body)
			}
			var group int64
			if err := a.pool.QueryRowContext(t.Context(), "SELECT group_id FROM punctual_slot WHERE job_id = ?", id).Scan(&group); err != nil && id == 1 || err == nil && group != want {
				t.Errorf("the slot of job %d is of executor %d, want %d: %v", id, group, want, err)
			}
		}
		if text := b.get(waits).document(t).Find("main").Text(); !strings.Contains(text, "It waits for its turn: runs of Stock that are going on: 1, and it may have 1 at a time.") {
			t.Errorf("the page of the run that waits, after the move of its job: %q", text)
		}
	})
}
