package manage

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestRunsByOffset pages through more runs than are counted: whoever goes on while there are more reaches all of them, each
// once.
func TestRunsByOffset(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		const all = countedRuns + 30
		runs := make([]db.NewRun, all)
		for i := range runs {
			at := b.now.Add(time.Duration(i) * time.Second)
			runs[i] = db.NewRun{JobGroup: b.group, JobID: 7, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}
		}
		for chunk := range slices.Chunk(runs, db.MaxBatch) {
			if _, err := db.InsertRuns(t.Context(), pool, chunk); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name          string
			filter        RunFilter
			offset, limit int
			rows          int
			total         int64
		}{
			{"the first page says that there are more than are counted", RunFilter{}, 0, 10, 10, countedRuns + 1},
			{"the last page that is counted", RunFilter{}, countedRuns - 10, 10, 10, countedRuns + 1},
			{"a page across the line", RunFilter{}, countedRuns - 5, 10, 10, countedRuns + 6},
			{"a page with one more behind it", RunFilter{}, all - 11, 10, 10, all},
			{"the last page", RunFilter{}, all - 10, 10, 10, all},
			{"half a page", RunFilter{}, all - 4, 10, 4, all},
			{"beyond the end", RunFilter{}, all + 100, 10, 0, all},
			{"of one job", RunFilter{Job: 7}, all - 4, 10, 4, all},
			{"of a group", RunFilter{Group: b.group}, all - 4, 10, 4, all},
			{"of another group", RunFilter{Group: b.closed}, 0, 10, 0, 0},
			{"that run", RunFilter{Result: Open}, 0, 1, 1, countedRuns + 1},
			{"that failed", RunFilter{Result: Failed}, 0, 10, 0, 0},
			{"of the last minute", RunFilter{Since: b.now.Add((all - 60) * time.Second)}, 50, 20, 10, 60},
		} {
			tt.filter.Limit = tt.limit
			got, total, err := b.Runs.Window(t.Context(), b.admin, tt.filter, tt.offset)
			if err != nil || len(got) != tt.rows || total != tt.total {
				t.Errorf("%s: %d of %d runs (%v), want %d of %d", tt.name, len(got), total, err, tt.rows, tt.total)
			}
			for i := 1; i < len(got); i++ {
				if got[i].ID >= got[i-1].ID {
					t.Errorf("%s: run %d comes after %d", tt.name, got[i].ID, got[i-1].ID)
				}
			}
		}
		if _, _, err := b.Runs.Window(t.Context(), b.admin, RunFilter{Limit: 1}, maxRunOffset+1); problem.From(err).Key != "problem.runs.offset" {
			t.Errorf("too far: %v", err)
		}
		stranger := auth.NewPrincipal(9, "eve", auth.RoleUser, "")
		for _, p := range []auth.Principal{stranger, b.user} {
			want := 0
			if p.Name == b.user.Name {
				want = 1
			}
			if got, _, err := b.Runs.Window(t.Context(), p, RunFilter{Limit: 1}, 0); err != nil || len(got) != want {
				t.Errorf("%s sees %d runs, %v", p.Name, len(got), err)
			}
		}
	})
}

// TestWholeJobs come with their scripts, and not without bound.
func TestWholeJobs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		script := strings.Repeat("# a long script\n", 1<<10)
		for i := range 5 {
			source := "echo"
			if i > 0 {
				source = script
			}
			_, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: b.group, JobDesc: "script 1", ScheduleType: jobspec.ScheduleNone,
				MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst, GlueType: "GLUE_SHELL", GlueSource: db.Text(source)})
			if err != nil {
				t.Fatal(err)
			}
		}
		jobs, total, err := b.Jobs.Whole(t.Context(), b.user, JobFilter{Status: AnyStatus, Limit: 2, Offset: 3})
		if err != nil || len(jobs) != 2 || total != 5 || string(jobs[1].GlueSource) != "echo" || string(jobs[0].GlueSource) != script {
			t.Errorf("%d of %d jobs, %v", len(jobs), total, err)
		}
		size := 4*len(script) + len("echo")
		if _, _, err := b.Jobs.whole(t.Context(), b.user, JobFilter{Status: AnyStatus, Limit: 5}, size); err != nil {
			t.Errorf("just what may be: %v", err)
		}
		if _, _, err := b.Jobs.whole(t.Context(), b.user, JobFilter{Status: AnyStatus, Limit: 5}, size-1); problem.From(err).Key != "problem.list.large" {
			t.Errorf("too much: %v", err)
		}
		if jobs, total, err := b.Jobs.Whole(t.Context(), b.user, JobFilter{Status: AnyStatus, Text: "1", NoID: true, Limit: 1}); err != nil || total != 5 || len(jobs) != 1 {
			t.Errorf("by a number in the description: %d of %d, %v", len(jobs), total, err)
		}
		if _, total, err := b.Jobs.Whole(t.Context(), b.user, JobFilter{Group: b.closed, Status: AnyStatus, Limit: 5}); err != nil || total != 0 {
			t.Errorf("of another group: %d, %v", total, err)
		}
	})
}
