package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// BenchmarkAhead foresees two weeks of 100,000 started jobs, of which half have a cron text that nobody else has or a beat of their own, and
// lists those of an hour: the first time, and again within the minute.
func BenchmarkAhead(b *testing.B) {
	const jobs = 100_000
	b.Run("mariadb", func(b *testing.B) {
		pool := dbtest.New(b, db.MySQL)
		now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		for first := 0; first < jobs; first += 1000 {
			var rows []string
			for i := first; i < first+1000; i++ {
				kind, conf, in := "CRON", "0 0/5 * * * ?", 4*time.Minute
				switch i % 4 {
				case 0:
					conf, in = "0 30 2 * * ?", 22*time.Hour
				case 1:
					conf, in = fmt.Sprintf("%d %d %d * * ?", i%60, i/60%60, i/3600%24), time.Duration(i)*time.Second
				case 2:
					kind, conf, in = "FIX_RATE", fmt.Sprint(30+i%300), time.Duration(i%300)*time.Second
				}
				rows = append(rows, fmt.Sprintf("(1, 'job %d', '%s', '%s', 'DO_NOTHING', 'BEAN', 1, %d)", i, kind, conf, now.Add(in).UnixMilli()))
			}
			if _, err := pool.ExecContext(b.Context(), "INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, glue_type, trigger_status, trigger_next_time) VALUES "+strings.Join(rows, ", ")); err != nil {
				b.Fatal(err)
			}
		}
		s := setup(b, pool)
		hour := manage.JobFilter{Status: manage.AnyStatus, Limit: 50, Show: dashboard.ShowDue, At: now.Add(20 * time.Hour), Until: now.Add(21 * time.Hour)}
		for _, bb := range []struct {
			name  string
			fresh bool
			do    func() error
		}{
			{"forecast", true, func() error { _, err := s.Dashboard.Ahead(b.Context(), s.admin); return err }},
			{"forecast again", false, func() error { _, err := s.Dashboard.Ahead(b.Context(), s.admin); return err }},
			{"list", true, func() error { _, err := s.Jobs.List(b.Context(), s.admin, hour); return err }},
			{"list again", false, func() error { _, err := s.Jobs.List(b.Context(), s.admin, hour); return err }},
		} {
			b.Run(bb.name, func(b *testing.B) {
				for b.Loop() {
					if bb.fresh {
						s.now = s.now.Add(time.Minute)
					}
					if err := bb.do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
