package transfer

import (
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestAPlanRefusesWhatWouldBeRefused: a plan that promised such a job was agreed to in a merge request, and failed behind it.
func TestAPlanRefusesWhatWouldBeRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		if _, err := b.Groups.Create(t.Context(), b.admin, manage.GroupInput{AppName: manage.HTTPAppName, Title: "HTTP"}); err != nil {
			t.Fatal(err)
		}
		const head = "punctual_jobs: 1\nexecutors:\n  - app_name: "
		const job = "\n    jobs:\n      - description: x\n        author: ann\n        schedule: CRON\n        cron: 0 0 2 * * ?\n"
		for _, tt := range []struct {
			name, text, field, key string
			line                   int
		}{
			{"a calendar", head + "orders" + job + "        handler: h\n        calendar: plant\n", "calendar", "job.error.calendar", 10},
			{"a call", head + manage.HTTPAppName + job + "        handler: httpJobHandler\n        parameter: nowhere\n", "param", "job.error.http.url", 10},
		} {
			plan := b.plan(t, b.admin, read(t, tt.text), Options{})
			if len(plan.Items) != 1 || plan.Items[0].Outcome != Refuse || len(plan.Items[0].Faults) != 1 {
				t.Errorf("%s: %+v", tt.name, plan.Items)
				continue
			}
			if f := plan.Items[0].Faults[0]; f.Name != tt.field || f.Key != tt.key || f.Line != tt.line {
				t.Errorf("%s: %+v", tt.name, f)
			}
		}
	})
}
