package app

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestTheSamplesFlowRunsToItsEnd by the sample's own executor: past a person where the orders are worth much, without one where they are not.
func TestTheSamplesFlowRunsToItsEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		var job int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_info WHERE job_desc = 'Flow · orders'").Scan(&job); err != nil {
			t.Fatal(err)
		}
		states := func(run string) string {
			t.Helper()
			rows, err := a.pool.QueryContext(t.Context(), "SELECT step, state, item FROM punctual_flow_step WHERE flow_log_id = ? ORDER BY id", run)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var list []string
			items := 0
			for rows.Next() {
				var step string
				var state, item int64
				if err := rows.Scan(&step, &state, &item); err != nil {
					t.Fatal(err)
				}
				if item >= 0 {
					items++
					continue
				}
				list = append(list, step+" "+flow.State(state).String())
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s; %d items", strings.Join(list, ", "), items)
		}
		over := func(run, want string) {
			t.Helper()
			executortest.Eventually(t, "the end of the run", func() error {
				var outcome event.Outcome
				if err := a.pool.QueryRowContext(t.Context(), "SELECT outcome FROM xxl_job_log WHERE id = ?", run).Scan(&outcome); err != nil || outcome == event.Open {
					return fmt.Errorf("%v, %v: %s", outcome, err, states(run))
				}
				return nil
			})
			if got := states(run); got != want {
				t.Errorf("it ended with %s, want %s", got, want)
			}
		}
		page := fmt.Sprintf("/jobs/%d", job)
		run := func(param string) string {
			return strings.TrimPrefix(b.runOnce(page, url.Values{"param": {param}, "addresses": {""}}), "/runs/")
		}
		asked := run("3")
		executortest.Eventually(t, "a person is asked", func() error {
			if got := states(asked); !strings.Contains(got, "approve approval") {
				return fmt.Errorf("the steps: %s", got)
			}
			return nil
		})
		if got := b.get("/runs/" + asked); !strings.Contains(got.body, "Ship orders worth 600?") {
			t.Errorf("the page of the run does not ask: %d", got.status)
		}
		if got := b.post("/runs/"+asked+"/steps/approve/approve", url.Values{"remark": {"well"}}); got.status != http.StatusSeeOther {
			t.Fatalf("approve: %d %s", got.status, got.body)
		}
		over(asked, "collect success, pack success, approve success, ship success, tell skipped; 3 items")
		if body := html.UnescapeString(b.get("/runs/" + asked).body); !strings.Contains(body, `{"orders":3,"total":600}`) {
			t.Error("the page of the run does not say what it gave")
		}
		over(run("2"), "collect success, pack success, approve skipped, ship success, tell skipped; 2 items")
	})
}
