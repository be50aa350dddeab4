package manage

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// TestFewRunsAreKilledAtATime: an executor that is away keeps its question waiting. More than may be ended in one go are left.
func TestFewRunsAreKilledAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	job := b.create(t, nil)
	ids := make([]int64, MaxKill+1)
	for i := range ids {
		ids[i] = dbtest.InsertRun(t, b.pool, b.group, job, b.now, 200, 0, "")
	}
	b.engine.full = make(chan struct{})
	if ended, err := b.Runs.KillAll(t.Context(), b.user, ids); ended != MaxKill || err != nil || slices.Contains(b.engine.killed, ids[MaxKill]) {
		t.Errorf("%d of %d are ended, %v", ended, len(ids), err)
	}
	if b.engine.most != killsAtOnce {
		t.Errorf("%d were asked for at a time, want %d", b.engine.most, killsAtOnce)
	}
}

func TestWhoMayEndWhatStandsWhere(t *testing.T) {
	t.Parallel()
	reader := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(1, auth.RightView)
	runner := reader.Grant(1, auth.RightRun)
	for _, tt := range []struct {
		who   auth.Principal
		group int64
		state runstate.State
		want  bool
	}{
		{runner, 1, runstate.Sent, true}, {runner, 1, runstate.Success, false}, {runner, 2, runstate.Sent, false}, {reader, 1, runstate.Sent, false},
	} {
		if got := CanKill(tt.who, tt.group, tt.state); got != tt.want {
			t.Errorf("%s of group %d: %v", tt.state, tt.group, got)
		}
	}
}

func TestSeveralRunsAreKilled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		mine, hidden := b.create(t, nil), b.create(t, func(in *JobInput) { in.Group = b.closed })
		var open []int64
		for range 3 {
			open = append(open, dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 0, ""))
		}
		dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 200, "")
		secret := dbtest.InsertRun(t, pool, b.closed, hidden, b.now, 200, 0, "")

		list, err := b.Runs.OpenOfJob(ctx, b.user, mine)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		if diff := cmp.Diff(open, ids); diff != "" {
			t.Fatalf("open runs of the job (-want +got):\n%s", diff)
		}
		if list, err := b.Runs.OpenOfJob(ctx, b.user, hidden); err != nil || len(list) != 0 {
			t.Errorf("the user sees %v, %v of a group that is not theirs", list, err)
		}

		if ended, err := b.Runs.KillAll(ctx, b.user, []int64{open[0], secret}); ended != 0 || problem.From(err).Kind != problem.NotFound {
			t.Errorf("with a run of another group: %d, %v", ended, err)
		}
		if len(b.engine.killed) != 0 {
			t.Errorf("killed %v although one of them is not theirs", b.engine.killed)
		}

		away := errors.New("no answer")
		b.engine.unkilled = map[int64]error{open[0]: away, open[1]: scheduler.ErrRunNotRunning}
		if ended, err := b.Runs.KillAll(ctx, b.user, open); ended != 2 || !errors.Is(err, away) {
			t.Errorf("got %d, %v; want 2, one of which ended by itself, and the other's reason", ended, err)
		}
		if diff := cmp.Diff([]int64{open[2]}, b.engine.killed); diff != "" {
			t.Errorf("killed (-want +got):\n%s", diff)
		}
	})
}

// TestAKillThatIsKeptIsInTheAuditLog: it is done later, in the name of who asked. One that the executor refused is not.
func TestAKillThatIsKeptIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		later := dbtest.InsertRun(t, pool, b.group, job, b.now, 200, 0, "")
		away := dbtest.InsertRun(t, pool, b.group, job, b.now, 200, 0, "")
		refused := dbtest.InsertRun(t, pool, b.group, job, b.now, 200, 0, "")
		b.engine.unkilled = map[int64]error{
			later: scheduler.ErrKillLater, away: &scheduler.ExecutorError{Err: errors.New("no answer"), Kept: true}, refused: &scheduler.ExecutorError{Err: errors.New("no")},
		}
		for id, fault := range b.engine.unkilled {
			if err := b.Runs.Kill(t.Context(), b.user, id); !errors.Is(err, fault) {
				t.Errorf("who asked is told %v, want %v", err, fault)
			}
		}
		want := []int64{later, away}
		var got []int64
		rows, err := pool.QueryContext(t.Context(), "SELECT object_id FROM punctual_audit WHERE action = 'kill' ORDER BY object_id")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("runs in the audit log (-want +got):\n%s", diff)
		}
	})
}

func TestTheWishForAKillIsKnown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		if err := db.New().InsertKill(t.Context(), pool, db.InsertKillParams{LogID: 7, AskedBy: "ann", AskedAt: b.now.UnixMilli()}); err != nil {
			t.Fatal(err)
		}
		user, at, ok, err := b.Runs.KillWish(t.Context(), 7)
		if err != nil || !ok || user != "ann" || at.UnixMilli() != b.now.UnixMilli() {
			t.Errorf("got %q at %v, %v, %v", user, at, ok, err)
		}
		if _, _, ok, err := b.Runs.KillWish(t.Context(), 8); err != nil || ok {
			t.Errorf("for another run: %v, %v", ok, err)
		}
	})
}

// TestManyRunsAreEndedEachForItself: a preview says of which this can be done, and what cannot be ended keeps no other from it.
func TestManyRunsAreEndedEachForItself(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		mine, hidden := b.create(t, nil), b.create(t, func(in *JobInput) { in.Group = b.closed })
		waits := dbtest.InsertRun(t, pool, b.group, mine, b.now, 0, 0, "")
		sending := dbtest.InsertRun(t, pool, b.group, mine, b.now, 0, 0, "")
		away := dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 0, "")
		refused := dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 0, "")
		runs := dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 0, "")
		quicker := dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 0, "")
		ended := dbtest.InsertRun(t, pool, b.group, mine, b.now, 200, 200, "")
		secret := dbtest.InsertRun(t, pool, b.closed, hidden, b.now, 200, 0, "")
		ids := []int64{waits, sending, away, refused, runs, quicker, ended, secret, secret + 1000, runs}
		told := func(items []BulkItem) (list []string) {
			for _, item := range items {
				what := "ended"
				if item.Err != nil {
					what = kind(problem.From(item.Err))
				}
				if item.Later {
					what = "later: " + what
				}
				if item.Changes != (item.Err == nil) || (item.Name == "") != (item.ID >= secret) {
					t.Errorf("item %+v", item)
				}
				list = append(list, what)
			}
			return list
		}
		const over, gone = "409 problem.run.notrunning", "404 problem.run.gone"
		preview, err := b.Runs.PreviewKill(ctx, b.user, ids)
		if diff := cmp.Diff([]string{"ended", "ended", "ended", "ended", "ended", "ended", over, gone, gone}, told(preview)); err != nil || diff != "" || len(b.engine.killed) != 0 {
			t.Errorf("preview: %v, %v are ended (-want +got):\n%s", err, b.engine.killed, diff)
		}
		b.engine.unkilled = map[int64]error{
			quicker: scheduler.ErrRunNotRunning, sending: scheduler.ErrKillLater,
			away: &scheduler.ExecutorError{Err: errors.New("no answer"), Kept: true}, refused: &scheduler.ExecutorError{Err: errors.New("no")},
		}
		done, err := b.Runs.KillMany(ctx, b.user, ids)
		slices.Sort(b.engine.killed)
		if diff := cmp.Diff([]string{"ended", "later: 409 problem.run.killlater", "later: 502 problem.run.killkept", "502 problem.executor", "ended", over, over, gone, gone}, told(done)); err != nil || diff != "" || !slices.Equal(b.engine.killed, []int64{waits, runs}) {
			t.Errorf("done: %v, %v are ended (-want +got):\n%s", err, b.engine.killed, diff)
		}
		var audited int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE action = 'kill'").Scan(&audited); err != nil || audited != 4 {
			t.Errorf("%d are in the audit log, %v", audited, err)
		}
		reader := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightView)
		if items, err := b.Runs.KillMany(ctx, reader, []int64{runs}); err != nil || kind(problem.From(items[0].Err)) != "403" || len(b.engine.killed) != 2 {
			t.Errorf("who may only read: %+v, %v", items, err)
		}
		if items, err := b.Runs.PreviewKill(ctx, reader, []int64{runs}); err != nil || kind(problem.From(items[0].Err)) != "403" || items[0].Changes {
			t.Errorf("the preview of who may only read: %+v, %v", items, err)
		}
		for _, bad := range [][]int64{nil, make([]int64, MaxKill+1)} {
			if _, err := b.Runs.KillMany(ctx, b.user, bad); problem.From(err).Kind != problem.Malformed {
				t.Errorf("%d runs: %v", len(bad), err)
			}
		}
	})
}
