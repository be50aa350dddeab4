package bench

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// junk is what the wrong executors answer, whatever they are asked.
var junk = []http.HandlerFunc{
	func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>It works!</html>") },
	func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"code":200,"msg":"`) },
	func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) },
	func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("junk", 512<<10))
	},
	func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"code":200,"msg":"`+strings.Repeat("x", 2<<20)+`"}`)
	},
}

// besideGarbage measures how late the runs of a healthy executor are at 100/s, alone and beside 30 runs a second that go to
// executors which answer HTML, half of a JSON, 503, and two megabytes of junk of two kinds.
func besideGarbage(ctx context.Context, s Settings, database string) error {
	for _, rate := range []int{0, 30} {
		var servers []*httptest.Server
		y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
			first := time.Now().Add(3 * time.Second)
			if err := addJobs(ctx, pool, 100, time.Second, first, true); err != nil {
				return err
			}
			for i := range rate {
				if i < len(junk) {
					servers = append(servers, httptest.NewServer(junk[i]))
				}
				if err := addJunkJob(ctx, pool, i, servers[i%len(junk)].URL+"/", first.Add(time.Second*time.Duration(i)/time.Duration(rate))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		w, err := y.window(ctx, 15*time.Second, time.Duration(s.Seconds)*time.Second)
		if closed := y.close(); err == nil {
			err = closed
		}
		for _, server := range servers {
			server.Close()
		}
		if err != nil {
			return err
		}
		s.report(database, fmt.Sprintf("beside %d/s of garbage", rate), "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; CPU admin %.2f cores; admin %.0f MB",
			float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.adminCPU, w.adminRSS)
	}
	return nil
}

// addJunkJob inserts a started job of each second in a group of its own.
func addJunkJob(ctx context.Context, pool *db.Pool, i int, url string, first time.Time) error {
	group, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: fmt.Sprintf("junk-%d", i), Title: "junk", AddressType: 1, AddressList: db.Text(url)})
	if err != nil {
		return err
	}
	now := sql.NullTime{Time: pool.Wall(time.Now()), Valid: true}
	id, err := db.New().InsertJob(ctx, pool, db.InsertJobParams{
		JobGroup: group, JobDesc: "junk", AddTime: now, UpdateTime: now, GlueUpdateTime: now, ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "1",
		MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteRound, ExecutorHandler: "noop", ExecutorBlockStrategy: "SERIAL_EXECUTION",
		GlueType: wire.GlueBean,
	})
	if err != nil {
		return err
	}
	_, err = db.New().StartJob(ctx, pool, db.StartJobParams{ID: id, NextTime: first.UnixMilli(), UpdateTime: now})
	return err
}
