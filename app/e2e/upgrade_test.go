package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/link"
)

// TestUpgradeUnderLoad puts admins of today in the place of older ones under load: of two of a cluster, which are of two versions
// beside each other meanwhile, the first is stopped in order and the second killed; the only one of an embedded database is killed.
// TEST_UPGRADE_FROM is the older program (make test/upgrade).
func TestUpgradeUnderLoad(t *testing.T) {
	older := os.Getenv("TEST_UPGRADE_FROM")
	if older == "" {
		t.Skip("TEST_UPGRADE_FROM names no older punctual")
	}
	t.Run("cluster", func(t *testing.T) {
		waits(t)
		l := newOlderLoad(t, &database{url: dbtest.MariaDB(t)}, older, 2)
		first, second := l.startOlder(t, older, 0), l.startOlder(t, older, 1)
		l.at(t, 4)
		first.terminate(t)
		first = l.start(t, 0) // brings the tables up to date, while the other works with them
		l.at(t, somewhen(t, 9))
		second.kill()
		l.at(t, 15)
		second = l.start(t, 1)
		l.account(t)
		l.showOlder(t, second)
		first.noPanic(t)
		second.noPanic(t)
	})
	t.Run("embedded", func(t *testing.T) {
		waits(t)
		l := newOlderLoad(t, &database{dir: t.TempDir()}, older, 1)
		a := l.startOlder(t, older, 0)
		l.at(t, somewhen(t, 4))
		a.kill()
		a = l.start(t, 0)
		l.account(t)
		l.showOlder(t, a)
		a.noPanic(t)
	})
}

// newOlderLoad is a load in tables that an older program has made. What is written there is what XXL-JOB has, and the end of a job.
func newOlderLoad(t *testing.T, d *database, older string, admins int) *load {
	t.Helper()
	const jobs, fires = 200, 20
	l := newLoadWithoutJobs(t, d, admins, fires)
	preparing := time.Now()
	migrate := startProcess(t, older, d.settings().environment(), "migrate")
	<-migrate.ended
	if migrate.err != nil {
		t.Fatalf("migrate: %v\n%s", migrate.err, migrate.stderr.String())
	}
	d.read(t)
	pool := d.connect(t)
	insert := func(query string, args ...any) int64 {
		t.Helper()
		r, err := pool.ExecContext(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		id, err := r.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	l.begin = time.Now().Add(4*time.Second + 3*time.Since(preparing)).Truncate(time.Second)
	group := insert("INSERT INTO xxl_job_group (app_name, title, address_type, address_list) VALUES (?, 'load', 1, ?)", executortest.AppName, l.executor.URL)
	for i := range jobs {
		first, last := l.span(i, jobs)
		id := insert(`INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, schedule_type, schedule_conf, misfire_strategy,
				executor_route_strategy, executor_handler, executor_block_strategy, executor_timeout, executor_fail_retry_count, glue_type, glue_source,
				trigger_status, trigger_last_time, trigger_next_time, end_at)
			VALUES (?, ?, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, 'e2e', ?, '1', ?, ?, 'count', ?, 0, 0, ?, '', 1, 0, ?, ?)`,
			group, fmt.Sprintf("load %d", i), jobspec.ScheduleFixRate, jobspec.MisfireDoNothing, jobspec.RouteFirst, wire.BlockSerial, wire.GlueBean,
			first.UnixMilli(), last.UnixMilli())
		l.jobs[id] = first
	}
	return l
}

// startOlder starts the i-th admin of an older version.
func (l *load) startOlder(t *testing.T, program string, i int) *admin {
	t.Helper()
	s := l.database.settings()
	s.port, s.program = l.ports[i], program
	return startAdmin(t, s)
}

// showOlder looks at pages that show what the older version wrote.
func (l *load) showOlder(t *testing.T, a *admin) {
	t.Helper()
	s := a.login(t, testPassword)
	oldest := l.database.count(t, "SELECT MIN(id) FROM xxl_job_log")
	job := l.database.count(t, "SELECT job_id FROM xxl_job_log WHERE id = ?", oldest)
	for _, path := range []string{"/", link.JobsPath, link.Job(job), link.RunsPath, link.Run(oldest), link.NodesPath, link.AuditPath} {
		if code, body := s.get(t, path); code != http.StatusOK {
			t.Errorf("%s: status %d\n%s", path, code, body)
		}
	}
}
