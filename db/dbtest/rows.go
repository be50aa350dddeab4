package dbtest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Jobs are a job that uses every field, and one as XXL-JOB leaves it.
func Jobs() []db.Job {
	at := sql.NullTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Valid: true}
	return []db.Job{
		{
			ID: 7, JobGroup: 3, JobDesc: "收盘 | \"quoted\"", AddTime: at, UpdateTime: at, Author: "安", AlarmEmail: "a@b.cn,c@d.cn",
			ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "30", MisfireStrategy: jobspec.MisfireFireOnceNow,
			ExecutorRouteStrategy: jobspec.RouteFailover, ExecutorHandler: "h", ExecutorParam: "a\n b", ExecutorBlockStrategy: db.Text(wire.BlockCoverEarly),
			ExecutorTimeout: 60, ExecutorFailRetryCount: 3, GlueType: wire.GlueShell, GlueSource: "#!/bin/bash\n\techo 'x: y'\n", GlueRemark: "first try",
			GlueUpdateTime: at, ChildJobIDs: "8,9", TriggerStatus: 1, TriggerLastTime: 1, TriggerNextTime: 2, TimeZone: "America/New_York",
			StartAt: 1767225600001, EndAt: 1798761600000, RetryBackoff: "10s,1m", MaxConcurrent: 2, ConcurrencyPolicy: "DISCARD", RetentionDays: 9,
			WarnAfterSeconds: 10, ExpectEverySeconds: 3600, Tags: "night,eu", Revision: 5, ClaimedUntil: 6, ParamFixed: 1,
		},
		{
			ID: 8, JobGroup: 3, JobDesc: "plain", Author: "xxl", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?",
			MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "closeDay",
			ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, Revision: 1,
		},
	}
}

// InsertRun inserts a run of a job that was planned and begun at a time; handled 0 is one without a result.
func InsertRun(t *testing.T, pool *db.Pool, group, job int64, at time.Time, code, handled int64, note string) int64 {
	t.Helper()
	id, err := db.InsertRuns(t.Context(), pool, []db.NewRun{{
		JobGroup: group, JobID: job, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: code, Message: note,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if handled != 0 {
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = ? WHERE id = ?", handled, id); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// EveryColumn is all that the database has, by table and column.
func EveryColumn(t *testing.T, pool *db.Pool) map[string]string {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if pool.Dialect() == db.MySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
	}
	shown := make(map[string]string)
	for _, table := range Column(t, pool, query) {
		rows, err := pool.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = new([]byte)
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, value := range into {
				shown[table+"."+columns[i]] += string(*value.(*[]byte)) + "\n"
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return shown
}

// Column is what the first column of an answer has.
func Column(t *testing.T, pool *db.Pool, query string) (all []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
