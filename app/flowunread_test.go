package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestARunOfAFlowThatCannotBeReadIsShownAndEnded: its definition is of a later version, damaged, or gone. The page and API v1 say so, and it can be
// ended.
func TestARunOfAFlowThatCannotBeReadIsShownAndEnded(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		sql  string
		says string
	}{
		"later": {`INSERT INTO punctual_flow_text (job_id, digest, source) SELECT job_id, 'later', 'steps: [{id: ask, fly: {}}]' FROM punctual_flow_text WHERE id = 1`, "fly"},
		"gone":  {"DELETE FROM punctual_flow_text WHERE id = 2", "no longer there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o Options) {
				a, c := working(t, o, "greet")
				var made struct{ ID int64 }
				c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"flow","author":"a","kind":"FLOW","script":"steps: [{id: ask, approve: {}}]"}`)
				at := strings.TrimPrefix(c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "{}").header.Get("Location"), "/api/v1")
				type whole struct {
					State  string
					Steps  []struct{ State string }
					Unread string `json:"steps_unread"`
				}
				var r whole
				executortest.Eventually(t, "it waits for somebody", func() error {
					if c.json(200, &r, "GET", at, ""); len(r.Steps) != 1 || r.Steps[0].State != "approval" || r.Unread != "" {
						return fmt.Errorf("the run is %+v", r)
					}
					return nil
				})
				for _, sql := range []string{damage.sql, "UPDATE punctual_flow_run SET text_id = 2"} {
					if _, err := a.pool.ExecContext(t.Context(), sql); err != nil {
						t.Fatal(err)
					}
				}
				r = whole{}
				if c.json(200, &r, "GET", at, ""); r.State != "sent" || len(r.Steps) != 0 || !strings.Contains(r.Unread, damage.says) {
					t.Errorf("API v1 has %+v", r)
				}
				page := open(t, a).mustLogin().get(at)
				if doc := page.document(t); page.status != 200 || !strings.Contains(doc.Find(".flow-run .notice").Text(), damage.says) || strings.Contains(doc.Find(".flow-run").Text(), "Not begun") || doc.Find(`a[href="`+at+`/kill"]`).Length() == 0 {
					t.Errorf("the page is %d: %s", page.status, doc.Find("main").Text())
				}
				// An admin that has not begun it does not know it from before.
				if err := a.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				o.Listener = testOptions(t).Listener
				c.base = start(t, o).Welcome().URL
				if got := c.do("POST", at+"/steps/ask/approve", "{}"); got.status != 409 || !strings.Contains(got.body, `"flow.unread"`) {
					t.Errorf("approve: %d %s", got.status, got.body)
				}
				if got := c.do("POST", at+"/kill", ""); got.status != 200 {
					t.Fatalf("end it: %d %s", got.status, got.body)
				}
				if c.json(200, &r, "GET", at+"?wait=60s", ""); r.State != "killed" {
					t.Errorf("it has ended as %+v", r)
				}
				if got := c.do("POST", at+"/repeat", "{}"); got.status != 409 || !strings.Contains(got.body, `"flow.unread"`) {
					t.Errorf("do it again: %d %s", got.status, got.body)
				}
			})
		})
	}
}
