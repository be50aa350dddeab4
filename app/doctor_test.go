package app

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func keysOf(f CheckFindings) (keys []string) {
	for _, p := range f.Points {
		keys = append(keys, p.Key)
	}
	return keys
}

func TestTheDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			if kind == "mariadb" {
				o.DatabaseURL = dbtest.MariaDB(t)
			}
			a := start(t, o)
			pool := a.pool
			exec := func(statement string, args ...any) {
				t.Helper()
				if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
					t.Fatalf("%.80s: %v", statement, err)
				}
			}
			ask := o
			ask.Listener = nil
			examine := func() DoctorReport {
				t.Helper()
				r, err := Doctor(t.Context(), ask)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			// What the server of the tests is set to is its own business, and so is what a machine under load makes of its clock.
			of := func(r DoctorReport) []string {
				return slices.DeleteFunc(keysOf(r.CheckFindings), func(k string) bool {
					return k == "clock" || k[:3] == "db." || k == "nodes.clock" || k == "nodes.conditions" || strings.HasPrefix(k, "disk.")
				})
			}
			r := examine()
			if got := of(r); len(got) != 0 || len(r.Nodes) != 1 || r.Nodes[0].Version != "test" {
				t.Fatalf("of a healthy installation: %v, %+v", got, r)
			}
			if on := r.Variables["max_allowed_packet"] != ""; on != (kind == "mariadb") {
				t.Errorf("variables %v", r.Variables)
			}
			if err := a.Stop(t.Context()); err != nil { // or it would claim what is overdue, and stop what it cannot read
				t.Fatal(err)
			}
			pool = dbtest.Open(t, db.Config{URL: o.DatabaseURL, DataDir: o.DataDir, Zone: dbtest.Zone, Unsafe: true})
			before := time.Now().Add(-2 * time.Hour)
			exec("INSERT INTO xxl_job_group (app_name, title, address_type) VALUES ('orders', 'Orders', 0)")
			exec("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'orders', 'http://10.0.0.1:9999/', ?)", pool.Wall(before))
			for i, conf := range []string{"0 0 2 * * ?", "every now and then"} {
				exec("INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, glue_type, trigger_status, trigger_next_time, executor_param) VALUES (1, 'j', 'CRON', ?, 'DO_NOTHING', 'BEAN', 1, ?, '')",
					conf, before.Add(time.Duration(i)*24*time.Hour).UnixMilli())
			}
			exec("INSERT INTO punctual_api_token (user_id, name, hash, hint, rights, admin, group_ids, created_at, expires_at) VALUES (1, 'ci', 'h', '', 0, 0, '', 1, 0)")
			exec("INSERT INTO punctual_node (name, address, version, started_at, beat, beat_at, low_log_id, state) VALUES ('killed', '', 'test', 1, 1, 1, 1, 1)")
			exec("INSERT INTO punctual_node (name, address, version, started_at, beat, beat_at, low_log_id, state) VALUES ('other', '', 'older', 1, 1, ?, 1, 1)", time.Now().Add(time.Hour).UnixMilli())
			exec(`INSERT INTO punctual_calendar (name, body, revision) VALUES ('old', '{"name":"old","week":["mon"],"years":[{"year":2000}],"days":[]}', 1)`)
			exec("UPDATE xxl_job_info SET calendar = 'old', calendar_rule = 'DAYS_OFF' WHERE schedule_conf = '0 0 2 * * ?'")
			if kind == "mariadb" {
				exec("DROP INDEX i_trigger_next ON xxl_job_info")
			} else {
				exec("DROP INDEX i_trigger_next")
			}
			want := []string{"indexes", "nodes.silent", "nodes.version", "executors.lost", "jobs.overdue", "jobs.unread", "jobs.alone", "calendars.missing", "tokens.endless", "tokens.unused"}
			r = examine()
			if got := of(r); !slices.Equal(got, want) || r.Verdict != CheckFailed {
				t.Errorf("found %v (%s), want %v: %+v", got, r.Verdict, want, r.Points)
			}
			if at := slices.IndexFunc(r.Points, func(p CheckPoint) bool { return p.Key == "jobs.unread" }); at >= 0 && len(r.Points[at].Of) != 1 {
				t.Errorf("not understood are %v: a job that keeps to a calendar of this installation is", r.Points[at].Of)
			}
		})
	}
}

// TestTheDoctorJudgesTheServersSettings by what they say alone.
func TestTheDoctorJudgesTheServersSettings(t *testing.T) {
	t.Parallel()
	good := map[string]string{"log_bin": "ON", "binlog_format": "ROW", "transaction_isolation": "REPEATABLE-READ", "max_allowed_packet": "67108864", "character_set_database": "utf8mb4", "innodb_flush_log_at_trx_commit": "1", "wait_timeout": "28800", "read_only": "OFF"}
	for name, c := range map[string]struct{ value, key string }{
		"binlog_format":                  {"STATEMENT", "db.binlog"},
		"transaction_isolation":          {"SERIALIZABLE", "db.isolation"},
		"max_allowed_packet":             {"1048576", "db.packet"},
		"character_set_database":         {"latin1", "db.charset"},
		"innodb_flush_log_at_trx_commit": {"2", "db.flush"},
		"wait_timeout":                   {"10", "db.waittimeout"},
		"read_only":                      {"ON", "db.readonly"},
	} {
		var well, ill DoctorReport
		well.settings(good)
		bad := make(map[string]string, len(good))
		maps.Copy(bad, good)
		bad[name] = c.value
		ill.settings(bad)
		if len(well.Points) != 0 || !slices.Equal(keysOf(ill.CheckFindings), []string{c.key}) {
			t.Errorf("%s = %s: %v; of good ones: %v", name, c.value, keysOf(ill.CheckFindings), keysOf(well.CheckFindings))
		}
	}
}

// TestTheDoctorKnowsWhatAServerHasToGive of connections: fewer than the admins at work may take, or none.
func TestTheDoctorKnowsWhatAServerHasToGive(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, "--max-connections=12")
	o := testOptions(t)
	o.DatabaseURL, o.MaxConns = server.Database(t), 2
	pool := dbtest.Open(t, db.Config{URL: o.DatabaseURL, MaxConns: 2})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	examine := func() []string {
		t.Helper()
		r, err := Doctor(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return keysOf(r.CheckFindings)
	}
	if slices.Contains(examine(), "db.connections") {
		t.Error("nobody takes any")
	}
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_node (name, address, version, started_at, beat, beat_at, low_log_id, state) VALUES ('a', '', 'test', 1, 1, ?, 1, 1)", time.Now().Add(time.Hour).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(examine(), "db.connections") {
		t.Error("an admin may take more than there are")
	}
	taken, err := sql.Open("mysql", o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for err == nil {
		_, err = taken.Conn(t.Context())
	}
	if _, err := Doctor(t.Context(), o); err == nil || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("with none left: %v", err)
	}
}
