package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAParameterWithThePlannedTime is saved, previewed, run for a day that is over and run again, with the real sample executor.
func TestAParameterWithThePlannedTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		const param = "day=${{ planned | yyyy-MM-dd, -1d }} ${{ foo }}"
		job := form(url.Values{"param": {param}, "time_zone": {"Asia/Shanghai"}, "cron": {"0 0 2 1 1 ? 2099"}})
		preview := b.post("/jobs/schedule-preview", job)
		if got := preview.document(t).Find("#preview code").Text(); got != "day=2098-12-31 ${{ foo }}" {
			t.Errorf("previewed as %q", got)
		}
		bad := form(url.Values{"param": {"${{ planned | YYYY }}"}})
		if got := b.post("/jobs", bad); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find("#param-error").Text(), "“YYYY”") {
			t.Errorf("saved: %d %q", got.status, got.document(t).Find(".error").Text())
		}
		made := b.post("/jobs", job)
		if made.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", made.status, made.body)
		}
		var id int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM xxl_job_info").Scan(&id); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/jobs/%d", id)
		if got := b.post(path+"/run", url.Values{"param": {param}, "planned": {"some day"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("run for some day: %d", got.status)
		}
		if got := b.post(path+"/run", url.Values{"param": {"${{ planned | , 1d }}"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("run with what cannot be read: %d", got.status)
		}
		run := b.runOnce(path, url.Values{"param": {param}, "planned": {"2026-03-01T00:30:00"}})
		executortest.Eventually(t, "the run", func() error {
			if state := b.state(run); state != "success" {
				return fmt.Errorf("the run is %q", state)
			}
			return nil
		})
		executortest.Eventually(t, "the page, once the sending is on record", func() error {
			facts := strings.Join(strings.Fields(b.get(run).document(t).Find(".facts-list").Text()), " ")
			for _, want := range []string{param, "Parameter as sentday=2026-02-28 ${{ foo }}", "For the time2026-0"} {
				if !strings.Contains(facts, want) {
					return fmt.Errorf("it lacks %q: %s", want, facts)
				}
			}
			return nil
		})
		again := b.get(path + "/run?from=" + strings.TrimPrefix(run, "/runs/")).document(t)
		if got := again.Find("#run-planned").AttrOr("value", ""); got != "2026-03-01T00:30:00" {
			t.Errorf("run again for %q", got)
		}
		at, err := time.Parse(time.RFC3339, "2026-03-01T00:30:00+08:00")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := again.Find("input[name=meant]").AttrOr("value", ""), strconv.FormatInt(at.UnixMilli(), 10); got != want {
			t.Errorf("run again for the moment %q, want %s", got, want)
		}

		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, b, url.Values{"name": {"p"}, "scope": {"run"}, "days": {"7"}})}
		c.json(http.StatusCreated, &struct{}{}, "POST", "/jobs/"+strconv.FormatInt(id, 10)+"/trigger", `{"planned":"2026-01-01T00:00:00+08:00"}`)
		var plannedFor int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT planned_for FROM xxl_job_log WHERE job_id = ? ORDER BY id DESC LIMIT 1", id).Scan(&plannedFor); err != nil || plannedFor != 1767196800000 {
			t.Errorf("planned for %d, %v", plannedFor, err)
		}
	})
}
