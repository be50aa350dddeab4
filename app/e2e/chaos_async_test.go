package e2e

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/event"
)

// TestKillWhileATargetWorks kills the only admin while an asynchronous call's target has the work: the report after its next start
// ends the run, and the run is neither failed by the start nor lost.
func TestKillWhileATargetWorks(t *testing.T) {
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			given := make(chan string, 1)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				given <- r.Header.Get(httpcall.CallbackHeader)
				w.WriteHeader(http.StatusAccepted)
			}))
			t.Cleanup(site.Close)
			d := newDatabase(t, dialect)
			port := executortest.FreePort(t)
			settings := adminSettings{databaseURL: d.url, dataDir: d.dir, port: port, env: []string{
				"PUNCTUAL_HTTP_JOBS=on", "PUNCTUAL_HTTP_ALLOW=" + strings.TrimPrefix(site.URL, "http://"), "PUNCTUAL_PUBLIC_URL=http://127.0.0.1:" + port,
			}}
			if settings.dataDir == "" {
				settings.dataDir = t.TempDir()
			}
			a := startAdmin(t, settings)
			var group int64
			if err := d.sql.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_group WHERE app_name = 'punctual-http'").Scan(&group); err != nil {
				t.Fatal(err)
			}
			s := a.login(t, testPassword)
			param := `{"url":"` + site.URL + `","async":true}`
			s.must(t, "/jobs", url.Values{
				"name": {"long work"}, "author": {"ann"}, "group": {strconv.FormatInt(group, 10)}, "schedule_type": {"NONE"}, "misfire": {"DO_NOTHING"}, "glue": {"BEAN"},
				"handler": {httpcall.Handler}, "route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "timeout": {"600"}, "retries": {"2"}, "param": {param},
			})
			var job, run int64
			if err := d.sql.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_info WHERE job_desc = 'long work'").Scan(&job); err != nil {
				t.Fatal(err)
			}
			s.must(t, "/jobs/"+strconv.FormatInt(job, 10)+"/run", url.Values{"param": {param}, "addresses": {""}})
			address := <-given
			eventually(t, "a run that waits for its target", func() error {
				err := d.sql.QueryRowContext(t.Context(), "SELECT log_id FROM punctual_callback WHERE state = 1").Scan(&run)
				if errors.Is(err, sql.ErrNoRows) {
					return errNotYet
				}
				return err
			})
			a.kill()
			a = startAdmin(t, settings)
			until(t, time.Now().Add(12*time.Second)) // two sweeps
			outcome := func() (o event.Outcome) {
				if err := d.sql.QueryRowContext(t.Context(), "SELECT outcome FROM xxl_job_log WHERE id = ?", run).Scan(&o); err != nil {
					t.Fatal(err)
				}
				return o
			}
			if o := outcome(); o != event.Open {
				t.Fatalf("after the restart the run is %v", o)
			}
			answer, err := http.Post(address, "application/json", strings.NewReader(`{"status":"success","message":"after all"}`))
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
				t.Fatalf("the report: %s %s", answer.Status, body)
			}
			if o := outcome(); o != event.Succeeded {
				t.Errorf("the run is %v", o)
			}
			a.noPanic(t)
		})
	}
}
