package app

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// TestPeopleAreToldOfTheirOwnFailures: what somebody has marked, or is the owner of, is told to them once when it has failed, and nothing else is.
func TestPeopleAreToldOfTheirOwnFailures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		if b.get("/jobs").document(t).Find(`#toasts[data-mine="/mine/failed"]`).Length() != 1 {
			t.Error("no page asks")
		}
		begin := b.get("/mine/failed")
		since, err := strconv.ParseInt(begin.header.Get("Punctual-Until"), 10, 64)
		if begin.status != 204 || err != nil {
			t.Fatalf("at first: %d, %v", begin.status, err)
		}
		for i, author := range []string{"somebody", "admin", "somebody"} { // nobody runs them: they fail
			c.json(201, new(struct{}), "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"job %d","author":%q,"handler":"h"}`, i+1, author))
			c.json(201, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/trigger", i+1), "{}")
		}
		if got := b.post("/jobs/1/favourite", url.Values{"favourite": {"1"}}); got.status >= 400 {
			t.Fatalf("marked: %d", got.status)
		}
		var told answer
		eventually(t, "two failures to be told", func() bool {
			told = b.get(fmt.Sprintf("/mine/failed?since=%d", since))
			return strings.Count(told.body, `class="toast error"`) == 2
		})
		for text, want := range map[string]bool{"job 1": true, "job 2": true, "job 3": false, `href="/runs/`: true} {
			if strings.Contains(told.body, text) != want {
				t.Errorf("%q is told: %v, want %v: %s", text, !want, want, told.body)
			}
		}
		if again := b.get("/mine/failed?since=" + told.header.Get("Punctual-Until")); again.status != 204 {
			t.Errorf("they are told once more: %d %s", again.status, again.body)
		}
	})
}

// TestAFailureEveryFewSecondsIsTold although the newest one has always ended just now; one that was told is not told with the next.
func TestAFailureEveryFewSecondsIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		now := time.Now()
		for i, ended := range [][]time.Duration{{-12 * time.Second, -2 * time.Second}, {-40 * time.Second, -2 * time.Second}} {
			c.json(201, new(struct{}), "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"job %d","author":"admin","handler":"h"}`, i+1))
			for _, ago := range ended {
				at := now.Add(ago)
				if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, planned_at, sent_at, finished_at, outcome) VALUES (1, ?, ?, 200, 500, ?, ?, ?, ?)",
					i+1, a.pool.Wall(at), at.UnixMilli(), at.UnixMilli(), at.UnixMilli(), event.Failed); err != nil {
					t.Fatal(err)
				}
			}
		}
		told := b.get(fmt.Sprintf("/mine/failed?since=%d", now.Add(-25*time.Second).UnixMilli()))
		if !strings.Contains(told.body, "job 1") || strings.Contains(told.body, "job 2") {
			t.Errorf("told: %d %s", told.status, told.body)
		}
	})
}
