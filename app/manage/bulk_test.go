package manage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// toldOf writes what became of each job in a line.
func toldOf(items []BulkItem) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, fmt.Sprintf("%d %v %s", item.ID, item.Changes, kind(item.Err)))
	}
	return lines
}

func TestManyJobsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		one := b.create(t, func(in *JobInput) { in.Tags = "night,money" })
		byHand := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleNone, "" })
		over := b.create(t, func(in *JobInput) { in.ScheduleConf = "0 0 2 * * ? 2020" })
		script := b.create(t, shellJob)
		secret := b.create(t, func(in *JobInput) { in.Group = b.closed })
		ids := []int64{one, byHand, over, script, secret, 999, one}
		do := func(deed Bulk, want ...string) []BulkItem {
			t.Helper()
			items, err := b.Jobs.Bulk(ctx, b.user, deed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				want[i] = strconv.FormatInt(append(ids[:4:4], secret, 999)[i], 10) + " " + want[i]
			}
			if diff := cmp.Diff(want, toldOf(items)); diff != "" {
				t.Errorf("%s: %s", deed.Do, diff)
			}
			return items
		}
		undo := func(deed Bulk, items []BulkItem, want int) {
			t.Helper()
			back, ok := deed.Undo(items)
			if !ok || len(back.IDs) != want {
				t.Fatalf("undo of %s: %+v, %v", deed.Do, back, ok)
			}
			items, err := b.Jobs.Bulk(ctx, b.user, back)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				if !item.Changes || item.Err != nil {
					t.Errorf("undo of %s: %+v", deed.Do, item)
				}
			}
		}
		start := Bulk{Do: BulkStart, IDs: ids}
		preview, err := b.Jobs.Preview(ctx, b.user, start)
		if err != nil || len(preview) != 6 || !preview[0].Changes || b.read(t, one).TriggerStatus != 0 {
			t.Fatalf("preview %+v, %v", preview, err)
		}
		if preview[4].Name != "" {
			t.Error("the preview names a job of another group")
		}
		started := do(start, "true ok", "false 409 problem.job.noschedule", "false 409 cron:job.error.no_time", "true ok", "false 404 problem.job.gone", "false 404 problem.job.gone")
		do(start, "false ok", "false 409 problem.job.noschedule", "false 409 cron:job.error.no_time", "false ok", "false 404 problem.job.gone", "false 404 problem.job.gone")
		undo(start, started, 2)
		if b.read(t, one).TriggerStatus != 0 {
			t.Error("undone, but it runs")
		}
		do(Bulk{Do: BulkStop, IDs: ids}, "false ok", "false ok", "false ok", "false ok", "false 404 problem.job.gone", "false 404 problem.job.gone")

		tag := Bulk{Do: BulkTag, IDs: ids, Add: []string{"eu", "money"}, Drop: []string{"night"}}
		// A schedule that has ended cannot be saved again as it is; the others are.
		tagged, err := b.Jobs.Bulk(ctx, b.user, tag)
		if err != nil || b.read(t, one).Tags != "money,eu" || b.read(t, script).Tags != "eu,money" || b.read(t, secret).Tags != "" {
			t.Errorf("tags %q, %q, %v", b.read(t, one).Tags, b.read(t, script).Tags, err)
		}
		changed := 0
		for _, item := range tagged {
			if item.Changes {
				changed++
			}
		}
		undo(tag, tagged, changed)
		if got := b.read(t, one).Tags; got != "night,money" {
			t.Errorf("tags after the undo: %q", got)
		}

		for _, deed := range []Bulk{tag, {Do: BulkEdit, IDs: ids, Field: jobspec.FieldTimeout, To: "77"}, {Do: BulkSpread, IDs: ids, Window: time.Hour}} {
			done, err := b.Jobs.Bulk(ctx, b.user, deed)
			if err != nil {
				t.Fatal(err)
			}
			in := inputOf(b.read(t, one)) // somebody goes on with one of them
			in.Tags, in.TimeoutSeconds, in.ScheduleConf, in.Version = in.Tags+",mine", 5, "30 0 3 * * ?", ""
			if err := b.Jobs.Update(ctx, b.admin, one, in); err != nil {
				t.Fatal(err)
			}
			back, ok := deed.Undo(done)
			if !ok {
				t.Fatalf("%s cannot be undone: %v", deed.Do, toldOf(done))
			}
			items, err := b.Jobs.Bulk(ctx, b.user, back)
			if err != nil || items[0].ID != one || kind(items[0].Err) != "409 problem.bulk.since" || len(items) > 1 && items[1].Err != nil {
				t.Errorf("undo of %s where somebody has gone on: %v, %v", deed.Do, toldOf(items), err)
			}
			in.Tags = "night,money"
			if err := b.Jobs.Update(ctx, b.admin, one, in); err != nil {
				t.Fatal(err)
			}
		}

		move := Bulk{Do: BulkMove, IDs: []int64{one}, Group: b.closed}
		if items, err := b.Jobs.Bulk(ctx, b.user, move); err != nil || kind(items[0].Err) != "403" {
			t.Errorf("to another's group: %+v, %v", items, err)
		}
		b.user = b.user.Grant(b.closed, auth.RightEdit)
		move.IDs = []int64{one, script}
		moved, err := b.Jobs.Bulk(ctx, b.user, move)
		if err != nil || !moved[0].Changes || kind(moved[1].Err) != "403 problem.scripts.right" || b.read(t, one).JobGroup != b.closed {
			t.Errorf("moved %v, %v: a script needs the right to write scripts there", toldOf(moved), err)
		}
		undo(move, moved, 1)
		if b.read(t, one).JobGroup != b.group {
			t.Error("undone, but moved")
		}
		gone := Bulk{Do: BulkDelete, IDs: []int64{one, script}}
		deleted, err := b.Jobs.Bulk(ctx, b.user, gone)
		if _, ok := gone.Undo(deleted); ok || err != nil || !deleted[0].Changes || !deleted[1].Changes {
			t.Errorf("deleted %v, undo %v, %v", toldOf(deleted), ok, err)
		}
		for _, bad := range []Bulk{{Do: "burn", IDs: ids}, {Do: BulkStart}, {Do: BulkStart, IDs: make([]int64, MaxBulk+1)}} {
			if _, err := b.Jobs.Bulk(ctx, b.admin, bad); err == nil {
				t.Errorf("%s of %d jobs was done", bad.Do, len(bad.IDs))
			}
		}
	})
}

// editing changes a job when the runs of another are deleted: what somebody else does while a deed is under way.
type editing struct {
	*engine
	edit func()
}

func (e *editing) DeleteRunsOfJob(context.Context, int64, int32) (int, error) {
	e.edit()
	return 0, nil
}

// TestADeedLeavesWhatIsChangedWhileItIsDone: deleting many jobs takes a while, and one that somebody has another use for by then stays.
func TestADeedLeavesWhatIsChangedWhileItIsDone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		meanwhile := &editing{engine: &engine{pool: pool}}
		b := setup(t, pool, func(c *Config) { c.Upkeep = meanwhile })
		ctx := t.Context()
		first, second := b.create(t, nil), b.create(t, nil)
		meanwhile.edit = func() {
			if err := b.Jobs.Update(ctx, b.admin, second, b.job(func(in *JobInput) { in.Param = "of use" })); err != nil {
				t.Error(kind(err))
			}
		}
		items, err := b.Jobs.Bulk(ctx, b.user, Bulk{Do: BulkDelete, IDs: []int64{first, second}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("%d true ok", first), fmt.Sprintf("%d false 409 problem.changed", second)}
		if diff := cmp.Diff(want, toldOf(items)); diff != "" {
			t.Error(diff)
		}
		if j := b.read(t, second); j.ExecutorParam != "of use" {
			t.Errorf("what was changed meanwhile is %+v", j)
		}
	})
}

// TestAPreviewSaysWhatADeedWouldMean for each job, which the deed itself would be refused for, or would not change.
func TestAPreviewSaysWhatADeedWouldMean(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		job := b.create(t, func(in *JobInput) { in.Tags = "night" })
		byHand := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleNone, "" })
		kept := b.create(t, nil)
		if err := db.New().SaveFileJob(ctx, pool, db.SaveFileJobParams{JobID: kept, Source: "git/jobs"}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Settings.Save(ctx, b.admin, map[string]string{SettingFilesHold: SettingOn}, ""); err != nil {
			t.Fatal(err)
		}
		reader := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightView)
		for _, tt := range []struct {
			who  auth.Principal
			deed Bulk
			want []string // of the three jobs
		}{
			{b.user, Bulk{Do: BulkStart}, []string{"true ok", "false 409 problem.job.noschedule", "true ok"}},
			{reader, Bulk{Do: BulkStart}, []string{"false 403", "false 403", "false 403"}},
			{b.user, Bulk{Do: BulkStop}, []string{"false ok", "false ok", "false ok"}},
			{b.user, Bulk{Do: BulkPause}, []string{"false 409 problem.bulk.stopped", "false 409 problem.bulk.stopped", "false 409 problem.bulk.stopped"}},
			{b.user, Bulk{Do: BulkResume}, []string{"false ok", "false ok", "false ok"}},
			{b.user, Bulk{Do: BulkTag, Add: []string{"night"}}, []string{"false ok", "true ok", "false 409 problem.job.held"}},
			{b.user, Bulk{Do: BulkEdit, Field: jobspec.FieldTimeout, To: " 5 "}, []string{"true ok", "true ok", "false 409 problem.job.held"}},
			{b.user, Bulk{Do: BulkEdit, Field: jobspec.FieldTimeout, To: "soon"}, []string{"false 422 timeout:job.error.out_of_range", "false 422 timeout:job.error.out_of_range", "false 422 timeout:job.error.out_of_range"}},
			{b.user, Bulk{Do: BulkMove, Group: 0}, []string{"false 403", "false 403", "false 403"}},
			{b.user, Bulk{Do: BulkMove, Group: -1}, []string{"true ok", "true ok", "false 409 problem.job.held"}},
			{b.user, Bulk{Do: BulkMove, Group: b.group}, []string{"false ok", "false ok", "false 409 problem.job.held"}},
			{b.user, Bulk{Do: BulkDelete}, []string{"true ok", "true ok", "false 409 problem.job.held"}},
		} {
			tt.deed.IDs = []int64{job, byHand, kept}
			items, err := b.Jobs.Preview(ctx, tt.who, tt.deed)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, id := range tt.deed.IDs {
				want = append(want, strconv.FormatInt(id, 10)+" "+tt.want[i])
			}
			if diff := cmp.Diff(want, toldOf(items)); diff != "" {
				t.Errorf("%s %+v (-want +got):\n%s", tt.who.Name, tt.deed, diff)
			}
		}
		// Those that apply the files change what is in them.
		items, err := b.Jobs.Of("git/jobs", Incoming{}).Preview(ctx, b.user, Bulk{Do: BulkDelete, IDs: []int64{kept}})
		if err != nil || items[0].Err != nil {
			t.Errorf("for its own files: %v, %v", toldOf(items), err)
		}
		before := JobVersion(b.read(t, job))
		if items, err := b.Jobs.Bulk(ctx, b.user, Bulk{Do: BulkTag, IDs: []int64{job}, Add: []string{"night"}}); err != nil || items[0].Changes || JobVersion(b.read(t, job)) != before {
			t.Errorf("a tag that it has: %v, %v", toldOf(items), err)
		}
	})
}

func TestADeedThatIsCutShortSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ids := []int64{b.create(t, nil), b.create(t, nil), b.create(t, nil)}
		ctx, cancel := context.WithCancel(t.Context())
		b.engine.jobsChanged = cancel // who asked goes away when the first is started
		items, err := b.Jobs.Bulk(ctx, b.user, Bulk{Do: BulkStart, IDs: ids})
		if !errors.Is(err, context.Canceled) || len(items) != 1 || !items[0].Changes || items[0].ID != ids[0] {
			t.Errorf("done: %v, %v", toldOf(items), err)
		}
		if started := b.read(t, ids[1]).TriggerStatus; started != 0 {
			t.Errorf("the next one is started")
		}
	})
}

// TestManyPausesAreToldOnce: the engine reads them anew once for a deed, and for no other deed.
func TestManyPausesAreToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	ids := []int64{b.create(t, nil), b.create(t, nil)}
	deed := func(deed Bulk, want int) []BulkItem {
		t.Helper()
		before := b.engine.pauses
		items, err := b.Jobs.Bulk(t.Context(), b.user, deed)
		if err != nil || !items[0].Changes || !items[1].Changes || b.engine.pauses-before != want {
			t.Errorf("%s: %v, %v; the engine is told of pauses %d times, want %d", deed.Do, toldOf(items), err, b.engine.pauses-before, want)
		}
		return items
	}
	deed(Bulk{Do: BulkStart, IDs: ids}, 0)
	pause := Bulk{Do: BulkPause, IDs: ids, Pause: PauseInput{Strategy: jobspec.PauseSkip, Reason: "moving", Until: b.now.Add(time.Hour)}}
	undo, ok := pause.Undo(deed(pause, 1))
	if !ok || undo.Do != BulkResume {
		t.Fatalf("undo %+v", undo)
	}
	deed(undo, 1)
}

func TestWhatTakesADeedBack(t *testing.T) {
	t.Parallel()
	done := []BulkItem{{ID: 1, Changes: true, Was: "x"}, {ID: 2}}
	for do, want := range map[BulkDo]BulkDo{
		BulkStart: BulkStop, BulkStop: BulkStart, BulkPause: BulkResume, BulkMove: BulkMove, BulkTag: BulkTag, BulkEdit: BulkEdit, BulkSpread: BulkSpread, BulkResume: "", BulkDelete: "",
	} {
		undo, ok := Bulk{Do: do, Field: "author"}.Undo(done)
		if undo.Do != want || ok != (want != "") || ok && (len(undo.IDs) != 1 || undo.Was[1] != "x") || do == BulkEdit && undo.Field != "author" {
			t.Errorf("%s: %+v, %v", do, undo, ok)
		}
		if _, ok := (Bulk{Do: do}).Undo(done[1:]); ok {
			t.Errorf("%s, which changed nothing, is taken back", do)
		}
	}
}

// TestWhatAnUndoGoesBackTo: a version stands before it, unless it was kept by an older program.
func TestWhatAnUndoGoesBackTo(t *testing.T) {
	t.Parallel()
	version := strings.Repeat("0", digestLength)
	b := Bulk{Was: map[int64]string{1: version + "|Holidays|ONLY_ON", 2: "Holidays|ONLY_ON", 3: "night", 4: version + "|"}}
	for id, want := range map[int64][2]string{1: {"Holidays|ONLY_ON", version}, 2: {"Holidays|ONLY_ON", ""}, 3: {"night", ""}, 4: {"", version}} {
		if was, left, ok := b.was(id); was != want[0] || left != want[1] || !ok {
			t.Errorf("job %d: %q, %q, %v", id, was, left, ok)
		}
	}
	if _, _, ok := b.was(5); ok {
		t.Error("of a job that is not undone")
	}
}

// TestOfAllThatMatchSoManyAreTaken and not one more.
func TestOfAllThatMatchSoManyAreTaken(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	b.create(t, nil)
	many := func(n int) {
		t.Helper()
		q := "INSERT INTO xxl_job_info (job_group, job_desc, author, schedule_type, misfire_strategy, executor_route_strategy, executor_handler, executor_block_strategy, glue_type)" +
			" WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT ?, 'job ' || i, 'ann', 'NONE', 'DO_NOTHING', 'FIRST', 'x', 'SERIAL_EXECUTION', 'BEAN' FROM n"
		if _, err := b.pool.ExecContext(t.Context(), q, n, b.group); err != nil {
			t.Fatal(err)
		}
	}
	many(MaxMatching - 1)
	if ids, err := b.Jobs.Matching(t.Context(), b.user, JobFilter{Limit: 5, Offset: 7}); err != nil || len(ids) != MaxMatching {
		t.Errorf("%d match, %v", len(ids), err)
	}
	many(1)
	if _, err := b.Jobs.Matching(t.Context(), b.user, JobFilter{}); kind(err) != "400 problem.bulk.matching" {
		t.Errorf("one more: %s", kind(err))
	}
}
