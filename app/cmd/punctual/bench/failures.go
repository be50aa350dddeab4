package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// percentiles describes durations in milliseconds.
func percentiles(ms []float64) string {
	if len(ms) == 0 {
		return "none"
	}
	slices.Sort(ms)
	at := func(p float64) float64 { return ms[min(len(ms)-1, int(p*float64(len(ms))))] }
	return fmt.Sprintf("p50 %.0f p90 %.0f p99 %.0f max %.0f ms (%d)", at(.5), at(.9), at(.99), ms[len(ms)-1], len(ms))
}

// retries runs 250 jobs a second that fail and are retried once, so 500 callbacks/s, and measures from the moment a failure
// is recorded to the moment its retry is sent.
func retries(ctx context.Context, s Settings, database string) error {
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addJobsOf(ctx, pool, "fail", 1, 250, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	if _, err := y.window(ctx, 5*time.Second, time.Duration(s.Seconds)*time.Second); err != nil {
		return err
	}
	y.stopAdmin() // the embedded database is one process's at a time
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	waits, err := numbers(ctx, pool, `SELECT r.sent_at - o.finished_at FROM xxl_job_log AS r JOIN xxl_job_log AS o ON o.id = r.origin_log_id
 WHERE r.trigger_type = 'RETRY' AND r.sent_at > 0 AND o.finished_at > 0`)
	if err != nil {
		return err
	}
	s.report(database, "retries", "from the record of a failure to the sending of its retry: %s", percentiles(waits))
	return nil
}

func numbers(ctx context.Context, pool *db.Pool, query string) ([]float64, error) {
	rows, err := pool.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []float64
	for rows.Next() {
		var n float64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

// alarms lets 200 jobs fail for good within ten seconds and measures from the record of a failure to the arrival of its
// webhook at a server on this machine.
func alarms(ctx context.Context, s Settings, database string) error {
	arrived := make(map[int64]time.Time)
	var mu sync.Mutex
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		var message struct {
			Alarms []struct {
				LogID int64 `json:"logId"`
			} `json:"alarms"`
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			return
		}
		mu.Lock()
		for _, a := range message.Alarms {
			arrived[a.LogID] = now
		}
		mu.Unlock()
		w.WriteHeader(http.StatusOK)
	})}
	go server.Serve(l)
	defer server.Close()
	y, err := newSystem(ctx, s, database)
	if err != nil {
		return err
	}
	defer y.close()
	// The first start makes the key that seals the channel's address; the channel is made before the second.
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	y.stopAdmin()
	if err := y.fill(ctx, func(pool *db.Pool) error {
		return errors.Join(addWebhook(ctx, pool, "http://"+l.Addr().String()+"/"), addJobsOf(ctx, pool, "fail", 0, 200, 10*time.Second, time.Now().Add(5*time.Second), true))
	}); err != nil {
		return err
	}
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	if _, err := y.window(ctx, 0, 18*time.Second); err != nil {
		return err
	}
	y.stopAdmin()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	mu.Lock()
	defer mu.Unlock()
	var waits []float64
	for id, at := range arrived {
		var finished int64
		if err := pool.QueryRowContext(ctx, "SELECT finished_at FROM xxl_job_log WHERE id = ?", id).Scan(&finished); err != nil {
			return err
		}
		waits = append(waits, float64(at.UnixMilli()-finished))
	}
	s.report(database, "alarms", "from the record of a final failure to the arrival of its webhook: %s", percentiles(waits))
	return nil
}

// addWebhook makes a channel for all jobs.
func addWebhook(ctx context.Context, pool *db.Pool, url string) error {
	var sealed string
	if err := pool.QueryRowContext(ctx, "SELECT value FROM punctual_setting WHERE name = 'alarm_key'").Scan(&sealed); err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return err
	}
	catalogue := locales.New()
	a, err := alarm.New(alarm.Config{Pool: pool, Logger: slog.Default(), Key: key, Printer: func(lang string) alarm.Printer { return catalogue.Printer(lang) }})
	if err != nil {
		return err
	}
	id, err := a.CreateChannel(ctx, alarm.Channel{Name: "bench", Kind: alarm.KindWebhook, Enabled: true, Settings: alarm.Settings{URL: url}})
	if err != nil {
		return err
	}
	_, err = a.CreateRoute(ctx, alarm.Route{ChannelID: id, Scope: alarm.ScopeAll})
	return err
}

// takeOver kills one of two admins that share 1,000 triggers/s, and accounts for every planned fire.
func takeOver(ctx context.Context, s Settings, database string) error {
	if database == embedded {
		return nil // the embedded database has one admin
	}
	const rate = 1000
	y, err := newSystem(ctx, s, database)
	if err != nil {
		return err
	}
	defer y.close()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	first := time.Now().Add(8 * time.Second)
	if err := addJobs(ctx, pool, rate, time.Second, first, true); err != nil {
		return err
	}
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	if err := y.startSecond(ctx); err != nil {
		return err
	}
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	if _, err := y.window(ctx, time.Until(first), 10*time.Second); err != nil {
		return err
	}
	killed := time.Now()
	if err := y.other.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	_ = y.other.Wait()
	y.other = nil
	if _, err := y.window(ctx, 0, 20*time.Second); err != nil {
		return err
	}
	stats, err := y.stats()
	if err != nil {
		return err
	}
	var taken, firstSend int64
	err = pool.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MIN(sent_at), 0) FROM xxl_job_log WHERE events LIKE '%"taken",%' AND sent_at > ?`, killed.UnixMilli()).Scan(&taken, &firstSend)
	if err != nil {
		return err
	}
	// Fires whose time was before the last ten seconds have had time to be sent.
	until := time.Now().Add(-10 * time.Second).UnixMilli()
	var rows, distinct, unsent, skipped int64
	err = pool.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(DISTINCT job_id, planned_at), COALESCE(SUM(trigger_code = 0), 0), COALESCE(SUM(trigger_code = 500), 0)
 FROM xxl_job_log WHERE planned_at < ?`, until).Scan(&rows, &distinct, &unsent, &skipped)
	if err != nil {
		return err
	}
	var want int64
	for i := range int64(rate) {
		if at := first.UnixMilli() + i*1000/rate; at < until {
			want += (until-at-1)/1000 + 1
		}
	}
	late, err := numbers(ctx, pool, fmt.Sprintf("SELECT sent_at - planned_at FROM xxl_job_log WHERE sent_at > 0 AND planned_at BETWEEN %d AND %d", killed.UnixMilli()-2000, killed.UnixMilli()+8000))
	if err != nil {
		return err
	}
	s.report(database, "take-over", "first send of a run taken over %d ms after the kill (%d taken over); of %d planned fires %d recorded, %d twice, %d unsent, %d failed or skipped; executed twice %d; lateness around the kill %s",
		firstSend-killed.UnixMilli(), taken, want, distinct, rows-distinct, unsent, skipped, stats.Doubled, percentiles(late))
	return nil
}
