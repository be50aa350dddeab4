package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// engine counts how often it heard of changed executors.
type engine struct {
	manage.Engine
	groups int
}

func (*engine) JobsChanged()                          {}
func (*engine) StartWaiting(int64)                    {}
func (e *engine) GroupsChanged(context.Context) error { e.groups++; return nil }
func (e *engine) PausesChanged(context.Context) error { return nil }

// upkeep finds no runs to delete.
type upkeep struct{ manage.Upkeep }

func (upkeep) DeleteRunsOfJob(context.Context, int64, int32) (int, error) { return 0, nil }

// bundle are the use cases of files over a clean database with two groups: somebody may use the first.
type bundle struct {
	*manage.Service
	files         *Service
	pool          *db.Pool
	engine        *engine
	now           time.Time
	admin         auth.Principal
	user          auth.Principal
	group, closed int64
}

func setup(t testing.TB, pool *db.Pool) *bundle {
	t.Helper()
	b := &bundle{pool: pool, engine: &engine{}, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), admin: auth.NewPrincipal(1, "root", auth.RoleAdmin, "")}
	b.Service = manage.New(manage.Config{Pool: pool, Engine: b.engine, Upkeep: upkeep{}, Now: func() time.Time { return b.now }})
	b.files = New(Config{Pool: pool, Jobs: b.Jobs, Groups: b.Groups, Settings: b.Settings})
	for i, name := range []string{"orders", "secret"} {
		id, err := b.Groups.Create(t.Context(), b.admin, manage.GroupInput{AppName: name, Title: strings.ToUpper(name), Manual: true, Addresses: "10.0.0." + strconv.Itoa(i+1) + ":9999"})
		if err != nil {
			t.Fatal(err)
		}
		*[]*int64{&b.group, &b.closed}[i] = id
	}
	b.user = auth.NewPrincipal(2, "ann", auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10)))
	return b
}

// job is a definition that can be saved.
func (b *bundle) job(change func(*manage.JobInput)) manage.JobInput {
	in := manage.JobInput{Group: b.group, Job: jobspec.Job{
		Name: "close the day", Author: "ann", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?", Misfire: jobspec.MisfireDoNothing,
		Route: jobspec.RouteFirst, Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: "closeDay",
	}}
	if change != nil {
		change(&in)
	}
	return in
}

func (b *bundle) create(t testing.TB, change func(*manage.JobInput)) int64 {
	t.Helper()
	id, err := b.Jobs.Create(t.Context(), b.admin, b.job(change))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bundle) read(t *testing.T, id int64) db.Job {
	t.Helper()
	j, err := b.Jobs.Get(t.Context(), b.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// kind is what sort of problem an error is.
func kind(err error) string {
	p := problem.From(err)
	return strings.TrimSpace(fmt.Sprint(p.Kind.Status(), " ", p.Key))
}

// household is an installation with jobs that use everything a job may say.
func household(t *testing.T, b *bundle) {
	t.Helper()
	last := b.create(t, func(in *manage.JobInput) { in.Name, in.Group = "send the report", b.closed })
	middle := b.create(t, func(in *manage.JobInput) { in.Name, in.ChildJobIDs = "sum up", strconv.FormatInt(last, 10) })
	b.create(t, func(in *manage.JobInput) {
		in.Job = jobspec.Job{
			Name: "收盘", Author: "安", AlarmEmail: "a@b.cn,c@d.cn", ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "30", Misfire: jobspec.MisfireFireOnceNow,
			Route: jobspec.RouteFailover, Block: wire.BlockCoverEarly, Glue: wire.GlueShell, GlueSource: "#!/bin/bash\n\techo 'x: y'\n", GlueRemark: "first try", Param: "a\n b",
			ChildJobIDs: fmt.Sprintf("%d,%d", middle, last), TimeoutSeconds: 60, Retries: 3, Zone: "America/New_York", Start: b.now.UnixMilli() + 1, End: b.now.Add(9000 * time.Hour).UnixMilli(),
			Backoff: "10s,1m", MaxConcurrent: 2, Concurrency: jobspec.ConcurrencyDiscard, RetentionDays: 9, WarnAfter: 10, ExpectEvery: 3600, Tags: "night,eu", ParamFixed: true,
		}
	})
	started := b.create(t, func(in *manage.JobInput) {
		in.Name, in.ScheduleType, in.ScheduleConf = "once", jobspec.ScheduleOnce, "2026-12-31 23:00:00"
	})
	if err := b.Jobs.Start(t.Context(), b.admin, started); err != nil {
		t.Fatal(err)
	}
	b.create(t, func(in *manage.JobInput) {
		in.Name, in.ScheduleType, in.ScheduleConf = "by hand", jobspec.ScheduleNone, ""
	})
}

func (b *bundle) export(t *testing.T, p auth.Principal) Export {
	t.Helper()
	e, err := b.files.Export(t.Context(), p, manage.JobFilter{Status: manage.AnyStatus}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// parsed is a file after it went through its text.
func parsed(t *testing.T, f jobfile.File, as jobfile.Format) jobfile.File {
	t.Helper()
	raw, err := jobfile.Write(f, as)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(raw))
}

func read(t *testing.T, text string) jobfile.File {
	t.Helper()
	f, err := jobfile.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f
}

func (b *bundle) plan(t *testing.T, p auth.Principal, f jobfile.File, opts Options) Plan {
	t.Helper()
	plan, err := b.files.Plan(t.Context(), p, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (b *bundle) apply(t *testing.T, p auth.Principal, f jobfile.File, opts Options) Plan {
	t.Helper()
	plan, err := b.files.Import(t.Context(), p, f, opts, b.plan(t, p, f, opts).Digest)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// outcomes are those of a plan with their reasons, a line for each job.
func outcomes(plan Plan) string {
	var lines []string
	for _, item := range plan.Items {
		line := item.Name + ": " + string(item.Outcome)
		for _, c := range item.Changes {
			line += fmt.Sprintf(" %s=%s>%s", c.Field, strings.ReplaceAll(c.Was, "\n", "/"), strings.ReplaceAll(c.Now, "\n", "/"))
		}
		for _, f := range item.Faults {
			line += fmt.Sprintf(" %d:%s:%s", f.Line, f.Name, f.Key)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestExportAndImportAgree(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		household(t, b)
		exported := b.export(t, b.admin)
		if exported.Jobs != 5 || exported.Scripts != 0 || exported.Orphans != 0 {
			t.Fatalf("%+v", exported)
		}
		for _, format := range []jobfile.Format{jobfile.YAML, jobfile.JSON} {
			for _, opts := range []Options{{}, {FileStates: true}, {ByID: true, FileStates: true, CreateGroups: true}} {
				plan := b.plan(t, b.admin, parsed(t, exported.File, format), opts)
				if plan.Count(Same) != 5 || plan.Work() != 0 {
					t.Errorf("into the same installation, %s, %+v:\n%s", format, opts, outcomes(plan))
				}
			}
		}
	})
}

func TestImportIntoAnEmptyInstallation(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		from := setup(t, dbtest.New(t, pool.Dialect()))
		household(t, from)
		f := from.export(t, from.admin).File
		b := setup(t, pool)
		for _, id := range []int64{b.group, b.closed} { // the groups are to be made by the import
			if _, err := b.Groups.Create(t.Context(), b.admin, manage.GroupInput{AppName: "else-" + strconv.FormatInt(id, 10), Title: "x"}); err != nil {
				t.Fatal(err)
			}
			if err := b.Groups.Delete(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
		}
		b.create(t, func(in *manage.JobInput) { in.Group = b.closed + 1 }) // so that ids differ
		b.create(t, func(in *manage.JobInput) { in.Group = b.closed + 1 })
		plan := b.apply(t, b.admin, parsed(t, f, jobfile.YAML), Options{FileStates: true, CreateGroups: true})
		if plan.Count(Create) != 5 || !slices.Equal(plan.NewGroups, []string{"orders", "secret"}) {
			t.Fatalf("%v\n%s", plan.NewGroups, outcomes(plan))
		}
		created := make(map[string]bool)
		for _, e := range entries(t, b.bundleAudit(t)) {
			created[e] = true
		}
		again, err := b.files.Export(t.Context(), b.admin, manage.JobFilter{Status: manage.AnyStatus}, ids(plan))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(without(t, f), without(t, again.File)); diff != "" {
			t.Errorf("what was imported differs:\n%s", diff)
		}
		if got := b.plan(t, b.admin, again.File, Options{FileStates: true}); got.Count(Same) != 5 {
			t.Errorf("imported again:\n%s", outcomes(got))
		}
		for _, item := range plan.Items {
			if !created["create "+item.Name] {
				t.Errorf("no entry for %s in the audit log: %v", item.Name, slices.Collect(maps.Keys(created)))
			}
		}
		if b.engine.groups < 4 {
			t.Error("the engine does not know the new executors")
		}
	})
}

// TestAGroupWithoutJobsIsInTheFile of a whole installation, and made by an import that may make groups: its executors have somewhere to go
// before their first job.
func TestAGroupWithoutJobsIsInTheFile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.create(t, nil)
		names := func(p auth.Principal, f manage.JobFilter, ids ...int64) string {
			t.Helper()
			out, err := b.files.Export(t.Context(), p, f, ids)
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, g := range out.File.Groups {
				list = append(list, fmt.Sprintf("%s %d", g.AppName, len(g.Jobs)))
			}
			return strings.Join(list, ", ")
		}
		all := manage.JobFilter{Status: manage.AnyStatus}
		for _, c := range []struct{ what, got, want string }{
			{"all", names(b.admin, all), "orders 1, secret 0"},
			{"all, as people look for jobs", names(b.admin, manage.JobFilter{Status: manage.AnyStatus, Typed: true}), "orders 1, secret 0"},
			{"what somebody sees", names(b.user, all), "orders 1"},
			{"a group", names(b.admin, manage.JobFilter{Status: manage.AnyStatus, Group: b.closed}), "secret 0"},
			{"under a filter", names(b.admin, manage.JobFilter{Status: manage.AnyStatus, Author: "ann"}), "orders 1"},
			{"by its number", names(b.admin, all, 1), "orders 1"},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
			}
		}
		f := parsed(t, jobfile.File{Groups: []jobfile.Group{{AppName: "orders"}, {AppName: "billing", Title: "Bills"}}}, jobfile.YAML)
		for _, opts := range []Options{{}, {CreateGroups: true}} {
			if plan := b.plan(t, b.user, f, opts); len(plan.NewGroups) > 0 {
				t.Errorf("by somebody, %+v: %v", opts, plan.NewGroups)
			}
		}
		if plan := b.plan(t, b.admin, f, Options{}); len(plan.NewGroups) > 0 {
			t.Errorf("without being asked to: %v", plan.NewGroups)
		}
		if plan := b.apply(t, b.admin, f, Options{CreateGroups: true}); !slices.Equal(plan.NewGroups, []string{"billing"}) || plan.Work() != 0 {
			t.Errorf("%+v", plan)
		}
		if got := names(b.admin, all); got != "billing 0, orders 1, secret 0" {
			t.Errorf("afterwards: %s", got)
		}
		if plan := b.plan(t, b.admin, f, Options{CreateGroups: true}); len(plan.NewGroups) > 0 {
			t.Errorf("again: %v", plan.NewGroups)
		}
		bad := jobfile.File{Groups: []jobfile.Group{{AppName: "x"}}}
		if _, err := b.files.Plan(t.Context(), b.admin, bad, Options{CreateGroups: true}); err == nil {
			t.Error("an app name that is too short is taken")
		}
	})
}

func ids(p Plan) []int64 {
	var ids []int64
	for _, item := range p.Items {
		ids = append(ids, item.ID)
	}
	return ids
}

func (b *bundle) bundleAudit(t *testing.T) []db.AuditRow {
	t.Helper()
	list, err := b.Audit.List(t.Context(), b.admin, manage.AuditFilter{Kind: manage.ObjectJob, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return list.Entries
}

func entries(_ *testing.T, rows []db.AuditRow) []string {
	var list []string
	for _, r := range rows {
		list = append(list, r.Action+" "+r.ObjectName)
	}
	return list
}

// without writes a file without ids and titles, which differ between installations.
func without(t *testing.T, f jobfile.File) string {
	t.Helper()
	f = parsed(t, f, jobfile.YAML)
	for g := range f.Groups {
		f.Groups[g].Title = ""
		for j := range f.Groups[g].Jobs {
			f.Groups[g].Jobs[j].ID = 0
			for c := range f.Groups[g].Jobs[j].Children {
				f.Groups[g].Jobs[j].Children[c].ID = 0
			}
		}
	}
	raw, err := jobfile.Write(f, jobfile.YAML)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// yamlOf is a file with one job in the executor orders; lines are further fields. The job begins in line 5.
func yamlOf(lines ...string) string {
	text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: close the day\n        author: ann\n        schedule: CRON\n        cron: 0 0 2 * * ?\n        handler: closeDay\n"
	for _, l := range lines {
		text += "        " + l + "\n"
	}
	return text
}

func TestImportRefusesByLine(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		existing := b.create(t, nil)
		foreign := b.create(t, func(in *manage.JobInput) { in.Name, in.Group = "foreign", b.closed })
		script := b.create(t, func(in *manage.JobInput) {
			in.Name, in.Glue, in.GlueSource, in.Handler = "script", wire.GlueShell, "echo secret", ""
		})
		b.create(t, func(in *manage.JobInput) { in.Name, in.ChildJobIDs = "parent", strconv.FormatInt(existing, 10) })
		twin := b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		other := b.create(t, func(in *manage.JobInput) { in.Name = "other name" })
		b.create(t, func(in *manage.JobInput) { in.Name, in.ChildJobIDs = "mixed", strconv.FormatInt(foreign, 10) })
		if err := b.Jobs.Start(t.Context(), b.admin, b.create(t, func(in *manage.JobInput) { in.Name = "started" })); err != nil {
			t.Fatal(err)
		}
		for _, app := range []string{"shared-app", "shared-app"} { // as an old database may have them
			if _, err := db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: app, Title: "t"}); err != nil {
				t.Fatal(err)
			}
		}
		editor := auth.NewPrincipal(3, "ed", auth.RoleUser, "").Grant(b.group, auth.RightEdit)
		viewer := auth.NewPrincipal(4, "vi", auth.RoleUser, "").Grant(b.group, auth.RightView).Grant(b.closed, auth.RightEdit)
		mover := auth.NewPrincipal(6, "mo", auth.RoleUser, "").Grant(b.group, auth.AllRights).Grant(b.closed, auth.RightEdit)
		taker := auth.NewPrincipal(7, "ta", auth.RoleUser, "").Grant(b.group, auth.RightEdit).Grant(b.closed, auth.AllRights)
		named := func(name string, lines ...string) string {
			return strings.Replace(yamlOf(lines...), "close the day", name, 1)
		}
		second := func(name string, lines ...string) string {
			return strings.SplitAfter(named(name, lines...), "jobs:\n")[1]
		}
		scriptFile := func(lines ...string) string {
			return strings.Replace(strings.Replace(yamlOf(lines...), "close the day", "script", 1), "handler: closeDay", "kind: GLUE_SHELL", 1)
		}
		all := Options{FileStates: true, CreateGroups: true}
		tests := []struct {
			name string
			p    auth.Principal
			text string
			opts Options
			want string
		}{
			{"nothing new", b.user, yamlOf(), all, "close the day: same"},
			{"a field", b.user, yamlOf("retries: 2", "parameter: x"), all, "close the day: change param=>x retries=0>2"},
			{"its state", b.user, yamlOf("state: running"), all, "close the day: change state=stopped>running"},
			{"its state, left as it is", b.user, yamlOf("state: running"), Options{}, "close the day: same"},
			{"wrong values, by their lines", b.user, yamlOf("route: NEAREST", "retries: -1", "time_zone: Mars"), all, "close the day: refuse 10:route:job.error.unknown 11:retries:job.error.out_of_range 12:time_zone:job.error.zone"},
			{"a wrong cron", b.user, strings.Replace(yamlOf(), "0 0 2", "0 0 25", 1), all, "close the day: refuse 8:cron:cron.error.out_of_range"},
			{"a moment that is none", b.user, yamlOf("not_before: tomorrow"), all, "close the day: refuse 10:start_at:job.error.moment"},
			{"an interval beside a cron", b.user, yamlOf("every_seconds: 5"), all, "close the day: refuse 10:seconds:import.error.schedule"},
			{"to be started, but over", b.user, yamlOf("state: running", "not_after: 2026-01-01T00:00:00Z"), all, "close the day: refuse 8:cron:job.error.no_time"},
			{"to be started, without a schedule", b.user, strings.Replace(strings.Replace(yamlOf("state: running"), "CRON", "NONE", 1), "        cron: 0 0 2 * * ?\n", "", 1), all, "close the day: refuse 7:schedule_type:job.error.noschedule"},
			{"another kind", b.user, yamlOf("kind: GLUE_SHELL", "script: echo"), all, "close the day: refuse 10:glue:import.error.kind"},
			{"a script of a handler", b.user, yamlOf("script: echo"), all, "close the day: refuse 10:source:import.error.bean"},
			{"an executor that is missing", b.user, strings.Replace(yamlOf(), "orders", "payments", 1), Options{}, "close the day: refuse 5:group:import.error.group"},
			{"an executor that only administrators may create", b.user, strings.Replace(yamlOf(), "orders", "payments", 1), all, "close the day: refuse 5:group:import.error.group_admin"},
			{"an executor to be created", b.admin, strings.Replace(yamlOf(), "orders", "payments", 1), all, "close the day: create"},
			{"an executor that cannot be created", b.admin, strings.Replace(yamlOf(), "orders", "Pay", 1), all, "close the day: refuse 5:app_name:group.error.appname"},
			{"an executor of others is missing too", b.user, strings.Replace(yamlOf(), "orders", "secret", 1), Options{}, "close the day: refuse 5:group:import.error.group"},
			{"two executors with one name", b.admin, strings.Replace(yamlOf(), "orders", "shared-app", 1), all, "close the day: refuse 5:group:import.error.groups"},
			{"no right to edit", viewer, yamlOf("retries: 2"), all, "close the day: refuse 5:group:import.error.right_edit"},
			{"no right to start", editor, yamlOf("state: running"), all, "close the day: refuse 10:state:import.error.right_schedule"},
			{"no right to stop", editor, named("started", "state: stopped"), all, "started: refuse 10:state:import.error.right_schedule"},
			{"a right to stop", b.user, named("started", "state: stopped"), all, "started: change state=running>stopped"},
			{"from a group without the right", viewer, strings.Replace(named("script", fmt.Sprintf("id: %d", existing)), "orders", "secret", 1), Options{ByID: true}, "script: refuse 5:group:import.error.right_edit"},
			{"a script into a group without the right", mover, strings.Replace(scriptFile("script: echo secret", fmt.Sprintf("id: %d", script)), "orders", "secret", 1), Options{ByID: true}, "script: refuse 5:group:problem.scripts.right"},
			{"a script that changes on its way from a group without the right", taker, strings.Replace(scriptFile("script: echo mine", fmt.Sprintf("id: %d", script)), "orders", "secret", 1), Options{ByID: true}, "script: refuse 10:source:problem.scripts.right"},
			{"a script that one may not read, looked at", editor, scriptFile("script: echo mine"), Options{Look: true}, "script: same"},
			{"a script without the right", editor, scriptFile("script: echo mine"), all, "script: refuse 10:source:problem.scripts.right"},
			{"a script with the right", b.user, scriptFile("script: echo mine"), all, "script: change source=echo secret>echo mine"},
			{"a script that is left out stays", editor, scriptFile("script_omitted: true", "retries: 1"), all, "script: change retries=0>1"},
			{"a new script that is left out", b.user, strings.Replace(scriptFile("script_omitted: true"), "script\n", "other\n", 1), all, "other: refuse 5:source:import.error.no_script"},
			{"two jobs of that name", b.user, strings.Replace(yamlOf(), "close the day", "twin", 1), all, "twin: refuse 5:name:import.error.ambiguous"},
			{"two jobs of that name, told apart", b.user, strings.Replace(yamlOf(fmt.Sprintf("id: %d", twin)), "close the day", "twin", 1), all, "twin: same"},
			{"by id, with another name", b.user, strings.Replace(yamlOf(fmt.Sprintf("id: %d", existing)), "close the day", "renamed", 1), Options{ByID: true}, "renamed: change name=close the day>renamed"},
			{"by the id of another's job", b.user, yamlOf(fmt.Sprintf("id: %d", foreign)), Options{ByID: true}, "close the day: refuse 10:id:import.error.foreign"},
			{"without an id, by name", b.user, yamlOf("retries: 1"), Options{ByID: true}, "close the day: change retries=0>1"},
			{"a child that is missing", b.user, yamlOf("children: [{app_name: orders, description: nobody}]"), all, "close the day: refuse 10:children:import.error.child"},
			{"a child by an id that is missing", b.user, yamlOf("children: [4711]"), all, "close the day: refuse 10:children:import.error.child_id"},
			{"a child of others", b.user, yamlOf(fmt.Sprintf("children: [%d]", foreign)), all, "close the day: refuse 10:children:job.error.child_gone"},
			{"a child of others, by its name", b.user, yamlOf("children: [{app_name: secret, description: foreign}]"), all, "close the day: refuse 10:children:import.error.child"},
			{"a child that one may not run", editor, yamlOf(fmt.Sprintf("children: [%d]", script)), all, "close the day: refuse 10:children:job.error.child_gone"},
			{"a child", b.user, yamlOf("children: [{app_name: orders, description: script}]"), all, fmt.Sprintf("close the day: change children=>script (#%d)", script)},
			{"a child by the name that it has no more", b.user, yamlOf("children: [{app_name: orders, description: other name}]") + second("new name", fmt.Sprintf("id: %d", other)), Options{ByID: true},
				"close the day: refuse 10:children:import.error.child\nnew name: change name=other name>new name"},
			{"a child of others that goes", b.user, named("mixed"), all, fmt.Sprintf("mixed: change children=#%d>", foreign)},
			{"a child that is refused, and exists", b.user, yamlOf("children: [{app_name: orders, description: other name}]") + second("other name", "retries: -1"), all,
				fmt.Sprintf("close the day: change children=>other name (#%d)\nother name: refuse 16:retries:job.error.out_of_range", other)},
			{"itself", b.user, yamlOf("children: [{app_name: orders, description: close the day}]"), all, "close the day: refuse 10:children:job.error.child_self"},
			{"a ring through a job that exists", b.user, yamlOf("children:", "  - app_name: orders", "    description: parent"), all, "close the day: refuse 10:children:job.error.child_cycle"},
			{"a ring in the file", b.user, yamlOf("children: [{app_name: orders, description: b}]") + strings.ReplaceAll(strings.SplitAfter(yamlOf("children: [{app_name: orders, description: c}]"), "jobs:\n")[1], "close the day", "b") +
				strings.ReplaceAll(strings.SplitAfter(yamlOf("children: [{app_name: orders, description: b}]"), "jobs:\n")[1], "close the day", "c"), all,
				"close the day: refuse 10:children:import.error.child_refused\nb: refuse 16:children:job.error.child_cycle\nc: refuse 22:children:job.error.child_cycle"},
			{"a child that is refused", b.user, yamlOf("children: [{app_name: orders, description: b}]") + strings.ReplaceAll(strings.SplitAfter(yamlOf("retries: -1"), "jobs:\n")[1], "close the day", "b"), all,
				"close the day: refuse 10:children:import.error.child_refused\nb: refuse 16:retries:job.error.out_of_range"},
		}
		for _, tt := range tests {
			if got := outcomes(b.plan(t, tt.p, read(t, tt.text), tt.opts)); got != tt.want {
				t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
			}
		}
		nobody := auth.NewPrincipal(5, "no", auth.RoleUser, "")
		if _, err := b.files.Plan(t.Context(), nobody, read(t, yamlOf()), all); kind(err) != "403" {
			t.Errorf("somebody without a right: %v", err)
		}
		if _, err := b.files.Export(t.Context(), nobody, manage.JobFilter{Status: manage.AnyStatus}, []int64{existing}); kind(err) != "404 problem.export.none" {
			t.Errorf("somebody without a right: %v", err)
		}
		seen := b.export(t, editor)
		raw, err := jobfile.Write(seen.File, jobfile.YAML)
		if err != nil || seen.Scripts != 1 || strings.Contains(string(raw), "secret") || strings.Contains(string(raw), "foreign") {
			t.Errorf("who may not read scripts exports %d of them left out, %v:\n%s", seen.Scripts, err, raw)
		}
	})
}

func TestImportDoesWhatItPromised(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		first := b.create(t, nil)
		running := b.create(t, func(in *manage.JobInput) { in.Name = "runs" })
		if err := b.Jobs.Start(t.Context(), b.admin, running); err != nil {
			t.Fatal(err)
		}
		// The parent comes before its child, which is new; the job that runs is stopped and loses its schedule.
		text := yamlOf("children: [{app_name: orders, description: new}]", "retries: 4") +
			"      - {description: new, author: ann, schedule: FIX_RATE, every_seconds: 5, handler: h, state: running}\n" +
			"      - {description: runs, author: ann, schedule: NONE, handler: closeDay}\n"
		f, opts := read(t, text), Options{FileStates: true}
		f.Groups[0].Jobs[2].State = jobfile.Stopped
		plan := b.plan(t, b.user, f, opts)
		if plan.Work() != 3 {
			t.Fatalf("%s", outcomes(plan))
		}
		before := len(b.bundleAudit(t))
		if err := b.Jobs.Update(t.Context(), b.user, first, b.job(func(in *manage.JobInput) { in.Param = "theirs" })); err != nil {
			t.Fatal(err)
		}
		changed, err := b.files.Import(t.Context(), b.user, f, opts, plan.Digest)
		if kind(err) != "409 problem.import.changed" || len(b.bundleAudit(t)) != before+1 || changed.Digest == plan.Digest {
			t.Fatalf("what changed since the plan was imported: %v", err)
		}
		done := b.apply(t, b.user, f, opts)
		got := b.read(t, first)
		if string(got.ChildJobIDs) != strconv.FormatInt(done.Items[1].ID, 10) || got.ExecutorFailRetryCount != 4 || got.ExecutorParam != "" {
			t.Errorf("the parent: %+v", got)
		}
		if child := b.read(t, done.Items[1].ID); child.TriggerStatus != 1 || child.TriggerNextTime == 0 {
			t.Errorf("the child does not run: %+v", child)
		}
		if old := b.read(t, running); old.TriggerStatus != 0 || old.ScheduleType != jobspec.ScheduleNone {
			t.Errorf("the job that ran: %+v", old)
		}
		if again := b.plan(t, b.user, f, opts); again.Count(Same) != 3 {
			t.Errorf("imported again:\n%s", outcomes(again))
		}
		if _, err := b.Settings.Save(t.Context(), b.admin, map[string]string{manage.SettingGlue: "off"}, ""); err != nil {
			t.Fatal(err)
		}
		script := strings.Replace(yamlOf("script: echo"), "handler: closeDay", "kind: GLUE_SHELL", 1)
		if got := outcomes(b.plan(t, b.admin, read(t, strings.Replace(script, "close the day", "x", 1)), opts)); got != "x: refuse 10:source:problem.scripts.off" {
			t.Errorf("where scripts are off: %s", got)
		}
	})
}

// TestOfTwoImportsAtOnceOneIsRefused: both were planned when the job was not there.
func TestOfTwoImportsAtOnceOneIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		for round := range 5 {
			f := read(t, strings.Replace(yamlOf(), "close the day", fmt.Sprint("day ", round), 1))
			digest := b.plan(t, b.user, f, Options{}).Digest
			faults := make([]string, 2)
			var both sync.WaitGroup
			for i := range faults {
				both.Go(func() {
					if _, err := b.files.Import(t.Context(), b.user, f, Options{}, digest); err != nil {
						faults[i] = kind(err)
					}
				})
			}
			both.Wait()
			if slices.Sort(faults); !slices.Equal(faults, []string{"", "409 problem.import.changed"}) {
				t.Errorf("%q", faults)
			}
		}
	})
}

// TestMailsToOtherDomainsAreNotImported names an address in a file.
func TestMailsToOtherDomainsAreNotImported(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		if _, err := b.Settings.Save(t.Context(), b.admin, map[string]string{manage.SettingMailDomains: "example.com"}, ""); err != nil {
			t.Fatal(err)
		}
		plan := b.plan(t, b.admin, read(t, strings.Replace(yamlOf("alarm_email: [a@elsewhere.example]"), "close the day", "another", 1)), Options{})
		if len(plan.Items) != 1 || plan.Items[0].Outcome != Refuse || plan.Items[0].Faults[0].Key != "alarm.error.mail_domain" || plan.Items[0].Faults[0].Line == 0 {
			t.Errorf("a file: %+v", plan.Items)
		}
	})
}

func TestAParameterThatIsCodeIsImportedByWhomMayWriteScripts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		editor := auth.NewPrincipal(3, "ed", auth.RoleUser, "").Grant(b.group, auth.RightEdit)
		if err := db.New().InsertCodeHandler(t.Context(), pool, db.InsertCodeHandlerParams{GroupID: b.group, Handler: "runIt"}); err != nil {
			t.Fatal(err)
		}
		for _, handler := range []string{"commandJobHandler", "openClawJobHandler", "runIt"} {
			file := read(t, "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: imported "+handler+"\n        author: x\n        schedule: NONE\n        handler: "+handler+"\n        parameter: id\n")
			plan := b.plan(t, editor, file, Options{})
			if item := plan.Items[0]; item.Outcome != Refuse || item.Faults[0].Key != "problem.code.right" {
				t.Errorf("an import promises %+v", item)
			}
			if plan = b.plan(t, b.user, file, Options{}); plan.Items[0].Outcome != Create {
				t.Errorf("who may write scripts imports %+v", plan.Items[0])
			}
		}
	})
}

// TestAnImportIsDoneAsAWholeOrNotAtAll has the database refuse the last job of a file.
func TestAnImportIsDoneAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		id := b.create(t, nil)
		before, err := b.Jobs.Get(t.Context(), b.admin, id)
		if err != nil {
			t.Fatal(err)
		}
		f := read(t, `punctual_jobs: 1
executors:
  - app_name: orders
    jobs:
      - {id: `+strconv.FormatInt(id, 10)+`, description: renamed, author: ann, handler: h, schedule: NONE}
  - app_name: fresh
    jobs:
      - {description: good, author: ann, handler: h, schedule: NONE}
      - {description: bad, author: ann, handler: h, schedule: NONE}
`)
		refuse := "CREATE TRIGGER refuse BEFORE INSERT ON xxl_job_info FOR EACH ROW IF NEW.job_desc = 'bad' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF"
		if pool.Dialect() == db.SQLite {
			refuse = "CREATE TRIGGER refuse BEFORE INSERT ON xxl_job_info WHEN NEW.job_desc = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
		}
		if _, err := pool.ExecContext(t.Context(), refuse); err != nil {
			t.Fatal(err)
		}
		opts := Options{ByID: true, CreateGroups: true}
		heard := b.engine.groups
		plan := b.plan(t, b.admin, f, opts)
		_, err = b.files.Import(t.Context(), b.admin, f, opts, plan.Digest)
		if failed, ok := errors.AsType[*FailedError](err); !ok || failed.Name != "bad" {
			t.Fatalf("the import: %v", err)
		}
		if again := b.plan(t, b.admin, f, opts); again.Digest != plan.Digest || b.engine.groups != heard {
			t.Errorf("something was done: %s", outcomes(again))
		}
		if now, err := b.Jobs.Get(t.Context(), b.admin, id); err != nil || manage.JobVersion(now) != manage.JobVersion(before) {
			t.Errorf("the first job was changed: %+v, %v", now, err)
		}
		if _, err := pool.ExecContext(t.Context(), "DROP TRIGGER refuse"); err != nil {
			t.Fatal(err)
		}
		if done := b.apply(t, b.admin, f, opts); done.Work() != 3 || done.Items[2].ID == 0 || b.engine.groups != heard+1 {
			t.Errorf("afterwards: %s", outcomes(done))
		}
	})
}

// TestJobsKeptInFilesAreChangedThereOnly holds them with the setting: nobody changes or deletes them but their source.
func TestJobsKeptInFilesAreChangedThereOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		ctx := t.Context()
		mine := Options{FileStates: true, Source: "git/jobs", Prune: true}
		script := "      - {description: script, author: ann, schedule: NONE, kind: GLUE_SHELL, script: echo one}\n"
		done := b.apply(t, b.admin, read(t, yamlOf()+script), mine)
		job, glue := done.Items[0].ID, done.Items[1].ID
		update := func() error {
			return b.Jobs.Update(ctx, b.admin, job, b.job(func(in *manage.JobInput) { in.Param = strconv.FormatInt(b.now.UnixNano(), 10) }))
		}
		if err := update(); err != nil {
			t.Fatalf("a change by hand, as it is by default: %v", err)
		}
		if _, err := b.Settings.Save(ctx, b.admin, map[string]string{manage.SettingFilesHold: manage.SettingOn}, ""); err != nil {
			t.Fatal(err)
		}
		const held = "409 problem.job.held"
		b.now = b.now.Add(time.Hour)
		for what, err := range map[string]error{
			"update": update(), "delete": b.Jobs.Delete(ctx, b.admin, job),
			"script": b.Jobs.SaveGlue(ctx, b.admin, glue, manage.GlueInput{Source: "echo two", Remark: "by hand"}),
		} {
			if kind(err) != held {
				t.Errorf("%s: %v, want %s", what, err, held)
			}
		}
		if err := b.Jobs.Start(ctx, b.admin, job); err != nil {
			t.Errorf("start: %v", err)
		}
		if err := b.Jobs.Stop(ctx, b.admin, job); err != nil {
			t.Errorf("stop: %v", err)
		}
		file := read(t, yamlOf("retries: 2"))
		if got, want := outcomes(b.plan(t, b.admin, file, Options{})), "close the day: refuse 5:name:problem.job.held"; got != want {
			t.Errorf("an import by hand: %s, want %s", got, want)
		}
		if on, err := b.Jobs.HeldByFiles(ctx, job); err != nil || !on {
			t.Errorf("held: %v, %v", on, err)
		}
		if plan := b.plan(t, b.admin, file, mine); len(plan.NewGroups) > 0 || plan.Count(Delete) != 1 {
			t.Errorf("the plan deletes %d, and would make the groups %q", plan.Count(Delete), plan.NewGroups)
		}
		b.apply(t, b.admin, file, mine)
		if now := b.read(t, job); now.ExecutorFailRetryCount != 2 || now.ExecutorParam != "" {
			t.Errorf("its source made it %+v", now)
		}
		if _, err := b.Jobs.Get(ctx, b.admin, glue); kind(err) != "404 problem.job.gone" {
			t.Errorf("what its source no longer has: %v", err)
		}
		if err := b.Jobs.Delete(ctx, b.admin, b.create(t, func(in *manage.JobInput) { in.Name = "other" })); err != nil {
			t.Errorf("a job that is in no files: %v", err)
		}
	})
}

// TestWhoMayNotEditAJobTakesItForNoFiles applies a file that changes nothing: keeping a job in files decides who may change it, too.
func TestWhoMayNotEditAJobTakesItForNoFiles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		file := read(t, yamlOf())
		id := b.apply(t, b.admin, file, Options{}).Items[0].ID
		looker := auth.NewPrincipal(4, "vi", auth.RoleUser, "").Grant(b.group, auth.RightView).Grant(b.closed, auth.RightEdit)
		mine := Options{Source: "git/other"}

		plan := b.plan(t, looker, file, mine)
		if got, want := outcomes(plan), "close the day: refuse 5:group:import.error.right_edit"; got != want {
			t.Errorf("the plan: %s, want %s", got, want)
		}
		if _, err := b.files.Import(t.Context(), looker, file, mine, plan.Digest); err == nil || kind(err) != "409 problem.import.refused" {
			t.Errorf("the import: %v", err)
		}
		if row, _, err := b.Jobs.InFiles(t.Context(), id); err != nil || row.Source != "" {
			t.Errorf("the job is kept in %q, %v", row.Source, err)
		}
		if got, want := outcomes(b.plan(t, looker, file, Options{})), "close the day: same"; got != want {
			t.Errorf("without a source: %s, want %s", got, want)
		}
		b.apply(t, b.admin, file, mine)
		if row, _, err := b.Jobs.InFiles(t.Context(), id); err != nil || row.Source != "git/other" {
			t.Errorf("of whom may edit it, the job is kept in %q, %v", row.Source, err)
		}
	})
}

// TestAJobOfAProgramIsKeptInNoFiles, as two would decide what it is; once the program brings it no longer, files may.
func TestAJobOfAProgramIsKeptInNoFiles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		file := read(t, yamlOf())
		id := b.apply(t, b.admin, file, Options{}).Items[0].ID
		q := db.New()
		if err := q.InsertDeclaredJob(t.Context(), pool, db.InsertDeclaredJobParams{JobID: id, GroupID: b.group, Name: "close", Fields: "cron", DeclaredAt: 1}); err != nil {
			t.Fatal(err)
		}
		mine := Options{Source: "git/other"}
		plan := b.plan(t, b.admin, file, mine)
		if got, want := outcomes(plan), "close the day: refuse 5:name:import.error.declared"; got != want {
			t.Errorf("the plan: %s, want %s", got, want)
		}
		if _, err := b.files.Import(t.Context(), b.admin, file, mine, plan.Digest); err == nil || kind(err) != "409 problem.import.refused" {
			t.Errorf("the import: %v", err)
		}
		if got, want := outcomes(b.plan(t, b.admin, file, Options{})), "close the day: same"; got != want {
			t.Errorf("without a source: %s, want %s", got, want)
		}
		if err := q.DropDeclaredJob(t.Context(), pool, db.DropDeclaredJobParams{DroppedAt: 2, JobID: id}); err != nil {
			t.Fatal(err)
		}
		b.apply(t, b.admin, file, mine)
		if row, _, err := b.Jobs.InFiles(t.Context(), id); err != nil || row.Source != "git/other" {
			t.Errorf("the job that the program brings no longer is kept in %q, %v", row.Source, err)
		}
	})
}

// TestAScriptThatWaitsIsNoChangeOfItsFile: a job whose script waits for a second person, as its file has it, was not changed since; nor once it is
// approved. Applying the file again leaves the job alone.
func TestAScriptThatWaitsIsNoChangeOfItsFile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		ctx := t.Context()
		if err := b.Groups.Update(ctx, b.admin, b.group, manage.GroupInput{AppName: "orders", Title: "O", Manual: true, Addresses: "10.0.0.1:9999", GroupOptions: manage.GroupOptions{ScriptReview: true}}); err != nil {
			t.Fatal(err)
		}
		second := auth.NewPrincipal(9, "bob", auth.RoleAdmin, "")
		opts := Options{Source: "git/jobs"}
		var id int64
		planned := "" // what the plan of each application says
		apply := func(script, more string) {
			t.Helper()
			text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - {description: s, author: ann, schedule: NONE, kind: GLUE_SHELL, script: '" + script + "', script_remark: by file" + more + "}\n"
			f, plan := b.planOf(t, text, opts)
			plan, err := b.files.Import(ctx, b.admin, f, opts, plan.Digest)
			if err != nil {
				t.Fatalf("%v: %s", err, toldOf(plan))
			}
			id = plan.Items[0].ID
			planned = fmt.Sprintf("%s, waits %t, %d to do", toldOf(plan), plan.Items[0].Waits, plan.Work())
		}
		plans := func(want string) {
			t.Helper()
			if planned != want {
				t.Errorf("planned %s; want %s", planned, want)
			}
		}
		wants := func(when string, changed bool) {
			t.Helper()
			if row, got, err := b.Jobs.InFiles(ctx, id); err != nil || row.Source != "git/jobs" || got != changed {
				t.Errorf("%s: changed since it was applied: %t, want %t (%v)", when, got, changed, err)
			}
		}
		decide := func(how func(context.Context, auth.Principal, int64, string) error) {
			t.Helper()
			_, c, ok, err := b.Jobs.ScriptChange(ctx, second, id)
			if err != nil || !ok {
				t.Fatalf("no script waits: %v", err)
			}
			if err := how(ctx, second, id, manage.ScriptChangeVersion(c)); err != nil {
				t.Fatal(err)
			}
		}
		apply("echo one", "")
		plans("s create, waits true, 1 to do")
		wants("a new job's script waits", false)
		apply("echo one", "")
		plans("s same, waits true, 0 to do")
		decide(b.Jobs.ApproveScript)
		wants("it is approved", false)
		apply("echo one", "")
		wants("applied again", false)

		was := b.read(t, id).Revision
		for range 2 {
			apply("echo two", "")
			wants("another script waits", false)
		}
		plans("s same, waits true, 0 to do")
		if now := b.read(t, id); now.Revision != was || string(now.GlueSource) != "echo one" {
			t.Errorf("a script that waits is revision %d of its job, which was at %d", now.Revision, was)
		}
		decide(b.Jobs.ApproveScript)
		wants("it is approved too", false)

		apply("echo two", "")
		plans("s same, waits false, 0 to do")

		apply("echo three", "")
		b.admin = second // who applies the same text is not asked who proposed it
		apply("echo three", ", retries: 2")
		plans("s change, waits true, 1 to do")
		b.admin = auth.NewPrincipal(1, "root", auth.RoleAdmin, "")
		wants("a script and something else", false)
		if now := b.read(t, id); now.ExecutorFailRetryCount != 2 {
			t.Errorf("%d retries", now.ExecutorFailRetryCount)
		}
		decide(b.Jobs.RejectScript)
		wants("it is rejected", true)

		apply("echo two", "")
		wants("as the file says", false)
		if err := b.Jobs.SaveGlue(ctx, b.admin, id, manage.GlueInput{Source: "echo by hand", Remark: "by hand"}); err != nil {
			t.Fatal(err)
		}
		wants("somebody proposes another", false)
		apply("echo two", "")
		decide(b.Jobs.ApproveScript)
		wants("that is approved", true)
	})
}

// TestAChainIsTurnedAround by a file: what starts whom is judged by what the file makes of all of them, in whichever order they are saved.
func TestAChainIsTurnedAround(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		// file has jobs, each with the one that it starts; flows have it in a step.
		file := func(flows bool, starts ...[2]string) jobfile.File {
			text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
			for _, s := range starts {
				switch name, next := s[0], s[1]; {
				case flows && next == "":
					text += fmt.Sprintf("      - {description: %s, author: ann, schedule: NONE, kind: FLOW, script: \"steps: [{id: a, wait: {seconds: 1}}]\"}\n", name)
				case flows:
					text += fmt.Sprintf("      - {description: %s, author: ann, schedule: NONE, kind: FLOW, script: \"steps: [{id: a, flow: {app_name: orders, description: %s}}]\"}\n", name, next)
				case next == "":
					text += fmt.Sprintf("      - {description: %s, author: ann, schedule: NONE, handler: h}\n", name)
				default:
					text += fmt.Sprintf("      - {description: %s, author: ann, schedule: NONE, handler: h, children: [{app_name: orders, description: %s}]}\n", name, next)
				}
			}
			return read(t, text)
		}
		for _, flows := range []bool{false, true} {
			p := map[bool]string{false: "job-", true: "flow-"}[flows]
			b.apply(t, b.admin, file(flows, [2]string{p + "z", p + "m"}, [2]string{p + "m", p + "a"}, [2]string{p + "a", ""}), Options{})
			turned := file(flows, [2]string{p + "a", p + "z"}, [2]string{p + "m", ""}, [2]string{p + "z", p + "m"})
			if plan := b.plan(t, b.admin, turned, Options{}); plan.Count(Refuse) != 0 || plan.Work() != 2 {
				t.Fatal(outcomes(plan))
			}
			b.apply(t, b.admin, turned, Options{})
			if plan := b.plan(t, b.admin, turned, Options{}); plan.Work() != 0 {
				t.Error(outcomes(plan))
			}
		}
	})
}

// TestAFileByIDIsAppliedTwice, and the second time nothing is left to do: also where a job's id is gone, and where a child is named as it was
// before the file gave it another name.
func TestAFileByIDIsAppliedTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		child := b.create(t, func(in *manage.JobInput) { in.Name = "child" })
		parent := b.create(t, func(in *manage.JobInput) { in.Name, in.ChildJobIDs = "parent", strconv.FormatInt(child, 10) })
		twin := b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		gone := b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		if err := b.Jobs.Delete(t.Context(), b.admin, gone); err != nil {
			t.Fatal(err)
		}
		const job = "      - {description: %s, id: %d, author: ann, schedule: NONE, handler: closeDay}\n"
		f := read(t, "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"+
			fmt.Sprintf("      - {description: parent, id: %d, author: ann, schedule: NONE, handler: closeDay, children: [{app_name: orders, description: child, id: %d}]}\n", parent, child)+
			fmt.Sprintf(job, "renamed", child)+fmt.Sprintf(job, "twin", twin)+fmt.Sprintf(job, "twin", gone)+fmt.Sprintf(job, "lost", gone+1000))
		opts := Options{ByID: true}
		first := b.apply(t, b.admin, f, opts)
		if first.Count(Create) != 2 || first.Count(Change) != 3 {
			t.Fatal(outcomes(first))
		}
		if again := b.plan(t, b.admin, f, opts); again.Work() != 0 || again.Count(Refuse) != 0 {
			t.Error(outcomes(again))
		}
	})
}

// TestAJobThatTwoFilesHave is refused where it is the second time: otherwise both would be made, and no file could be applied again.
func TestAJobThatTwoFilesHave(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		files := func(lines ...string) (all jobfile.File) {
			for i, line := range lines {
				f := read(t, fmt.Sprintf("punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    title: %s\n    jobs:\n      - {author: ann, schedule: NONE, handler: h, %s}\n", []string{"Orders", "orders"}[i], line))
				f.Groups[0].Jobs[0].From = []string{"a.yaml", "b.yaml"}[i]
				all.Groups = append(all.Groups, f.Groups...)
			}
			return all
		}
		says := func(f jobfile.File, want string) {
			t.Helper()
			if got := outcomes(b.plan(t, b.admin, f, Options{Source: "git"})); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		says(files("description: sum up", "description: sum up"), "sum up: create\nsum up: refuse 6:name:import.error.same_job_in")
		says(files("description: sum up, id: 3", "description: sum up, id: 3"), "sum up: create\nsum up: refuse 6:name:import.error.same_job_in")
		says(files("description: sum up, id: 3", "description: sum up, id: 4"), "sum up: create\nsum up: create")
		b.create(t, func(in *manage.JobInput) {
			in.Name, in.ScheduleType, in.ScheduleConf, in.Handler = "sum up", jobspec.ScheduleNone, "", "h"
		})
		says(files("description: sum up", "description: sum up"), "sum up: same\nsum up: refuse 6:name:import.error.same_job_in")
	})
}
