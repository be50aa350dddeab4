package manage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestManyRunsAreRunAgain runs the last attempts of ended runs again, each for its planned time and with its parameter, and says why
// not of the others.
func TestManyRunsAreRunAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		fixed := b.create(t, func(in *JobInput) { in.ParamFixed, in.Param = true, "own" })
		secret := b.create(t, func(in *JobInput) { in.Group = b.closed })
		at := b.now.Add(-time.Hour)
		n := 0
		insert := func(group, job int64, outcome event.Outcome, set string) int64 {
			t.Helper()
			n++
			id, err := db.InsertRuns(t.Context(), pool, []db.NewRun{{JobGroup: group, JobID: job, TriggerTime: pool.Wall(at), PlannedAt: at.Add(time.Duration(n) * time.Second).UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}})
			if err != nil {
				t.Fatal(err)
			}
			code := map[event.Outcome]int{event.Open: 0, event.Succeeded: 200}
			handled, ok := code[outcome]
			if !ok {
				handled = 500
			}
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ?, handle_code = ?, executor_param = 'day 3'"+set+" WHERE id = ?", int(outcome), handled, id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		failed := insert(b.group, job, event.Failed, "")
		good := insert(b.group, job, event.Succeeded, ", executor_fail_retry_count = 2")
		open := insert(b.group, job, event.Open, "")
		first := insert(b.group, job, event.Failed, ", executor_fail_retry_count = 1")
		ofFixed := insert(b.group, fixed, event.TimedOut, "")
		shard := insert(b.group, job, event.Failed, ", executor_sharding_param = '0/2', planned_at = 1772600000000")
		other := insert(b.group, job, event.Failed, ", executor_sharding_param = '1/2', planned_at = 1772600000000")
		hidden := insert(b.closed, secret, event.Failed, "")
		orphan := insert(b.group, 9999, event.Failed, "")
		tried := insert(b.group, job, event.Failed, ", trigger_type = 'TRIAL'")
		ids := []int64{failed, good, open, first, ofFixed, shard, other, hidden, orphan, tried, 1 << 40, failed}
		want := func(changes string) []string {
			lines := toldOf([]BulkItem{{ID: failed}, {ID: good}, {ID: open}, {ID: first}, {ID: ofFixed}, {ID: shard}, {ID: other}, {ID: hidden}, {ID: orphan}, {ID: tried}, {ID: 1 << 40}})
			for i, told := range []string{changes, changes, "false 409 problem.rerun.open", "false 409 problem.rerun.attempt", changes, changes, "false 409 problem.rerun.broadcast",
				"false 404 problem.run.gone", "false 404 problem.job.gone", "false 409 problem.run.trial", "false 404 problem.run.gone"} {
				lines[i] = lines[i][:len(lines[i])-len("false ok")] + told
			}
			return lines
		}
		preview, err := b.Jobs.PreviewRerun(t.Context(), b.user, Rerun{IDs: ids})
		if diff := cmp.Diff(want("true ok"), toldOf(preview)); err != nil || diff != "" || len(b.engine.triggered) != 0 {
			t.Fatalf("preview: %v, %d are sent: %s", err, len(b.engine.triggered), diff)
		}
		if preview[7].Name != "" || preview[0].Name == "" {
			t.Errorf("names: %q and %q", preview[7].Name, preview[0].Name)
		}
		wish := Rerun{IDs: ids, Type: jobspec.TriggerManual, Batch: NewBatch()}
		for round := range 2 { // whoever sends it twice has it once
			items, err := b.Jobs.Rerun(t.Context(), b.user, wish)
			if diff := cmp.Diff(want("true ok"), toldOf(items)); err != nil || diff != "" || items[0].Was != "7" || items[2].Was != "" {
				t.Fatalf("round %d: %v, new run %q: %s", round, err, items[0].Was, diff)
			}
			if len(b.engine.triggered) != 4 {
				t.Fatalf("round %d: %d are sent", round, len(b.engine.triggered))
			}
		}
		sent := b.engine.triggered[0]
		if sent.JobID != job || sent.Param == nil || *sent.Param != "day 3" || !sent.Planned.Equal(at.Add(time.Second)) || sent.Type != jobspec.TriggerManual || sent.User != "ann" {
			t.Errorf("sent %+v", sent)
		}
		if own := b.engine.triggered[2]; own.JobID != fixed || own.Param != nil {
			t.Errorf("a fixed parameter: %+v", own)
		}
		wish.Batch = NewBatch()
		if _, err := b.Jobs.Rerun(t.Context(), b.user, wish); err != nil || len(b.engine.triggered) != 8 {
			t.Errorf("another wish: %v, %d are sent", err, len(b.engine.triggered))
		}

		// A deed for all under a filter goes by the list's own query, over its pages.
		found, err := b.Runs.Matching(t.Context(), b.user, RunFilter{Job: job, Result: Failed})
		if diff := cmp.Diff([]int64{tried, other, shard, first, failed}, found); err != nil || diff != "" {
			t.Errorf("matching: %v %s", err, diff)
		}
		for _, bad := range []Rerun{{}, {IDs: make([]int64, MaxBulk+1)}} {
			if _, err := b.Jobs.Rerun(t.Context(), b.user, bad); err == nil {
				t.Errorf("%d runs are accepted", len(bad.IDs))
			}
		}
		// Who may not run jobs of the group sees the runs, and runs none again.
		reader := auth.NewPrincipal(3, "vic", auth.RoleUser, "").Grant(b.group, auth.RightView|auth.RightEdit)
		items, err := b.Jobs.Rerun(t.Context(), reader, Rerun{IDs: []int64{failed}})
		if diff := cmp.Diff([]string{toldOf([]BulkItem{{ID: failed, Err: forbidden()}})[0]}, toldOf(items)); err != nil || diff != "" || len(b.engine.triggered) != 8 {
			t.Errorf("without the right: %v %s", err, diff)
		}
		if items, err := b.Jobs.PreviewRerun(t.Context(), reader, Rerun{IDs: []int64{failed}}); err != nil || kind(items[0].Err) != "403" {
			t.Errorf("before that they are told %v, %v", toldOf(items), err)
		}

		// A part of a broadcast that goes on keeps no other from being run again; nor does one run the others of its moment.
		const together = ", planned_at = 1772600001000"
		goesOn := insert(b.group, job, event.Open, ", executor_sharding_param = '0/2'"+together)
		ended := insert(b.group, job, event.Failed, ", executor_sharding_param = '1/2'"+together)
		alone, beside := insert(b.group, fixed, event.Failed, together), insert(b.group, fixed, event.Failed, together)
		items, err = b.Jobs.PreviewRerun(t.Context(), b.user, Rerun{IDs: []int64{goesOn, ended, alone, beside}})
		if err != nil || kind(items[0].Err) != "409 problem.rerun.open" || items[1].Err != nil || items[2].Err != nil || items[3].Err != nil {
			t.Errorf("beside one that goes on, and of one moment: %v, %v", toldOf(items), err)
		}

		// One alone, which XXL-JOB has planned for no time that is known.
		unplanned := insert(b.group, job, event.Failed, ", planned_at = 0")
		if ids, err := b.Jobs.RunAgain(t.Context(), b.user, unplanned, jobspec.TriggerManual); err != nil || len(ids) != 1 || ids[0] != 7 {
			t.Errorf("alone: %v, %v", ids, err)
		}
		if sent := b.engine.triggered[len(b.engine.triggered)-1]; !sent.Planned.IsZero() || *sent.Param != "day 3" {
			t.Errorf("sent %+v", sent)
		}
		for _, tt := range []struct {
			who  auth.Principal
			id   int64
			want string
		}{
			{reader, unplanned, "403"}, {b.user, hidden, "404 problem.run.gone"}, {b.user, 1 << 40, "404 problem.run.gone"}, {b.user, tried, "409 problem.run.trial"}, {b.user, orphan, "404 problem.job.gone"},
		} {
			if _, err := b.Jobs.RunAgain(t.Context(), tt.who, tt.id, jobspec.TriggerManual); kind(err) != tt.want {
				t.Errorf("run %d again, by %s: %s, want %s", tt.id, tt.who.Name, kind(err), tt.want)
			}
		}
	})
}

// TestAllThatMatchAreFound over more than one page of the list.
func TestAllThatMatchAreFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		runs := make([]db.NewRun, 1001)
		for i := range runs {
			runs[i] = db.NewRun{JobGroup: b.group, JobID: job, TriggerTime: pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 500, Outcome: event.NotSent}
		}
		first, err := db.InsertRuns(t.Context(), pool, runs)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := b.Runs.Matching(t.Context(), b.user, RunFilter{Job: job, Limit: 3, Before: first + 5})
		if err != nil || len(ids) != len(runs) || ids[len(ids)-1] != first || ids[0] <= ids[1] {
			t.Errorf("%d of %d are found, %v", len(ids), len(runs), err)
		}
	})
}

// TestAnAdminThatIsKilledSwallowsNoWish: where it ended before the run was made the same wish makes it, and of two who have the same wish at
// once one does.
func TestAnAdminThatIsKilledSwallowsNoWish(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		failed := dbtest.InsertRun(t, pool, b.group, b.create(t, nil), b.now, 200, 500, "")
		wish := Rerun{IDs: []int64{failed}, Type: jobspec.TriggerManual, Batch: NewBatch()}
		b.engine.onTrigger = func() error { panic("killed") }
		func() {
			defer func() { _ = recover() }()
			_, _ = b.Jobs.Rerun(t.Context(), b.user, wish)
		}()
		var other []BulkItem
		b.engine.onTrigger = func() (err error) {
			if len(b.engine.triggered) == 2 {
				other, err = b.Jobs.Rerun(t.Context(), b.user, wish)
			}
			return err
		}
		items, err := b.Jobs.Rerun(t.Context(), b.user, wish)
		if err != nil || len(items) != 1 || items[0].Was != "7" || items[0].Err != nil {
			t.Errorf("after a kill: %v, %v", toldOf(items), err)
		}
		if len(other) != 1 || other[0].Was != "7" || other[0].Err != nil {
			t.Errorf("at the same time: %v", toldOf(other))
		}
		rows, err := b.Jobs.Rerun(t.Context(), b.user, wish)
		if err != nil || rows[0].Was != "7" || len(b.engine.triggered) != 3 {
			t.Errorf("once more: %v, %v; %d were sent", toldOf(rows), err, len(b.engine.triggered))
		}
	})
}

// TestWhoGoesAwayHasTheRunOnce: what was begun is done and noted, so that the same wish does not run it again; the others wait for it. So many
// as may be asked for are.
func TestWhoGoesAwayHasTheRunOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		ids := make([]int64, MaxBulk)
		for i := range ids {
			ids[i] = dbtest.InsertRun(t, pool, b.group, job, b.now.Add(time.Duration(i)*time.Second), 200, 500, "")
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.engine.onTrigger = func() error { cancel(); return nil }
		wish := Rerun{IDs: ids, Type: jobspec.TriggerManual, Batch: NewBatch()}
		items, err := b.Jobs.Rerun(ctx, b.user, wish)
		if !errors.Is(err, context.Canceled) || len(items) != 1 || !items[0].Changes || items[0].Was != "7" {
			t.Fatalf("done: %v, %v", toldOf(items), err)
		}
		b.engine.onTrigger = func() error {
			if len(b.engine.triggered) == 3 {
				return problem.New(problem.Conflict, "refused")
			}
			return nil
		}
		items, err = b.Jobs.Rerun(t.Context(), b.user, wish)
		if err != nil || len(items) != MaxBulk || items[0].Was != "7" || len(b.engine.triggered) != MaxBulk {
			t.Errorf("again: %d are done, %d are sent in all, %v", len(items), len(b.engine.triggered), err)
		}
		if items[2].Changes || kind(items[2].Err) != "409 refused" {
			t.Errorf("one that is refused: %v", toldOf(items[2:3]))
		}
	})
}
