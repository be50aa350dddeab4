package manage

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// engine remembers what it was asked.
type engine struct {
	whenBusy    scheduler.WhenBusy
	onTrigger   func() error // what a trigger gives; nil: a run
	triggered   []scheduler.TriggerRequest
	mu          sync.Mutex // guards killed and what follows: several runs are ended at once
	killed      []int64
	killing     int             // how many are being ended
	most        int             // and how many were at a time
	full        chan struct{}   // ends wait for it, which is closed when as many go on as may; nil: none does
	unkilled    map[int64]error // what ending one of these gives
	pool        *db.Pool
	live        []scheduler.AddressState
	joined      bool // the last change of one was part of a transaction
	refused     []scheduler.RefusedCalls
	jobs        int
	waiting     []int64 // groups in whose lines those may go that have room
	groups      int
	pauses      int
	jobsChanged func() // is called when they have; nil: nothing is
	load        scheduler.Load
	clears      []upkeep.ClearRequest
	clearings   []upkeep.Clearing
	idle        bool // there is nothing to clear
	retention   int
	deeds       []string // to runs of flows
	refuse      error    // the answer to them
	deaf        error    // the answer to what it is told
}

func (e *engine) Trigger(ctx context.Context, r scheduler.TriggerRequest) ([]int64, error) {
	e.triggered = append(e.triggered, r)
	if e.onTrigger != nil {
		if err := e.onTrigger(); err != nil {
			return nil, err
		}
	}
	ids := []int64{7}
	if r.Within != nil {
		if err := e.pool.Tx(ctx, func(tx *sql.Tx) error { return r.Within(ctx, tx, ids) }); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (e *engine) Kill(_ context.Context, logID int64, _ string) error {
	if err := e.unkilled[logID]; err != nil {
		return err
	}
	e.mu.Lock()
	e.killed = append(e.killed, logID)
	e.killing++
	e.most = max(e.most, e.killing)
	if e.full != nil && len(e.killed) == killsAtOnce {
		time.AfterFunc(100*time.Millisecond, func() { close(e.full) }) // in which more would come if they could
	}
	e.mu.Unlock()
	if e.full != nil {
		<-e.full
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killing--
	return nil
}

func (e *engine) Approve(ctx context.Context, d scheduler.StepDeed, yes bool) error {
	return e.deed(ctx, d, fmt.Sprint("approve ", yes))
}
func (e *engine) SkipStep(ctx context.Context, d scheduler.StepDeed) error {
	return e.deed(ctx, d, "skip")
}
func (e *engine) SetStepSuccess(ctx context.Context, d scheduler.StepDeed) error {
	return e.deed(ctx, d, "succeed")
}

// deed notes what was done to a step; refuse is the answer where there is one.
func (e *engine) deed(ctx context.Context, d scheduler.StepDeed, what string) error {
	if e.refuse != nil {
		return e.refuse
	}
	e.deeds = append(e.deeds, what+" "+d.Step+" of "+strconv.FormatInt(d.Run, 10)+" by "+d.User+": "+d.Remark)
	return e.pool.Tx(ctx, func(tx *sql.Tx) error { return d.Within(ctx, tx) })
}

func (e *engine) Repeat(ctx context.Context, r scheduler.Repeat) (int64, error) {
	if e.refuse != nil {
		return 0, e.refuse
	}
	e.deeds = append(e.deeds, "repeat "+strconv.FormatInt(r.Run, 10)+" from "+r.From)
	return 8, e.pool.Tx(ctx, func(tx *sql.Tx) error { return r.Within(ctx, tx, 8) })
}

func (e *engine) StoreSilent() time.Duration { return 0 }

func (e *engine) Read(context.Context, *db.Run, int) (scheduler.Piece, error) {
	return scheduler.Piece{LogResult: wire.LogResult{LogContent: "x"}}, nil
}
func (e *engine) Archive() *archive.Service                { return nil }
func (e *engine) Addresses(int64) []scheduler.AddressState { return e.live }
func (e *engine) GroupSlots(context.Context, int64) (scheduler.SlotsTaken, error) {
	return scheduler.SlotsTaken{}, nil
}
func (e *engine) WhenBusy(*db.Job) scheduler.WhenBusy { return e.whenBusy }

func (e *engine) JobSlots(context.Context, *db.Job) (scheduler.SlotsTaken, error) {
	return scheduler.SlotsTaken{}, nil
}
func (e *engine) RefusedCalls(context.Context) ([]scheduler.RefusedCalls, error) {
	return e.refused, nil
}
func (e *engine) Load() scheduler.Load { return e.load }
func (e *engine) JobsChanged() {
	e.jobs++
	if e.jobsChanged != nil {
		e.jobsChanged()
	}
}
func (e *engine) StartWaiting(groupID int64)          { e.waiting = append(e.waiting, groupID) }
func (e *engine) GroupsChanged(context.Context) error { e.groups++; return e.deaf }
func (e *engine) PausesChanged(context.Context) error { e.pauses++; return e.deaf }

func (e *engine) DeleteRunsOfJob(ctx context.Context, jobID int64, limit int32) (int, error) {
	res, err := e.pool.ExecContext(ctx, "DELETE FROM xxl_job_log WHERE job_id = ? LIMIT ?", jobID, limit)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

func (e *engine) SetAddressDisabled(ctx context.Context, _ int64, address string, disabled bool) error {
	e.joined = e.pool.Joined(ctx)
	for i := range e.live {
		if e.live[i].Address == address {
			e.live[i].Disabled = disabled
		}
	}
	return nil
}

// bundle is a service over a clean database with two groups: somebody may use the first.
type bundle struct {
	*Service
	pool          *db.Pool
	engine        *engine
	now           time.Time
	admin         auth.Principal
	user          auth.Principal
	group, closed int64
}

func setup(t *testing.T, pool *db.Pool, change func(*Config)) *bundle {
	t.Helper()
	b := &bundle{pool: pool, engine: &engine{pool: pool}, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), admin: auth.NewPrincipal(1, "root", auth.RoleAdmin, "")}
	cfg := Config{Pool: pool, Engine: b.engine, Flows: b.engine, Outputs: b.engine, Callbacks: b.engine, Upkeep: b.engine, Now: func() time.Time { return b.now }}
	if change != nil {
		change(&cfg)
	}
	b.Service = New(cfg)
	for i, name := range []string{"orders", "secret"} {
		id, err := b.Groups.Create(t.Context(), b.admin, GroupInput{AppName: name, Title: strings.ToUpper(name), Manual: true, Addresses: "10.0.0." + strconv.Itoa(i+1) + ":9999"})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b.group = id
		} else {
			b.closed = id
		}
	}
	b.user = auth.NewPrincipal(2, "ann", auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10)))
	return b
}

// fixed are settings of which the environment decides one.
func fixed(t *testing.T, pool *db.Pool, name, value string) *Settings {
	t.Helper()
	s, err := NewSettings(pool, slog.New(slog.DiscardHandler), time.Now, map[string]string{name: value})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// job is a definition that can be saved.
func (b *bundle) job(change func(*JobInput)) JobInput {
	in := JobInput{Group: b.group, Job: jobspec.Job{
		Name: "close the day", Author: "ann", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?", Misfire: jobspec.MisfireDoNothing,
		Route: jobspec.RouteFirst, Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: "closeDay",
	}}
	if change != nil {
		change(&in)
	}
	return in
}

func (b *bundle) create(t *testing.T, change func(*JobInput)) int64 {
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

// kind is what sort of problem an error is, with its fields.
func kind(err error) string {
	if err == nil {
		return "ok"
	}
	p := problem.From(err)
	text := fmt.Sprint(p.Kind.Status())
	for _, f := range p.Fields {
		text += " " + f.Name + ":" + f.Key
	}
	if p.Key != "" {
		text += " " + p.Key
	}
	return text
}

func TestGroupsAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		tests := []struct {
			name string
			in   GroupInput
			want string
		}{
			{"a good automatic one", GroupInput{AppName: "stock-service", Title: "库存"}, "ok"},
			{"a taken name", GroupInput{AppName: "orders", Title: "x"}, "422 app_name:group.error.taken"},
			{"a taken name in capitals is no name", GroupInput{AppName: "Orders", Title: "x"}, "422 app_name:group.error.appname"},
			{"three characters", GroupInput{AppName: "abc", Title: "x"}, "422 app_name:group.error.appname"},
			{"nothing at all", GroupInput{}, "422 app_name:job.error.required title:job.error.required"},
			{"a long title", GroupInput{AppName: "abcd", Title: strings.Repeat("长", 65)}, "422 title:job.error.too_long"},
			{"the longest title", GroupInput{AppName: "abcd-long", Title: strings.Repeat("长", 64)}, "ok"},
			{"a title of two lines", GroupInput{AppName: "abcd", Title: "x\ny"}, "422 title:job.error.characters"},
			{"spaces around it", GroupInput{AppName: " abcd-spaces ", Title: " x "}, "ok"},
			{"manual without addresses", GroupInput{AppName: "abcd", Title: "x", Manual: true, Addresses: " ,\n"}, "422 addresses:job.error.required"},
			{"a bad address", GroupInput{AppName: "abcd", Title: "x", Manual: true, Addresses: "http://a:1/ ftp://b:2/"}, "422 addresses:group.error.address"},
		}
		for _, tt := range tests {
			if _, err := b.Groups.Create(ctx, b.admin, tt.in); kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
		}
		_, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "many", Title: "m", Manual: true, Addresses: "HTTP://A:1, http://a:1/\nb:2；http://a:1"})
		if kind(err) != "422 addresses:group.error.address" {
			t.Errorf("a full-width semicolon is no separator: %v", err)
		}
		id, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "many", Title: "m", Manual: true, Addresses: "HTTP://A:1, http://a:1/\nb:2，https://c/x/"})
		if err != nil {
			t.Fatal(err)
		}
		g, err := b.Groups.Get(ctx, b.admin, id)
		if err != nil || string(g.AddressList) != "http://a:1/,http://b:2/,https://c/x/" {
			t.Errorf("stored %q, %v", g.AddressList, err)
		}
		named, err := b.Groups.ByAppName(ctx, "MANY")
		if err != nil || len(named) != 1 || named[0].ID != id {
			t.Errorf("by another spelling of its name: %+v, %v", named, err)
		}
		b.create(t, nil)
		b.create(t, nil)
		if jobs, err := b.Dashboard.LatestJobCounts(ctx, b.admin); err != nil || len(jobs) != 1 || jobs[b.group] != (dashboard.JobCount{All: 2}) {
			t.Errorf("jobs of each group: %v, %v", jobs, err)
		}
		all, err := b.Groups.List(ctx, b.admin)
		if err != nil || !slices.ContainsFunc(all, func(g db.Group) bool { return g.AppName == "abcd-spaces" && g.Title == "x" }) {
			t.Errorf("stored %+v, %v", all, err)
		}
		if b.engine.groups < 4 {
			t.Errorf("the engine was told %d times", b.engine.groups)
		}
	})
}

func TestGroupsAreEditedAndDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		old, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "OldName", Title: "old", AddressList: "http://x:1/", UpdateTime: sql.NullTime{}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := b.Groups.Get(ctx, b.admin, old)
		if err != nil {
			t.Fatal(err)
		}
		in := GroupInput{AppName: "OldName", Title: "new title", Version: GroupVersion(g, GroupOptions{})}
		if err := b.Groups.Update(ctx, b.admin, old, in); err != nil {
			t.Errorf("a name that would not be given today is kept: %v", err)
		}
		if g, _ = b.Groups.Get(ctx, b.admin, old); g.Title != "new title" || string(g.AddressList) != "http://x:1/" {
			t.Errorf("stored %+v", g)
		}
		if err := b.Groups.Update(ctx, b.admin, old, in); kind(err) != "409 problem.changed" {
			t.Errorf("an edit from an old page: %s", kind(err))
		}
		beats := g
		beats.AddressList = "http://y:1/"
		if GroupVersion(beats, GroupOptions{}) != GroupVersion(g, GroupOptions{}) {
			t.Error("an executor that registers changes the version of a group that somebody edits")
		}
		typed := beats
		g.AddressType, typed.AddressType = AddressManual, AddressManual
		if GroupVersion(typed, GroupOptions{}) == GroupVersion(g, GroupOptions{}) {
			t.Error("somebody who types addresses changes nothing for who edits them too")
		}
		if err := b.Groups.Update(ctx, b.admin, old, GroupInput{AppName: "new-name", Title: "x"}); err != nil {
			t.Error(err)
		}
		if g, _ = b.Groups.Get(ctx, b.admin, old); g.AddressList != "" {
			t.Errorf("the executors of another name: %s", g.AddressList)
		}
		if err := b.Groups.Update(ctx, b.admin, old, GroupInput{AppName: "orders", Title: "x"}); kind(err) != "422 app_name:group.error.taken" {
			t.Errorf("renamed to a taken name: %s", kind(err))
		}
		if err := b.Groups.Update(ctx, b.admin, 999, in); kind(err) != "404 problem.group.gone" {
			t.Errorf("a group that is gone: %s", kind(err))
		}
		b.create(t, nil)
		if err := b.Groups.Delete(ctx, b.admin, b.group); kind(err) != "409 problem.group.jobs" {
			t.Errorf("a group with jobs: %s", kind(err))
		}
		for _, id := range []int64{b.closed, old} {
			if err := b.Groups.Delete(ctx, b.admin, id); err != nil {
				t.Error(err)
			}
		}
		jobs, err := b.Jobs.List(ctx, b.admin, JobFilter{Status: AnyStatus, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs.Jobs {
			if err := b.Jobs.Delete(ctx, b.admin, j.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Groups.Delete(ctx, b.admin, b.group); kind(err) != "409 problem.group.last" {
			t.Errorf("the last group: %s", kind(err))
		}
	})
}

// TestADeletedGroupTakesItsAddressesAndNobodyElses: of two groups with one app name the last takes them.
func TestADeletedGroupTakesItsAddressesAndNobodyElses(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		var ids [2]int64
		for i := range ids {
			id, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "twice", Title: "t"})
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = id
		}
		for _, app := range []string{"twice", "orders"} {
			err := db.New().InsertRegistry(ctx, pool, db.InsertRegistryParams{RegistryGroup: "EXECUTOR", RegistryKey: app, RegistryValue: "http://10.0.0.1:9999/"})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"orders twice", "orders"} {
			if err := b.Groups.Delete(ctx, b.admin, ids[i]); err != nil {
				t.Fatal(err)
			}
			rows, err := db.New().ListRegistry(ctx, pool)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, r := range rows {
				left = append(left, r.RegistryKey)
			}
			if got := strings.Join(left, " "); got != want {
				t.Errorf("addresses of %q are left, want those of %q", got, want)
			}
		}
	})
}

func TestRefusedCallsAreShownToWhoeverMaySeeTheGroup(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		shown := func(p auth.Principal) (names []string) {
			t.Helper()
			b.engine.refused = nil
			for _, name := range []string{"Orders", "secret", "nobodys"} {
				for _, why := range []scheduler.Refusal{scheduler.RefusedToken, scheduler.RefusedUnknown} {
					b.engine.refused = append(b.engine.refused, scheduler.RefusedCalls{Caller: scheduler.Caller{AppName: name}, Why: why})
				}
			}
			of, err := b.Groups.List(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			calls, err := b.Groups.Refused(t.Context(), p, of)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				names = append(names, c.Caller.AppName+" "+string(c.Why))
			}
			return names
		}
		// That a group is unknown is old news where it is there by now.
		token, unknown := " "+string(scheduler.RefusedToken), " "+string(scheduler.RefusedUnknown)
		if diff := cmp.Diff([]string{"Orders" + token}, shown(b.user)); diff != "" {
			t.Errorf("to a user: %s", diff)
		}
		if diff := cmp.Diff([]string{"Orders" + token, "secret" + token, "nobodys" + token, "nobodys" + unknown}, shown(b.admin)); diff != "" {
			t.Errorf("to an administrator: %s", diff)
		}
	})
}

// optionOf is the row that the engine reads of an app name: -1 for none.
func (b *bundle) optionOf(t *testing.T, appName string) int64 {
	t.Helper()
	all, err := db.New().ListGroupOptions(t.Context(), b.pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.AppName == appName {
			return o.IdleIsLost
		}
	}
	return -1
}

func TestTheLimitOfAGroupIsKeptAndBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for _, most := range []int{-1, maxGroupRunning + 1} {
			in := GroupInput{AppName: "secret", Title: "S", GroupOptions: GroupOptions{MaxRunning: most}}
			if err := b.Groups.Update(ctx, b.admin, b.closed, in); kind(err) != "422 max_running:group.error.max_running" {
				t.Errorf("%d: %s", most, kind(err))
			}
		}
		for _, want := range []GroupOptions{{MaxRunning: maxGroupRunning}, {MaxRunning: 20}, {TokenManages: true}, {ScriptReview: true}, {KeepOutput: jobspec.KeepAll}} {
			if err := b.Groups.Update(ctx, b.admin, b.closed, GroupInput{AppName: "secret", Title: "S", GroupOptions: want}); err != nil {
				t.Fatal(err)
			}
			if o, err := b.Groups.Options(ctx, "secret"); err != nil || o != want {
				t.Errorf("%+v, %v", o, err)
			}
		}
	})
}

func TestWhatIsDecidedForAGroupFollowsIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		update := func(in GroupInput) {
			t.Helper()
			if err := b.Groups.Update(ctx, b.admin, b.closed, in); err != nil {
				t.Fatal(err)
			}
		}
		is := func(appName string, want int64) {
			t.Helper()
			if got := b.optionOf(t, appName); got != want {
				t.Errorf("%s: %d, want %d", appName, got, want)
			}
		}
		is("secret", -1)
		update(GroupInput{AppName: "secret", Title: "S", GroupOptions: GroupOptions{IdleIsLost: true}})
		is("secret", 1)
		g, err := b.Groups.Get(ctx, b.admin, b.closed)
		if err != nil {
			t.Fatal(err)
		}
		stale := GroupInput{AppName: "secret", Title: "S", Version: GroupVersion(g, GroupOptions{})}
		if err := b.Groups.Update(ctx, b.admin, b.closed, stale); kind(err) != "409 problem.changed" {
			t.Errorf("an edit that does not know of it: %s", kind(err))
		}
		if err := b.Groups.Update(ctx, b.admin, b.closed, GroupInput{AppName: "orders", Title: "S", GroupOptions: GroupOptions{IdleIsLost: true}}); kind(err) != "422 app_name:group.error.taken" {
			t.Errorf("renamed to a taken name: %s", kind(err))
		}
		is("orders", -1)
		update(GroupInput{AppName: "secret-two", Title: "S", GroupOptions: GroupOptions{IdleIsLost: true}})
		is("secret", -1)
		is("secret-two", 1)
		update(GroupInput{AppName: "secret-two", Title: "S", GroupOptions: GroupOptions{KeepOutput: jobspec.KeepInherit}}) // as if nobody had said anything
		is("secret-two", -1)

		// The row of a group that an XXL-JOB admin renamed or deleted says nothing of the next one of that name.
		if err := db.New().SetGroupOptions(ctx, pool, db.SetGroupOptionsParams{AppName: "left-behind", IdleIsLost: 1}); err != nil {
			t.Fatal(err)
		}
		anew, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "left-behind", Title: "L"})
		if err != nil {
			t.Fatal(err)
		}
		is("left-behind", -1)
		if err := b.Groups.Delete(ctx, b.admin, anew); err != nil {
			t.Fatal(err)
		}
		born, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "born-so", Title: "B", GroupOptions: GroupOptions{IdleIsLost: true}})
		if err != nil {
			t.Fatal(err)
		}
		is("born-so", 1)
		// XXL-JOB lets groups share an app name: what is decided stays for the other.
		twin, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "born-so", Title: "twin"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Groups.Delete(ctx, b.admin, twin); err != nil {
			t.Fatal(err)
		}
		is("born-so", 1)
		if err := b.Groups.Delete(ctx, b.admin, born); err != nil {
			t.Fatal(err)
		}
		is("born-so", -1)

		var changes []string
		list, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectGroup, ID: b.closed, Action: string(ActionUpdate), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Entries {
			_, old, now, err := b.Audit.Get(ctx, b.admin, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			if old["idle_is_lost"] != nil || now["idle_is_lost"] != nil {
				changes = append(changes, fmt.Sprintf("%v to %v", old["idle_is_lost"], now["idle_is_lost"]))
			}
		}
		if diff := cmp.Diff([]string{"true to false", "false to true"}, changes); diff != "" {
			t.Errorf("the audit log: %s", diff)
		}
	})
}

func TestJobsAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		hidden := b.create(t, func(in *JobInput) { in.Group = b.closed })
		tests := []struct {
			name   string
			who    auth.Principal
			change func(*JobInput)
			want   string
		}{
			{"a good one", b.user, nil, "ok"},
			{"no name", b.user, func(in *JobInput) { in.Name = " " }, "422 name:job.error.required"},
			{"a wrong cron", b.user, func(in *JobInput) { in.ScheduleConf = "0 0 25 * * ?" }, "422 cron:cron.error.out_of_range"},
			{"a wrong interval", b.user, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "0" }, "422 seconds:job.error.interval"},
			{"no handler", b.user, func(in *JobInput) { in.Handler = "" }, "422 handler:job.error.handler"},
			{"a group that is not theirs", b.user, func(in *JobInput) { in.Group = b.closed }, "422 group:job.error.group"},
			{"a group that does not exist", b.admin, func(in *JobInput) { in.Group = 999 }, "422 group:job.error.group"},
			{"a child that does not exist", b.admin, func(in *JobInput) { in.ChildJobIDs = "999" }, "422 children:job.error.child_gone"},
			{"a child of a group that is not theirs", b.user, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(hidden, 10) }, "422 children:job.error.child_gone"},
			{"a child that is no number", b.user, func(in *JobInput) { in.ChildJobIDs = "1;2" }, "422 children:job.error.child_id"},
			{"a parameter too long for its column", b.user, func(in *JobInput) { in.Param = strings.Repeat("x", jobspec.MaxParamBytes+1) }, "422 param:job.error.too_long"},
		}
		for _, tt := range tests {
			if _, err := b.Jobs.Create(t.Context(), tt.who, b.job(tt.change)); kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
		}
	})
}

func TestAJobIsStartedEditedAndStopped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, nil)
		if err := b.Jobs.Start(ctx, b.user, id); err != nil {
			t.Fatal(err)
		}
		// The pools of tests are in UTC+8: 2 o'clock there is 18:00 of the day before in UTC.
		night := time.Date(2026, 3, 4, 18, 0, 0, 0, time.UTC).UnixMilli()
		j := b.read(t, id)
		if j.TriggerStatus != 1 || j.TriggerNextTime != night {
			t.Errorf("started: status %d, next %d, want %d", j.TriggerStatus, j.TriggerNextTime, night)
		}
		version := JobVersion(j)
		rename := b.job(func(in *JobInput) { in.Name, in.Version, in.KeepOptions = "renamed", version, true })
		if err := b.Jobs.Update(ctx, b.user, id, rename); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.JobDesc != "renamed" || j.TriggerNextTime != night {
			t.Errorf("an edit that leaves the schedule alone moved it: %+v", j)
		}
		if err := b.Jobs.Update(ctx, b.user, id, rename); kind(err) != "409 problem.changed" {
			t.Errorf("an edit from an old page: %s", kind(err))
		}
		moved := b.job(func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "60" })
		if err := b.Jobs.Update(ctx, b.user, id, moved); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.TriggerNextTime != b.now.Add(time.Minute).UnixMilli() {
			t.Errorf("a changed schedule counts from now: %d", j.TriggerNextTime)
		}
		// Every other edit leaves the next time alone, however late it comes.
		next := j.TriggerNextTime
		b.now = b.now.Add(20 * time.Second)
		relabelled := b.job(func(in *JobInput) {
			in.ScheduleType, in.ScheduleConf, in.Name = jobspec.ScheduleFixRate, "60", "renamed again"
		})
		if err := b.Jobs.Update(ctx, b.user, id, relabelled); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.JobDesc != "renamed again" || j.TriggerNextTime != next {
			t.Errorf("%s: the next time moved from %d to %d", j.JobDesc, next, j.TriggerNextTime)
		}
		// A pause holds it back, for a fire that was due before. Whether it goes on doing so is looked at where it may not.
		held := next - 30_000
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET paused_at = ?, paused_next = trigger_next_time WHERE id = ?", held, id); err != nil {
			t.Fatal(err)
		}
		relabelled.Name = "held"
		if err := b.Jobs.Update(ctx, b.user, id, relabelled); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.JobDesc != "held" || j.TriggerNextTime != next {
			t.Errorf("%s: the next time moved from %d to %d", j.JobDesc, next, j.TriggerNextTime)
		}
		relabelled.Tags = "nightly"
		told := b.engine.jobs
		if err := b.Jobs.Update(ctx, b.user, id, relabelled); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.TriggerNextTime != held || b.engine.jobs == told {
			t.Errorf("with a tag that pauses may name: next %d, want %d; the engine was told %d times", j.TriggerNextTime, held, b.engine.jobs-told)
		}
		ended := b.job(func(in *JobInput) { in.ScheduleConf = "0 0 2 * * ? 2025" })
		if err := b.Jobs.Update(ctx, b.user, id, ended); kind(err) != "422 cron:job.error.no_time" {
			t.Errorf("a schedule that is over: %s", kind(err))
		}
		none := b.job(func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleNone, "" })
		if err := b.Jobs.Update(ctx, b.user, id, none); kind(err) != "422 schedule_type:job.error.noschedule" {
			t.Errorf("a running job without a schedule: %s", kind(err))
		}
		if err := b.Jobs.Stop(ctx, b.user, id); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.TriggerStatus != 0 || j.TriggerNextTime != 0 {
			t.Errorf("stopped: %+v", j)
		}
		none.Glue, none.GlueSource = wire.GlueShell, "echo" // neither becomes of a job with a handler
		if err := b.Jobs.Update(ctx, b.user, id, none); err != nil {
			t.Error(err)
		}
		if now := b.read(t, id); now.GlueType != wire.GlueBean || now.GlueSource != j.GlueSource {
			t.Errorf("a job with a handler has become %s: %q", now.GlueType, now.GlueSource)
		}
		if err := b.Jobs.Start(ctx, b.user, id); kind(err) != "409 problem.job.noschedule" {
			t.Errorf("nothing to start: %s", kind(err))
		}
		if err := b.Jobs.Update(ctx, b.user, id, ended); err != nil {
			t.Error(err)
		}
		if err := b.Jobs.Start(ctx, b.user, id); kind(err) != "409 cron:job.error.no_time" {
			t.Errorf("a schedule that is over: %s", kind(err))
		}
		if b.engine.jobs == 0 {
			t.Error("the engine was not told")
		}
	})
}

func TestAnEditNeverUndoesAClaim(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, nil)
		if err := b.Jobs.Start(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		// The scheduler moves the next time between the edit's read and its write.
		next := b.read(t, id).TriggerNextTime
		done := make(chan error)
		go func() {
			var err error
			for i := range 50 {
				_, err = pool.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_next_time = ? WHERE id = ?", next+int64(i)+1, id)
				if err != nil {
					break
				}
			}
			done <- err
		}()
		for i := range 20 {
			err := b.Jobs.Update(ctx, b.admin, id, b.job(func(in *JobInput) { in.Name = "edit " + strconv.Itoa(i) }))
			if err != nil && kind(err) != "409 problem.changed" {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := b.read(t, id).TriggerNextTime; got != next+50 {
			t.Errorf("next time %d, the scheduler left %d", got, next+50)
		}
	})
}

func TestScriptsKeepTheirVersions(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		script := func(source string) func(*JobInput) {
			return func(in *JobInput) {
				in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", source, "remark"
			}
		}
		id := b.create(t, script("echo 0\r\n"))
		first := b.read(t, id)
		if first.GlueSource != "echo 0\n" {
			t.Errorf("stored %q", first.GlueSource)
		}
		for i := range keptVersions + 3 {
			if err := b.Jobs.Update(ctx, b.admin, id, b.job(script("echo "+strconv.Itoa(i)))); err != nil {
				t.Fatal(err)
			}
		}
		j := b.read(t, id)
		if !j.GlueUpdateTime.Time.After(first.GlueUpdateTime.Time) {
			t.Error("the executor could not tell the versions apart")
		}
		ids, err := db.New().ListGlueVersionIDs(ctx, pool, db.ListGlueVersionIDsParams{JobID: id, Limit: 100})
		if err != nil || len(ids) != keptVersions {
			t.Errorf("%d versions kept, %v", len(ids), err)
		}
		bean := b.job(func(in *JobInput) { in.GlueSource = "rm -rf /" })
		if err := b.Jobs.Update(ctx, b.admin, id, bean); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); j.GlueType != wire.GlueShell {
			t.Errorf("an edit changed the GLUE type to %s", j.GlueType)
		}
		off := New(Config{Pool: pool, Engine: b.engine, Settings: fixed(t, pool, SettingGlue, SettingOff)})
		if _, err := off.Jobs.Create(ctx, b.admin, b.job(script("x"))); kind(err) != "403 problem.scripts.off" {
			t.Errorf("scripts are off: %s", kind(err))
		}
		if err := off.Jobs.Update(ctx, b.admin, id, b.job(script("y"))); kind(err) != "403 problem.scripts.off" {
			t.Errorf("scripts are off: %s", kind(err))
		}
	})
}

func TestRunningByHand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Settings = fixed(t, pool, SettingAllow, "10.9.0.0/16, .lab.example, build:8080") })
		b.engine.live = []scheduler.AddressState{{Address: "10.0.0.9:7777", Live: true}}
		id := b.create(t, nil)
		param := ""
		tests := []struct {
			name, addresses string
			want            string
			sent            []string
		}{
			{"nothing typed", "", "ok", nil},
			{"the group's own, in any spelling", "HTTP://10.0.0.1:9999", "ok", []string{"http://10.0.0.1:9999/"}},
			{"a registered one, as it registered", "http://10.0.0.9:7777/", "ok", []string{"10.0.0.9:7777"}},
			{"one the rule allows", "10.9.1.2:80\nhttp://a.lab.example:1/,build:8080", "ok", []string{"http://10.9.1.2:80/", "http://a.lab.example:1/", "http://build:8080/"}},
			{"the cloud's metadata", "http://169.254.169.254/", "422 addresses:group.error.denied", nil},
			{"this machine", "127.0.0.1:22", "422 addresses:job.error.address_not_allowed", nil},
			{"one good, one bad", "10.0.0.1:9999,build:9090", "422 addresses:job.error.address_not_allowed", nil},
			{"no address", "javascript:alert(1)", "422 addresses:group.error.address", nil},
		}
		for _, tt := range tests {
			b.engine.triggered = nil
			_, err := b.Jobs.Trigger(t.Context(), b.user, id, RunInput{Param: &param, Addresses: tt.addresses, Type: jobspec.TriggerManual})
			if kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
			if tt.want != "ok" && len(b.engine.triggered) > 0 || tt.want == "ok" && len(b.engine.triggered) != 1 {
				t.Errorf("%s: the engine was asked %d times", tt.name, len(b.engine.triggered))
				continue
			}
			if tt.want == "ok" {
				if diff := cmp.Diff(tt.sent, b.engine.triggered[0].Addresses); diff != "" {
					t.Errorf("%s: %s", tt.name, diff)
				}
			}
		}
	})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		" 10.0.0.1:9999 ": "http://10.0.0.1:9999/", "http://A.b:1": "http://a.b:1/", "https://a/x//": "https://a/x/", "http://[::1]:9/": "http://[::1]:9/",
		"": "", "http://": "", "ftp://a:1": "", "http://a:0": "", "http://a:65536": "", "http://a:": "", "http://u@a:1": "", "http://a:1/?q": "",
		"http://a b:1": "", "http://0.0.0.0:1": "", "http://224.0.0.1:1": "", "http://a:1/#x": "", "nowhere": "", "http://somewhere": "http://somewhere/", "http://<b>:1/": "", strings.Repeat("a", 300): "",
	} {
		got, err := NormalAddress(typed)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", typed, got, err, want)
		}
	}
	for _, wrong := range []string{"http://a", "a b", "10.0.0.0/99", "a@b", "/"} {
		if _, err := netrule.Parse(wrong); err == nil {
			t.Errorf("%q is accepted as a rule", wrong)
		}
	}
	all, err := netrule.Parse(" *, ")
	if err != nil || !(Allow{all}).Permits("http://anything:1/") {
		t.Errorf("* permits not everything: %v", err)
	}
	if (Allow{}).Permits("http://a:1/") {
		t.Error("no rule permits something")
	}
}

func TestOnlyAllowedGroupsAreTouched(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx, u := t.Context(), b.user
		hidden := b.create(t, func(in *JobInput) { in.Group = b.closed })
		open := b.create(t, nil)
		run := dbtest.InsertRun(t, pool, b.closed, hidden, b.now, 200, 0, "")
		denied := map[string]error{
			"get":          second(b.Jobs.Get(ctx, u, hidden)),
			"start":        b.Jobs.Start(ctx, u, hidden),
			"stop":         b.Jobs.Stop(ctx, u, hidden),
			"delete":       b.Jobs.Delete(ctx, u, hidden),
			"update":       b.Jobs.Update(ctx, u, hidden, b.job(nil)),
			"trigger":      second(b.Jobs.Trigger(ctx, u, hidden, RunInput{Type: jobspec.TriggerManual})),
			"run":          second(b.Runs.Get(ctx, u, run)),
			"log":          second(b.Runs.ReadLog(ctx, u, run, 1)),
			"kill":         b.Runs.Kill(ctx, u, run),
			"group":        second(b.Groups.Get(ctx, u, b.closed)),
			"create group": second(b.Groups.Create(ctx, u, GroupInput{AppName: "mine", Title: "x"})),
			"edit group":   b.Groups.Update(ctx, u, b.group, GroupInput{AppName: "orders", Title: "x"}),
			"delete group": b.Groups.Delete(ctx, u, b.group),
		}
		for what, err := range denied {
			want := "403" // of what they see
			switch what {
			case "run", "log", "kill":
				want = "404 problem.run.gone"
			case "group":
				want = "404 problem.group.gone"
			case "get", "start", "stop", "delete", "update", "trigger":
				want = "404 problem.job.gone"
			}
			if kind(err) != want {
				t.Errorf("%s: %s, want %s", what, kind(err), want)
			}
		}
		move := b.job(func(in *JobInput) { in.Group = b.closed })
		if err := b.Jobs.Update(ctx, u, open, move); kind(err) != "422 group:job.error.group" {
			t.Errorf("moved into a group that is not theirs: %s", kind(err))
		}
		if len(b.engine.killed)+len(b.engine.triggered) > 0 {
			t.Error("something reached the engine")
		}
		jobs, err := b.Jobs.List(ctx, u, JobFilter{Status: AnyStatus, Limit: 10})
		if err != nil || jobs.Total != 1 || len(jobs.Jobs) != 1 || jobs.Jobs[0].ID != open {
			t.Errorf("jobs %+v, %v", jobs, err)
		}
		for _, f := range []RunFilter{{Limit: 10}, {Limit: 10, Group: b.closed}, {Limit: 10, Job: hidden}} {
			if list, err := b.Runs.List(ctx, u, f); err != nil || len(list.Runs) != 0 {
				t.Errorf("runs %+v, %v", list, err)
			}
		}
		groups, err := b.Groups.List(ctx, u)
		if err != nil || len(groups) != 1 {
			t.Errorf("groups %+v, %v", groups, err)
		}
		names, err := b.Jobs.Names(ctx, u, b.closed)
		if err != nil || len(names) != 0 {
			t.Errorf("names %+v, %v", names, err)
		}
		nobody := auth.NewPrincipal(3, "bob", auth.RoleUser, "")
		if list, err := b.Jobs.List(ctx, nobody, JobFilter{Status: AnyStatus, Limit: 10}); err != nil || len(list.Jobs) != 0 {
			t.Errorf("somebody without groups sees %+v, %v", list, err)
		}
	})
}

func TestRunsArePagedAndFiltered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		one, two := b.create(t, nil), b.create(t, func(in *JobInput) { in.Group = b.closed })
		var ids []int64
		for i := range 25 {
			job, group, handled := one, b.group, int64(200)
			if i%5 == 0 {
				job, group, handled = two, b.closed, 500
			}
			ids = append(ids, dbtest.InsertRun(t, pool, group, job, b.now.Add(time.Duration(i)*time.Hour), 200, handled, "note 100%_"+strconv.Itoa(i)))
		}
		pages := func(f RunFilter) (seen []int64) {
			f.Limit = 4
			for {
				list, err := b.Runs.List(ctx, b.admin, f)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list.Runs {
					seen = append(seen, r.ID)
				}
				if list.Older == 0 {
					return seen
				}
				f.Before = list.Older
			}
		}
		newest := slices.Clone(ids)
		slices.Reverse(newest)
		if diff := cmp.Diff(newest, pages(RunFilter{})); diff != "" {
			t.Errorf("all: %s", diff)
		}
		if got := pages(RunFilter{Job: two}); len(got) != 5 {
			t.Errorf("of one job: %v", got)
		}
		if got := pages(RunFilter{Group: b.group}); len(got) != 20 {
			t.Errorf("of one group: %v", got)
		}
		if got := pages(RunFilter{Result: Failed}); len(got) != 5 {
			t.Errorf("failed: %v", got)
		}
		if got := pages(RunFilter{Result: Open}); len(got) != 0 {
			t.Errorf("open: %v", got)
		}
		if got, want := pages(RunFilter{Since: b.now.Add(20 * time.Hour)}), newest[:5]; !slices.Equal(got, want) {
			t.Errorf("since: %v, want %v", got, want)
		}
		if got, want := pages(RunFilter{Until: b.now.Add(2 * time.Hour)}), newest[22:]; !slices.Equal(got, want) {
			t.Errorf("until: %v, want %v", got, want)
		}
		if got := pages(RunFilter{Since: b.now.AddDate(1, 0, 0)}); len(got) != 0 {
			t.Errorf("of next year: %v", got)
		}
		if got, want := pages(RunFilter{Text: "100%_7"}), []int64{ids[7]}; !slices.Equal(got, want) {
			t.Errorf("wildcards are text: %v, want %v", got, want)
		}
		if got := pages(RunFilter{Text: "100x"}); len(got) != 0 {
			t.Errorf("wildcards are text: %v", got)
		}
		if got := pages(RunFilter{Text: strconv.FormatInt(ids[3], 10), Result: Succeeded}); !slices.Contains(got, ids[3]) {
			t.Errorf("by id: %v", got)
		}
		up, err := b.Runs.List(ctx, b.admin, RunFilter{After: ids[10], Limit: 4})
		if err != nil || up.Newer != ids[14] || up.Older != ids[11] || up.Runs[0].ID != ids[14] || up.Runs[3].ID != ids[11] {
			t.Errorf("the page above: %+v, %v", up, err)
		}
		top, err := b.Runs.List(ctx, b.admin, RunFilter{After: ids[22], Limit: 4})
		if err != nil || top.Newer != 0 || top.Runs[0].ID != ids[24] || len(top.Runs) != 4 {
			t.Errorf("the topmost page: %+v, %v", top, err)
		}
		if list, err := b.Runs.List(ctx, b.admin, RunFilter{Before: ids[5], Limit: 4}); err != nil || list.Newer != ids[5]-1 {
			t.Errorf("there are newer ones: %+v, %v", list, err)
		}
		last, err := b.Jobs.Outcomes(ctx, b.admin, []int64{one, two})
		if err != nil || last[one][0].ID != ids[24] || last[two][0].ID != ids[20] {
			t.Errorf("last runs %+v, %v", last, err)
		}
	})
}

func TestDeletingAJobTakesItsRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		gone := b.create(t, nil)
		stays := b.create(t, func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(gone, 10) })
		ended := make([]db.NewRun, deleteRound) // with what waits, one more than go in a round
		for i := range ended {
			ended[i] = db.NewRun{JobGroup: b.group, JobID: gone, TriggerTime: pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}
		}
		if _, err := db.InsertRuns(t.Context(), pool, ended); err != nil {
			t.Fatal(err)
		}
		rows := make([]db.NewRun, 1200)
		for i := range rows {
			rows[i] = db.NewRun{JobGroup: b.group, JobID: gone, TriggerTime: pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), Type: jobspec.TriggerCron}
		}
		var last int64
		for part := range slices.Chunk(rows, db.MaxBatch) {
			first, err := db.InsertRuns(t.Context(), pool, part)
			if err != nil {
				t.Fatal(err)
			}
			last = first + int64(len(part)) - 1
		}
		kept := dbtest.InsertRun(t, pool, b.group, stays, b.now, 200, 200, "")
		if used, err := b.Jobs.UsedBy(t.Context(), b.user, b.read(t, gone)); err != nil || len(used.Parents.Jobs) != 1 || used.Parents.Jobs[0].ID != stays {
			t.Errorf("used by %+v, %v", used, err)
		}
		if err := b.Jobs.Delete(t.Context(), b.user, gone); err != nil {
			t.Fatal(err)
		}
		if wishes, err := db.New().ListKills(t.Context(), pool, db.ListKillsParams{Limit: 2000}); err != nil || len(wishes) != len(rows) || wishes[len(rows)-1].LogID != last {
			t.Errorf("%d runs are to be forgotten, %v; want %d up to run %d", len(wishes), err, len(rows), last)
		}
		if _, err := b.Jobs.Get(t.Context(), b.user, gone); kind(err) != "404 problem.job.gone" {
			t.Errorf("deleted: %s", kind(err))
		}
		list, err := b.Runs.List(t.Context(), b.admin, RunFilter{Limit: 10})
		if err != nil || len(list.Runs) != 1 || list.Runs[0].ID != kept {
			t.Errorf("runs left: %+v, %v", list.Runs, err)
		}
	})
}

func TestUpcomingTimes(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	times, err := b.Jobs.Upcoming(jobspec.Job{ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ? 2026"}, 3)
	if err != nil || len(times) != 3 || times[0].Format(time.RFC3339) != "2026-03-05T02:00:00+08:00" {
		t.Errorf("%v, %v", times, err)
	}
	if times, err = b.Jobs.Upcoming(jobspec.Job{ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ? 2020"}, 3); err != nil || len(times) != 0 {
		t.Errorf("%v, %v", times, err)
	}
	if _, err = b.Jobs.Upcoming(jobspec.Job{ScheduleType: jobspec.ScheduleCron, ScheduleConf: "x"}, 3); err == nil {
		t.Error("a text that is no cron has times")
	}
}

func second[T any](_ T, err error) error { return err }

// sweep finds the runs that are open, as the engine does.
func (b *bundle) sweep(t *testing.T) {
	t.Helper()
	rows, err := db.New().ListOpenRuns(t.Context(), b.pool, db.ListOpenRunsParams{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	b.engine.load.Open = nil
	for _, r := range rows {
		b.engine.load.Open = append(b.engine.load.Open, r.ID)
	}
}

func (e *engine) HandOut(context.Context, scheduler.Callback) error { return nil }
func (e *engine) Report(context.Context, scheduler.Report) error    { return nil }
func (e *engine) Of(context.Context, int64) (scheduler.Awaited, bool, error) {
	return scheduler.Awaited{}, false, nil
}
