package manage

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

func (e *engine) PreviewClear(_ context.Context, r upkeep.ClearRequest) (upkeep.ClearPreview, error) {
	e.clears = append(e.clears, r)
	return upkeep.ClearPreview{Runs: 5, Exact: true}, nil
}

func (e *engine) Clear(ctx context.Context, r upkeep.ClearRequest, _ string) (int64, error) {
	e.clears, e.joined = append(e.clears, r), e.pool.Joined(ctx)
	if e.idle {
		return 0, nil
	}
	return 1, nil
}

func (e *engine) Clearings(context.Context, int) ([]upkeep.Clearing, error) {
	return append([]upkeep.Clearing(nil), e.clearings...), nil
}

func (e *engine) StopClearing(ctx context.Context, _ int64) (bool, error) {
	e.joined = e.pool.Joined(ctx)
	return !e.idle, nil
}

func (e *engine) RetentionDays(context.Context) (int, error) { return e.retention, nil }

// TestAClearingIsInTheAuditLog with what was asked for, if there was something to delete; so is its end, if somebody's wish was it.
func TestAClearingIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		mine := b.create(t, nil)
		id, err := db.New().InsertClearing(t.Context(), pool, db.InsertClearingParams{UserName: "ann", JobGroup: b.group, FirstID: 1, UptoID: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, b.engine.idle = range []bool{true, false} {
			for _, tt := range []struct {
				who auth.Principal
				in  ClearInput
			}{
				{b.user, ClearInput{Group: b.group, Job: mine, Type: 8}}, {b.admin, ClearInput{Type: 9}},
			} {
				if some, err := b.Runs.Clear(t.Context(), tt.who, tt.in); err != nil || some == b.engine.idle {
					t.Errorf("%+v: some %v, %v", tt.in, some, err)
				}
			}
			if err := b.Runs.StopClearing(t.Context(), b.user, id); err != nil {
				t.Error(err)
			}
		}
		list, err := b.Audit.List(t.Context(), b.admin, AuditFilter{Kind: ObjectRun, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list.Entries {
			_, _, now, err := b.Audit.Get(t.Context(), b.admin, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %s %s", e.UserName, e.Action, e.ObjectName, encode(now)))
		}
		want := []string{
			fmt.Sprintf("ann stop clearing %d ", id), `root clear clearing 1 {"type":9}`, fmt.Sprintf(`ann clear clearing 1 {"group":%d,"job_id":%d,"type":8}`, b.group, mine),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

func TestWhoMayClear(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		mine, other := b.create(t, nil), b.create(t, func(in *JobInput) { in.Group = b.closed })
		reader := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightView|auth.RightRun)
		tests := []struct {
			name string
			who  auth.Principal
			in   ClearInput
			want string
		}{
			{"an administrator, everything", b.admin, ClearInput{Type: 9}, "ok"},
			{"an administrator, one job of any group", b.admin, ClearInput{Job: other, Type: 5}, "ok"},
			{"a user, their group", b.user, ClearInput{Group: b.group, Type: 1}, "ok"},
			{"a user, a job of their group", b.user, ClearInput{Group: b.group, Job: mine, Type: 8}, "ok"},
			{"a user, what a deleted job left in their group", b.user, ClearInput{Group: b.group, Job: 999_999, Type: 9}, "ok"},
			{"a user, everything", b.user, ClearInput{Type: 9}, "422 group:clear.error.group"},
			{"a user, one job without its group", b.user, ClearInput{Job: mine, Type: 9}, "422 group:clear.error.group"},
			{"a user, another group", b.user, ClearInput{Group: b.closed, Type: 9}, "403"},
			{"a user, another group's job under their own", b.user, ClearInput{Group: b.group, Job: other, Type: 9}, "422 job:clear.error.job"},
			{"somebody who may only run", reader, ClearInput{Group: b.group, Type: 9}, "403"},
			{"no such way", b.admin, ClearInput{Type: 10}, "422 type:clear.error.type"},
			{"no way", b.admin, ClearInput{}, "422 type:clear.error.type"},
		}
		for _, tt := range tests {
			b.engine.clears = nil
			_, previewErr := b.Runs.PreviewClear(t.Context(), tt.who, tt.in)
			_, err := b.Runs.Clear(t.Context(), tt.who, tt.in)
			for _, got := range []string{kind(previewErr), kind(err)} {
				if got != tt.want {
					t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
				}
			}
			if asked := len(b.engine.clears) > 0; asked != (tt.want == "ok") {
				t.Errorf("%s: the engine was asked: %v", tt.name, asked)
			}
			for _, r := range b.engine.clears {
				if r.GroupID != tt.in.Group || r.JobID != tt.in.Job {
					t.Errorf("%s: asked for %+v", tt.name, r)
				}
			}
		}
		b.engine.clearings = []upkeep.Clearing{{ID: 1}, {ID: 2, GroupID: b.group}, {ID: 3, GroupID: b.closed}}
		for _, tt := range []struct {
			who  auth.Principal
			want int
		}{{b.admin, 3}, {b.user, 1}, {reader, 0}} {
			if list, err := b.Runs.Clearings(t.Context(), tt.who); err != nil || len(list) != tt.want {
				t.Errorf("%s sees %+v, %v", tt.who.Name, list, err)
			}
		}
		id, err := db.New().InsertClearing(t.Context(), pool, db.InsertClearingParams{UserName: "root", JobGroup: b.closed, FirstID: 1, UptoID: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			who  auth.Principal
			id   int64
			want string
		}{{b.user, id, "404 problem.clearing.gone"}, {b.admin, id, "ok"}, {b.admin, id + 100, "404 problem.clearing.gone"}} {
			if got := kind(b.Runs.StopClearing(t.Context(), tt.who, tt.id)); got != tt.want {
				t.Errorf("%s stops clearing %d: %s, want %s", tt.who.Name, tt.id, got, tt.want)
			}
		}
	})
}

// TestWhatIsInTheAuditLogIsDone, and what is done is in it, whichever statement fails: also when nobody hears that it was committed.
func TestWhatIsInTheAuditLogIsDone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		clearing, err := db.New().InsertClearing(t.Context(), pool, db.InsertClearingParams{UserName: "ann", JobGroup: b.group, FirstID: 1, UptoID: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name   string
			action Action
			do     func() error
		}{
			{"run", ActionRun, func() error { _, err := b.Jobs.Trigger(t.Context(), b.user, job, RunInput{}); return err }},
			{"clear", ActionClear, func() error {
				_, err := b.Runs.Clear(t.Context(), b.user, ClearInput{Group: b.group, Type: 9})
				return err
			}},
			{"stop clearing", ActionStop, func() error { return b.Runs.StopClearing(t.Context(), b.user, clearing) }},
		} {
			noted := func() (n int) {
				t.Helper()
				if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE action = ?", string(tt.action)).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			for _, fault := range []struct {
				dbtest.Fault
				name  string
				noted int
			}{
				{dbtest.Fault{With: errors.New("no")}, "InsertAudit", 0},
				{dbtest.Fault{With: mysql.ErrInvalidConn, Done: true}, "COMMIT", 1},
			} {
				before := noted()
				for n, name := 1, ""; name != fault.name; n++ {
					sent.Break(n, nil, dbtest.Fault{With: errors.New("no")})
					if n == 30 {
						t.Fatalf("%s: there is no %s", tt.name, fault.name)
					}
					if err := tt.do(); err == nil {
						t.Fatalf("%s: nothing fails with the statement %d, %q", tt.name, n, sent.Broken())
					}
					if name = sent.Broken(); name == fault.name && fault.noted > 0 {
						sent.Break(n, nil, fault.Fault)
						if err := tt.do(); !errors.Is(err, db.ErrUnconfirmed) {
							t.Errorf("%s: the answer to %s is lost: %v", tt.name, sent.Broken(), err)
						}
						sent.Broken()
					}
				}
				if got := noted() - before; got != fault.noted {
					t.Errorf("%s, %s: %d entries, want %d", tt.name, fault.name, got, fault.noted)
				}
			}
			if tt.name != "run" && !b.engine.joined {
				t.Errorf("%s and its entry are not done together", tt.name)
			}
		}
	})
}
