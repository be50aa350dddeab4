package manage

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestWhoMayPauseWhat(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		in := PauseInput{Scope: jobspec.PauseGroup, Target: b.group, Strategy: jobspec.PauseOnce, Reason: "database moves"}
		other := in
		other.Target = b.closed
		all := PauseInput{Scope: jobspec.PauseAll, Strategy: jobspec.PauseSkip, Reason: "x"}
		tag := PauseInput{Scope: jobspec.PauseTag, Tag: "etl", Strategy: jobspec.PauseSkip, Reason: "x"}
		viewer := auth.NewPrincipal(3, "vic", auth.RoleUser, "").Grant(b.group, auth.RightView)
		b.create(t, func(in *JobInput) { in.Tags = "day,etl" })
		for name, c := range map[string]struct {
			p  auth.Principal
			in PauseInput
			ok bool
		}{
			"own group": {b.user, in, true}, "another's": {b.user, other, false}, "everything": {b.user, all, false}, "a tag": {b.user, tag, false}, "viewer": {viewer, in, false},
			"administrator": {b.admin, other, true}, "administrator, everything": {b.admin, all, true}, "administrator, a tag": {b.admin, tag, true},
		} {
			_, err := b.Pauses.Create(t.Context(), c.p, c.in)
			if c.ok && err != nil || !c.ok && problem.From(err).Kind != problem.Forbidden {
				t.Errorf("%s: %v", name, err)
			}
		}
		list, err := b.Pauses.List(t.Context(), b.user)
		if err != nil || len(list) != 2 {
			t.Fatalf("the user sees %d pauses, %v; want that of the group and that of everything", len(list), err)
		}
		everybody, err := b.Pauses.List(t.Context(), b.admin)
		if err != nil || len(everybody) != 4 {
			t.Fatalf("the administrator sees %d, %v", len(everybody), err)
		}
		for _, pause := range everybody {
			want := pause.Scope == jobspec.PauseGroup && pause.Target == b.group
			if err := b.Pauses.End(t.Context(), b.user, pause.ID); want != (err == nil) {
				t.Errorf("the user ends %s of %d: %v", pause.Scope, pause.Target, err)
			}
			if !want {
				continue
			}
			if err := b.Pauses.End(t.Context(), b.user, pause.ID); problem.From(err).Kind != problem.Conflict {
				t.Errorf("ended twice: %v", err)
			}
		}
		var entries, revision int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE object_kind = 'pause'").Scan(&entries); err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRowContext(t.Context(), "SELECT revision FROM punctual_pause_mark").Scan(&revision); err != nil {
			t.Fatal(err)
		}
		if entries != 5 || revision != 5 {
			t.Errorf("%d audit entries and revision %d, want 5 of both", entries, revision)
		}
	})
}

// TestATagThatNoJobHasIsNotPaused: whoever mistyped it would think that its jobs hold still.
func TestATagThatNoJobHasIsNotPaused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.create(t, func(in *JobInput) { in.Tags = "day,50%,付款" })
		for _, tags := range []string{"Etl", "etl", "ETL"} { // MySQL takes them for one
			b.create(t, func(in *JobInput) { in.Tags = tags })
		}
		for tag, want := range map[string]string{"Etl": "", "etl": "", "ETL": "", "day": "", "50%": "", "付款": "", "Day": "pauses.error.unknownTag", "da": "pauses.error.unknownTag", "50_": "pauses.error.unknownTag", "付": "pauses.error.unknownTag"} {
			_, err := b.Pauses.Create(t.Context(), b.admin, PauseInput{Scope: jobspec.PauseTag, Tag: tag, Strategy: jobspec.PauseSkip, Reason: "x"})
			got := ""
			if p := problem.From(err); p != nil && len(p.Fields) == 1 && p.Fields[0].Name == PauseTag {
				got = p.Fields[0].Key
			} else if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", tag, got, want)
			}
		}
	})
}

// TestAPauseThatIsTakenBackIsOver at once, and not planned until the moment at which it would have begun.
func TestAPauseThatIsTakenBackIsOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id, err := b.Pauses.Create(t.Context(), b.user, PauseInput{Scope: jobspec.PauseGroup, Target: b.group, From: b.now.Add(time.Hour), Strategy: jobspec.PauseSkip, Reason: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Pauses.End(t.Context(), b.user, id); err != nil {
			t.Fatal(err)
		}
		if pause, err := b.Pauses.Get(t.Context(), b.user, id); err != nil || pause.State != PauseOver || pause.CanEnd || !pause.Next.IsZero() {
			t.Errorf("%+v, %v", pause, err)
		}
	})
}

// TestAPauseEndsWithWhatItIsAbout: one without an end would stand in the list for ever, and that of a group on the dashboard.
func TestAPauseEndsWithWhatItIsAbout(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		other := b.create(t, nil)
		from := b.now.Add(time.Hour)
		for _, in := range []PauseInput{
			{Scope: jobspec.PauseJob, Target: job}, {Scope: jobspec.PauseJob, Target: job, From: from}, {Scope: jobspec.PauseJob, Target: other}, {Scope: jobspec.PauseGroup, Target: b.closed},
		} {
			in.Strategy, in.Reason = jobspec.PauseSkip, "x"
			if _, err := b.Pauses.Create(t.Context(), b.admin, in); err != nil {
				t.Fatal(err)
			}
		}
		b.now = b.now.Add(time.Minute)
		if err := b.Jobs.Delete(t.Context(), b.user, job); err != nil {
			t.Fatal(err)
		}
		if wide, err := b.Pauses.Wide(t.Context(), b.admin); err != nil || len(wide) != 1 {
			t.Errorf("%+v, %v", wide, err)
		}
		if err := b.Groups.Delete(t.Context(), b.admin, b.closed); err != nil {
			t.Fatal(err)
		}
		list, err := b.Pauses.List(t.Context(), b.admin)
		if err != nil || len(list) != 4 {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, pause := range list {
			switch over := pause.Target != other || pause.Scope != jobspec.PauseJob; {
			case over != (pause.State == PauseOver):
				t.Errorf("the pause of %s %d is %s", pause.Scope, pause.Target, pause.State)
			case over && (pause.EndedBy == "" || !pause.EndedAt.Equal(b.now) || pause.Until.Before(pause.From)):
				t.Errorf("ended by %q at %v: from %v until %v", pause.EndedBy, pause.EndedAt, pause.From, pause.Until)
			}
		}
		// Where somebody else deleted the group, nobody is told that it is paused.
		third, err := b.Groups.Create(t.Context(), b.admin, GroupInput{AppName: "third", Title: "Third"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Pauses.Create(t.Context(), b.admin, PauseInput{Scope: jobspec.PauseGroup, Target: third, Strategy: jobspec.PauseSkip, Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_group WHERE id = ?", third); err != nil {
			t.Fatal(err)
		}
		if wide, err := b.Pauses.Wide(t.Context(), b.admin); err != nil || len(wide) != 0 {
			t.Errorf("%+v, %v", wide, err)
		}
	})
}

func TestWhatAPauseMaySay(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	good := PauseInput{Scope: jobspec.PauseAll, Strategy: jobspec.PauseSkip, Reason: "x", Cron: "0 0 22 * * ?", Length: time.Hour}
	for field, change := range map[string]func(*PauseInput){
		PauseScope: func(in *PauseInput) { in.Scope = "galaxy" }, PauseStrategy: func(in *PauseInput) { in.Strategy = "some" }, PauseReason: func(in *PauseInput) { in.Reason = " " },
		PauseUntil: func(in *PauseInput) { in.Until = b.now.Add(-time.Hour) }, PauseCron: func(in *PauseInput) { in.Cron = "often" }, PauseLength: func(in *PauseInput) { in.Length = 24 * time.Hour },
		PauseZone: func(in *PauseInput) { in.Zone = "Mars/Olympus" }, PauseTag: func(in *PauseInput) { in.Scope, in.Tag = jobspec.PauseTag, "a,b" },
		PauseTarget: func(in *PauseInput) { in.Scope, in.Target = jobspec.PauseJob, 4711 },
		// What would hold back more than was said, or for longer.
		PauseTarget + " of everything": func(in *PauseInput) { in.Target = 4711 }, PauseTag + " of everything": func(in *PauseInput) { in.Tag = "etl" },
		PauseTarget + " of a tag": func(in *PauseInput) { in.Scope, in.Tag, in.Target = jobspec.PauseTag, "etl", 4711 }, PauseLength + " of no windows": func(in *PauseInput) { in.Cron = "" },
	} {
		in := good
		change(&in)
		_, err := b.Pauses.Create(t.Context(), b.admin, in)
		p := problem.From(err)
		field, _, _ = strings.Cut(field, " ")
		found := false
		for _, f := range p.Fields {
			found = found || f.Name == field
		}
		if !found {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := b.Pauses.Create(t.Context(), b.admin, good); err != nil {
		t.Error(err)
	}
	list, err := b.Pauses.List(t.Context(), b.admin)
	if err != nil || len(list) != 1 || list[0].State != PauseBetween || list[0].Next.IsZero() {
		t.Errorf("%+v, %v; want one between its windows", list, err)
	}
}

// TestAHeldRateKeepsItsBeat: while a pause holds a fixed rate back its next time on record is the end of the pause. A backfill and a deadline go by
// its beat all the same, and so does what is said of its next run.
func TestAHeldRateKeepsItsBeat(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id := b.create(t, func(in *JobInput) {
			in.ScheduleType, in.ScheduleConf, in.DoneBy = jobspec.ScheduleFixRate, "3600", "12:00"
		})
		due := b.now.Add(-30 * time.Minute).Truncate(time.Hour).Add(10 * time.Minute)
		hold := func(end time.Time) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?, paused_at = ?, paused_next = ?, paused_rev = 1 WHERE id = ?",
				end.UnixMilli()+1, due.UnixMilli(), end.UnixMilli()+1, id); err != nil {
				t.Fatal(err)
			}
		}
		hold(jobspec.Waiting)
		in := BackfillInput{From: due.Add(-5 * time.Hour), Until: due.Add(-time.Hour).Add(time.Second)}
		plan, err := b.Backfills.Plan(t.Context(), b.user, id, in)
		if err != nil || plan.Count != 5 || !plan.First.Equal(in.From) {
			t.Errorf("a backfill while it is held: %d from %v, %v; want 5 from %v", plan.Count, plan.First, err, in.From)
		}
		row := ListRow(b.read(t, id))
		held, err := b.Pauses.Book(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, last, following, ok := b.Jobs.deadlines(&row, &held)
		for _, d := range []jobspec.Deadline{last, following} {
			if !ok || d.Fire.Sub(due)%time.Hour != 0 {
				t.Errorf("the fire of the deadline %v is planned for %v, off the beat of %v", d.By, d.Fire, due)
			}
		}
		if got := b.Jobs.NextRun(b.read(t, id), &held); got == nil || !got.Equal(due) {
			t.Errorf("nothing pauses it any more, and its next run is %v, want %v", got, due)
		}
		pause := func(until time.Time, strategy jobspec.Pausing) (next *time.Time) {
			t.Helper()
			pause, err := b.Pauses.Create(t.Context(), b.user, PauseInput{Scope: jobspec.PauseJob, Target: id, Until: until, Strategy: strategy, Reason: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if held, err = b.Pauses.Book(t.Context()); err != nil {
				t.Fatal(err)
			}
			next = b.Jobs.NextRun(b.read(t, id), &held)
			if err := b.Pauses.End(t.Context(), b.user, pause); err != nil {
				t.Fatal(err)
			}
			return next
		}
		due = b.now.Add(20 * time.Minute)
		end := b.now.Add(time.Hour)
		hold(end)
		if got := pause(end, jobspec.PauseOnce); got == nil || !got.Equal(end) {
			t.Errorf("made up for at the end: next is %v, want %v", got, end)
		}
		if got, want := pause(end, jobspec.PauseSkip), due.Add(time.Hour); got == nil || !got.Equal(want) {
			t.Errorf("skipped: next is %v, want %v", got, want)
		}
		if got := pause(time.Time{}, jobspec.PauseOnce); got != nil {
			t.Errorf("nobody knows when the pause ends, and next is %v", got)
		}
	})
}

// TestNoPauseIsLeftOfWhatIsGone: whoever pauses a group or a job that is deleted at that moment is refused, or the pause ends with it.
func TestNoPauseIsLeftOfWhatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for range 40 {
			group, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "short-lived", Title: "s"})
			if err != nil {
				t.Fatal(err)
			}
			job := b.create(t, nil)
			pause := func(scope jobspec.PauseScope, target int64) error {
				_, err := b.Pauses.Create(ctx, b.admin, PauseInput{Scope: scope, Target: target, Strategy: jobspec.PauseSkip, Reason: "moves"})
				return err
			}
			var all sync.WaitGroup
			var gone, held, deleted, paused error
			all.Go(func() { gone = b.Groups.Delete(ctx, b.admin, group) })
			all.Go(func() { held = pause(jobspec.PauseGroup, group) })
			all.Go(func() { deleted = b.Jobs.Delete(ctx, b.admin, job) })
			all.Go(func() { paused = pause(jobspec.PauseJob, job) })
			all.Wait()
			for _, err := range []error{gone, deleted} {
				if err != nil {
					t.Fatal(kind(err))
				}
			}
			for _, err := range []error{held, paused} {
				if got := kind(err); got != "ok" && got != "422 target:pauses.error.target" {
					t.Fatal(got)
				}
			}
			list, err := b.Pauses.List(ctx, b.admin)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list {
				if p.State != PauseOver {
					t.Fatalf("the %s %d is gone, and a pause of it is left: pausing %s and %s", p.Scope, p.Target, kind(held), kind(paused))
				}
			}
		}
	})
}

// TestNoMorePausesThanAreRead: of two that are made at once only one is the last that there may be, since no more are read.
func TestNoMorePausesThanAreRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		job := b.create(t, nil)
		row := db.InsertPauseParams{Scope: string(jobspec.PauseJob), Target: 999, FromAt: b.now.UnixMilli(), Strategy: string(jobspec.PauseSkip), Reason: "r", MadeBy: "root", MadeAt: b.now.UnixMilli()}
		if err := pool.Tx(ctx, func(tx *sql.Tx) error {
			for range db.MaxPauses - 1 {
				if _, err := db.New().InsertPause(ctx, tx, row); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			var all sync.WaitGroup
			errs := make([]error, 4)
			ids := make([]int64, len(errs))
			for i := range errs {
				all.Go(func() {
					ids[i], errs[i] = b.Pauses.Create(ctx, b.admin, PauseInput{Scope: jobspec.PauseJob, Target: job, Strategy: jobspec.PauseSkip, Reason: "moves"})
				})
			}
			all.Wait()
			made := 0
			for i, err := range errs {
				switch kind(err) {
				case "ok":
					made++
					if _, err := pool.ExecContext(ctx, "DELETE FROM punctual_pause WHERE id = ?", ids[i]); err != nil {
						t.Fatal(err)
					}
				case "409 problem.pauses.many":
				default:
					t.Fatal(kind(err))
				}
			}
			if made != 1 {
				t.Fatalf("%d were made where there was room for one", made)
			}
		}
	})
}
