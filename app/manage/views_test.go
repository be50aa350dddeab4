package manage

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestKeptFilters(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		other := auth.NewPrincipal(3, "bob", auth.RoleUser, "")
		save := func(p auth.Principal, page, name, params string, shared, replace bool) int64 {
			t.Helper()
			id, err := b.Views.Create(ctx, p, ViewInput{Page: page, Name: name, Params: params, Shared: shared, Replace: replace})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		seen := func(p auth.Principal, page string) string {
			t.Helper()
			list, err := b.Views.List(ctx, p, page)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, v := range list {
				text := v.Name + "?" + v.Params
				if v.Shared {
					text += " shared"
				}
				if v.Edit {
					text += " edit"
				}
				names = append(names, text)
			}
			return strings.Join(names, "; ")
		}
		hers := save(b.user, ViewJobs, " My jobs ", "author=ann", false, false)
		save(b.user, ViewRuns, "My jobs", "result=failed", false, false) // another list, the same name
		common := save(b.admin, ViewJobs, "Stopped", "state=stopped", true, false)
		save(b.admin, ViewAudit, "Deletions", "action=delete", true, false)

		for _, tt := range []struct {
			who  auth.Principal
			page string
			want string
		}{
			{b.user, ViewJobs, "My jobs?author=ann edit; Stopped?state=stopped shared"},
			{b.user, ViewRuns, "My jobs?result=failed edit"},
			{b.user, ViewAudit, ""},
			{other, "", "Stopped?state=stopped shared"},
			{b.admin, "", "Deletions?action=delete shared edit; Stopped?state=stopped shared edit"},
		} {
			if got := seen(tt.who, tt.page); got != tt.want {
				t.Errorf("%s sees %q on %q, want %q", tt.who.Name, got, tt.page, tt.want)
			}
		}

		bad := []struct {
			name string
			who  auth.Principal
			in   ViewInput
			want string
		}{
			{"no name", b.user, ViewInput{Page: ViewJobs, Name: "  ", Params: "q=a"}, "422 name:job.error.required"},
			{"a long name", b.user, ViewInput{Page: ViewJobs, Name: strings.Repeat("长", 41), Params: "q=a"}, "422 name:job.error.too_long"},
			{"two lines", b.user, ViewInput{Page: ViewJobs, Name: "a\nb", Params: "q=a"}, "422 name:job.error.characters"},
			{"letters in the wrong order", b.user, ViewInput{Page: ViewJobs, Name: "a\u202eb", Params: "q=a"}, "422 name:job.error.characters"},
			{"no filter", b.user, ViewInput{Page: ViewJobs, Name: "all"}, "422 name:views.error.filter"},
			{"an endless filter", b.user, ViewInput{Page: ViewJobs, Name: "all", Params: "q=" + strings.Repeat("x", 2000)}, "422 name:views.error.filter"},
			{"a taken name, in other letters", b.user, ViewInput{Page: ViewJobs, Name: "MY JOBS", Params: "q=a"}, "422 name:views.error.taken"},
			{"shared by a normal user", b.user, ViewInput{Page: ViewJobs, Name: "x", Params: "q=a", Shared: true}, "403"},
			{"of the audit log, by a normal user", b.user, ViewInput{Page: ViewAudit, Name: "x", Params: "q=a"}, "403"},
			{"of no list", b.user, ViewInput{Page: "nodes", Name: "x", Params: "q=a"}, "400"},
			{"by nobody", auth.Principal{}, ViewInput{Page: ViewJobs, Name: "x", Params: "q=a"}, "403"},
		}
		for _, tt := range bad {
			if _, err := b.Views.Create(ctx, tt.who, tt.in); kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
		}
		if id := save(b.user, ViewJobs, "my jobs", "author=ann&state=running", false, true); id != hers {
			t.Errorf("replaced %d, want %d", id, hers)
		}

		// Nobody touches what is somebody else's, not even an administrator; what is shared is every administrator's.
		for name, err := range map[string]error{
			"another user":                        b.Views.Update(ctx, other, hers, ViewInput{Name: "x"}),
			"an administrator":                    b.Views.Update(ctx, b.admin, hers, ViewInput{Name: "x"}),
			"somebody who only sees it":           b.Views.Update(ctx, b.user, common, ViewInput{Name: "x"}),
			"somebody who looks for what is gone": b.Views.Update(ctx, b.user, 999, ViewInput{Name: "x"}),
		} {
			if kind(err) != "404 problem.view.gone" {
				t.Errorf("%s: %s", name, kind(err))
			}
		}
		if _, err := b.Views.Delete(ctx, other, hers); kind(err) != "404 problem.view.gone" {
			t.Errorf("another user deletes: %s", kind(err))
		}
		second := auth.NewPrincipal(9, "carla", auth.RoleAdmin, "")
		if err := b.Views.Update(ctx, second, common, ViewInput{Name: "Asleep", Shared: true}); err != nil {
			t.Error(err)
		}
		again := save(b.user, ViewJobs, "other", "q=o", false, false)
		if err := b.Views.Update(ctx, b.user, again, ViewInput{Name: "my jobs"}); kind(err) != "422 name:views.error.taken" {
			t.Errorf("renamed to a taken name: %s", kind(err))
		}
		if _, err := b.Views.Delete(ctx, b.user, again); err != nil {
			t.Error(err)
		}
		if got, want := seen(b.user, ViewJobs), "Asleep?state=stopped shared; my jobs?author=ann&state=running edit"; got != want {
			t.Errorf("in the end: %q, want %q", got, want)
		}
		if _, err := b.Views.Delete(ctx, second, common); err != nil {
			t.Error(err)
		}
		// The audit log hears of what others see, and of nothing else.
		log, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectView, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, e := range log.Entries {
			said = append(said, e.UserName+" "+e.Action+" "+e.ObjectName)
		}
		if diff := cmp.Diff([]string{"carla delete Asleep", "carla update Asleep", "root create Deletions", "root create Stopped"}, said); diff != "" {
			t.Errorf("the audit log (-want +got):\n%s", diff)
		}
	})
}

func TestKeptFiltersHaveALimitAndGoWithTheirUser(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "bobby", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		bob := auth.NewPrincipal(id, "bobby", auth.RoleAdmin, "")
		for i := range maxViews {
			if _, err := b.Views.Create(ctx, bob, ViewInput{Page: ViewJobs, Name: "view " + strconv.Itoa(i), Params: "q=a", Shared: i == 0}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Views.Create(ctx, bob, ViewInput{Page: ViewJobs, Name: "one more", Params: "q=a"}); kind(err) != "422 name:views.error.many" {
			t.Errorf("one more than allowed: %s", kind(err))
		}
		if err := b.Users.Delete(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		if list, err := b.Views.List(ctx, b.admin, ""); err != nil || len(list) != 1 || !list[0].Edit {
			t.Errorf("after the user is gone: %+v, %v", list, err)
		}
		if n, err := db.New().CountViewsOf(ctx, pool, id); n != 0 || err != nil {
			t.Errorf("%d views under their number, %v", n, err)
		}
	})
}

// TestASharedFilterIsAdministratorsMatter also when its owner is none any more: what others use is not taken from them by keeping another
// under its name.
func TestASharedFilterIsAdministratorsMatter(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		was := auth.NewPrincipal(7, "otto", auth.RoleAdmin, "")
		if _, err := b.Views.Create(ctx, was, ViewInput{Page: ViewJobs, Name: "Night", Params: "tag=night", Shared: true}); err != nil {
			t.Fatal(err)
		}
		is := auth.NewPrincipal(7, "otto", auth.RoleUser, "")
		if _, err := b.Views.Create(ctx, is, ViewInput{Page: ViewJobs, Name: "night", Params: "tag=mine", Replace: true}); kind(err) != "422 name:views.error.taken" {
			t.Errorf("replaced by somebody who may not change it: %s", kind(err))
		}
		list, err := b.Views.List(ctx, b.user, ViewJobs)
		if err != nil || len(list) != 1 || list[0].Params != "tag=night" {
			t.Errorf("the others have %+v, %v", list, err)
		}
	})
}

// TestAnAuditorKeepsFiltersOfTheAuditLog for themselves, as administrators do.
func TestAnAuditorKeepsFiltersOfTheAuditLog(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := setup(t, pool, nil), t.Context()
		auditor, user := auth.NewPrincipal(7, "mina", auth.RoleAuditor, ""), auth.NewPrincipal(8, "bert", auth.RoleUser, "")
		in := ViewInput{Page: ViewAudit, Name: "Tokens", Params: "kind=token"}
		if _, err := b.Views.Create(ctx, auditor, in); err != nil {
			t.Error(err)
		}
		if list := must(b.Views.List(ctx, auditor, ViewAudit))(t); len(list) != 1 || list[0].Shared {
			t.Errorf("%+v", list)
		}
		in.Shared = true
		for who, in := range map[*auth.Principal]ViewInput{&auditor: in, &user: {Page: ViewAudit, Name: "Mine", Params: "kind=token"}} {
			if _, err := b.Views.Create(ctx, *who, in); kind(err) != "403" {
				t.Errorf("%s: %v", who.Name, err)
			}
		}
	})
}

// TestSharedViewsOfADeletedUserAreNobodys: who has the number next is no owner of them, and has all names for their own.
func TestSharedViewsOfADeletedUserAreNobodys(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		in := ViewInput{Page: ViewJobs, Name: "nightly", Params: "q=nightly", Shared: true}
		var shared []int64
		for _, name := range []string{"first", "second"} { // two with a view of one name
			id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: name, Password: "correct horse battery", Admin: true})
			if err != nil {
				t.Fatal(err)
			}
			view, err := b.Views.Create(ctx, auth.NewPrincipal(id, name, auth.RoleAdmin, ""), in)
			if err != nil {
				t.Fatal(err)
			}
			shared = append(shared, view)
			if err := b.Users.Delete(ctx, b.admin, id); err != nil {
				t.Fatal(err)
			}
			next := auth.NewPrincipal(id, "next", auth.RoleUser, "")
			mine := in
			mine.Shared = false
			if _, err := b.Views.Create(ctx, next, mine); err != nil {
				t.Errorf("a view with the name of one that was shared by who had the number: %v", err)
			}
			if list, err := b.Views.List(ctx, next, ViewJobs); err != nil || len(list) != len(shared)+1 {
				t.Errorf("%d views, %v: what was shared stays", len(list), err)
			}
		}
		// No longer shared, it is the administrator's who said so: else it would be nobody's.
		alone := ViewInput{Name: "nightly"}
		if err := b.Views.Update(ctx, b.admin, shared[0], alone); err != nil {
			t.Fatal(err)
		}
		if v, err := b.Views.Get(ctx, b.admin, shared[0]); err != nil || v.Shared {
			t.Errorf("kept to whoever stopped sharing it: %+v %v", v, err)
		}
		if err := b.Views.Update(ctx, b.admin, shared[1], alone); kind(err) != "422 name:views.error.taken" {
			t.Errorf("another of this name: %v", err)
		}
	})
}
