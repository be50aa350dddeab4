package manage

import (
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestADeedToManyJobsAsksForItsOwnRight: who may start jobs need not be one who edits them, nor the other way round.
func TestADeedToManyJobsAsksForItsOwnRight(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		for right, may := range map[auth.Rights][]BulkDo{
			auth.RightSchedule: {BulkStart, BulkPause}, auth.RightEdit: {BulkMove, BulkTag, BulkEdit, BulkDelete}, auth.RightRun: nil,
		} {
			p := auth.NewPrincipal(9, "gus", auth.RoleUser, "").Grant(b.group, right)
			for _, do := range []BulkDo{BulkStart, BulkPause, BulkMove, BulkTag, BulkEdit, BulkDelete} {
				items, err := b.Jobs.Preview(t.Context(), p, Bulk{Do: do, IDs: []int64{job}, Group: -1, Add: []string{"x"}})
				if err != nil || len(items) != 1 {
					t.Fatal(items, err)
				}
				if allowed := kind(items[0].Err) != "403"; allowed != slices.Contains(may, do) {
					t.Errorf("%s with the right %d: %v", do, right, items[0].Err)
				}
			}
		}
		many := make([]int64, MaxBulk+1)
		for i := range many {
			many[i] = job + 1000 + int64(i)
		}
		for n, want := range map[int]string{MaxBulk: "ok", MaxBulk + 1: "400 problem.bulk.many"} {
			if _, err := b.Jobs.Bulk(t.Context(), b.admin, Bulk{Do: BulkStop, IDs: many[:n]}); kind(err) != want {
				t.Errorf("%d jobs: %v", n, err)
			}
		}
	})
}

// reviewing is a job of a script in a group whose scripts wait for a second person.
func reviewing(t *testing.T, b *bundle) int64 {
	t.Helper()
	id := b.create(t, func(in *JobInput) {
		in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo one", "first"
	})
	if err := b.Groups.Update(t.Context(), b.admin, b.group, GroupInput{AppName: "orders", Title: "O", Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: GroupOptions{ScriptReview: true}}); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestAProposalIsAnotherWithAnotherRemark, also at the same moment: who looked at the first has not approved the second.
func TestAProposalIsAnotherWithAnotherRemark(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := setup(t, pool, nil), t.Context()
		id := reviewing(t, b)
		all := func(id int64, name string) auth.Principal {
			return auth.NewPrincipal(id, name, auth.RoleUser, "").Grant(b.group, auth.AllRights)
		}
		cat, bob := all(11, "cat"), all(12, "bob") // the job is ann's
		propose := func(remark string) db.ScriptChange {
			t.Helper()
			if err := b.Jobs.SaveGlue(ctx, cat, id, GlueInput{Source: "echo two", Remark: remark}); err != nil {
				t.Fatal(err)
			}
			_, c, _, err := b.Jobs.ScriptChange(ctx, bob, id)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		first := propose("one remark")
		second := propose("another remark")
		if second.Remark != "another remark" || ScriptChangeVersion(first) == ScriptChangeVersion(second) {
			t.Errorf("%+v, then %+v", first, second)
		}
		// Whoever has the author's name is taken for the author, whatever their number: it may be a program of theirs.
		if got := kind(b.Jobs.ApproveScript(ctx, all(99, "cat"), id, ScriptChangeVersion(second))); got != "403 problem.script.author" {
			t.Errorf("somebody of that name: %s", got)
		}
		// Of two that come at once, and of two that decide at once, one is refused.
		for what, do := range map[string]func(tx *sql.Tx) error{
			"a text in the place of one that is there no more": func(tx *sql.Tx) error {
				return b.Jobs.keepScriptChange(ctx, tx, db.InsertScriptChangeParams{JobID: id, Author: "cat", Source: "echo three", MadeAt: second.MadeAt + 1}, first.MadeAt)
			},
			"a first text beside another": func(tx *sql.Tx) error {
				return b.Jobs.keepScriptChange(ctx, tx, db.InsertScriptChangeParams{JobID: id, Author: "bob", Source: "echo three", MadeAt: second.MadeAt + 1}, 0)
			},
		} {
			if err := pool.Tx(ctx, do); kind(err) != "409 problem.changed" {
				t.Errorf("%s: %v", what, err)
			}
		}
		err := b.Jobs.decideScript(ctx, bob, id, ScriptChangeVersion(second), func(tx *sql.Tx, _ db.Job, c db.ScriptChange) error {
			_, err := b.Jobs.queries.DeleteScriptChange(ctx, tx, c.JobID)
			return err
		})
		if kind(err) != "409 problem.changed" {
			t.Errorf("what somebody else has decided: %v", err)
		}
		if err := b.Jobs.ApproveScript(ctx, bob, id, ScriptChangeVersion(second)); err != nil {
			t.Fatal(err)
		}
		var after string
		if err := pool.QueryRowContext(ctx, "SELECT after_json FROM punctual_audit WHERE action = ? ORDER BY id DESC", string(ActionApprove)).Scan(&after); err != nil || !strings.Contains(after, `"author":"cat"`) || strings.Contains(after, "bob") {
			t.Errorf("whose the script is, by the audit log: %s, %v", after, err)
		}
	})
}

// TestAScriptThatWaitsGoesWithItsJob, and is counted for its author alone.
func TestAScriptThatWaitsGoesWithItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := setup(t, pool, nil), t.Context()
		id := reviewing(t, b)
		ann := auth.NewPrincipal(11, "ann", auth.RoleUser, "").Grant(b.group, auth.AllRights)
		if err := b.Jobs.SaveGlue(ctx, ann, id, GlueInput{Source: "echo two", Remark: "second"}); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[int64]int64{11: 1, 12: 0} {
			if l, err := b.Users.Leaves(ctx, b.admin, User{ID: user, Name: "nobody's"}); err != nil || l.Changes != want {
				t.Errorf("user %d leaves %+v, %v", user, l, err)
			}
		}
		if err := b.Jobs.Delete(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Jobs.queries.GetScriptChange(ctx, pool, id); !errors.Is(db.Error(err), db.ErrNotFound) {
			t.Errorf("the script of a job that is gone waits: %v", err)
		}
	})
}

// TestRightsAddUp: those of XXL-JOB's list, the finer ones, and what an auditor may; and what the list has no room for is written down finely.
func TestRightsAddUp(t *testing.T) {
	t.Parallel()
	rights := rightsOf(auth.RoleUser, "7,8", []db.Permission{{GroupID: 7, Rights: int64(auth.RightView)}, {GroupID: 9, Rights: int64(auth.RightRun)}})
	if rights[7] != auth.AllRights || rights[8] != auth.AllRights || rights[9] != auth.RightRun.Normal() || len(rights) != 3 {
		t.Errorf("%v", rights)
	}
	if may := (User{Auditor: true}).May(3); !may.Has(auth.RightView) || may.Has(auth.RightRun) {
		t.Errorf("an auditor may %v", may)
	}
	whole := func(last int64) UserInput {
		in := UserInput{Rights: map[int64]auth.Rights{last: auth.AllRights}}
		for id := range int64(63) {
			in.Rights[100+id] = auth.AllRights
		}
		return in
	}
	if list, finer := split(whole(163)); len(list) != maxPermission || len(finer) != 0 {
		t.Errorf("a list of %d, and %v", len(list), finer)
	}
	if list, finer := split(whole(1000)); len(list) != maxPermission-4 || finer[1000] != auth.AllRights {
		t.Errorf("a list of %d, and %v, of one that is a byte too long", len(list), finer)
	}
}

// TestARunByHandIsForATimeThatHasAMeaning.
func TestARunByHandIsForATimeThatHasAMeaning(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		for planned, good := range map[time.Time]bool{
			earliestPlanned.Add(-1): false, earliestPlanned: true, latestPlanned.Add(-1): true, latestPlanned: false,
		} {
			want := "ok"
			if !good {
				want = "422 " + FieldRunPlanned + ":" + jobspec.CodeNotThen
			}
			if _, err := b.Jobs.Trigger(t.Context(), b.admin, job, RunInput{Planned: planned, Type: jobspec.TriggerManual}); kind(err) != want {
				t.Errorf("%v: %v", planned, err)
			}
		}
	})
}

// TestAResetForgetsWhatWentWrong: whoever has lost their second factor has tried in vain before, and is let in at once. Recovery codes are only for
// those who have a factor.
func TestAResetForgetsWhatWentWrong(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		key := make([]byte, 32)
		b.Users.cfg.Factors = auth.NewFactors(pool, key, nil, auth.NewPlaces(pool, key, time.Now), time.Now, slog.New(slog.DiscardHandler))
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "ann1", Password: "eight-lamp-otter"})
		if err != nil {
			t.Fatal(err)
		}
		ann := auth.NewPrincipal(id, "ann1", auth.RoleUser, "")
		if _, err := b.Users.NewRecoveryCodes(ctx, ann); kind(err) != "409 second.error.none" {
			t.Errorf("recovery codes without a factor: %v", err)
		}
		tries := func() (n int) {
			t.Helper()
			if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_login_attempt").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if _, err := b.Users.cfg.Logins.Check(ctx, auth.Attempt{Name: "ann1", Password: "wrong", Address: "10.0.0.1"}); !errors.Is(err, auth.ErrWrongLogin) || tries() == 0 {
			t.Fatalf("%v, %d tries on record", err, tries())
		}
		if err := b.Users.ResetSecond(ctx, b.admin, id); err != nil || tries() != 0 {
			t.Errorf("%v, %d tries are remembered", err, tries())
		}
		// A name that has become somebody else's proves nothing about who is logged in.
		ann.UserID += 1000
		if err := b.Users.Prove(ctx, ann, "eight-lamp-otter"); kind(err) != "422 old_password:user.error.old" {
			t.Errorf("another of that name: %v", err)
		}
	})
}

// TestWhatWouldBeSavedOfATeamKeepsWhomARulePutThere.
func TestWhatWouldBeSavedOfATeamKeepsWhomARulePutThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		var ids []int64
		for _, name := range []string{"ann1", "bob1", "cleo"} {
			id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		old := Team{Members: []Member{{UserID: ids[0], Name: "ann1", Ruled: true}, {UserID: ids[1], Name: "bob1"}}}
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			got, err := b.Teams.wanted(ctx, tx, old, TeamInput{Name: "night", Members: ids[2:]})
			if names := got.memberNames(); !slices.Equal(names, []string{"ann1", "cleo"}) {
				t.Errorf("%v", names)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
