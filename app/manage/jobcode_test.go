package manage

import (
	"context"
	"database/sql"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func (b *bundle) declare(t *testing.T, group int64, handler string) {
	t.Helper()
	if err := b.Jobs.queries.InsertCodeHandler(t.Context(), b.pool, db.InsertCodeHandlerParams{GroupID: group, Handler: handler}); err != nil {
		t.Fatal(err)
	}
}

// saidKey is the key of a refusal: its own, or that of its first field.
func saidKey(err error) string {
	if err == nil {
		return ""
	}
	p := problem.From(err)
	if len(p.Fields) > 0 {
		return p.Fields[0].Key
	}
	return p.Key
}

func TestOnlyWhoMayWriteScriptsTouchesAParameterThatIsCode(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		b.declare(t, b.group, "runIt")
		editor := auth.NewPrincipal(3, "ed", auth.RoleUser, "").Grant(b.group, auth.RightRun|auth.RightEdit).Grant(b.closed, auth.RightRun|auth.RightEdit)
		const refused = "problem.code.right"
		want := func(what string, err error, key string) {
			t.Helper()
			if got := saidKey(err); got != key {
				t.Errorf("%s: %q (%v), want %q", what, got, err, key)
			}
		}
		for _, handler := range []string{"commandJobHandler", "openClawJobHandler", "runIt"} {
			handled := func(in *JobInput) { in.Handler, in.Param = handler, "date" }
			_, err := b.Jobs.Create(ctx, editor, b.job(handled))
			want("an editor creates one of "+handler, err, refused)
			id := b.create(t, handled)

			in := inputOf(b.read(t, id))
			in.Param = "rm -r /"
			want("changes the parameter", b.Jobs.Update(ctx, editor, id, in), refused)
			in = inputOf(b.read(t, id))
			in.Name = "renamed"
			want("changes another part", b.Jobs.Update(ctx, editor, id, in), refused)
			in = inputOf(b.read(t, id))
			in.Handler = "closeDay"
			want("takes the handler away", b.Jobs.Update(ctx, editor, id, in), refused)
			plain := b.create(t, nil)
			in = inputOf(b.read(t, plain))
			in.Handler = handler
			want("makes another job one", b.Jobs.Update(ctx, editor, plain, in), refused)
			items, err := b.Jobs.Bulk(ctx, editor, Bulk{Do: BulkTag, IDs: []int64{id}, Add: []string{"x"}})
			if err != nil || len(items) != 1 {
				t.Fatalf("bulk: %v, %v", items, err)
			}
			want("tags it with others", items[0].Err, refused)
			items, _ = b.Jobs.Bulk(ctx, editor, Bulk{Do: BulkTag, IDs: []int64{id}, Was: map[int64]string{id: "y"}})
			want("takes something back", items[0].Err, refused)

			other := "reboot"
			_, err = b.Jobs.Trigger(ctx, editor, id, RunInput{Param: &other, Type: jobspec.TriggerManual})
			want("runs it with another parameter", err, "job.error.param_code")
			same := "date"
			_, err = b.Jobs.Trigger(ctx, editor, id, RunInput{Param: &same, Type: jobspec.TriggerManual})
			want("runs it with its own", err, "")
			b.engine.triggered = nil
			_, err = b.Jobs.Trigger(ctx, editor, id, RunInput{NoParam: true, Type: jobspec.TriggerAPI})
			want("runs it with none", err, "")
			if r := b.engine.triggered; len(r) != 1 || r[0].Param != nil {
				t.Errorf("without a parameter it runs with %v, want its own", r)
			}
			_, err = b.Jobs.Trigger(ctx, b.user, id, RunInput{Param: &other, Type: jobspec.TriggerManual})
			want("who may write scripts runs it with another", err, "")
			want("who may write scripts changes it", func() error {
				in := inputOf(b.read(t, id))
				in.Param = "uptime"
				return b.Jobs.Update(ctx, b.user, id, in)
			}(), "")
		}

		// What is code in one group may be a word in another, until the job moves there.
		id, err := b.Jobs.Create(ctx, editor, b.job(func(in *JobInput) { in.Group, in.Handler = b.closed, "runIt" }))
		want("where nobody declares the handler", err, "")
		items, _ := b.Jobs.Bulk(ctx, editor, Bulk{Do: BulkMove, IDs: []int64{id}, Group: b.group})
		want("moves it to where it is code", items[0].Err, refused)
	})
}

func TestWithScriptsOffAParameterThatIsCodeStaysAsItIs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		on := setup(t, pool, nil)
		id := on.create(t, func(in *JobInput) { in.Handler, in.Param = "commandJobHandler", "date" })
		b := &bundle{pool: pool, engine: on.engine, now: on.now, admin: on.admin, group: on.group}
		b.Service = New(Config{Pool: pool, Engine: on.engine, Settings: fixed(t, pool, SettingGlue, SettingOff)})
		in := inputOf(b.read(t, id))
		in.Param = "reboot"
		if got := saidKey(b.Jobs.Update(t.Context(), b.admin, id, in)); got != "problem.scripts.off" {
			t.Errorf("another parameter: %q", got)
		}
		in = inputOf(b.read(t, id))
		in.Name = "renamed"
		if err := b.Jobs.Update(t.Context(), b.admin, id, in); err != nil {
			t.Errorf("another name: %v", err)
		}
		other := "reboot"
		_, err := b.Jobs.Trigger(t.Context(), b.admin, id, RunInput{Param: &other, Type: jobspec.TriggerManual})
		if got := saidKey(err); got != "problem.scripts.off" {
			t.Errorf("a run with another parameter: %q", got)
		}
		_, err = b.Jobs.Create(t.Context(), b.admin, b.job(func(in *JobInput) { in.Handler = "commandJobHandler" }))
		if got := saidKey(err); got != "problem.scripts.off" {
			t.Errorf("a new one: %q", got)
		}
	})
}

func TestAFixedParameterIsTheOnlyOneOfARunByHand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id := b.create(t, func(in *JobInput) { in.Param, in.ParamFixed = "a=1", true })
		if j := b.read(t, id); j.ParamFixed != 1 {
			t.Fatalf("stored as %d", j.ParamFixed)
		}
		for param, key := range map[string]string{"a=1": "", "a=2": "job.error.param_fixed", "": "job.error.param_fixed"} {
			for _, p := range []auth.Principal{b.admin, b.user} {
				_, err := b.Jobs.Trigger(t.Context(), p, id, RunInput{Param: &param, Type: jobspec.TriggerManual})
				if got := saidKey(err); got != key {
					t.Errorf("%s runs it with %q: %q, want %q", p.Name, param, got, key)
				}
			}
		}
		in := inputOf(b.read(t, id)) // as every change that is not about it
		in.Tags = "night"
		if err := b.Jobs.Update(t.Context(), b.user, id, in); err != nil || b.read(t, id).ParamFixed != 1 {
			t.Errorf("after another change: %v, %d", err, b.read(t, id).ParamFixed)
		}
		in = inputOf(b.read(t, id))
		in.KeepOptions, in.FixParam = true, new(bool)
		if err := b.Jobs.Update(t.Context(), b.user, id, in); err != nil || b.read(t, id).ParamFixed != 0 {
			t.Errorf("taken away by a program: %v, %d", err, b.read(t, id).ParamFixed)
		}
		if snapshot := jobSnapshot(b.read(t, id)); snapshot["param_fixed"] != false {
			t.Errorf("the audit log says %v", snapshot["param_fixed"])
		}
	})
}

func TestAScriptsParameterIsNoCode(t *testing.T) {
	t.Parallel()
	c := CodeHandlers{1: {"runIt"}}
	if c.is(1, wire.GlueShell, "commandJobHandler") || !c.is(1, wire.GlueBean, "runIt") || c.is(2, wire.GlueBean, "runIt") {
		t.Error("a script's handler counts, or a group's own does not, or does elsewhere")
	}
	if !c.stored(db.Job{JobGroup: 1, GlueType: wire.GlueBean, ExecutorHandler: "runIt"}) {
		t.Error("a stored job's handler does not count")
	}
}

// asking counts the questions to a database.
type asking struct {
	db.DBTX
	n int
}

func (a *asking) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	a.n++
	return a.DBTX.QueryContext(ctx, query, args...)
}

func (a *asking) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	a.n++
	return a.DBTX.QueryRowContext(ctx, query, args...)
}

// TestWhatIsAroundJobsIsReadOnce for all of a file, and for each job that is saved by itself.
func TestWhatIsAroundJobsIsReadOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.declare(t, b.group, "runIt")
		for name, tt := range map[string]struct {
			jobs *Jobs
			want int
		}{"by themselves": {b.Jobs, 6}, "of a file": {b.Jobs.Of("team", nil), 2}} {
			asked := &asking{DBTX: pool}
			for range 3 {
				code, err := tt.jobs.codeHandlers(t.Context(), asked)
				if err != nil || !code.is(b.group, wire.GlueBean, "runIt") {
					t.Errorf("%s: %v, %v", name, code, err)
				}
				if g, err := tt.jobs.groupOf(t.Context(), asked, b.group); err != nil || g.ID != b.group {
					t.Errorf("%s: %+v, %v", name, g, err)
				}
			}
			if asked.n != tt.want {
				t.Errorf("%s: %d questions, want %d", name, asked.n, tt.want)
			}
			if g, err := tt.jobs.groupOf(t.Context(), asked, 999); err != nil || g.ID != 0 {
				t.Errorf("%s: a group that is not there: %+v, %v", name, g, err)
			}
		}
	})
}
