package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTheWallBoardShowsWhatItsReaderMaySee: the troubles of the dashboard and what runs, refreshed by itself.
func TestTheWallBoardShowsWhatItsReaderMaySee(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"settle the day","author":"a","handler":"nobody","schedule":"CRON","cron":%q}`, notSoon()))
		if wall := b.get("/wall").document(t); wall.Find("#wall[data-live-every]").Length() != 1 || wall.Find(".trouble.failing.quiet").Length() != 1 || wall.Find(".trouble.running.quiet").Length() != 1 {
			t.Errorf("a quiet one: %s", wall.Find("main").Text())
		}
		// What is written down ahead does not run yet, however much of it there is.
		ahead := []time.Time{time.Now().Add(-time.Second)}
		for range 2 * 8 {
			ahead = append(ahead, time.Now().Add(time.Hour))
		}
		for _, planned := range ahead {
			if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, planned_at) VALUES (1, ?, ?, 200, 0, ?)", made.ID, a.pool.Wall(planned), planned.UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		if running := b.get("/wall").document(t).Find(".trouble.running"); strings.Count(running.Text(), "settle the day") != 1 || strings.Contains(running.Text(), "+") || !strings.Contains(running.Text(), "Waiting") && !strings.Contains(running.Text(), "Running") {
			t.Errorf("under way: %s", running.Text())
		}
		c.json(200, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/start", made.ID), "")
		c.json(201, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
		executortest.Eventually(t, "the failure", func() error {
			if text := b.get("/wall").document(t).Find(".trouble.failing").Text(); !strings.Contains(text, "settle the day") {
				return fmt.Errorf("%s", text)
			}
			return nil
		})
		// It has no dialog, in which a button of the dashboard would open.
		if doc := b.get("/").document(t); doc.Find(`.trouble [hx-target="#dialog"]`).Length() != 2 || doc.Find("dialog#dialog").Length() != 1 {
			t.Errorf("the dashboard: %s", doc.Find(".trouble.failing").Text())
		}
		if wall := b.get("/wall").document(t); wall.Find("[hx-target]").Length() != 0 {
			t.Errorf("a button that does nothing: %s", wall.Find(".trouble.failing").Text())
		}
		if part := b.do("GET", "/wall", nil, "HX-Request", "true"); part.status != http.StatusOK || strings.Contains(part.body, "<html") || !strings.Contains(part.body, `id="wall"`) {
			t.Errorf("its round: %d %s", part.status, part.body)
		}
		b.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}})
		mina := open(t, a)
		mina.login("mina", testPassword)
		if got := mina.get("/wall"); got.status != http.StatusOK || strings.Contains(got.body, "settle the day") {
			t.Errorf("somebody without rights: %d %s", got.status, got.body)
		}
	})
}

// TestAlarmsThatAreNoFailuresAreShown: a job that was told of because it had no success, or is not done in time, and that a day ago failed. Nobody has
// to hear of a failing job twice, nor of the silence of one that was stopped.
func TestAlarmsThatAreNoFailuresAreShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		jobs := make(map[string]int)
		for _, name := range []string{"silent", "stopped", "long ago", "failing"} {
			var made struct{ ID int }
			c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":%q,"author":"a","handler":"nobody","schedule":"CRON","cron":%q}`, name, notSoon()))
			if jobs[name] = made.ID; name == "silent" {
				c.json(200, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/start", made.ID), "")
			}
		}
		for name, cause := range map[string]string{"silent": "silent", "stopped": "deadline", "long ago": "failed", "failing": "dispatch"} {
			if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_alarm_state (job_id, cause, opened_at, event_count, revision) VALUES (?, ?, ?, 1, 1)", jobs[name], cause, time.Now().UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		c.json(201, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/trigger", jobs["failing"]), "")
		for _, page := range []string{"/wall", "/"} {
			executortest.Eventually(t, "the alarms on "+page, func() error {
				doc := b.get(page).document(t)
				card := doc.Find(".trouble.alarms")
				text := card.Text()
				switch {
				case !strings.Contains(doc.Find(".trouble.failing").Text(), "failing"):
					return fmt.Errorf("not failing yet: %s", doc.Find(".trouble.failing").Text())
				case card.Find("li").Length() != 2 || card.Find("h2 b").Text() != "2", !strings.Contains(text, "silent"), !strings.Contains(text, "No success"), !strings.Contains(text, "long ago"):
					return fmt.Errorf("%q", text)
				}
				return nil
			})
		}
	})
}
