package app

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAnApprovedScriptIsTold: a script that waited for a second person changes its job when that one has approved it.
func TestAnApprovedScriptIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		admin := caller{t, root.base, makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}
		l := newTold(t)
		if got := admin.do("POST", "/webhooks", `{"name":"hub","url":"`+l.server.URL+`","types":["punctual.job.updated"]}`); got.status != http.StatusCreated {
			t.Fatalf("%d %s", got.status, got.body)
		}
		ctx := t.Context()
		ann, bob := auth.NewPrincipal(11, "ann", auth.RoleAdmin, ""), auth.NewPrincipal(12, "bob", auth.RoleAdmin, "")
		group, err := a.manage.Groups.Create(ctx, ann, manage.GroupInput{AppName: "orders", Title: "Orders", GroupOptions: manage.GroupOptions{ScriptReview: true}})
		if err != nil {
			t.Fatal(err)
		}
		id, err := a.manage.Jobs.Create(ctx, ann, manage.JobInput{Group: group, Job: jobspec.Job{
			Name: "script", Author: "ann", ScheduleType: jobspec.ScheduleNone, Misfire: jobspec.MisfireDoNothing, Route: jobspec.RouteRound,
			Block: wire.BlockSerial, Glue: wire.GlueShell, GlueSource: "echo one", GlueRemark: "first",
		}})
		if err != nil {
			t.Fatal(err)
		}
		decide := func(do func(version string) error) {
			t.Helper()
			_, c, ok, err := a.manage.Jobs.ScriptChange(ctx, bob, id)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if err := do(manage.ScriptChangeVersion(c)); err != nil {
				t.Fatal(err)
			}
		}
		decide(func(version string) error { return a.manage.Jobs.ApproveScript(ctx, bob, id, version) })
		told := l.about("an approved script", 1, func(e toldEvent) bool { return e.Subject == fmt.Sprintf("jobs/%d", id) })
		if e := told[0]; e.Type != "punctual.job.updated" || e.Data.By != "bob" || e.Data.Group.App != "orders" {
			t.Errorf("%+v", e)
		}
		if err := a.manage.Jobs.SaveGlue(ctx, ann, id, manage.GlueInput{Source: "echo two", Remark: "second"}); err != nil {
			t.Fatal(err)
		}
		decide(func(version string) error { return a.manage.Jobs.RejectScript(ctx, bob, id, version) })

		// What is shown of the executor has all of it.
		list, err := a.manage.Audit.List(ctx, ann, manage.AuditFilter{Kind: manage.ObjectJob, ID: id, Group: group, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		has := make(map[string]int)
		for _, e := range list.Entries {
			has[e.Action]++
		}
		for action, n := range map[manage.Action]int{manage.ActionCreate: 1, manage.ActionPropose: 2, manage.ActionApprove: 1, manage.ActionReject: 1} {
			if has[string(action)] != n {
				t.Errorf("%d entries of %s, want %d", has[string(action)], action, n)
			}
		}
	})
}
