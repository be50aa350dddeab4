package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

// retention fills the log with runs of which 60 % are older than a month, runs 500 triggers/s, and has the old ones deleted:
// the figures say how much of that the triggers feel. The deletion is the one behind the page for clearing, which begins when
// it is asked for; the nightly one goes the same way, page by page with the same pauses, and keeps no progress.
func retention(ctx context.Context, s Settings, database string) error {
	const rate = 500
	name := "retention"
	old := s.Runs / 10 * 6
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		began := time.Now()
		err := addRuns(ctx, pool, old, began.AddDate(0, 0, -90), began.AddDate(0, 0, -32))
		if err == nil {
			err = addRuns(ctx, pool, s.Runs-old, began.AddDate(0, 0, -27), began.Add(-time.Minute))
		}
		if err != nil {
			return err
		}
		s.report(database, name, "filled with %d runs in %.0f s", s.Runs, time.Since(began).Seconds())
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	tell := func(when string, w window) {
		s.report(database, name+", "+when, "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; a claim %.1f ms, a record %.1f ms, a callback %.1f ms; CPU admin %.2f, database %.2f cores",
			float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.meanMs("punctual_claim_seconds"), w.meanMs("punctual_record_seconds"),
			w.meanMs("punctual_callback_seconds"), w.adminCPU, w.dbCPU)
	}
	length := time.Duration(s.Seconds) * time.Second
	// Both databases are still busy with what filled them.
	w, err := y.window(ctx, 15*time.Second, length)
	if err != nil {
		return err
	}
	tell("before", w)
	admin, err := y.login(ctx, "admin")
	if err != nil {
		return err
	}
	if w, err = y.during(func() error { return admin.clear(ctx) }); err != nil {
		return err
	}
	tell("during", w)
	s.report(database, name, "%d runs deleted in %.0f s: %.0f/s", old, w.seconds, float64(old)/w.seconds)
	if w, err = y.window(ctx, time.Second, length); err != nil {
		return err
	}
	tell("after", w)
	return nil
}

// clear deletes the runs that are older than a month and waits until they are gone.
func (a agent) clear(ctx context.Context) error {
	const path = "/runs/clear"
	_, status, _, err := a.ask(ctx, page{path: fixed(path), form: func(int) url.Values {
		return url.Values{"group": {""}, "job": {""}, "type": {"1"}, "previewed": {"..1"}}
	}}, 0)
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("ask for a clearing: %d", status)
	}
	for err == nil {
		if err = wait(ctx, time.Second); err != nil {
			break
		}
		var r *http.Response
		if r, err = a.http.Get(a.base + path); err != nil {
			break
		}
		var body []byte
		body, err = io.ReadAll(r.Body)
		if err = errors.Join(err, r.Body.Close()); err == nil && r.StatusCode == http.StatusOK && !strings.Contains(string(body), "<progress") {
			break
		}
	}
	return err
}
