package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

var accounted = regexp.MustCompile(`UNACCOUNTED +0\n`)

// TestTheAuditAccountsForEveryFireBesideARunningAdmin asks the built program while an admin works, and again after somebody took a
// row out of the log.
func TestTheAuditAccountsForEveryFireBesideARunningAdmin(t *testing.T) {
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			d := newDatabase(t, dialect)
			var job int64
			d.seed(t, func(ctx context.Context, pool *db.Pool) error {
				group, err := addGroup(ctx, pool, "nobody", "127.0.0.1:1") // nobody listens there, so that every fire ends at once
				if err != nil {
					return err
				}
				if job, err = addJob(ctx, pool, group, func(p *db.InsertJobParams) { p.ScheduleConf, p.JobDesc = "1", "every second" }); err != nil {
					return err
				}
				schedules := db.NewSchedules(pool, pool.Zone(), time.Now)
				return pool.Tx(ctx, func(tx *sql.Tx) error {
					_, err := schedules.Start(ctx, tx, db.StartJobParams{ID: job, NextTime: time.Now().Add(4 * time.Second).UnixMilli(), UpdateTime: wall(pool, time.Now())})
					return err
				})
			})
			a := startAdmin(t, d.settings())
			eventually(t, "four runs", func() error {
				if n := d.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code <> 0"); n < 4 {
					return fmt.Errorf("%d runs", n)
				}
				return nil
			})
			audit := func(code int, args ...string) string {
				t.Helper()
				args = append([]string{"audit", "--database-url", d.url, "--data-dir", d.dir, "--time-zone", "UTC", "--from", "1h"}, args...)
				p := startProcess(t, program(t, "punctual"), nil, args...)
				<-p.ended
				if got := p.cmd.ProcessState.ExitCode(); got != code {
					t.Errorf("%v ends with %d, want %d\n%s%s", args, got, code, p.stdout.String(), p.stderr.String())
				}
				return p.stdout.String()
			}
			if out := audit(0, "--job", "every second"); !accounted.MatchString(out) || !strings.Contains(out, "not sent: job") {
				t.Errorf("printed:\n%s", out)
			}
			a.terminate(t)
			victim := d.count(t, "SELECT MAX(id) FROM xxl_job_log WHERE trigger_type = 'CRON'")
			d.seed(t, func(ctx context.Context, pool *db.Pool) error {
				_, err := pool.ExecContext(ctx, "DELETE FROM xxl_job_log WHERE id = ?", victim)
				return err
			})
			var report struct {
				OK      bool
				Counts  map[string]int64
				Entries []struct{ Class string }
			}
			if err := json.Unmarshal([]byte(audit(1, "--output", "json")), &report); err != nil {
				t.Fatal(err)
			}
			listed := slices.ContainsFunc(report.Entries, func(e struct{ Class string }) bool { return e.Class == "missing" })
			if report.OK || report.Counts["missing"] != 1 || !listed {
				t.Errorf("report %+v", report)
			}
			audit(2, "--to", "yesterday")
		})
	}
}
