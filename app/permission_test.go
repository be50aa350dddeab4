package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// need is what a route asks of who calls it.
type need struct {
	login   bool        // anybody who is logged in; what it shows is narrowed to their groups
	admin   bool        // administrators only
	audits  bool        // administrators and auditors
	right   auth.Rights // this right in the group of the object that the path names
	anyEdit bool        // the right to edit somewhere
	former  bool        // an endpoint of XXL-JOB's console, which answers in its own way
}

var (
	anybody = need{}
	user    = need{login: true}
	admin   = need{login: true, admin: true}
	audits  = need{login: true, audits: true}
	view    = need{login: true, right: auth.RightView}
	run     = need{login: true, right: auth.RightRun}
	sched   = need{login: true, right: auth.RightSchedule}
	edit    = need{login: true, right: auth.RightEdit}
	script  = need{login: true, right: auth.RightGlue}
)

// formerNeeds names the endpoints of XXL-JOB's console. They are served under its old context path too, by the same handlers
// (TestFormerEndpointsAreUnderBothPaths).
var formerNeeds = map[string]need{
	"POST /auth/doLogin": anybody, "POST /auth/logout": anybody, "POST /auth/updatePwd": user, "POST /user/updatePwd": user,
	"POST /chartInfo": user, "POST /jobinfo/pageList": view, "POST /jobinfo/nextTriggerTime": user,
	"POST /jobinfo/add": edit, "POST /jobinfo/insert": edit, "POST /jobinfo/update": edit, "POST /jobinfo/remove": edit, "POST /jobinfo/delete": edit,
	"POST /jobinfo/start": sched, "POST /jobinfo/stop": sched, "POST /jobinfo/trigger": run, "POST /jobcode/save": script,
	"POST /joblog/pageList": view, "POST /joblog/getJobsByGroup": view, "POST /joblog/logDetailCat": view, "POST /joblog/logKill": run, "POST /joblog/clearLog": edit,
	"POST /jobgroup/pageList": user, "POST /jobgroup/loadById": view, "POST /jobgroup/save": admin, "POST /jobgroup/insert": admin,
	"POST /jobgroup/update": admin, "POST /jobgroup/remove": admin, "POST /jobgroup/delete": admin,
	"POST /user/pageList": audits, "POST /user/add": admin, "POST /user/insert": admin, "POST /user/update": admin, "POST /user/remove": admin, "POST /user/delete": admin,
}

// formerReads may be asked for with GET as well. GET for the others is refused to everybody.
var formerReads = []string{"/chartInfo", "/jobinfo/pageList", "/jobinfo/nextTriggerTime", "/joblog/pageList", "/joblog/getJobsByGroup", "/joblog/logDetailCat",
	"/jobgroup/pageList", "/jobgroup/loadById", "/user/pageList"}

// formerPages lead to ours.
var formerPages = []string{"/dashboard", "/help", "/toLogin", "/auth/login", "/jobgroup", "/user", "/jobinfo", "/joblog", "/jobcode", "/joblog/logDetailPage"}

func init() {
	for route, n := range formerNeeds {
		n.former = true
		path := strings.TrimPrefix(route, "POST ")
		routeNeeds[route], routeNeeds["GET "+path] = n, anybody
		if slices.Contains(formerReads, path) {
			routeNeeds["GET "+path] = n
		}
	}
	for _, path := range formerPages {
		routeNeeds["GET "+path] = anybody
	}
}

// routeNeeds names every route of the console. A new route without an entry fails the test.
var routeNeeds = map[string]need{
	"GET /login": anybody, "POST /login": anybody, "POST /logout": anybody, "GET /login/second": anybody, "POST /login/second": anybody, "GET /login/setup": anybody, "POST /login/setup": anybody, "GET /login/password": anybody, "POST /login/password": anybody, "POST /preferences": anybody,
	"GET /sign-in/:provider": anybody, "GET /sign-in/:provider/callback": anybody,
	"GET /": user, "GET /*": user,

	"GET /jobs": user, "GET /jobs/count": user, "GET /jobs/new": {login: true, anyEdit: true}, "POST /jobs": edit, "POST /jobs/schedule-preview": user,
	"POST /jobs/new/curl":   {login: true, anyEdit: true},
	"GET /jobs/children":    {login: true, anyEdit: true},
	"GET /jobs/:id/account": view,
	"GET /jobs/:id":         view, "POST /jobs/:id/favourite": view,
	"GET /jobs/:id/edit": edit, "POST /jobs/:id": edit, "POST /jobs/:id/start": sched, "POST /jobs/:id/stop": sched, "POST /jobs/:id/release": edit,
	"GET /jobs/:id/delete": edit, "POST /jobs/:id/delete": edit, "GET /jobs/:id/run": run, "POST /jobs/:id/run": run,
	"GET /jobs/:id/glue": script, "POST /jobs/:id/glue": script, "POST /jobs/:id/glue/try": {login: true, right: auth.RightRun | auth.RightGlue},
	"GET /jobs/:id/glue/waiting": script, "POST /jobs/:id/glue/waiting": script,
	"GET /jobs/:id/glue/versions/:version": script, "POST /jobs/:id/glue/versions/:version/restore": script,

	"GET /runs": user, "GET /runs/search": user, "GET /runs/events": user, "GET /runs/:id": view, "GET /runs/:id/log": view, "GET /runs/:id/events": view,
	"GET /runs/clear": {login: true, anyEdit: true}, "POST /runs/clear": edit, "GET /runs/clear/progress": {login: true, anyEdit: true},
	"POST /runs/clear/:id/stop": edit,
	// Each job of a bulk is judged for itself; see where the people are refused.
	"GET /jobs/bulk": user, "POST /jobs/bulk": user, "GET /runs/rerun": user, "POST /runs/rerun": user, "GET /runs/kill": user, "POST /runs/kill": user,
	// An export holds what somebody may see; each job of an import is judged for itself.
	"GET /jobs/export": user, "GET /jobs/export/file": user, "GET /jobs/import": {login: true, anyEdit: true}, "POST /jobs/import": {login: true, anyEdit: true},
	"GET /jobs/import/crontab": {login: true, anyEdit: true}, "POST /jobs/import/crontab": {login: true, anyEdit: true},
	"GET /runs/:id/kill": run, "POST /runs/:id/kill": run,
	"GET /runs/:id/rerun": run, "POST /runs/:id/rerun": run, "GET /runs/:id/steps/:step": view,
	"GET /runs/:id/steps/:step/:deed": run, "POST /runs/:id/steps/:step/:deed": run,
	"POST /jobs/flow-preview": {login: true, anyEdit: true},

	"GET /executors": user, "GET /executors/:id": view, "GET /executors/new": admin, "POST /executors": admin, "GET /executors/:id/edit": admin,
	"POST /executors/:id": admin, "GET /executors/:id/delete": admin, "POST /executors/:id/delete": admin, "POST /executors/:id/addresses": admin,
	"GET /executors/token": admin, "GET /executors/token/rotate": admin, "POST /executors/token/rotate": admin,
	"GET /executors/:id/token/rotate": admin, "POST /executors/:id/token/rotate": admin,
	"GET /executors/:id/token/drop": admin, "POST /executors/:id/token/drop": admin,
	"GET /executors/:id/lineage": view, "GET /executors/:id/secrets": edit, "POST /executors/:id/secrets": {login: true, right: auth.RightEdit | auth.RightGlue},
	"GET /executors/:id/secrets/delete":  {login: true, right: auth.RightEdit | auth.RightGlue},
	"POST /executors/:id/secrets/delete": {login: true, right: auth.RightEdit | auth.RightGlue},
	"GET /nodes":                         admin, "GET /settings": admin, "POST /settings": admin, "GET /palette": user, "GET /help": user, "GET /keys": user, "GET /docs": user, "GET /docs/:page": user,
	"GET /jobs/:id/chain": edit, "POST /jobs/:id/chain": edit, "POST /jobs/:id/unchain": edit,
	"GET /jobs/:id/backfill": view, "POST /jobs/:id/backfill": run,
	"POST /jobs/:id/backfill/:backfill/pause": run, "POST /jobs/:id/backfill/:backfill/resume": run, "POST /jobs/:id/backfill/:backfill/stop": run,
	"GET /jobs/:id/note": run, "POST /jobs/:id/note": run, "GET /runs/:id/note": run, "POST /runs/:id/note": run, "POST /notes/:id/delete": run,
	"GET /pauses": user, "GET /pauses/jobs": user, "POST /pauses": sched, "POST /pauses/:id/end": sched, "POST /pauses/:id/again": sched,
	"POST /nodes/go": admin,
	"GET /adoption":  admin, "POST /adoption/finish": admin, "POST /adoption/move": admin, "POST /adoption/return": admin,

	"GET /alarms": admin, "POST /alarms": admin, "GET /alarms/new": admin, "GET /alarms/:id": admin, "POST /alarms/:id": admin,
	"GET /alarms/:id/edit": admin, "GET /alarms/:id/delete": admin, "POST /alarms/:id/delete": admin, "POST /alarms/:id/test": admin, "POST /alarms/preview": admin, "POST /alarms/:id/preview": admin,
	"GET /alarms/:id/routes/new": admin, "GET /alarms/:id/jobs": admin, "POST /alarms/:id/routes": admin, "GET /alarms/:id/routes/:route/edit": admin,
	"POST /alarms/:id/routes/:route": admin, "POST /alarms/:id/routes/:route/delete": admin,
	"GET /alarms/open": user, "GET /alarms/open/ack": user, "POST /alarms/open/ack": user, "GET /alarms/open/:id": view, "POST /alarms/open/:id/ack": run, "POST /alarms/open/:id/unack": run,
	"GET /alarms/link/:token": anybody, "POST /alarms/link/:token": anybody, // whoever holds the token
	"GET /alarms/messages": admin, "POST /alarms/messages/:id/retry": admin,

	"GET /users": audits, "GET /users/rights": audits, "GET /users/new": admin, "POST /users": admin, "GET /users/:id/edit": admin, "POST /users/:id": admin,
	"GET /users/:id/password": admin, "POST /users/:id/password": admin, "GET /users/:id/signout": admin, "POST /users/:id/signout": admin, "POST /users/:id/sessions/end": admin, "GET /users/:id/second": admin, "POST /users/:id/second": admin,
	"GET /users/:id/delete": admin, "POST /users/:id/delete": admin, "GET /audit": audits, "GET /audit/export": audits, "GET /audit/:id": audits,
	"GET /webhooks": admin, "GET /webhooks/new": admin, "POST /webhooks": admin, "GET /webhooks/:id": admin, "GET /webhooks/:id/edit": admin, "POST /webhooks/:id/edit": admin,
	"POST /webhooks/:id/test": admin, "POST /webhooks/:id/secret": admin, "GET /webhooks/:id/delete": admin, "POST /webhooks/:id/delete": admin,
	"POST /webhooks/:id/again": admin, "POST /webhooks/:id/deliveries/:delivery/again": admin,
	"GET /jobs/slowest": user, "GET /forecast": user, "GET /wall": user, "GET /mine/failed": user, "GET /timeline": user, "GET /calendars": user, "GET /calendars/:name": user, "POST /calendars": admin, "GET /calendars/:name/delete": admin, "POST /calendars/:name/delete": admin,
	"GET /teams": audits, "GET /teams/new": admin, "POST /teams": admin, "GET /teams/:id/edit": admin, "POST /teams/:id": admin, "GET /teams/:id/delete": admin, "POST /teams/:id/delete": admin,
	// A view of somebody else does not exist.
	"GET /views/new": user, "POST /views": user, "GET /views/:id/edit": user, "POST /views/:id": user, "POST /views/:id/delete": user,
	"GET /profile/second": user, "GET /profile/second/code": user, "POST /profile/second/code": user, "GET /profile/second/passkey": user, "POST /profile/second/passkey": user,
	"GET /profile/second/recovery": user, "POST /profile/second/recovery": user, "GET /profile/second/:id/remove": user, "POST /profile/second/:id/remove": user,
	// A token of somebody else does not exist.
	"GET /tokens": user, "GET /tokens/new": user, "POST /tokens": user, "GET /tokens/:id/revoke": user, "POST /tokens/:id/revoke": user,
	"GET /device": user, "POST /device": user,
	"POST /callbacks/:token":   anybody, // whoever holds the token
	"GET /tokens/accounts/new": admin, "POST /tokens/accounts": admin,
	"GET /profile": user, "POST /profile/password": user, "POST /profile/sessions/end": user,
}

// outside are the addresses that are not the console's: they have tests and rules (tokens) of their own.
var outside = []string{"/healthz", "/readyz", "/metrics", "/static/", "/debug/pprof/", "/actuator/health", "/http-executor/", "/api", "/xxl-job-admin"}

// secret stands in everything that belongs to the group nobody but administrators may see.
const secret = "xSECRETx"

// person is somebody with rights in the first group.
type person struct {
	*browser
	name   string
	rights auth.Rights
	admin  bool
	// auditor sees what is of other groups too.
	auditor bool
}

func (p person) may(n need, own bool) bool {
	switch {
	case !n.login:
		return true
	case p.name == "":
		return false
	case p.admin:
		return true
	case n.admin:
		return false
	case n.audits:
		return p.auditor
	case n.right == auth.RightView && p.auditor:
		return true
	case n.anyEdit:
		return p.rights.Has(auth.RightEdit)
	case n.right != 0:
		return own && p.rights.Has(n.right)
	}
	return true
}

// objects are rows that the paths of routes can name.
type objects struct{ group, job, version, run, user, entry, clearing, team, channel, route, pause, note, backfill, webhook, delivery int64 }

// things makes a script job with a version and a run in a group, a user and an entry of the audit log.
func things(t *testing.T, a *App, group int64, mark string) objects {
	t.Helper()
	ctx, q := t.Context(), db.New()
	o := objects{group: group}
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := sql.NullTime{Time: a.pool.Wall(time.Now()), Valid: true}
	o.job, err = q.InsertJob(ctx, a.pool, db.InsertJobParams{
		JobGroup: group, JobDesc: mark, AddTime: now, UpdateTime: now, Author: db.Text(mark), ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?",
		MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorParam: db.Text(mark),
		ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueShell, GlueSource: db.Text(mark), GlueUpdateTime: now,
	})
	must()
	err = q.InsertGlueVersion(ctx, a.pool, db.InsertGlueVersionParams{JobID: o.job, GlueType: db.Text(wire.GlueShell), GlueSource: db.Text(mark + "2"), GlueRemark: mark, AddTime: now, UpdateTime: now})
	must()
	versions, err := q.ListGlueVersionIDs(ctx, a.pool, db.ListGlueVersionIDsParams{JobID: o.job, Limit: 1})
	must()
	o.version = versions[0]
	o.run, err = db.InsertRuns(ctx, a.pool, []db.NewRun{{
		JobGroup: group, JobID: o.job, TriggerTime: a.pool.Wall(time.Now()), PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 500, Message: mark, Param: mark,
	}})
	must()
	o.user, err = q.InsertUser(ctx, a.pool, db.InsertUserParams{Username: fmt.Sprintf("u%dj%d", group, o.job), Password: "x"})
	must()
	o.team, err = q.InsertTeam(ctx, a.pool, db.InsertTeamParams{Name: fmt.Sprintf("%s %d", mark, o.job)})
	must()
	o.pause, err = q.InsertPause(ctx, a.pool, db.InsertPauseParams{Scope: "group", Target: group, FromAt: time.Now().Add(time.Hour).UnixMilli(), Strategy: "skip", Reason: mark})
	must()
	o.note, err = q.InsertNote(ctx, a.pool, db.InsertNoteParams{JobGroup: group, JobID: o.job, At: time.Now().UnixMilli(), Note: mark})
	must()
	// One that is over: the engine would run others, at a moment of its own.
	o.backfill, err = q.InsertBackfill(ctx, a.pool, db.InsertBackfillParams{JobID: o.job, State: "running", MadeBy: mark})
	must()
	_, err = q.EndBackfill(ctx, a.pool, db.EndBackfillParams{ID: o.backfill, OldState: "running", NewState: "done", EndedAt: 1})
	must()
	o.clearing, err = q.InsertClearing(ctx, a.pool, db.InsertClearingParams{UserName: "x", JobGroup: group})
	must()
	o.webhook, o.delivery = webhookThing(t, a, fmt.Sprintf("%s %d", mark, o.job))
	o.entry, err = q.InsertAudit(ctx, a.pool, db.InsertAuditParams{UserName: "x", Action: "run", ObjectKind: "job", ObjectID: o.job, ObjectName: mark})
	must()
	return o
}

// request fills in a route's path and form.
func request(route string, o objects) (method, path string, form url.Values) {
	method, path, _ = strings.Cut(route, " ")
	id := o.job
	switch {
	case routeNeeds[route].former:
		form = formerForm(path, o)
		if method == "GET" {
			return method, path + "?" + form.Encode(), nil
		}
		return method, path, form
	case strings.HasPrefix(path, "/runs/clear/"):
		id = o.clearing
	case strings.HasPrefix(path, "/runs/"):
		id = o.run
	case strings.HasPrefix(path, "/executors/"):
		id = o.group
	case strings.HasPrefix(path, "/users/"):
		id = o.user
	case strings.HasPrefix(path, "/teams/"):
		id = o.team
	case strings.HasPrefix(path, "/pauses/"):
		id = o.pause
	case strings.HasPrefix(path, "/notes/"):
		id = o.note
	case strings.HasPrefix(path, "/webhooks/"):
		id = o.webhook
	case strings.HasPrefix(path, "/audit/"):
		id = o.entry
	}
	path = strings.ReplaceAll(strings.ReplaceAll(path, ":id", strconv.FormatInt(id, 10)), ":version", strconv.FormatInt(o.version, 10))
	path = strings.NewReplacer("*", "nowhere", ":step", "ask", ":deed", "approve", ":route", "1", ":name", "cn", ":backfill", strconv.FormatInt(o.backfill, 10), ":delivery", strconv.FormatInt(o.delivery, 10)).Replace(path)
	if method == "GET" {
		return method, path, nil
	}
	group, source := strconv.FormatInt(o.group, 10), "changed"
	if route == "POST /jobs/:id" {
		source = "mine" // the right to edit a job is not that to change its script
	}
	return method, path, url.Values{
		"name": {"close the day"}, "group": {group}, "author": {"ann"}, "schedule_type": {"CRON"}, "cron": {"0 0 2 * * ?"}, "misfire": {"DO_NOTHING"},
		"route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "glue": {"BEAN"}, "handler": {"x"}, "timeout": {"0"}, "retries": {"0"}, "ids": {strconv.FormatInt(o.job, 10)},
		"source": {source}, "remark": {"changed it"}, "role": {"admin"}, "state": {"active"}, "right": {group + ".glue"},
		"app_name": {"taken-over"}, "title": {"x"}, "type": {"auto"}, "password": {"a-new-lamp-otter"}, "address": {"http://a:1/"}, "grace": {"0"},
		"scope": {"group"}, "strategy": {"skip"}, "reason": {"x"},
	}
}

// modes are the three ways to ask.
var modes = map[string][]string{
	"page": {"Accept", "text/html"},
	"htmx": {"HX-Request", "true", "Accept", "text/html, */*"},
	"json": {"Accept", "application/json"},
}

// TestWhatIsNotAllowedIsRefused goes through every route of the console, as everybody, for things of their group and of
// another, in every way of asking. What is refused changes nothing and tells nothing; what is allowed is let through.
func TestWhatIsNotAllowedIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AccessToken = ""
		a := start(t, o)
		root := open(t, a).mustLogin()
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_adoption (id, release_line) VALUES (1, '2.3')"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"orders", secret} {
			if got := root.post("/executors", url.Values{"app_name": {strings.ToLower(name)}, "title": {name}, "type": {"manual"}, "addresses": {"http://" + name + ":1/"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create group: %d %s", got.status, got.body)
			}
		}
		var routes []string
		for _, r := range a.server.Handler.(heads).Routes() {
			if r.Method == echo.RouteNotFound {
				continue
			}
			name := r.Method + " " + r.Path
			switch _, known := routeNeeds[name]; {
			case known:
				routes = append(routes, name)
			case !slices.ContainsFunc(outside, func(prefix string) bool { return strings.HasPrefix(r.Path, prefix) }):
				t.Errorf("%s has no entry in routeNeeds: say who may call it", name)
			}
		}
		slices.Sort(routes)
		routes = slices.Compact(routes)
		var asked auth.Rights
		for _, n := range routeNeeds {
			asked |= n.right
		}
		if asked != auth.AllRights {
			t.Errorf("no route asks for one of the rights %q", auth.RightNames(auth.AllRights&^asked))
		}
		if len(routes) < 40 {
			t.Fatalf("only %d routes were found", len(routes))
		}

		people := []person{{browser: open(t, a)}, {browser: root, name: "admin", admin: true}}
		for name, rights := range map[string][]string{
			"nobody": nil, "viewer": {"view"}, "runner": {"run"}, "starter": {"schedule"}, "editor": {"edit"}, "writer": {"edit", "glue"}, "every": auth.RightNames(auth.AllRights), "auditor": nil,
		} {
			form := url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
			p := person{browser: open(t, a), name: name}
			for _, r := range rights {
				form.Add("right", "1."+r)
				p.rights |= auth.RightNamed(r)
			}
			p.rights = p.rights.Normal()
			switch name {
			case "nobody":
				form.Set("name", "nobody1")
			case "auditor":
				form.Set("role", "auditor")
				p.rights, p.auditor = auth.RightView, true
			}
			if got := root.post("/users", form); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			if got := p.login(form.Get("name"), testPassword); got.status != http.StatusSeeOther {
				t.Fatalf("login: %d %s", got.status, got.body)
			}
			people = append(people, p)
		}
		own, foreign := things(t, a, 1, "mine"), things(t, a, 2, secret)
		for _, p := range people {
			before := contents(t, a)
			for _, route := range routes {
				n := routeNeeds[route]
				for _, o := range []objects{own, foreign} {
					if p.may(n, o == own) {
						continue
					}
					for mode, header := range modes {
						p.refused(t, route, mode, header, o)
					}
				}
			}
			if !p.admin && !p.auditor {
				for _, do := range []string{"start", "stop", "move", "tag", "delete"} {
					bulk := url.Values{"do": {do}, "id": {strconv.FormatInt(foreign.job, 10)}, "group": {"1"}, "add": {"x"}}
					if got := p.post("/jobs/bulk", bulk); strings.Contains(got.body, secret) {
						t.Errorf("%q, bulk %s: the answer tells a secret", p.name, do)
					}
					bulk = url.Values{"do": {do}, "set": {strconv.FormatInt(foreign.job, 10) + ":"}, "group": {"1"}, "add": {"x"}}
					if got := p.post("/jobs/bulk", bulk); strings.Contains(got.body, secret) {
						t.Errorf("%q, bulk %s of a set: the answer tells a secret", p.name, do)
					}
					if got := p.get("/jobs/bulk?all=1&do=" + do); strings.Contains(got.body, secret) {
						t.Errorf("%q, bulk %s of all that match: the answer tells a secret", p.name, do)
					}
				}
			}
			for table, after := range contents(t, a) {
				if before[table] != after {
					t.Errorf("%q was refused everything and has changed %s:\n%s\n%s", p.name, table, before[table], after)
				}
			}
			p.allowed(t, a, routes)
		}
	})
}

// refused asks for what is not allowed.
func (p person) refused(t *testing.T, route, mode string, header []string, o objects) {
	t.Helper()
	method, path, form := request(route, o)
	got := p.do(method, path, form, header...)
	what := fmt.Sprintf("%q, %s for group %d, as %s", p.name, route, o.group, mode)
	if method == http.MethodGet {
		sameWithoutBody(t, what, got, p.do(http.MethodHead, path, nil, header...))
	}
	if strings.Contains(got.body, secret) {
		t.Errorf("%s: the answer tells a secret: %s", what, got.body)
	}
	if routeNeeds[route].former {
		p.refusedFormerly(t, what, got)
		return
	}
	if p.name == "" {
		// What was typed is kept on the page that says so; there is nothing to keep of a GET.
		ok := mode == "page" && method == "GET" && got.status == http.StatusSeeOther && strings.HasPrefix(got.header.Get("Location"), "/login") ||
			(mode != "page" || method == "POST") && got.status == http.StatusUnauthorized
		if !ok {
			t.Errorf("%s: %d %.200s", what, got.status, got.body)
		}
		return
	}
	// A group that somebody may not use is a fault of the form's field.
	if route == "POST /jobs" && got.status == http.StatusUnprocessableEntity {
		return
	}
	// What somebody may not even see is as little there for them as what does not exist; what they see and may not do is refused.
	want := http.StatusForbidden
	if n := routeNeeds[route]; n.right != 0 && strings.Contains(route, "/:id") && (o.group != 1 && !p.auditor || !p.rights.Has(auth.RightView)) {
		want = http.StatusNotFound
	}
	if got.status != want {
		t.Errorf("%s: %d, want %d: %.200s", what, got.status, want, got.body)
		return
	}
	switch mode {
	case "page":
		if !strings.Contains(got.body, "<html") {
			t.Errorf("%s: no page: %s", what, got.body)
		}
	case "htmx":
		if strings.Contains(got.body, "<html") || !strings.Contains(got.body, "toast") {
			t.Errorf("%s: no fragment: %s", what, got.body)
		}
	case "json":
		var body struct {
			Code int    `json:"code"`
			Msg  string `json:"msg"`
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.Code != want || body.Msg == "" {
			t.Errorf("%s: %s, %v", what, got.body, err)
		}
	}
}

// allowed asks for everything that is, each time of fresh things, and looks that lists show nothing of the other group.
func (p person) allowed(t *testing.T, a *App, routes []string) {
	t.Helper()
	for _, route := range routes {
		n := routeNeeds[route]
		if !n.login || !p.may(n, true) {
			continue
		}
		o := things(t, a, 1, "mine")
		method, path, form := request(route, o)
		var got answer
		if strings.HasSuffix(path, "/events") {
			got.status = p.stream(t, path)
		} else {
			got = p.do(method, path, form, "Accept", "text/html")
		}
		if method == http.MethodGet { // of a stream too, which ends with its headers
			sameWithoutBody(t, fmt.Sprintf("%q, %s", p.name, route), got, p.do(http.MethodHead, path, nil, "Accept", "text/html"))
		}
		refused := n.former && strings.Contains(got.body, forbiddenText) || got.status == http.StatusForbidden || got.status == http.StatusUnauthorized ||
			got.status == http.StatusSeeOther && strings.HasPrefix(got.header.Get("Location"), "/login")
		if refused || got.status >= 500 && got.status != http.StatusBadGateway {
			t.Errorf("%q may %s: %d %.300s", p.name, route, got.status, got.body)
		}
		if !p.admin && !p.auditor && strings.Contains(got.body, secret) {
			t.Errorf("%q, %s: the answer tells a secret", p.name, route)
		}
	}
	if p.admin || p.auditor || p.name == "" {
		return
	}
	for _, path := range []string{"/", "/jobs?group=2", "/jobs?q=" + secret, "/runs?group=2&range=all", "/runs?range=all&q=" + secret, "/runs?group=2&job=2&range=all", "/executors?q=x", "/profile", "/palette?q=" + secret} {
		got := p.get(path)
		if got.status != http.StatusOK || strings.Contains(strings.ReplaceAll(got.body, `value="`+secret+`"`, ""), `>`+secret) {
			t.Errorf("%q, %s: %d tells a secret", p.name, path, got.status)
		}
	}
}

// sameWithoutBody compares the answer to HEAD with that to GET. The headers of the latter may be unknown.
func sameWithoutBody(t *testing.T, what string, get, head answer) {
	t.Helper()
	same := get.status == head.status && head.body == ""
	for _, name := range []string{"Content-Type", "Location", "Allow", "Cache-Control"} {
		same = same && (get.header == nil || get.header.Get(name) == head.header.Get(name))
	}
	if !same {
		t.Errorf("%s: GET is answered with %d %v, HEAD with %d %v %.100s", what, get.status, get.header, head.status, head.header, head.body)
	}
}

// stream asks for an event stream and goes away at once.
func (p person) stream(t *testing.T, path string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", p.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// contents is what a refused request must not change, as text by table.
func contents(t *testing.T, a *App) map[string]string {
	t.Helper()
	tables := map[string]string{
		"xxl_job_info": "id, job_group, job_desc, glue_source, trigger_status", "xxl_job_log": "id, handle_code", "xxl_job_group": "id, app_name, title",
		"xxl_job_user": "id, username, role, permission, disabled, password", "xxl_job_logglue": "id, glue_source", "punctual_permission": "user_id, group_id, rights",
		"punctual_team": "id, name", "punctual_pause": "id, until_at", "punctual_team_member": "team_id, user_id", "punctual_team_permission": "team_id, group_id, rights",
		"punctual_audit WHERE action NOT IN ('refused', 'login_refused')": "id, action", // which are about what was refused
		"punctual_token": "app_name, token", "punctual_session": "id, user_id", "punctual_clearing": "id, job_group",
		"punctual_adoption": "id, finished_at", "punctual_alarm_channel": "id, name", "punctual_alarm_route": "id, channel_id, scope", "punctual_view": "id, user_id, name",
		// Those two the engine writes by itself, whenever it gets to it.
		"punctual_setting WHERE name NOT IN ('" + upkeep.SettingSchedulesSeen + "', '" + upkeep.SettingSkipsCounted + "')": "name, value",
		"punctual_api_token": "id, user_id, name, hash, hint, revoked_at", "punctual_secret": "group_id, name, value",
	}
	all := make(map[string]string)
	for table, columns := range tables {
		rows, err := a.pool.QueryContext(t.Context(), "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		into := make([]any, strings.Count(columns, ",")+1)
		for i := range into {
			into[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, v := range into {
				fmt.Fprintf(&text, "%v ", *v.(*any))
			}
			text.WriteByte('\n')
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		all[table] = text.String()
	}
	return all
}
