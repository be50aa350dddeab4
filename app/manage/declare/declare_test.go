package declare

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// engine tells its test of changed jobs, if that wants to know.
type engine struct {
	manage.Engine
	changed func()
}

func (e *engine) JobsChanged() {
	if e.changed != nil {
		e.changed()
	}
}
func (*engine) StartWaiting(int64)                  {}
func (*engine) GroupsChanged(context.Context) error { return nil }
func (*engine) PausesChanged(context.Context) error { return nil }

type upkeep struct{ manage.Upkeep }

func (upkeep) DeleteRunsOfJob(context.Context, int64, int32) (int, error) { return 0, nil }

// bundle is the use case over a clean database with one group.
type bundle struct {
	*Service
	t       *testing.T
	manage  *manage.Service
	engine  *engine
	program auth.Principal
	person  auth.Principal
	group   int64
}

func setup(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	b := &bundle{t: t, engine: &engine{}, person: auth.NewPrincipal(1, "root", auth.RoleAdmin, "")}
	b.manage = manage.New(manage.Config{Pool: pool, Engine: b.engine, Upkeep: upkeep{}, Now: now})
	b.Service = New(Config{Pool: pool, Jobs: b.manage.Jobs, Now: now})
	id, err := b.manage.Groups.Create(t.Context(), b.person, manage.GroupInput{AppName: "orders", Title: "Orders", Manual: true, Addresses: "10.0.0.1:9999"})
	if err != nil {
		t.Fatal(err)
	}
	b.group = id
	b.program = auth.NewPrincipal(0, "program", auth.RoleUser, db.Text(strconv.FormatInt(id, 10)))
	return b
}

func job(name string, fields ...string) wire.DeclaredJob {
	j := wire.DeclaredJob{Name: name, Fields: map[string]string{"description": name, "author": "orders", "handler": name, "schedule": "CRON", "cron": "0 0 2 * * ?"}}
	for i := 0; i < len(fields); i += 2 {
		j.Fields[fields[i]] = fields[i+1]
	}
	return j
}

// declare says what became of each job, as "name outcome" or "name refused: key".
func (b *bundle) declare(removed string, jobs ...wire.DeclaredJob) []string {
	b.t.Helper()
	results, err := b.Declare(b.t.Context(), b.program, b.group, wire.Declaration{RegistryKey: "orders", Removed: removed, Jobs: jobs})
	if err != nil {
		b.t.Fatal(err)
	}
	var said []string
	for _, r := range results {
		text := r.Name + " " + r.Outcome
		if r.Err != nil {
			p := problem.From(r.Err)
			text += " " + p.Key
			for _, f := range p.Fields {
				text += " " + f.Name
			}
		}
		said = append(said, text)
	}
	return said
}

func (b *bundle) want(got []string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Error(diff)
	}
}

// all are the group's jobs by name.
func (b *bundle) all() map[string]db.Job {
	b.t.Helper()
	jobs, _, err := b.manage.Jobs.Whole(b.t.Context(), b.person, manage.JobFilter{Group: b.group, Status: manage.AnyStatus, Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	byName := make(map[string]db.Job)
	for _, j := range jobs {
		if _, twice := byName[j.JobDesc]; twice {
			b.t.Errorf("there are two jobs called %s", j.JobDesc)
		}
		byName[j.JobDesc] = j
	}
	return byName
}

func running(j db.Job) bool { return j.TriggerStatus == int64(jobspec.StatusRunning) }

func TestWhatAProgramSaysIsDoneOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		quiet := job("quiet")
		quiet.Stopped = true
		b.want(b.declare(wire.RemovedStop, job("pay"), quiet, job("hand", "schedule", "NONE", "cron", "")), "pay created", "quiet created", "hand created")
		jobs := b.all()
		if !running(jobs["pay"]) || running(jobs["quiet"]) || running(jobs["hand"]) || jobs["pay"].ScheduleConf != "0 0 2 * * ?" {
			t.Errorf("made %+v", jobs)
		}
		b.want(b.declare(wire.RemovedStop, job("pay"), quiet, job("hand", "schedule", "NONE", "cron", "")), "pay unchanged", "quiet unchanged", "hand unchanged")

		// What a person changes outlives a restart, and what the program does not decide outlives its news too.
		stored := jobs["pay"]
		spec := stored.Spec()
		spec.ScheduleConf, spec.Retries = "0 30 2 * * ?", 3
		if err := b.manage.Jobs.Update(t.Context(), b.person, stored.ID, manage.JobInput{Group: b.group, Job: spec}); err != nil {
			t.Fatal(err)
		}
		b.want(b.declare(wire.RemovedKeep, job("pay")), "pay unchanged", "hand removed", "quiet removed")
		if j := b.all()["pay"]; j.ScheduleConf != "0 30 2 * * ?" {
			t.Errorf("the same declaration undid a person's change: %s", j.ScheduleConf)
		}
		b.want(b.declare(wire.RemovedStop, job("pay", "cron", "0 0 4 * * ?")), "pay changed")
		if j := b.all()["pay"]; j.ScheduleConf != "0 0 4 * * ?" || j.ExecutorFailRetryCount != 3 {
			t.Errorf("a new declaration decides what it names: %s, %d retries", j.ScheduleConf, j.ExecutorFailRetryCount)
		}
		if err := b.manage.Jobs.Delete(t.Context(), b.person, stored.ID); err != nil {
			t.Fatal(err)
		}
		b.want(b.declare(wire.RemovedStop, job("pay")), "pay created")
	})
}

func TestAJobThatIsDeclaredNoMore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.declare(wire.RemovedStop, job("a"), job("b"), job("c"))
		b.want(b.declare(wire.RemovedStop, job("b"), job("c")), "b unchanged", "c unchanged", "a removed")
		if running(b.all()["a"]) {
			t.Error("its schedule goes on")
		}
		b.want(b.declare(wire.RemovedStop, job("b"), job("c")), "b unchanged", "c unchanged") // told once
		b.want(b.declare(wire.RemovedStop, job("a"), job("b"), job("c")), "a changed", "b unchanged", "c unchanged")
		if !running(b.all()["a"]) {
			t.Error("it does not go on when it is declared again")
		}
		b.want(b.declare(wire.RemovedKeep, job("a"), job("b")), "a unchanged", "b unchanged", "c removed")
		if j, there := b.all()["c"]; !there || !running(j) {
			t.Error("it does not stay as it was")
		}
		b.want(b.declare(wire.RemovedDelete, job("a")), "a unchanged", "b removed")
		if _, there := b.all()["b"]; there {
			t.Error("it is still there")
		}
		if _, ok, err := b.manage.Jobs.DeclaredBy(t.Context(), b.all()["a"].ID); !ok || err != nil {
			t.Errorf("nobody knows that a program brought a: %v", err)
		}
	})
}

// TestAJobThatIsDroppedHalfwayGoesOnWhenItIsDeclaredAgain: an admin that ends between stopping a job and noting that leaves it to the next
// declaration, which finds it stopped.
func TestAJobThatIsDroppedHalfwayGoesOnWhenItIsDeclaredAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.declare(wire.RemovedStop, job("a"))
		ctx, ends := context.WithCancel(t.Context())
		b.engine.changed = ends
		results, err := b.Declare(ctx, b.program, b.group, wire.Declaration{RegistryKey: "orders", Removed: wire.RemovedStop})
		if b.engine.changed = nil; err != nil || len(results) != 1 || results[0].Err == nil || running(b.all()["a"]) {
			t.Fatalf("not ended between the two: %+v, %v", results, err)
		}
		b.want(b.declare(wire.RemovedStop), "a removed")
		b.want(b.declare(wire.RemovedStop, job("a")), "a changed")
		if !running(b.all()["a"]) {
			t.Error("it does not go on")
		}
	})
}

// TestAProgramTakesNoJobOutOfItsFiles: two would decide what it is, or two jobs would do the same.
func TestAProgramTakesNoJobOutOfItsFiles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		id, err := b.manage.Jobs.Create(t.Context(), b.person, manage.JobInput{Group: b.group, Job: jobspec.Job{Name: "a", Author: "files", Handler: "byFiles", ScheduleType: jobspec.ScheduleNone}.WithDefaults()})
		if err != nil {
			t.Fatal(err)
		}
		keep := func(id int64) {
			t.Helper()
			if err := db.New().SaveFileJob(t.Context(), pool, db.SaveFileJobParams{JobID: id, Source: "git/jobs"}); err != nil {
				t.Fatal(err)
			}
		}
		keep(id)
		b.want(b.declare(wire.RemovedStop, job("a"), job("b")), "a refused declare.error.files", "b created")
		if jobs := b.all(); len(jobs) != 2 || jobs["a"].ExecutorHandler != "byFiles" {
			t.Errorf("the job that files keep is changed, or doubled: %+v", jobs)
		}
		b.want(b.declare(wire.RemovedStop, job("b", "description", "a")), "b refused declare.error.files") // by another name

		// Files have taken what the program had dropped; it does not come back.
		b.want(b.declare(wire.RemovedStop), "b removed")
		keep(b.all()["b"].ID)
		b.want(b.declare(wire.RemovedStop, job("b", "cron", "0 0 5 * * ?")), "b refused declare.error.files")
		if conf := b.all()["b"].ScheduleConf; conf != "0 0 2 * * ?" {
			t.Errorf("it was changed to %s", conf)
		}

		b.want(b.declare(wire.RemovedStop, job("A")), "A created") // as files tell names apart, whatever the database does
		if err := b.manage.Jobs.Release(t.Context(), b.person, id); err != nil {
			t.Fatal(err)
		}
		b.want(b.declare(wire.RemovedKeep, job("a")), "a created", "A removed")
	})
}

func TestDeclaredJobsStartOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		first := job("first")
		first.Next = []string{"then"}
		b.want(b.declare(wire.RemovedStop, first, job("then", "schedule", "NONE", "cron", "")), "first created", "then created")
		jobs := b.all()
		if got := jobs["first"].ChildJobIDs; string(got) != strconv.FormatInt(jobs["then"].ID, 10) {
			t.Errorf("its children are %q, want %d", got, jobs["then"].ID)
		}
		first.Next = []string{"nobody"}
		b.want(b.declare(wire.RemovedStop, first, job("then", "schedule", "NONE", "cron", "")), "first refused declare.error.next", "then unchanged")
		b.want(b.declare(wire.RemovedStop, job("first"), job("then", "schedule", "NONE", "cron", "")), "first changed", "then unchanged")
		if got := b.all()["first"].ChildJobIDs; got != "" {
			t.Errorf("it still starts %s, of which the program says nothing any more", got)
		}
	})
}

func TestWhatAProgramCannotSay(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.want(b.declare(wire.RemovedStop, job(""), job(strings.Repeat("字", maxName+1)), job("script", "kind", "GLUE_SHELL", "script", "rm -rf /"),
			job("typo", "retrys", "3"), job("many", "retries", "a lot"), job("cron", "cron", "every day"), job("good"), job("good"), job("good "), job("Good")),
			" refused declare.error.name", strings.Repeat("字", maxName+1)+" refused declare.error.name", "script refused  kind script", "typo refused  retrys", "many refused  retries",
			"cron refused  cron", "good created", "good refused declare.error.twice", "good  refused declare.error.name", "Good created")
		if jobs := b.all(); len(jobs) != 2 {
			t.Errorf("made %d jobs", len(jobs))
		}
		for name, d := range map[string]wire.Declaration{
			"declare.error.removed": {Jobs: []wire.DeclaredJob{job("x")}},
			"declare.error.many":    {Removed: wire.RemovedStop, Jobs: make([]wire.DeclaredJob, MaxJobs+1)},
		} {
			if _, err := b.Declare(t.Context(), b.program, b.group, d); err == nil || problem.From(err).Key != name {
				t.Errorf("%v, want %s", err, name)
			}
		}
		stranger := auth.NewPrincipal(0, "program", auth.RoleUser, "")
		results, err := b.Declare(t.Context(), stranger, b.group, wire.Declaration{Removed: wire.RemovedStop, Jobs: []wire.DeclaredJob{job("theirs")}})
		if err != nil || results[0].Err == nil || len(b.all()) != 2 {
			t.Errorf("a program without rights: %+v, %v", results, err)
		}
	})
}

// TestWhatSaysNothingIsNoted and left out: a program comes up all the same.
func TestWhatSaysNothingIsNoted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		said := func(fields ...string) []string {
			t.Helper()
			results, err := b.Declare(t.Context(), b.program, b.group, wire.Declaration{Removed: wire.RemovedStop, Jobs: []wire.DeclaredJob{job("a", fields...)}})
			if err != nil || results[0].Err != nil {
				t.Fatalf("%+v, %v", results, err)
			}
			return results[0].Unheeded
		}
		b.want(said("calendar_rule", "DAYS_OFF", "misfire_last", "5"), "calendar_rule", "misfire_last")
		b.want(said("calendar_rule", "DAYS_OFF", "misfire_last", "5")) // told once
		b.want(said("misfire", "FIRE_LAST", "misfire_last", "5", "misfire_within_seconds", "60"), "misfire_within_seconds")
		if j := b.all()["a"]; j.CalendarRule != "" || j.MisfireLast != 5 || j.MisfireWithin != 0 {
			t.Errorf("it was made with %q, %d and %d", j.CalendarRule, j.MisfireLast, j.MisfireWithin)
		}
	})
}

func TestTenReplicasMakeOneJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		var replicas sync.WaitGroup
		for range 10 {
			replicas.Go(func() {
				for range 3 {
					results, err := b.Declare(t.Context(), b.program, b.group, wire.Declaration{Removed: wire.RemovedStop, Jobs: []wire.DeclaredJob{job("a"), job("b")}})
					if err != nil {
						t.Error(err)
					}
					for _, r := range results {
						if r.Err != nil {
							t.Errorf("%s: %v", r.Name, r.Err)
						}
					}
				}
			})
		}
		replicas.Wait()
		if jobs := b.all(); len(jobs) != 2 || !running(jobs["a"]) || !running(jobs["b"]) {
			t.Errorf("there are %d jobs: %+v", len(jobs), jobs)
		}
	})
}

// TestAProgramCanSayEveryField that is not for people alone. A new field of a job needs a place in executor.Job.
func TestAProgramCanSayEveryField(t *testing.T) {
	t.Parallel()
	said := make(chan wire.Declaration, 1)
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if raw, _ := io.ReadAll(r.Body); strings.HasSuffix(r.URL.Path, "/declare") {
			var d wire.Declaration
			if err := json.Unmarshal(raw, &d); err != nil {
				t.Error(err)
			}
			said <- d
		}
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, []byte("[]")))
	}))
	t.Cleanup(admin.Close)
	ex, err := executor.New(executor.Config{AppName: "orders", Admins: []string{admin.URL}, Token: "x", DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	full := executor.Job{
		Name: "all", Param: `{"a":1}`, ParamFixed: true, Schedule: executor.Every(90 * time.Second), Zone: "Asia/Shanghai", NotBefore: at, NotAfter: at.AddDate(1, 0, 0), Calendar: "cn", CalendarRule: "DAYS_OFF",
		Misfire: "FIRE_LAST", MisfireLast: 5, Route: "ROUND", Block: "COVER_EARLY", Timeout: time.Minute, Retries: 2, Backoff: []time.Duration{time.Second, 90 * time.Second},
		MaxConcurrent: 4, Concurrency: "DISCARD", WarnAfter: time.Hour, ExpectSuccess: 24 * time.Hour, DoneBy: "6:00", WhenLost: "AGAIN", Priority: "HIGH", Runbook: "https://wiki.example.com/all", ParamForm: "a: {type: number}", KeepOutput: "ALL", RetentionDays: 9, AlarmEmails: []string{"a@example.com", "b@example.com"}, Tags: []string{"night", "eu"},
	}
	ex.Declare(full, executor.Job{Name: "cron", Schedule: executor.Cron("0 0 2 * * ?"), Misfire: "FIRE_WITHIN", MisfireWithin: time.Hour}, executor.Job{Name: "once", Schedule: executor.At(at.AddDate(10, 0, 0))}, executor.Job{Name: "hand"})
	if err := ex.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Stop(context.Background()) })
	d := <-said
	var names []string
	for _, j := range d.Jobs {
		names = slices.AppendSeq(names, maps.Keys(j.Fields))
	}
	slices.Sort(names)
	var want []string
	for _, f := range jobspec.Fields {
		if !slices.Contains(notDeclared, f.Name) {
			want = append(want, f.File)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(names)); diff != "" {
		t.Errorf("what a program can say: %s", diff)
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.want(b.declare(d.Removed, d.Jobs...), "all created", "cron created", "once created", "hand created")
		got := b.all()["all"].Spec()
		got.ID = 0
		if diff := cmp.Diff(jobspec.Job{
			Name: "all", Author: "orders", AlarmEmail: "a@example.com,b@example.com", ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "90", Misfire: jobspec.MisfireFireLast, MisfireLast: 5,
			Route: jobspec.RouteRound, Block: wire.BlockCoverEarly, Glue: wire.GlueBean, Handler: "all", Calendar: "cn", CalendarRule: jobspec.CalendarDaysOff, Param: `{"a":1}`, ParamFixed: true, TimeoutSeconds: 60, Retries: 2,
			Zone: "Asia/Shanghai", Start: at.UnixMilli(), End: at.AddDate(1, 0, 0).UnixMilli(), Backoff: "1s,1m30s", MaxConcurrent: 4, Concurrency: jobspec.ConcurrencyDiscard,
			RetentionDays: 9, WarnAfter: 3600, ExpectEvery: 86400, DoneBy: "06:00", WhenLost: jobspec.WhenLostAgain, Priority: jobspec.PriorityHigh, Runbook: "https://wiki.example.com/all", ParamForm: "a: {type: number}", KeepOutput: jobspec.KeepAll, Tags: "night,eu",
		}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMomentsOfAProgramAreInTheZoneOfTheJob also where the program leaves that to people.
func TestMomentsOfAProgramAreInTheZoneOfTheJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		b.want(b.declare(wire.RemovedStop, job("pay")), "pay created")
		stored := b.all()["pay"]
		spec := stored.Spec()
		spec.Zone = "America/New_York"
		if err := b.manage.Jobs.Update(t.Context(), b.person, stored.ID, manage.JobInput{Group: b.group, Job: spec}); err != nil {
			t.Fatal(err)
		}
		b.want(b.declare(wire.RemovedStop, job("pay", "not_before", "2026-12-31 23:00:00")), "pay changed")
		if got, want := time.UnixMilli(b.all()["pay"].StartAt).UTC(), time.Date(2027, 1, 1, 4, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("not before %v, want %v", got, want)
		}
	})
}
