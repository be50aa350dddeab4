package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/shadow"
)

// TestAShadowOnlyReads and finds what an admin that is not there keeps: nothing, or what somebody does for it.
func TestAShadowOnlyReads(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Zone: dbtest.Zone})
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%.80s: %v", statement, err)
		}
	}
	for _, statement := range oldTables {
		exec(statement)
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, dbtest.Zone)
	exec("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status, trigger_next_time) VALUES "+
		"(1, 1, 'minutely', 'CRON', '0 * * * * ?', 'BEAN', 1, ?), (2, 1, 'odd', 'CRON', '0 0 2 5,20W * ?', 'BEAN', 1, ?), (3, 1, 'stopped', 'CRON', '0 * * * * ?', 'BEAN', 0, 0)",
		noon.Add(time.Minute).UnixMilli(), noon.Add(time.Hour).UnixMilli())
	exec("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, 1, ?, 200, 200)", pool.Wall(noon)) // before
	state := func() (all string) {
		t.Helper()
		err := pool.QueryRowContext(t.Context(), `SELECT CONCAT((SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()),
			(SELECT GROUP_CONCAT(id, trigger_status, trigger_next_time ORDER BY id) FROM xxl_job_info))`).Scan(&all)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := state()
	run := func(from, to time.Duration, report ShadowReport, fires ...time.Duration) ShadowReport {
		t.Helper()
		s, err := beginShadow(t.Context(), pool, report, noon.Add(from))
		if err != nil {
			t.Fatal(err)
		}
		for at := from; at <= to; at += shadowLook {
			for len(fires) > 0 && fires[0] <= at {
				exec("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, 1, ?, 200, 200)", pool.Wall(noon.Add(fires[0])))
				fires = fires[1:]
			}
			if err := s.look(t.Context(), noon.Add(at)); err != nil {
				t.Fatal(err)
			}
		}
		return s.report
	}
	const minute = time.Minute
	first := run(0, 6*minute, ShadowReport{}, minute, 3*minute, 4*minute+20*time.Second)
	want := shadow.Tally{Planned: 3, OnTime: 2, Missed: 1}
	if diff := cmp.Diff(want, first.Total); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	if len(first.Jobs) != 2 || first.Jobs[0].ID != 1 || first.Jobs[0].Tally != want || first.Jobs[1].ID != 2 || first.Jobs[1].Why == "" {
		t.Errorf("jobs to look at: %+v", first.Jobs)
	}
	if first.Open != 2 || first.Until.Location() != dbtest.Zone {
		t.Errorf("%d fires are open until %v, want those of 12:04 and 12:05", first.Open, first.Until)
	}
	if first.Watched != 6*minute || first.Release != "2.3.0–2.4.2" || !first.Began.Equal(noon) {
		t.Errorf("report: %+v", first)
	}
	if after := state(); after != before {
		t.Errorf("it changed something:\n%s\n%s", before, after)
	}
	exec("UPDATE xxl_job_info SET trigger_next_time = ? WHERE id = 1", noon.Add(31*minute).UnixMilli())
	before = state()
	second := run(30*minute, 34*minute, first, 31*minute, 32*minute, 32*minute+time.Second)
	if diff := cmp.Diff(shadow.Tally{Planned: 4, OnTime: 3, Missed: 1}, second.Total); diff != "" {
		t.Errorf("after another look, tally (-want +got):\n%s", diff)
	}
	if second.Watched != 10*minute || !second.Began.Equal(noon) {
		t.Errorf("report: %+v", second)
	}
	if after := state(); after != before {
		t.Errorf("it changed something:\n%s\n%s", before, after)
	}
}
