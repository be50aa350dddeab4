package manage

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestAFlowBeginsAfterWhatIsClaimed: a fire that the first job has its run of already is none of the flow that takes its schedule over.
func TestAFlowBeginsAfterWhatIsClaimed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		last := b.create(t, nil)
		first := b.create(t, func(in *JobInput) {
			in.ChildJobIDs, in.ScheduleConf = strconv.FormatInt(last, 10), "* * * * * ?"
		})
		if err := b.Jobs.Start(ctx, b.user, first); err != nil {
			t.Fatal(err)
		}
		claimed := b.now.Add(7 * time.Second).UnixMilli()
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET claimed_until = ?, trigger_next_time = ? WHERE id = ?", claimed, claimed, first); err != nil {
			t.Fatal(err)
		}
		c, err := b.Jobs.Chain(ctx, b.user, first)
		if err != nil {
			t.Fatal(err)
		}
		made, err := b.Jobs.MakeFlow(ctx, b.user, first, ChainInput{Name: "each second", Version: c.Version})
		if err != nil {
			t.Fatal(kind(err))
		}
		if next := b.read(t, made).TriggerNextTime; next != claimed {
			t.Errorf("the flow is due in %v, want %v", time.UnixMilli(next).Sub(b.now), time.UnixMilli(claimed).Sub(b.now))
		}
	})
}

// TestAPausedChainIsAPausedFlow, and the other way round: what holds the schedule back goes on to, whichever job has it.
func TestAPausedChainIsAPausedFlow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		last := b.create(t, nil)
		first := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(last, 10) })
		if err := b.Jobs.Start(ctx, b.user, first); err != nil {
			t.Fatal(err)
		}
		pause := func(job int64, in PauseInput) {
			t.Helper()
			in.Scope, in.Target, in.Strategy = jobspec.PauseJob, job, jobspec.PauseOnce
			if _, err := b.Pauses.Create(ctx, b.user, in); err != nil {
				t.Fatal(err)
			}
		}
		of := func(job int64) (list []string) {
			t.Helper()
			pauses, err := b.Pauses.Of(ctx, b.user, b.read(t, job))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pauses {
				list = append(list, string(p.State)+" "+p.Reason)
			}
			slices.Sort(list)
			return list
		}
		pause(first, PauseInput{Reason: "moves"})
		pause(first, PauseInput{Reason: "nights", Cron: "0 0 23 * * ?", Length: time.Hour, Zone: "Asia/Tokyo"})
		c, err := b.Jobs.Chain(ctx, b.user, first)
		if err != nil {
			t.Fatal(err)
		}
		made, err := b.Jobs.MakeFlow(ctx, b.user, first, ChainInput{Name: "nightly", Version: c.Version})
		if err != nil {
			t.Fatal(kind(err))
		}
		if got, want := of(made), []string{"active moves", "between nights"}; !slices.Equal(got, want) {
			t.Errorf("the flow is held by %v, want %v", got, want)
		}
		if got := of(first); len(got) != 0 {
			t.Errorf("the first job is held by %v", got)
		}
		pauses, err := b.Pauses.Of(ctx, b.user, b.read(t, made))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pauses {
			if p.Reason == "moves" { // it is over, for the flow and for what it becomes again
				if err := b.Pauses.End(ctx, b.user, p.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		pause(made, PauseInput{Reason: "of the flow"})
		if err := b.Jobs.UndoFlow(ctx, b.user, made); err != nil {
			t.Fatal(kind(err))
		}
		if got, want := of(first), []string{"active of the flow", "between nights"}; !slices.Equal(got, want) {
			t.Errorf("the first job is held by %v, want %v", got, want)
		}
	})
}

// TestAFlowBecomesItsChainAgain, unless the flow or a job of it was edited since, or something uses it; then nothing is done.
func TestAFlowBecomesItsChainAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		last := b.create(t, nil)
		middle := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(last, 10) })
		first := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(middle, 10) })
		if err := b.Jobs.Start(ctx, b.admin, first); err != nil {
			t.Fatal(err)
		}
		number := 0
		makes := func() int64 {
			t.Helper()
			c, err := b.Jobs.Chain(ctx, b.admin, first)
			if err != nil {
				t.Fatal(kind(err))
			}
			number++
			made, err := b.Jobs.MakeFlow(ctx, b.admin, first, ChainInput{Name: "nightly " + strconv.Itoa(number), Version: c.Version})
			if err != nil {
				t.Fatal(kind(err))
			}
			return made
		}
		edit := func(id int64, how func(*jobspec.Job)) {
			t.Helper()
			j := b.read(t, id)
			spec := j.Spec()
			how(&spec)
			if err := b.Jobs.Update(ctx, b.admin, id, JobInput{Job: spec, Group: j.JobGroup, Version: JobVersion(j)}); err != nil {
				t.Fatal(kind(err))
			}
		}
		is := func(what string, started bool) {
			t.Helper()
			if j := b.read(t, first); string(j.ChildJobIDs) != strconv.FormatInt(middle, 10) || jobspec.Started(j.TriggerStatus) != started {
				t.Errorf("%s: the first has the children %q and the status %d", what, j.ChildJobIDs, j.TriggerStatus)
			}
			if j := b.read(t, middle); string(j.ChildJobIDs) != strconv.FormatInt(last, 10) {
				t.Errorf("%s: the second has the children %q", what, j.ChildJobIDs)
			}
		}

		made := makes()
		eve := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightView|auth.RightEdit)
		if err := b.Jobs.UndoFlow(ctx, eve, made); !strings.HasPrefix(kind(err), "403") || !jobspec.Started(b.read(t, made).TriggerStatus) {
			t.Errorf("by who may not stop it: %s", kind(err))
		}
		if err := b.Jobs.UndoFlow(ctx, b.admin, made); err != nil {
			t.Fatal(kind(err))
		}
		is("undone", true)
		if _, err := b.Jobs.Get(ctx, b.admin, made); kind(err) != "404 problem.job.gone" {
			t.Errorf("the flow is there still: %s", kind(err))
		}
		var audited, kept int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE action = 'delete'").Scan(&audited); err != nil || audited != 1 {
			t.Errorf("%d deletions are in the audit log, %v", audited, err)
		}
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_chain_job").Scan(&kept); err != nil || kept != 0 {
			t.Errorf("%d rows are left, %v", kept, err)
		}

		made = makes()
		if err := b.Jobs.Stop(ctx, b.admin, made); err != nil {
			t.Fatal(kind(err))
		}
		if err := b.Jobs.UndoFlow(ctx, b.admin, made); err != nil {
			t.Fatal(kind(err))
		}
		is("of a flow that was stopped", false)

		made = makes()
		user := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(made, 10) })
		if err := b.Jobs.UndoFlow(ctx, b.admin, made); kind(err) != "409 problem.unchain.used" {
			t.Errorf("of a flow that another job starts: %s", kind(err))
		}
		edit(user, func(j *jobspec.Job) { j.ChildJobIDs = "" })
		edit(middle, func(j *jobspec.Job) { j.Author = "somebody else" })
		if err := b.Jobs.UndoFlow(ctx, b.admin, made); kind(err) != "409 problem.unchain.changed" {
			t.Errorf("with a job that was edited: %s", kind(err))
		}
		if j := b.read(t, first); j.ChildJobIDs != "" || b.read(t, made).ID != made {
			t.Errorf("half of it was done: children %q", j.ChildJobIDs)
		}
		if err := b.Jobs.UndoFlow(ctx, b.admin, last); kind(err) != "409 problem.unchain.none" {
			t.Errorf("of a job that was not made so: %s", kind(err))
		}

		edit(first, func(j *jobspec.Job) { j.ChildJobIDs = strconv.FormatInt(middle, 10) })
		made = makes()
		edit(made, func(j *jobspec.Job) { j.GlueSource += "# by hand\n" })
		if err := b.Jobs.UndoFlow(ctx, b.admin, made); kind(err) != "409 problem.unchain.changed" {
			t.Errorf("of a flow that was edited: %s", kind(err))
		}
	})
}

// TestNoRingIsMadeByAnUndoAndAnEdit that each make a half of it at once: the chain has its children again, and the last job got the first one.
func TestNoRingIsMadeByAnUndoAndAnEdit(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets them in one after the other
	b, ctx := setup(t, pool, nil), t.Context()
	last := b.create(t, nil)
	first := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(last, 10) })
	c, err := b.Jobs.Chain(ctx, b.admin, first)
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.Jobs.MakeFlow(ctx, b.admin, first, ChainInput{Name: "nightly", Version: c.Version})
	if err != nil {
		t.Fatal(kind(err))
	}
	undone := make(chan error, 1)
	err = pool.InTurn(ctx, "starts", func(_ context.Context, tx *sql.Tx) error {
		dbtest.Hold(t, pool, tx)
		if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_info SET child_jobid = ?, revision = revision + 1 WHERE id = ?", strconv.FormatInt(first, 10), last); err != nil {
			return err
		}
		go func() { undone <- b.Jobs.UndoFlow(db.Patient(ctx), b.admin, made) }()
		dbtest.AwaitStatement(t, pool, "INTO punctual_turn")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-undone; err == nil || !strings.Contains(err.Error(), "child_cycle") {
		t.Errorf("the undo: %v", err)
	}
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

// TestAWindowThatHasBegunHoldsTheFlowToo: the schedule that is taken over is held until the window ends, as it was.
func TestAWindowThatHasBegunHoldsTheFlowToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		last := b.create(t, nil)
		first := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(last, 10) })
		if err := b.Jobs.Start(ctx, b.user, first); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Pauses.Create(ctx, b.user, PauseInput{Scope: jobspec.PauseJob, Target: first, Strategy: jobspec.PauseSkip, Reason: "nights", Cron: "0 0 6 * * ?", Length: time.Hour, Zone: "UTC"}); err != nil {
			t.Fatal(err)
		}
		b.now = time.Date(2026, 3, 4, 6, 30, 0, 0, time.UTC)
		held := func(job int64) {
			t.Helper()
			pauses, err := b.Pauses.Of(ctx, b.user, b.read(t, job))
			if err != nil {
				t.Fatal(err)
			}
			if len(pauses) != 1 || pauses[0].State != PauseActive || !pauses[0].Ends.Equal(time.Date(2026, 3, 4, 7, 0, 0, 0, time.UTC)) {
				t.Errorf("in the window job %d is held by %+v", job, pauses)
			}
		}
		held(first)
		c, err := b.Jobs.Chain(ctx, b.user, first)
		if err != nil {
			t.Fatal(err)
		}
		made, err := b.Jobs.MakeFlow(ctx, b.user, first, ChainInput{Name: "nightly", Version: c.Version})
		if err != nil {
			t.Fatal(kind(err))
		}
		held(made)
		if err := b.Jobs.UndoFlow(ctx, b.user, made); err != nil {
			t.Fatal(kind(err))
		}
		held(first)
	})
}
