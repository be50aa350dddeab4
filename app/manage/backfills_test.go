package manage

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestWhatFailedIsRunAgainByTheRulesOfARunByHand: a backfill of what failed runs no trial of a script, nothing of a group in which one may not
// run jobs, and no parameter that one could not give to a run by hand.
func TestWhatFailedIsRunAgainByTheRulesOfARunByHand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		at := b.now.Add(-time.Hour).Truncate(time.Second)
		failed := func(group, job int64, minute int, param string, cause jobspec.TriggerType) int64 {
			t.Helper()
			planned := at.Add(time.Duration(minute) * time.Minute)
			id, err := db.InsertRuns(t.Context(), pool, []db.NewRun{{JobGroup: group, JobID: job, TriggerTime: pool.Wall(planned), PlannedAt: planned.UnixMilli(), Type: cause, TriggerCode: 500, Param: param}})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		in := BackfillInput{Failed: true, From: at, Until: b.now}
		plan := func(p auth.Principal, job int64) string {
			t.Helper()
			plan, err := b.Backfills.Plan(t.Context(), p, job, in)
			if err != nil {
				return kind(err)
			}
			text := ""
			for _, r := range plan.rows {
				text += fmt.Sprintf("%d:%t ", (r.PlannedFor-at.UnixMilli())/60_000, r.LikeLogID != 0)
			}
			return text + plan.Param
		}
		runner := auth.NewPrincipal(3, "rita", auth.RoleUser, "").Grant(b.group, auth.RightView|auth.RightRun).Grant(b.closed, auth.RightView)

		job := b.create(t, func(in *JobInput) { in.Param = "own" })
		failed(b.group, job, 1, "given", jobspec.TriggerCron)
		failed(b.group, job, 2, "own", jobspec.TriggerTrial)
		failed(b.closed, job, 3, "of the group before", jobspec.TriggerCron)
		fixed := b.create(t, func(in *JobInput) { in.Param, in.ParamFixed = "own", true })
		failed(b.group, fixed, 1, "before it was fixed", jobspec.TriggerCron)
		failed(b.group, fixed, 1, "own", jobspec.TriggerManual)
		code := b.create(t, func(in *JobInput) { in.Param, in.Handler = "own", "commandJobHandler" })
		failed(b.group, code, 1, "reboot", jobspec.TriggerManual)
		secret := b.create(t, func(in *JobInput) { in.Param = "own" })
		failed(b.group, secret, 1, "${{ secrets.KEY }}", jobspec.TriggerManual)
		for _, c := range []struct {
			name string
			who  auth.Principal
			job  int64
			want string
		}{
			{"no trial, and nothing of where one may only look", runner, job, "1:true given"},
			{"of both groups", b.admin, job, "1:true 3:true given"},
			{"a fixed parameter", b.admin, fixed, "1:false own"},
			{"a program", runner, code, "1:false own"},
			{"a program, by who may write them", b.admin, code, "1:true reboot"},
			{"a secret", runner, secret, "422 until:backfill.error.secret"},
			{"a secret, by who may edit the job", b.admin, secret, "1:true ${{ secrets.KEY }}"},
		} {
			if got := plan(c.who, c.job); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}
