package manage

import (
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAChainBecomesAFlow: each job is a step that needs those that start it, the flow takes the schedule of the first, and the children are gone.
func TestAChainBecomesAFlow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		starts := func(ids ...int64) func(*JobInput) {
			return func(in *JobInput) {
				var list []string
				for _, id := range ids {
					list = append(list, strconv.FormatInt(id, 10))
				}
				in.ChildJobIDs = strings.Join(list, ",")
			}
		}
		last := b.create(t, nil)
		left, right := b.create(t, starts(last)), b.create(t, starts(last))
		first := b.create(t, func(in *JobInput) {
			starts(left, right)(in)
			in.Name, in.Zone, in.Tags, in.Misfire = "close the day", "Asia/Tokyo", "night", jobspec.MisfireFireOnceNow
		})
		lone := b.create(t, nil)
		if err := b.Jobs.Start(ctx, b.admin, first); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]string{lone: "409 problem.chain.none", left: "409 problem.chain.parents", 99999: "404 problem.job.gone"} {
			if _, err := b.Jobs.Chain(ctx, b.admin, id); kind(err) != want {
				t.Errorf("job %d: %s, want %s", id, kind(err), want)
			}
		}
		who := func(rights auth.Rights) auth.Principal {
			return auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, rights)
		}
		if _, err := b.Jobs.Chain(ctx, who(auth.RightView|auth.RightRun|auth.RightSchedule), first); !strings.HasPrefix(kind(err), "403") {
			t.Errorf("by who may not edit: %s", kind(err))
		}
		if _, err := b.Jobs.Chain(ctx, who(auth.RightView|auth.RightRun|auth.RightEdit), first); !strings.HasPrefix(kind(err), "403") {
			t.Errorf("by who may not stop the first: %s", kind(err))
		}
		if _, err := b.Jobs.Chain(ctx, who(auth.RightView|auth.RightSchedule|auth.RightEdit), first); kind(err) != "409 problem.chain.rights" {
			t.Errorf("by who may not run the jobs: %s", kind(err))
		}
		eve := who(auth.RightView | auth.RightRun | auth.RightSchedule | auth.RightEdit)
		c, err := b.Jobs.Chain(ctx, eve, first)
		if err != nil {
			t.Fatal(kind(err))
		}
		if len(c.Jobs) != 4 || c.Jobs[0].ID != first || c.Jobs[3].ID != last || len(c.Changed) != 3 || len(c.Joins) != 1 || c.Joins[0].ID != last || !c.Started {
			t.Errorf("the chain is %+v", c)
		}
		if _, err := b.Jobs.MakeFlow(ctx, eve, first, ChainInput{Name: "nightly", Version: "old"}); kind(err) != "409 problem.changed" {
			t.Errorf("made of what was not shown: %s", kind(err))
		}
		if _, err := b.Jobs.MakeFlow(ctx, eve, first, ChainInput{Version: c.Version}); !strings.HasPrefix(kind(err), "422 name:") {
			t.Errorf("without a name: %s", kind(err))
		}
		if j := b.read(t, first); !jobspec.Started(j.TriggerStatus) || j.ChildJobIDs == "" {
			t.Errorf("half of it was done: status %d, children %q", j.TriggerStatus, j.ChildJobIDs)
		}
		made, err := b.Jobs.MakeFlow(ctx, eve, first, ChainInput{Name: "nightly", Version: c.Version})
		if err != nil {
			t.Fatal(kind(err))
		}
		j := b.read(t, made)
		spec, old := j.Spec(), c.First.Spec()
		if j.GlueType != jobspec.GlueFlow || !jobspec.Started(j.TriggerStatus) || spec.ScheduleConf != old.ScheduleConf || spec.Zone != "Asia/Tokyo" || spec.Tags != "night" || spec.Misfire != jobspec.MisfireFireOnceNow {
			t.Errorf("the flow is %+v", spec)
		}
		def, err := flow.Parse([]byte(j.GlueSource))
		if err != nil {
			t.Fatal(err)
		}
		needs := make(map[int64]string)
		for _, s := range def.Steps {
			needs[s.Job.ID] = strings.Join(s.Needs, " ")
		}
		if len(needs) != 4 || needs[first] != "" || needs[left] != chainStep(first) || needs[right] != chainStep(first) || needs[last] != chainStep(left)+" "+chainStep(right) || def.OnFailure != flow.OnFailureContinue {
			t.Errorf("its steps need %v", needs)
		}
		for _, id := range []int64{first, left, right, last} {
			if j := b.read(t, id); j.ChildJobIDs != "" || jobspec.Started(j.TriggerStatus) {
				t.Errorf("job %d has the children %q and the status %d", id, j.ChildJobIDs, j.TriggerStatus)
			}
		}
		var audited int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE user_name = 'eve' AND action IN ('create', 'update', 'start', 'stop')").Scan(&audited); err != nil || audited != 6 {
			t.Errorf("%d changes are in the audit log, %v", audited, err)
		}
	})
}

// TestARingIsNoChain: jobs that start each other for ever, which XXL-JOB let people save.
func TestARingIsNoChain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		one, two := b.create(t, nil), b.create(t, nil)
		first := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(one, 10) })
		for id, child := range map[int64]int64{one: two, two: one} {
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET child_jobid = ? WHERE id = ?", strconv.FormatInt(child, 10), id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Jobs.Chain(t.Context(), b.admin, first); kind(err) != "409 problem.chain.ring" {
			t.Errorf("a ring: %s", kind(err))
		}
	})
}
