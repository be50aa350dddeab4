package db_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func eraNamed(name string) era {
	return eras[slices.IndexFunc(eras, func(e era) bool { return e.name == name })]
}

// TestAdoptionNotesWhatItFound before anything is changed: the release cannot be told afterwards.
func TestAdoptionNotesWhatItFound(t *testing.T) {
	t.Parallel()
	want := map[string]db.Release{"2.2.0": db.Release21, "2.3.0": db.Release23, "2.4.2": db.Release23, "2.5.0": db.Release25, "3.2.0": db.Release32,
		"3.3.2": db.Release32, "3.4.2": db.Release34, "3.5": db.Release35, "upgraded": db.Release34}
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			if form, err := pool.WayBack(t.Context()); err == nil {
				t.Errorf("before the adoption there is a way back: %q", form)
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			a, err := db.New().GetAdoption(t.Context(), pool)
			if err != nil || db.Release(a.ReleaseLine) != want[e.name] || a.AdoptedAt == 0 || a.CheckedAt == 0 {
				t.Errorf("noted %+v, %v; want release %s", a, err, want[e.name])
			}
			if form, err := pool.WayBack(t.Context()); err != nil || form != want[e.name].Passwords() {
				t.Errorf("WayBack = %q, %v; want %q", form, err, want[e.name].Passwords())
			}
			if n, err := db.New().FinishAdoption(t.Context(), pool, db.FinishAdoptionParams{FinishedAt: 1, FinishedBy: "x"}); n != 1 || err != nil {
				t.Errorf("FinishAdoption = %d, %v", n, err)
			}
			if form, err := pool.WayBack(t.Context()); err != nil || form != "" {
				t.Errorf("WayBack after the end = %q, %v; want none", form, err)
			}
		})
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		if form, err := pool.WayBack(t.Context()); err != nil || form != "" {
			t.Errorf("a database that is new has a way back: %q, %v", form, err)
		}
	})
}

func TestFindingOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		release db.Release
		kind    jobspec.ScheduleType
		conf    string
		want    db.JobFinding
	}{
		{"a daily job", db.Release23, "CRON", "0 0 2 * * ?", ""},
		{"eight fields", db.Release23, "CRON", "0 0 2 * * ? * *", db.FindingFields},
		{"eight fields that nobody took", db.Release34, "CRON", "0 0 2 * * ? * *", db.FindingFields},
		{"words behind a line end", db.Release34, "CRON", "0 0 2 ? * MON\nof\nthe\nweek", ""},
		{"no cron text", db.Release34, "CRON", "daily", db.FindingUnread},
		{"none at all", db.Release34, "CRON", "", db.FindingUnread},
		{"a list with W", db.Release23, "CRON", "0 0 2 5,20W * ?", db.FindingWeekday},
		{"a list with W as it is read here", db.Release34, "CRON", "0 0 2 5,20W * ?", ""},
		{"the last day", db.Release32, "CRON", "0 0 2 L * ?", db.FindingMonths},
		{"the last day elsewhere", db.Release23, "CRON", "0 0 2 L * ?", ""},
		{"the last Friday", db.Release32, "CRON", "0 0 2 ? * 6L", ""},
		{"a weekday once a day", db.Release34, "CRON", "0 0 9 15W * ?", ""},
		{"a weekday all day", db.Release34, "CRON", "0 0/5 9-17 15W * ?", db.FindingDay},
		{"a rate", db.Release23, "FIX_RATE", "30", ""},
		{"a rate that is none", db.Release23, "FIX_RATE", "0 0 2 * * ?", db.FindingUnread},
		{"a delay", db.Release34, "FIX_DELAY", "30", db.FindingDelay},
		{"by hand", db.Release34, "NONE", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := db.FindingOf(tt.release, tt.kind, tt.conf); got != tt.want {
				t.Errorf("finding = %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzFindingOf holds that a text is called unread where it is not understood, and only there, whatever somebody has left in a table.
func FuzzFindingOf(f *testing.F) {
	for _, seed := range []string{"0 0 2 5,20W * ?", "0 0 2 * * ? * *", "0 0/5 9-17 15W * ?", "0 0 2 ? * MON\n * *\u3000*", "1\n0 0 2 L\u00a0W * ?", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, conf string) {
		_, err := jobspec.Next(jobspec.ScheduleCron, conf, time.Unix(0, 0), time.UTC)
		for _, release := range []db.Release{db.Release21, db.Release23, db.Release25, db.Release32, db.Release34, db.Release35} {
			found := db.FindingOf(release, jobspec.ScheduleCron, conf)
			if unread := found == db.FindingUnread || found == db.FindingFields; unread != (err != nil) {
				t.Errorf("%q of %s: finding %q, and %v", conf, release, found, err)
			}
		}
	})
}

// addOldJob puts a started job into a database that is still XXL-JOB's.
func addOldJob(t *testing.T, pool *sql.DB, e era, kind, conf string, next time.Time) {
	t.Helper()
	desc, columns, values := "job_desc", "schedule_type, schedule_conf", "'"+kind+"', '"+conf+"'"
	if e.renamed {
		desc = "name"
	}
	if e.jobCron {
		columns, values = "job_cron", "'"+conf+"'"
	}
	mustExec(t, pool, fmt.Sprintf("INSERT INTO xxl_job_info (job_group, %s, alarm_email, %s, glue_type, trigger_status, trigger_last_time, trigger_next_time) VALUES (1, 'x', ' ops@example.com', %s, 'BEAN', 1, %d, %d)",
		desc, columns, values, next.Add(-24*time.Hour).UnixMilli(), next.UnixMilli()))
}

// TestJobsWithOtherTimesAreListed when their database is adopted, and not found out at their next fire.
func TestJobsWithOtherTimesAreListed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	e := eraNamed("2.3.0")
	e.create(t, pool.DB)
	e.fill(t, pool.DB)
	for _, j := range [][2]string{{"CRON", "0 0 2 * * ? * *"}, {"CRON", "0 0 2 5,20W * ?"}, {"FIX_DELAY", "30"}, {"CRON", "0 0 3 * * ?"}} {
		addOldJob(t, pool.DB, e, j[0], j[1], time.Unix(0, 0))
	}
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = NULL WHERE id = 9")
	for range 2 { // the second start finds nothing new
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	listed := func() (list []string) {
		rows, err := db.New().ListAdoptedJobs(t.Context(), pool, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			list = append(list, r.Finding+" "+string(r.ScheduleConf))
		}
		return list
	}
	want := []string{"fields 0 0 2 * * ? * *", "weekday 0 0 2 5,20W * ?", "delay 30", "unread "}
	if diff := cmp.Diff(want, listed()); diff != "" {
		t.Errorf("jobs with other times (-want +got):\n%s", diff)
	}
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET schedule_conf = '0 0 2 * * ? *' WHERE schedule_conf = '0 0 2 * * ? * *'")
	if diff := cmp.Diff(want[1:], listed()); diff != "" {
		t.Errorf("after one was mended (-want +got):\n%s", diff)
	}
	for _, said := range []string{"finding=fields", "finding=weekday", "finding=delay", "addresses for alarm mails", "jobs=4", "wait for 10 s"} {
		if !strings.Contains(log.String(), said) {
			t.Errorf("the log does not say %q:\n%s", said, log.String())
		}
	}
	if n := strings.Count(log.String(), "finding=fields"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// TestAnAdoptionStartsNoJob: somebody gave a job a status that is none in XXL-JOB, which does not run it.
func TestAnAdoptionStartsNoJob(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
	e := eraNamed("2.3.0")
	e.create(t, pool.DB)
	e.fill(t, pool.DB)
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 2 WHERE id = 9")
	mustExec(t, pool.DB, "INSERT INTO xxl_job_info (id, job_group, job_desc, glue_type, trigger_status) VALUES (10, 1, 'a flow of before', 'FLOW', 2)")
	status := func() (list string) {
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(id, ':', trigger_status ORDER BY id) FROM xxl_job_info").Scan(&list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := status(); got != "1:1,9:0,10:2" {
		t.Errorf("after the adoption: %s", got)
	}
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 2 WHERE id = 9") // moved, or a flow
	if got := status(); got != "1:1,9:2,10:2" {
		t.Errorf("after another start: %s", got)
	}
}

// TestOldRunsOutliveAnAdoption: how long an XXL-JOB admin kept runs is not in its database, and what was deleted does not come back.
func TestOldRunsOutliveAnAdoption(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{31: "", 33: "0"} {
		pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
		e := eraNamed("2.3.0")
		e.create(t, pool.DB)
		e.fill(t, pool.DB)
		mustExec(t, pool.DB, "UPDATE xxl_job_log SET trigger_time = NOW() - INTERVAL "+itoa(days)+" DAY")
		mustExec(t, pool.DB, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, 7, 1, '1970-01-01 08:00:00', 200, 200), (2, 7, 1, NULL, 200, 200)")
		for range 2 {
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := db.New().GetSetting(t.Context(), pool, db.SettingRetention)
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			t.Fatal(err)
		}
		if kept.Value != want {
			t.Errorf("with runs of %d days ago they are kept for %q days, want %q", days, kept.Value, want)
		}
	}
}

// TestAdoptionRefusesAnotherZone: every daily job would run at another hour. A sound database is never refused.
func TestAdoptionRefusesAnotherZone(t *testing.T) {
	t.Parallel()
	zone := func(name string) *time.Location {
		t.Helper()
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	shanghai, newYork, kolkata, berlin := zone("Asia/Shanghai"), zone("America/New_York"), zone("Asia/Kolkata"), zone("Europe/Berlin")
	type filling func(*testing.T, *sql.DB, era)
	daily := func(loc *time.Location, month time.Month, day int) filling { // as an admin there writes it
		return func(t *testing.T, pool *sql.DB, e era) {
			for hour := 1; hour <= 3; hour++ {
				addOldJob(t, pool, e, "CRON", fmt.Sprintf("0 30 %d * * ?", hour), time.Date(2026, month, day, hour, 30, 0, 0, loc))
			}
			addOldJob(t, pool, e, "CRON", "0 0 * * * ?", time.Date(2026, month, day, 5, 0, 0, 0, loc)) // which fits every zone of whole hours
		}
	}
	// The hours in which clocks are put forward or back, as another program may read them.
	turns := func(next ...time.Time) filling {
		return func(t *testing.T, pool *sql.DB, e era) {
			for range 2 {
				for _, at := range next {
					addOldJob(t, pool, e, "CRON", "0 30 1 * * ?", at)
					addOldJob(t, pool, e, "CRON", "0 30 2 * * ?", at)
				}
			}
		}
	}
	log := func(t *testing.T, pool *sql.DB, loc *time.Location) {
		t.Helper()
		_, seconds := time.Date(2026, 3, 2, 0, 0, 0, 0, loc).Zone()
		mustExec(t, pool, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) SELECT 1, id, "+
			"DATE_ADD('1970-01-01', INTERVAL trigger_last_time / 1000 + "+itoa(seconds)+" + 2 SECOND), 200, 200 FROM xxl_job_info WHERE trigger_last_time > 1770000000000")
	}
	runs := func(loc *time.Location) filling {
		return func(t *testing.T, pool *sql.DB, e era) {
			for i := range 3 {
				addOldJob(t, pool, e, "FIX_RATE", "3600", time.Date(2026, 3, 2, i, 0, 0, 0, shanghai))
			}
			log(t, pool, loc)
		}
	}
	stopped := func(t *testing.T, pool *sql.DB, e era) { // and run by hand since, on the hour
		daily(shanghai, 3, 2)(t, pool, e)
		mustExec(t, pool, "UPDATE xxl_job_info SET trigger_status = 0, trigger_last_time = 0, trigger_next_time = 0")
		mustExec(t, pool, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) SELECT 1, id, '2026-03-03 10:00:05', 200, 200 FROM xxl_job_info")
	}
	shares := func(t *testing.T, pool *sql.DB, e era) { // one job was changed in the table
		daily(shanghai, 3, 2)(t, pool, e)
		addOldJob(t, pool, e, "CRON", "0 30 9 * * ?", time.Date(2026, 3, 2, 4, 30, 0, 0, shanghai))
	}
	tests := []struct {
		name string
		era  string
		zone *time.Location
		fill filling
		want []string // in the refusal; nil for none
	}{
		{"daily jobs, the right zone", "3.4.2", shanghai, daily(shanghai, 3, 2), nil},
		{"daily jobs in UTC", "3.4.2", time.UTC, daily(shanghai, 3, 2), []string{"4 of 4 started jobs", "UTC+08:00", "Asia/Shanghai"}},
		{"daily jobs of 2.2 in New York", "2.2.0", newYork, daily(shanghai, 3, 2), []string{"4 of 4 started jobs", "UTC+08:00", "Asia/Shanghai"}},
		{"daily jobs of summer in New York", "2.2.0", newYork, daily(shanghai, 7, 15), []string{"4 of 4 started jobs", "UTC+08:00", "Asia/Shanghai"}},
		{"daily jobs of New York in Shanghai", "3.4.2", shanghai, daily(newYork, 3, 2), []string{"4 of 4 started jobs", "UTC-05:00"}},
		{"a half-hour zone, the right one", "2.3.0", kolkata, daily(kolkata, 3, 2), nil},
		{"a half-hour zone in UTC", "2.3.0", time.UTC, daily(kolkata, 3, 2), []string{"4 of 4 started jobs", "UTC+05:30", "Asia/Kolkata"}},
		{"daylight saving in winter", "2.3.0", newYork, daily(newYork, 1, 15), nil},
		{"daylight saving in summer", "2.3.0", berlin, daily(berlin, 7, 15), nil},
		{"an hour beside it in summer", "2.3.0", time.UTC, daily(time.FixedZone("", 3600), 7, 15), []string{"4 of 4 started jobs", "UTC+01:00"}},
		{"the night clocks are put forward", "2.3.0", newYork, turns(time.Date(2026, 3, 8, 6, 30, 0, 0, time.UTC), time.Date(2026, 3, 8, 7, 30, 0, 0, time.UTC)), nil},
		{"the night clocks are put back", "2.3.0", newYork, turns(time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC)), nil},
		{"the morning after", "2.3.0", newYork, daily(newYork, 3, 9), nil},
		{"runs, the right zone", "2.5.0", shanghai, runs(shanghai), nil},
		{"runs in UTC", "2.5.0", time.UTC, runs(shanghai), []string{"3 of 3 runs", "UTC+08:00", "Asia/Shanghai"}},
		{"jobs tell more than runs", "2.5.0", shanghai, func(t *testing.T, pool *sql.DB, e era) { daily(shanghai, 3, 2)(t, pool, e); log(t, pool, time.UTC) }, nil},
		{"all jobs stopped", "2.5.0", time.UTC, stopped, nil},
		{"a job that was changed in the table", "2.5.0", shanghai, shares, nil},
		{"nothing that tells", "2.3.0", newYork, func(*testing.T, *sql.DB, era) {}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Zone: tt.zone})
			e := eraNamed(tt.era)
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			tt.fill(t, pool.DB, e)
			before := schemaOf(t, pool.DB)
			err := pool.Migrate(t.Context())
			if tt.want == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if _, ok := errors.AsType[*db.ZoneError](err); !ok {
				t.Fatalf("Migrate = %v, want a refusal", err)
			}
			for _, said := range append(tt.want, "Set PUNCTUAL_TIME_ZONE", tt.zone.String()) {
				if !strings.Contains(err.Error(), said) {
					t.Errorf("the refusal does not say %q: %v", said, err)
				}
			}
			isOurs := func(line string) bool { return strings.HasPrefix(line, "punctual_") }
			if diff := cmp.Diff(before, slices.DeleteFunc(schemaOf(t, pool.DB), isOurs)); diff != "" {
				t.Errorf("what was refused was changed (-before +after):\n%s", diff)
			}
		})
	}
}
