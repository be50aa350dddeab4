package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestSlowestJobIsOneClickAway: a run that took long is on the page that the dashboard leads to, as soon as the counters are written, with
// the way to the run.
func TestSlowestJobIsOneClickAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		begun, let := make(chan struct{}), make(chan struct{})
		a, c, trigger := tracedOrders(t, o, executortest.Handlers{
			"slow": func(context.Context, *executor.Run) error {
				begun <- struct{}{}
				<-let
				return nil
			},
			"quick": func(context.Context, *executor.Run) error { return nil },
		})
		run := trigger("slow", "")
		<-begun
		executortest.Eventually(t, "its sending is on record", func() error {
			res, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET sent_at = sent_at - 754000 WHERE id = ? AND trigger_code = 200 AND sent_at > 0", run)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != 1 {
				return fmt.Errorf("%d rows: %w", n, err)
			}
			return nil
		})
		close(let)
		var ended struct{ State string }
		if c.json(200, &ended, "GET", "/runs/"+run+"?wait=60s", ""); ended.State != "success" {
			t.Fatal(ended.State)
		}
		quick := trigger("quick", "")
		c.json(200, &ended, "GET", "/runs/"+quick+"?wait=60s", "")

		b := open(t, a).mustLogin()
		first := b.get("/").body
		if !strings.Contains(first, `href="/jobs/slowest"`) {
			t.Error("the dashboard does not lead there")
		}
		executortest.Eventually(t, "the page has it", func() error {
			page := b.get("/jobs/slowest").body
			if !strings.Contains(page, `href="/runs/`+run+`"`) || !strings.Contains(page, `href="/jobs/1"`) || strings.Contains(page, `href="/runs/`+quick+`"`) {
				return fmt.Errorf("%s", page)
			}
			return nil
		})
		for _, by := range []string{"total", "slower", "nonsense"} {
			if got := b.get("/jobs/slowest?by=" + by); got.status != 200 || strings.Count(got.body, `aria-current="page"`) < 2 {
				t.Errorf("by %s: %d", by, got.status)
			}
		}
		took := regexp.MustCompile(`^1[2-9] min( \d+ s)?$`) // the run itself took some of it
		executortest.Eventually(t, "what the group did is below", func() error {
			usage := b.get("/jobs/slowest?by=total&days=100").document(t).Find("#usage")
			cell := usage.Find("tbody td")
			if cell.Length() != 5 || cell.Find(`a[href="/executors/1"]`).Length() != 1 || !took.MatchString(cell.Eq(1).Text()) || cell.Eq(2).Text() != "2" ||
				usage.Find(`a[aria-current][href="/jobs/slowest?by=total&days=100#usage"]`).Length() != 1 {
				return errors.New(usage.Text())
			}
			return nil
		})
	})
}
