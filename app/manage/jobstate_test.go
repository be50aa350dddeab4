package manage

import (
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheEngineIsToldOfJobsThatChange, and of none that stays what it was because somebody is refused.
func TestTheEngineIsToldOfJobsThatChange(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, nil)
		byHand := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleNone, "" })
		reader := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightView)
		for _, tt := range []struct {
			what string
			do   func() error
			want string
		}{
			{"start what is run by hand alone", func() error { return b.Jobs.Start(ctx, b.user, byHand) }, "409 problem.job.noschedule"},
			{"start", func() error { return b.Jobs.Start(ctx, b.user, id) }, "ok"},
			{"stop, by who may not", func() error { return b.Jobs.Stop(ctx, reader, id) }, "403"},
			{"stop", func() error { return b.Jobs.Stop(ctx, b.user, id) }, "ok"},
			{"delete what somebody saw before", func() error { return b.Jobs.DeleteVersion(ctx, b.user, id, "another") }, "409 problem.changed"},
			{"delete", func() error { return b.Jobs.DeleteVersion(ctx, b.user, id, JobVersion(b.read(t, id))) }, "ok"},
		} {
			before := b.engine.jobs
			if got := kind(tt.do()); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
			}
			if told := b.engine.jobs > before; told != (tt.want == "ok") {
				t.Errorf("%s: the engine was told: %v", tt.what, told)
			}
		}
	})
}

// TestWhoComesSecondStartsNothing: of two who start a job at the same moment both succeed, and the log has it once, by whom it was; so with two
// who delete it.
func TestWhoComesSecondStartsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for range 30 {
			id := b.create(t, nil)
			b.both(t, ActionStart, func(p auth.Principal) error { return b.Jobs.Start(ctx, p, id) })
			b.both(t, ActionDelete, func(p auth.Principal) error { return b.Jobs.Delete(ctx, p, id) })
			var log []string
			for _, line := range b.story(t, AuditFilter{Kind: ObjectJob, ID: id}) {
				log = append(log, strings.Fields(line)[1])
			}
			if got := strings.Join(log, " "); got != "create start delete" {
				t.Fatalf("the log has: %s", got)
			}
		}
	})
}

// both has two people do something at once. What is gone already is gone.
func (b *bundle) both(t *testing.T, what Action, do func(p auth.Principal) error) {
	t.Helper()
	var both sync.WaitGroup
	for _, p := range []auth.Principal{b.user, b.admin} {
		both.Go(func() {
			if got := kind(do(p)); got != "ok" && (what != ActionDelete || got != "404 problem.job.gone") {
				t.Errorf("%s: %s", what, got)
			}
		})
	}
	both.Wait()
}
