package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestResultsAreThoseOfVisibleRuns: of a job that was moved to one's group, nothing is told of what its runs in the former one came to.
func TestResultsAreThoseOfVisibleRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newMovedBench(t, o)
		ctx, pool, now := t.Context(), b.a.pool, time.Now()
		job := things(t, b.a, 1, "mine").job
		run := func(group int64, took time.Duration, ago int) int64 {
			t.Helper()
			at := now.Add(-time.Duration(ago) * time.Minute)
			id, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobGroup: group, JobID: job, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: wire.CodeSuccess}})
			if err != nil {
				t.Fatal(err)
			}
			b.exec(t, "UPDATE xxl_job_log SET handle_code = 200, outcome = 1, sent_at = ?, finished_at = ?, handle_time = trigger_time WHERE id = ?", at.UnixMilli(), at.Add(took).UnixMilli(), id)
			day := pool.Wall(at).Truncate(24 * time.Hour).Unix()
			if err := db.AddLongRuns(ctx, pool, []db.LongRuns{{Day: day, Job: job, Group: group, Runs: 1, TotalMs: took.Milliseconds(), LongestMs: took.Milliseconds(), LongestID: id}}); err != nil {
				t.Fatal(err)
			}
			return id
		}
		for i := range 10 {
			run(2, 77*time.Hour, 40-i)
		}
		own := []int64{run(1, 3*time.Second, 20), run(1, 3*time.Second, 19)}
		hidden := run(2, 77*time.Hour, 3)
		b.exec(t, "DELETE FROM xxl_job_log WHERE trigger_code = 500") // that of things
		ann, all := auth.NewPrincipal(7, "anna", auth.RoleUser, "1"), auth.NewPrincipal(1, "admin", auth.RoleAdmin, "")
		for who, want := range map[*auth.Principal]int{&ann: 2, &all: 13} {
			outcomes, err := b.a.manage.Jobs.Outcomes(ctx, *who, []int64{job})
			if err != nil || len(outcomes[job]) != want || (want == 2) != (outcomes[job][0].ID == own[1]) {
				t.Errorf("%s sees %d outcomes, want %d: %v", who.Name, len(outcomes[job]), want, err)
			}
			d, err := b.a.manage.Runs.Durations(ctx, *who, job, 0)
			if err != nil || d.Runs != want || (d.P95 == 3*time.Second) != (want == 2) || (d.LastGood == hidden) != (want == 13) {
				t.Errorf("%s is told of %d durations: %+v, %v", who.Name, want, d, err)
			}
			slow, err := b.a.manage.Jobs.Slowest(ctx, *who, manage.SlowTotal)
			if err != nil || len(slow) != 1 || int(slow[0].Runs) != want || (slow[0].Longest == 3*time.Second) != (want == 2) {
				t.Errorf("%s is told of slow jobs: %+v, %v", who.Name, slow, err)
			}
			usage, err := b.a.manage.Dashboard.Usage(ctx, *who, time.Time{}, time.Time{})
			if took := usage[0].Took; err != nil || took != 6*time.Second {
				t.Errorf("%s is told that group 1 took %v: %v", who.Name, took, err)
			}
		}
		// The pages that tell of it.
		for _, path := range []string{"/jobs", fmt.Sprintf("/jobs/%d", job), fmt.Sprintf("/jobs/%d/delete", job), "/jobs/slowest", "/jobs/slowest?by=total", fmt.Sprintf("/runs/%d", own[1])} {
			got := b.ann.get(path)
			if got.status != http.StatusOK || strings.Contains(got.body, fmt.Sprintf("/runs/%d\"", hidden)) || strings.Contains(got.body, "3 d 5 h") {
				t.Errorf("%s tells of a run of another group: %d", path, got.status)
			}
		}
	})
}
