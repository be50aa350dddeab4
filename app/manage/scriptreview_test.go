package manage

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestAScriptWaitsForASecondPerson(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		as := func(id int64, name string, r auth.Rights) auth.Principal {
			return auth.NewPrincipal(id, name, auth.RoleUser, "").Grant(b.group, r).Grant(b.closed, r)
		}
		ann, bob, editor := as(11, "ann", auth.AllRights), as(12, "bob", auth.AllRights), as(13, "eve", auth.RightEdit|auth.RightRun)
		script := func(in *JobInput) {
			in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo one", "first"
		}
		old := b.create(t, script) // before somebody decided it
		if err := b.Groups.Update(ctx, b.admin, b.group, GroupInput{AppName: "orders", Title: "O", Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: GroupOptions{ScriptReview: true}}); err != nil {
			t.Fatal(err)
		}
		source := func(id int64) string { return string(b.read(t, id).GlueSource) }
		waiting := func(id int64) (string, db.ScriptChange) {
			t.Helper()
			_, c, ok, err := b.Jobs.ScriptChange(ctx, bob, id)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return "", c
			}
			return ScriptChangeVersion(c), c
		}

		// The editor.
		if got := kind(b.Jobs.SaveGlue(ctx, ann, old, GlueInput{Source: "echo two", Remark: "second"})); got != "ok" {
			t.Fatal(got)
		}
		version, c := waiting(old)
		if source(old) != "echo one" || c.Source != "echo two" || c.Author != "ann" {
			t.Errorf("runs %q, waits %+v", source(old), c)
		}
		byToken := as(11, "ann via token x", auth.AllRights)
		if got := kind(b.Jobs.SaveGlue(ctx, ann, old, GlueInput{Source: "echo 2", Remark: "second"})); got != "ok" {
			t.Errorf("its author changes it once more: %q", got)
		}
		checks := []struct{ name, got, want string }{
			{"what was looked at", kind(b.Jobs.ApproveScript(ctx, bob, old, version)), "409 problem.changed"},
		}
		version, _ = waiting(old)
		checks = append(checks, []struct{ name, got, want string }{
			{"the author, of what waits", kind(b.Jobs.ApproveScript(ctx, ann, old, version)), "403 problem.script.author"},
			{"the author's token", kind(b.Jobs.ApproveScript(ctx, byToken, old, version)), "403 problem.script.author"},
			{"who writes no scripts", kind(b.Jobs.ApproveScript(ctx, editor, old, version)), "403 problem.scripts.right"},
			{"somebody else's change beside it", kind(b.Jobs.SaveGlue(ctx, bob, old, GlueInput{Source: "echo three", Remark: "third"})), "409 problem.script.waiting"},
			{"still the old one", source(old), "echo one"},
			{"a second person", kind(b.Jobs.ApproveScript(ctx, bob, old, version)), "ok"},
			{"it runs", source(old), "echo 2"},
			{"once", kind(b.Jobs.ApproveScript(ctx, bob, old, version)), "404 problem.script.none"},
		}...)
		for _, c := range checks {
			if c.got != c.want {
				t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
			}
		}

		// A form, a program or an import.
		in := b.job(script)
		in.GlueSource, in.GlueRemark, in.Version = "echo four", "fourth", ""
		if got := kind(b.Jobs.Update(ctx, ann, old, in)); got != "ok" {
			t.Fatal(got)
		}
		if version, _ = waiting(old); source(old) != "echo 2" || version == "" {
			t.Errorf("a form's change runs at once: %q", source(old))
		}
		// A file brings it once more each time that it is applied.
		b.now = b.now.Add(time.Minute)
		if got := kind(b.Jobs.Update(ctx, ann, old, in)); got != "ok" {
			t.Fatal(got)
		}
		if again, _ := waiting(old); again != version {
			t.Errorf("the same text is another change")
		}
		if got := kind(b.Jobs.RejectScript(ctx, bob, old, version)); got != "ok" || source(old) != "echo 2" {
			t.Errorf("rejected: %q, runs %q", got, source(old))
		}
		// A new job's script runs for nobody before.
		fresh, err := b.Jobs.Create(ctx, ann, b.job(script))
		if err != nil {
			t.Fatal(err)
		}
		if version, _ = waiting(fresh); source(fresh) != "" || version == "" {
			t.Errorf("a new job runs %q", source(fresh))
		}
		if got := kind(b.Jobs.ApproveScript(ctx, bob, fresh, version)); got != "ok" || source(fresh) != "echo one" {
			t.Errorf("approved: %q, runs %q", got, source(fresh))
		}
		// Nor does one come from where nobody looks.
		elsewhere, err := b.Jobs.Create(ctx, ann, b.job(func(in *JobInput) { script(in); in.Group = b.closed }))
		if err != nil {
			t.Fatal(err)
		}
		if got := kind(b.Jobs.Update(ctx, ann, elsewhere, b.job(script))); got != "409 problem.script.move" {
			t.Errorf("moved: %q", got)
		}
		// A script that was changed behind it (by an XXL-JOB admin) is not overwritten.
		if got := kind(b.Jobs.SaveGlue(ctx, ann, old, GlueInput{Source: "echo five", Remark: "fifth"})); got != "ok" {
			t.Fatal(got)
		}
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET glue_source = 'echo behind' WHERE id = ?", old); err != nil {
			t.Fatal(err)
		}
		version, _ = waiting(old)
		if got := kind(b.Jobs.ApproveScript(ctx, bob, old, version)); got != "409 problem.script.base" {
			t.Errorf("over another's: %q", got)
		}
		var actions []string
		log, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectJob, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		proposed := 0
		for _, e := range log.Entries {
			actions = append(actions, e.UserName+" "+e.Action)
			if e.Action == string(ActionPropose) && e.ObjectID == old {
				proposed++
			}
		}
		if proposed != 4 {
			t.Errorf("%d proposals are on record, of four texts: %v", proposed, actions)
		}
		for _, want := range []string{"ann propose", "bob approve", "bob reject"} {
			if !strings.Contains(strings.Join(actions, ","), want) {
				t.Errorf("the audit log has no %q: %v", want, actions)
			}
		}
	})
}

// TestWhatWaitsIsListed for those who may look at it, and counted for those who may approve it.
func TestWhatWaitsIsListed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for group, name := range map[int64]string{b.group: "orders", b.closed: "closed"} {
			if err := b.Groups.Update(ctx, b.admin, group, GroupInput{AppName: name, Title: name, Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: GroupOptions{ScriptReview: true}}); err != nil {
				t.Fatal(err)
			}
		}
		as := func(id int64, name string, r auth.Rights) auth.Principal {
			return auth.NewPrincipal(id, name, auth.RoleUser, "").Grant(b.group, r)
		}
		ann, bob, eve := as(11, "ann", auth.AllRights), as(12, "bob", auth.AllRights), as(13, "eve", auth.RightEdit|auth.RightRun)
		stranger := auth.NewPrincipal(14, "zoe", auth.RoleUser, "")
		propose := func(p auth.Principal, name string, group int64) int64 {
			id, err := b.Jobs.Create(ctx, p, b.job(func(in *JobInput) {
				in.Name, in.Author, in.Group, in.Glue, in.Handler, in.GlueSource, in.GlueRemark = name, p.Name, group, wire.GlueShell, "", "echo one", "first"
			}))
			if err != nil {
				t.Fatal(kind(err))
			}
			return id
		}
		b.create(t, nil)
		first, second, closed := propose(ann, "first", b.group), propose(bob, "second", b.group), propose(b.admin, "closed", b.closed)
		check := func(who string, p auth.Principal, approvals int64, ids ...int64) {
			t.Helper()
			list, err := b.Jobs.List(ctx, p, JobFilter{Status: AnyStatus, Review: true, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, j := range list.Jobs {
				got = append(got, j.ID)
			}
			if n, err := b.Jobs.Approvals(ctx, p); err != nil || n != approvals || !slices.Equal(got, ids) {
				t.Errorf("%s: %v are listed and %d may be approved, %v; want %v and %d", who, got, n, err, ids, approvals)
			}
		}
		check("an administrator", b.admin, 2, closed, second, first)
		check("an author", ann, 1, second, first)
		check("the author's token", as(11, "ann via token x", auth.AllRights), 1, second, first)
		check("who writes no scripts", eve, 0)
		check("a stranger", stranger, 0)
		if list, err := b.Jobs.List(ctx, ann, JobFilter{Status: AnyStatus, Review: true, Show: ShowMine, Limit: 50}); err != nil || len(list.Jobs) != 1 || list.Jobs[0].ID != first {
			t.Errorf("of one's own: %+v, %v", list.Jobs, err)
		}
		_, c, _, err := b.Jobs.ScriptChange(ctx, ann, second)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Jobs.ApproveScript(ctx, ann, second, ScriptChangeVersion(c)); err != nil {
			t.Fatal(err)
		}
		check("an author who approved", ann, 0, first)
		if _, err := pool.ExecContext(ctx, "DELETE FROM xxl_job_info WHERE id = ?", closed); err != nil { // as an XXL-JOB admin does
			t.Fatal(err)
		}
		check("an administrator, of a job that is gone", b.admin, 1, first)
	})
}

// TestAScriptThatWaitsIsToldWhereItsJobIs: who moves the job and changes its script at once proposes it in the group that the job comes to.
func TestAScriptThatWaitsIsToldWhereItsJobIs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, func(in *JobInput) {
			in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo one", "first"
		})
		for group, name := range map[int64]string{b.group: "orders", b.closed: "closed"} {
			if err := b.Groups.Update(ctx, b.admin, group, GroupInput{AppName: name, Title: name, Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: GroupOptions{ScriptReview: true}}); err != nil {
				t.Fatal(err)
			}
		}
		err := b.Jobs.Update(ctx, b.admin, id, b.job(func(in *JobInput) {
			in.Group, in.Name, in.Glue, in.Handler, in.GlueSource, in.GlueRemark = b.closed, "moved", wire.GlueShell, "", "echo two", "second"
		}))
		if err != nil {
			t.Fatal(kind(err))
		}
		if j := b.read(t, id); j.JobGroup != b.closed || j.GlueSource != "echo one" {
			t.Fatalf("the job is in group %d with %q", j.JobGroup, j.GlueSource)
		}
		var group int64
		var name string
		if err := pool.QueryRowContext(ctx, "SELECT group_id, object_name FROM punctual_audit WHERE action = ? AND object_id = ?", string(ActionPropose), id).Scan(&group, &name); err != nil || group != b.closed || name != "moved" {
			t.Errorf("it is proposed in group %d as %q, %v", group, name, err)
		}
	})
}

// TestOneOfTwoScriptsWaits when two people propose at the same moment: the other one hears of it.
func TestOneOfTwoScriptsWaits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		if err := b.Groups.Update(ctx, b.admin, b.group, GroupInput{AppName: "orders", Title: "O", Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: GroupOptions{ScriptReview: true}}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			id := b.create(t, func(in *JobInput) {
				in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo one", "first"
			})
			_, c, _, err := b.Jobs.ScriptChange(ctx, b.admin, id)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Jobs.RejectScript(ctx, b.admin, id, ScriptChangeVersion(c)); err != nil {
				t.Fatal(err)
			}
			got := make([]string, 2)
			var both sync.WaitGroup
			for i, name := range []string{"ann", "bob"} {
				both.Go(func() {
					p := auth.NewPrincipal(int64(11+i), name, auth.RoleUser, "").Grant(b.group, auth.AllRights)
					got[i] = kind(b.Jobs.SaveGlue(ctx, p, id, GlueInput{Source: "echo " + name, Remark: "mine"}))
				})
			}
			both.Wait()
			slices.Sort(got)
			if !strings.HasPrefix(got[0], "409 problem.") || got[1] != "ok" {
				t.Fatalf("proposed by two: %q", got)
			}
		}
	})
}
