package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// followJobs is how many jobs the load has of which every third try fails, and whose successes start a child.
const followJobs = 40

// TestKillAdminsUnderRetriesAndChildren kills admins at random moments while most runs follow from the ends of others: each failure has its
// retry and each success its child, once, whoever took the result, and each of them is sent and carried out.
func TestKillAdminsUnderRetriesAndChildren(t *testing.T) {
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			admins := 1
			if dialect == db.MySQL {
				admins = 2
			}
			l := newLoad(t, dialect, admins, followJobs, 12)
			child := l.followed(t)
			var running []*admin
			for i := range admins {
				running = append(running, l.start(t, i))
			}
			for i, second := range []float64{1, 3, 5, 8} {
				l.at(t, somewhen(t, second))
				running[i%admins].kill()
				running[i%admins] = l.start(t, i%admins)
			}
			l.at(t, float64(l.fires))
			t.Cleanup(func() {
				if t.Failed() {
					l.dumpOpen(t)
				}
			})
			l.database.settled(t)
			l.accountFollowed(t, child)
			for _, a := range running {
				a.noPanic(t)
			}
		})
	}
}

// followed gives the jobs of a load two retries, which they need, and a child. It returns the child.
func (l *load) followed(t *testing.T) (child int64) {
	t.Helper()
	l.fails = func(run *executor.Run) error {
		if run.JobID != child && run.LogID%3 == 0 {
			return errors.New("every third")
		}
		return nil
	}
	l.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		var group int64
		err := pool.QueryRowContext(ctx, "SELECT MAX(id) FROM xxl_job_group").Scan(&group)
		if err != nil {
			return err
		}
		if child, err = addJob(ctx, pool, group, func(p *db.InsertJobParams) { p.JobDesc = "child" }); err != nil {
			return err
		}
		_, err = pool.ExecContext(ctx, "UPDATE xxl_job_info SET executor_fail_retry_count = 2, child_jobid = ? WHERE id <> ?", child, child)
		return err
	})
	return child
}

// accountFollowed checks of every fire that there is one row of it, and of every row that it was carried out once if it says so, and that what
// follows from its end is there once.
func (l *load) accountFollowed(t *testing.T, child int64) {
	t.Helper()
	d := l.database
	if n := d.count(t, "SELECT COUNT(*) FROM (SELECT job_id FROM xxl_job_log WHERE trigger_type = 'CRON' GROUP BY job_id, planned_at HAVING COUNT(*) <> 1) twice"); n > 0 {
		t.Errorf("%d fires have more than one row", n)
	}
	of, left := make(map[int64]int64), make(map[int64]int64) // by run: which it follows, and how many retries it has
	rows, err := d.sql.QueryContext(t.Context(), "SELECT id, origin_log_id, executor_fail_retry_count FROM xxl_job_log")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, origin, retries int64
		if err := rows.Scan(&id, &origin, &retries); err != nil {
			t.Fatal(err)
		}
		of[id], left[id] = origin, retries
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := make(map[jobspec.TriggerType]int)
	retries, children, needless := make(map[int64]int), make(map[int64]int), make(map[int64]int)
	all := d.runs(t)
	for _, r := range all {
		kinds[r.kind]++
		switch {
		case r.kind == jobspec.TriggerParent:
			children[of[r.id]]++
		case r.kind == jobspec.TriggerRetry && r.outcome == event.Cancelled:
			needless[of[r.id]]++
		case r.kind == jobspec.TriggerRetry:
			retries[of[r.id]]++
		}
		calls := l.calls[r.id]
		delete(l.calls, r.id)
		if sent := r.handled != 0 && r.code == wire.CodeSuccess; calls > 1 || sent && calls != 1 {
			t.Errorf("run %d was executed %d times: %+v", r.id, calls, r)
		}
	}
	for id, n := range l.calls {
		t.Errorf("the executor ran %d, %d times, of which there is no row", id, n)
	}
	failed := 0
	for _, r := range all {
		wantRetries, wantChildren := 0, 0
		switch r.outcome {
		case event.Succeeded:
			if r.job != child {
				wantChildren = 1
			}
		case event.Skipped, event.Cancelled, event.Discarded:
		default:
			failed++
			if left[r.id] > 0 {
				wantRetries = 1
			}
		}
		if retries[r.id] != wantRetries || children[r.id] != wantChildren || needless[r.id] > 0 && r.outcome != event.Succeeded {
			t.Errorf("run %d has %d retries, %d that were not needed, and %d children: %+v", r.id, retries[r.id], needless[r.id], children[r.id], r)
		}
	}
	t.Logf("runs by what made them: %v; %d failed", kinds, failed)
	if kinds[jobspec.TriggerMisfire] == 0 && kinds[jobspec.TriggerCron] != followJobs*l.fires {
		t.Errorf("of %d fires there are %d rows", followJobs*l.fires, kinds[jobspec.TriggerCron])
	}
	ran := kinds[jobspec.TriggerCron] // where the machine is slow, some are over when an admin comes back
	if tries, n := kinds[jobspec.TriggerRetry], kinds[jobspec.TriggerParent]; tries == 0 || n < ran*3/4 {
		t.Errorf("%d retries and %d children of %d fires", tries, n, ran)
	}
}
