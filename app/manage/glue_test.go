package manage

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func shellJob(in *JobInput) {
	in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo 0", "first version"
}

func TestScriptsAreSavedAsVersions(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, shellJob)
		tests := []struct {
			name string
			in   GlueInput
			want string
		}{
			{"no text", GlueInput{Source: " \n", Remark: "a remark"}, "422 source:job.error.required"},
			{"a remark of three characters", GlueInput{Source: "echo 1", Remark: " abc "}, "422 remark:glue.error.remark"},
			{"a remark of 101 characters", GlueInput{Source: "echo 1", Remark: strings.Repeat("长", 101)}, "422 remark:glue.error.remark"},
			{"an editor that was opened on another text", GlueInput{Source: "echo 1", Remark: "a remark", Version: "old"}, "409 problem.changed"},
			{"the same text", GlueInput{Source: "echo 0", Remark: "a remark"}, "409 problem.glue.same"},
			{"a good one", GlueInput{Source: "echo 1", Remark: "改为一", Version: GlueVersion(b.read(t, id))}, "422 remark:glue.error.remark"},
			{"a remark of four Chinese characters", GlueInput{Source: "echo 1", Remark: "改为一了", Version: GlueVersion(b.read(t, id))}, "ok"},
		}
		for _, tt := range tests {
			if got := kind(b.Jobs.SaveGlue(ctx, b.user, id, tt.in)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		j := b.read(t, id)
		if string(j.GlueSource) != "echo 1" || string(j.GlueRemark) != "改为一了" || !j.GlueUpdateTime.Time.After(pool.Wall(b.now)) {
			t.Errorf("stored %q, %q, %s: the second version in one second is later by one", j.GlueSource, j.GlueRemark, j.GlueUpdateTime.Time)
		}
		if b.engine.jobs == 0 {
			t.Error("the engine was not told")
		}
		for i := range 40 {
			if err := b.Jobs.SaveGlue(ctx, b.user, id, GlueInput{Source: "echo more " + strconv.Itoa(i), Remark: "one more"}); err != nil {
				t.Fatal(err)
			}
		}
		versions, err := b.Jobs.GlueVersions(ctx, b.user, id)
		if err != nil || len(versions) != keptVersions || versions[0].ID <= versions[1].ID {
			t.Fatalf("%d versions, %v", len(versions), err)
		}
		oldest := versions[len(versions)-1].ID
		v, err := b.Jobs.GlueVersion(ctx, b.user, id, oldest)
		if err != nil || string(v.GlueSource) != "echo more 10" {
			t.Errorf("the oldest: %q, %v", v.GlueSource, err)
		}
		if err := b.Jobs.RestoreGlue(ctx, b.user, id, oldest); err != nil {
			t.Fatal(err)
		}
		if j = b.read(t, id); string(j.GlueSource) != "echo more 10" {
			t.Errorf("restored %q", j.GlueSource)
		}
		if versions, _ = b.Jobs.GlueVersions(ctx, b.user, id); len(versions) != keptVersions || versions[0].GlueRemark != "one more" {
			t.Errorf("%d versions after restoring", len(versions))
		}
		if got := kind(b.Jobs.RestoreGlue(ctx, b.user, id, 1)); got != "404 problem.glue.gone" {
			t.Errorf("a version that is gone: %s", got)
		}
		other := b.create(t, shellJob)
		if _, err := b.Jobs.GlueVersion(ctx, b.user, other, versions[0].ID); kind(err) != "404 problem.glue.gone" {
			t.Errorf("another job's version: %s", kind(err))
		}
	})
}

func TestWhoseScriptsAreOpen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		mine := b.create(t, shellJob)
		secret := b.create(t, func(in *JobInput) { shellJob(in); in.Group = b.closed })
		bean := b.create(t, nil)
		writer := b.user.Grant(b.closed, auth.RightEdit|auth.RightRun)
		if _, err := b.Jobs.Script(ctx, writer, secret); kind(err) != "403 problem.scripts.right" {
			t.Errorf("without the right to write scripts: %s", kind(err))
		}
		off := New(Config{Pool: pool, Engine: b.engine, Settings: fixed(t, pool, SettingGlue, SettingOff), Now: func() time.Time { return b.now }})
		for _, tt := range []struct {
			name string
			jobs *Jobs
			id   int64
			want string
		}{
			{"one's own", b.Jobs, mine, "ok"},
			{"another group's", b.Jobs, secret, "404 problem.job.gone"},
			{"a handler's", b.Jobs, bean, "409 problem.glue.bean"},
			{"one that is gone", b.Jobs, 999, "404 problem.job.gone"},
			{"scripts are off", off.Jobs, mine, "403 problem.scripts.off"},
		} {
			in := GlueInput{Source: "echo " + tt.name, Remark: "a remark"}
			for step, err := range map[string]error{
				"open": second(tt.jobs.Script(ctx, b.user, tt.id)), "list": second(tt.jobs.GlueVersions(ctx, b.user, tt.id)), "save": tt.jobs.SaveGlue(ctx, b.user, tt.id, in),
			} {
				if got := kind(err); got != tt.want {
					t.Errorf("%s, %s: %s, want %s", tt.name, step, got, tt.want)
				}
			}
			if tt.want == "ok" {
				continue
			}
			for step, err := range map[string]error{"read": second(tt.jobs.GlueVersion(ctx, b.user, tt.id, 1)), "restore": tt.jobs.RestoreGlue(ctx, b.user, tt.id, 1)} {
				if got := kind(err); got != tt.want {
					t.Errorf("%s, %s: %s, want %s", tt.name, step, got, tt.want)
				}
			}
		}
		for _, tt := range []struct {
			name  string
			jobs  *Jobs
			p     auth.Principal
			kind  wire.Glue
			group int64
			want  bool
		}{
			{"a script", b.Jobs, b.user, wire.GlueShell, b.group, true},
			{"a script of a group that is closed to them", b.Jobs, b.user, wire.GlueShell, b.closed, false},
			{"a script without the right to write scripts", b.Jobs, writer, wire.GlueShell, b.closed, false},
			{"a script where scripts are off", off.Jobs, b.admin, wire.GlueShell, b.group, false},
			{"a handler's job, which has no script", b.Jobs, b.admin, wire.GlueBean, b.group, false},
			{"a flow", b.Jobs, writer, jobspec.GlueFlow, b.closed, true},
			{"a flow where scripts are off", off.Jobs, b.user, jobspec.GlueFlow, b.group, true},
			{"a flow of a group that is closed to them", b.Jobs, b.user, jobspec.GlueFlow, b.closed, false},
		} {
			if got := tt.jobs.CanScript(tt.p, tt.kind, tt.group); got != tt.want {
				t.Errorf("the editor of %s is offered: %v", tt.name, got)
			}
		}
	})
}
