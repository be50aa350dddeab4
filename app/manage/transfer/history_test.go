package transfer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func (b *bundle) history(t *testing.T, job int64) []db.ScheduleCause {
	t.Helper()
	rows, err := db.New().ListSchedules(t.Context(), b.pool, db.ListSchedulesParams{JobIds: []int64{job}, FromMs: -1})
	if err != nil {
		t.Fatal(err)
	}
	causes := make([]db.ScheduleCause, len(rows))
	for i, r := range rows {
		causes[i] = r.Cause
	}
	return causes
}

func TestEveryUseCaseWritesTheHistoryOfSchedules(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		ctx := t.Context()
		id := b.create(t, nil)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		bulk := func(deed manage.Bulk) []manage.BulkItem {
			t.Helper()
			deed.IDs = []int64{id}
			items, err := b.Jobs.Bulk(ctx, b.admin, deed)
			must(err)
			if !items[0].Changes {
				t.Errorf("%s: %v", deed.Do, items[0].Err)
			}
			return items
		}
		must(b.Jobs.Start(ctx, b.admin, id))
		must(b.Jobs.Update(ctx, b.admin, id, b.job(func(in *manage.JobInput) { in.ScheduleConf = "0 0 3 * * ?" })))
		must(b.Jobs.Stop(ctx, b.admin, id))
		must(b.Jobs.Stop(ctx, b.admin, id)) // changes nothing
		done := bulk(manage.Bulk{Do: manage.BulkStart})
		undo, _ := manage.Bulk{Do: manage.BulkStart}.Undo(done)
		bulk(undo)
		bulk(manage.Bulk{Do: manage.BulkMove, Group: b.closed})
		export, err := b.files.Export(ctx, b.admin, manage.JobFilter{Status: manage.AnyStatus}, nil)
		must(err)
		raw, err := jobfile.Write(export.File, jobfile.YAML)
		must(err)
		file, err := jobfile.Parse([]byte(strings.ReplaceAll(string(raw), "0 0 3 * * ?", "0 0 4 * * ?")))
		must(err)
		plan, err := b.files.Plan(ctx, b.admin, file, Options{ByID: true})
		must(err)
		_, err = b.files.Import(ctx, b.admin, file, Options{ByID: true}, plan.Digest)
		must(err)
		bulk(manage.Bulk{Do: manage.BulkDelete})
		want := []db.ScheduleCause{"created", "started", "edited", "stopped", "started", "stopped", "edited", "edited", "deleted"}
		if got := b.history(t, id); !slices.Equal(got, want) {
			t.Errorf("history (-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}
