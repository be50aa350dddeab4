package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// meant is a backfill that is made only as a dry run planned it.
func meant(body, digest string) string {
	return strings.TrimSuffix(body, "}") + `,"digest":"` + digest + `"}`
}

// TestBackfillsByTheAPI previews a backfill, makes it, and follows it to its end on the real sample executor.
func TestBackfillsByTheAPI(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/jobs", form(url.Values{"param": {"day=${{ planned | yyyy-MM-dd, -1d }}"}, "time_zone": {"UTC"}, "cron": {"0 0 2 * * ?"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		var job int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM xxl_job_info").Scan(&job); err != nil {
			t.Fatal(err)
		}
		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, b, url.Values{"name": {"ci"}, "scope": {"run"}, "days": {"7"}})}
		path := fmt.Sprintf("/jobs/%d/backfills", job)
		const body = `{"from":"2026-03-01T00:00:00Z","until":"2026-03-04T00:00:00Z","at_once":2,"newest_first":true}`
		var got struct {
			ID                int64
			State             string
			Ended             bool
			Total, Sent       int
			Succeeded, Failed int
			First             string `json:"first_planned"`
			Last              string `json:"last_planned"`
			Param             string `json:"first_parameter"`
			Digest            string
		}
		c.json(http.StatusCreated, &got, "POST", path+"?dry_run=true", body)
		if got.ID != 0 || got.Total != 3 || got.First != "2026-03-03T02:00:00Z" || got.Last != "2026-03-01T02:00:00Z" || got.Param != "day=2026-03-02" {
			t.Errorf("planned as %+v", got)
		}
		for block, want := range map[string]string{"DISCARD_LATER": "discard", "COVER_EARLY": "cover", "SERIAL_EXECUTION": ""} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET executor_block_strategy = ? WHERE id = ?", block, job); err != nil {
				t.Fatal(err)
			}
			var planned struct {
				AtOnce   int    `json:"at_once"`
				WhenBusy string `json:"when_busy"`
			}
			atOnce := 1
			if want == "" {
				atOnce = 2
			}
			if c.json(http.StatusCreated, &planned, "POST", path+"?dry_run=true", body); planned.AtOnce != atOnce || planned.WhenBusy != want {
				t.Errorf("%s: planned as %+v", block, planned)
			}
		}
		for _, bad := range []string{
			`{"from":"2026-03-01T00:00:00Z","until":"2026-03-01T00:00:00Z"}`, `{"from":"2026-03-01T00:00:00Z","until":"2999-01-01T00:00:00Z"}`,
			`{"from":"2026-03-01T03:00:00Z","until":"2026-03-01T04:00:00Z"}`, `{"from":"1980-01-01T00:00:00Z","until":"2026-03-01T04:00:00Z"}`,
			`{"from":"2026-03-01T00:00:00Z","until":"2026-03-04T00:00:00Z","failed":true}`,
		} {
			if got := c.do("POST", path, bad); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", bad, got.status, got.body)
			}
		}
		for from, want := range map[string]string{"1926-01-01T00:00:00Z": "body from job.error.not_then", "0001-01-01T00:00:00Z": "body from backfill.error.from"} {
			var r refusal
			if got := c.json(422, &r, "POST", path, `{"from":"`+from+`","until":"2026-03-01T04:00:00Z"}`); len(r.fields()) != 1 || r.fields()[0] != want {
				t.Errorf("from %s: %s", from, got.body)
			}
		}
		for _, change := range []struct{ column, to, back, code string }{
			{"schedule_conf", "0 0 */12 * * ?", "0 0 2 * * ?", "backfill.plan.changed"},
			{"time_zone", "Asia/Tokyo", "UTC", "backfill.plan.changed.times"},
			{"executor_param", "day=1", "day=${{ planned | yyyy-MM-dd, -1d }}", "backfill.plan.changed.param"},
		} {
			set := func(to string) {
				t.Helper()
				if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET "+change.column+" = ? WHERE id = ?", to, job); err != nil {
					t.Fatal(err)
				}
			}
			set(change.to)
			if got := c.do("POST", path, meant(body, got.Digest)); got.status != http.StatusPreconditionFailed || !strings.Contains(got.body, `"`+change.code+`"`) {
				t.Errorf("after a change of %s: %d %s", change.column, got.status, got.body)
			}
			set(change.back)
		}
		c.json(http.StatusCreated, &got, "POST", path, meant(body, got.Digest))
		one := fmt.Sprintf("%s/%d", path, got.ID)
		executortest.Eventually(t, "the end of the backfill", func() error {
			c.json(http.StatusOK, &got, "GET", one, "")
			if !got.Ended {
				return fmt.Errorf("%+v", got)
			}
			return nil
		})
		if got.State != "done" || got.Sent != 3 || got.Succeeded != 3 {
			t.Errorf("ended as %+v", got)
		}
		if over := c.do("POST", one+"/pause", ""); over.status != http.StatusConflict {
			t.Errorf("pause of what is over: %d", over.status)
		}
		if other := c.do("GET", fmt.Sprintf("/jobs/%d/backfills/%d", job, got.ID+1), ""); other.status != http.StatusNotFound {
			t.Errorf("one that is not there: %d", other.status)
		}
	})
}
