package db_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestASurveyReadsEachEra finds in the database of every release what was filled in, also what is empty there.
func TestASurveyReadsEachEra(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Zone: dbtest.Zone})
			if s, err := pool.Survey(t.Context()); err != nil || cmp.Diff(db.Survey{}, s) != "" {
				t.Errorf("of an empty database: %+v, %v", s, err)
			}
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			kind, conf, column := jobspec.ScheduleFixRate, "30", "schedule_conf"
			if e.jobCron {
				kind, conf, column = jobspec.ScheduleCron, "0 0 2 * * ?", "job_cron"
			}
			mustExec(t, pool.DB, "UPDATE xxl_job_info SET alarm_email = 'ops@example.com', "+column+" = 'daily' WHERE id = 9")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (7, 1, '2024-03-01 00:00:00', 200, 0), (7, 1, NULL, 0, 0)")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "+
				"('EXECUTOR', 'XXL-JOB-executor-sample', 'http://10.0.0.7:9999/', '2024-03-02 00:00:00'), ('ADMIN', 'xxl-job-executor-sample', 'http://10.0.0.8:9999/', '2024-03-03 00:00:00')")
			token := ""
			if e.renamed {
				token = "of-orders"
				mustExec(t, pool.DB, "UPDATE xxl_job_group SET access_token = 'of-orders' WHERE id = 7")
			}
			s, err := pool.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Release == "" || s.Bytes == 0 || (len(s.Steps) == 0) != (e.name == "3.4.2") { // whose schema is ours
				t.Errorf("release %q, %d bytes, steps %q", s.Release, s.Bytes, s.Steps)
			}
			s.Release, s.Bytes, s.Steps, s.Runs = "", 0, nil, 0 // the database estimates the last
			open := int64(2)
			if e.runIndexes == nil { // it would read the whole log
				open = 0
			}
			want := db.Survey{
				Kept: time.Date(2024, 2, 29, 12, 0, 0, 0, dbtest.Zone), Beat: time.Date(2024, 3, 2, 0, 0, 0, 0, dbtest.Zone), Overdue: 1, Open: open,
				Jobs: []db.SurveyedJob{
					{ID: 1, Name: "测试任务一", Started: true, Type: kind, Conf: conf, GlueType: "GLUE_SHELL", Route: jobspec.RouteConsistentHash, Retries: true},
					{ID: 9, Name: "b", Type: kind, Conf: "daily", Finding: db.FindingUnread, GlueType: "BEAN", Mails: true},
				},
				Groups: []db.SurveyedGroup{
					{ID: 7, AppName: "order", Title: "订单", Manual: true, Token: token, Addresses: []string{"http://10.0.0.1:9999", "http://10.0.0.2:9999"}},
					{ID: 1, AppName: "xxl-job-executor-sample", Title: "示例执行器", Addresses: []string{"http://10.0.0.7:9999/"}},
				},
				Users: []db.SurveyedUser{{Name: "admin", Admin: true, Password: "e10adc3949ba59abbe56e057f20f883e"}, {Name: "张三", Groups: "1,7", Password: "x"}},
			}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s, err := pool.Survey(t.Context()); err != nil || cmp.Diff(db.Survey{Ours: true}, s) != "" {
				t.Errorf("of ours: %+v, %v", s, err)
			}
		})
	}
}
