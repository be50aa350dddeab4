package db_test

import (
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// BenchmarkSortJobs reads the first page of lists of 100,000 jobs, nearly all of which are of one group, as API v1 asks for it. Rare are a thousandth
// of them, old is the oldest job.
//
//	go test ./db -run '^$' -bench SortJobs
func BenchmarkSortJobs(b *testing.B) {
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		pool := dbtest.New(b, dialect)
		numbers := "WITH RECURSIVE s (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM s WHERE seq < 100000) SELECT seq FROM s"
		if dialect == db.MySQL {
			numbers = "SELECT seq FROM seq_1_to_100000"
		}
		mustExec(b, pool.DB, `INSERT INTO xxl_job_info (job_group, job_desc, author, tags, executor_handler, executor_param, schedule_type, schedule_conf, glue_type, misfire_strategy, trigger_status, trigger_last_time, trigger_next_time)
			SELECT CASE WHEN seq % 100 = 7 THEN 2 ELSE 1 END, CONCAT('close the day of branch ', CASE WHEN seq % 1000 = 3 THEN 'rare ' ELSE '' END, CASE WHEN seq = 1 THEN 'old ' ELSE '' END, seq),
			CONCAT('author ', seq % 50), CASE WHEN seq % 3 = 0 THEN 'night' ELSE '' END, CONCAT('handler', seq % 5000), 'branch=north', 'FIX_RATE', '60', 'BEAN', 'DO_NOTHING', CASE WHEN seq % 10 = 0 THEN 0 ELSE 1 END, 0, seq * 7919 % 100000 + 1
			FROM (`+numbers+") n")
		if dialect == db.MySQL {
			mustExec(b, pool.DB, "ANALYZE TABLE xxl_job_info")
		} else {
			mustExec(b, pool.DB, "ANALYZE")
		}
		one, stopped := []int64{1}, int64(0)
		for _, of := range []struct {
			name string
			f    db.JobFilter
		}{
			{"all", db.JobFilter{}},
			{"group", db.JobFilter{Groups: one}},
			{"group below", db.JobFilter{Groups: one, Below: 50_000}},
			{"group stopped", db.JobFilter{Groups: one, Status: &stopped}},
			{"small group", db.JobFilter{Groups: []int64{2}}},
			{"no group", db.JobFilter{Groups: []int64{3}}},
			{"small group by name", db.JobFilter{Groups: []int64{2}, Order: db.OrderName}},
			{"small group text", db.JobFilter{Groups: []int64{2}, Text: "%branch%"}},
			{"group text", db.JobFilter{Groups: one, Text: "%branch%"}},
			{"group rare text", db.JobFilter{Groups: one, Text: "%rare%"}},
			{"group old text", db.JobFilter{Groups: one, Text: "%old%"}},
			{"group no text", db.JobFilter{Groups: one, Text: "%nothing%"}},
			{"group author", db.JobFilter{Groups: one, Author: "%author 7%"}},
			{"group tag", db.JobFilter{Groups: one, Tag: "%,night,%"}},
			{"group by name", db.JobFilter{Groups: one, Order: db.OrderName}},
			{"group by name text", db.JobFilter{Groups: one, Text: "%branch%", Order: db.OrderName}},
			{"group by next", db.JobFilter{Groups: one, Order: db.OrderNext}},
			{"group by next text", db.JobFilter{Groups: one, Text: "%branch%", Order: db.OrderNext}},
			{"text", db.JobFilter{Text: "%branch%"}},
			{"no text", db.JobFilter{Text: "%nothing%"}},
		} {
			b.Run(fmt.Sprintf("%v/%s", dialect, of.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := db.SortJobs(b.Context(), pool, of.f, 0, 51); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
