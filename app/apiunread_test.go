package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// startWatched is an app of whose statements some can be made to fail.
func startWatched(t *testing.T, o Options) (*App, *dbtest.Watched) {
	t.Helper()
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.pool.DB.Close() }) // what Watch leaves, when the app has closed what it uses
	sent := dbtest.Watch(t, a.pool)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, sent
}

// callerOf is a program with every right in an app that has one group.
func callerOf(t *testing.T, a *App) *caller {
	t.Helper()
	c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}
	c.json(201, &struct{}{}, "POST", "/groups", `{"app_name":"orders","title":"Orders","type":"manual","addresses":["http://127.0.0.1:1/"]}`)
	return c
}

// TestWhatWasDoneAndCannotBeReadIsSaidToBeDone: the database goes away between a change and the reading of what it came to. The answer does not say
// that the request was not done, nor to send it again in a moment.
func TestWhatWasDoneAndCannotBeReadIsSaidToBeDone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, sent := startWatched(t, o)
		c := callerOf(t, a)
		count := func(query string) (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		const job = `{"group_id":1,"description":"close the day","author":"ann","handler":"h","schedule":"CRON","cron":"0 0 2 * * ?"}`
		for _, tt := range []struct{ method, path, body, fails, done string }{
			{"POST", "/jobs", job, "GetFileJob", "xxl_job_info"},
			{"PATCH", "/jobs/1", `{"description":"close it"}`, "GetFileJob", "xxl_job_info WHERE job_desc = 'close it'"},
			{"POST", "/jobs/1/start", "", "GetFileJob", "xxl_job_info WHERE trigger_status = 1"},
		} {
			var keyed []string
			if tt.method == "POST" {
				keyed = []string{"Idempotency-Key", tt.path}
			}
			sent.Refuse(tt.fails, 1, mysql.ErrInvalidConn)
			var told refusal
			got := c.json(503, &told, tt.method, tt.path, tt.body, keyed...)
			if !sent.Refused() || told.Code != "once.unread" || got.header.Get("Retry-After") != "" || count(tt.done) != 1 {
				t.Errorf("%s %s: %s, Retry-After %q; done %d times", tt.method, tt.path, got.body, got.header.Get("Retry-After"), count(tt.done))
			}
		}
		var told refusal
		if c.json(409, &told, "POST", "/jobs", job, "Idempotency-Key", "/jobs"); told.Code != "once.done" || count("xxl_job_info") != 1 {
			t.Errorf("sent again with its key: %+v; %d jobs", told, count("xxl_job_info"))
		}
	})
}

// TestFilesAreNotRefusedByADatabaseThatIsAway: that no job is at fault is told to whoever applies them, a pipeline that will try again.
func TestFilesAreNotRefusedByADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, sent := startWatched(t, o)
		c := callerOf(t, a)
		const text = `punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: one\n        author: a\n        schedule: NONE\n        handler: h\n`
		body := fmt.Sprintf(`{"source":"git","files":[{"text":"%s"}]}`, text)
		sent.Refuse("InsertJob", 1, &mysql.MySQLError{Number: 1114, Message: "The table 'xxl_job_info' is full"})
		var told refusal
		got := c.json(503, &told, "POST", "/jobs/apply", body)
		if told.Code != "database.full" || told.Detail == "" || got.header.Get("Retry-After") == "" || !sent.Refused() {
			t.Errorf("%s, Retry-After %q", got.body, got.header.Get("Retry-After"))
		}
		var done struct{ Done bool }
		if c.json(200, &done, "POST", "/jobs/apply", body); !done.Done {
			t.Error("it is not applied when the database is back")
		}
	})
}

// TestADeedForManyIsToldWhenTheDatabaseGoes away after it: which jobs were moved, and what takes that back.
func TestADeedForManyIsToldWhenTheDatabaseGoes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, sent := startWatched(t, o)
		b := open(t, a).mustLogin()
		for _, name := range []string{"orders", "stock"} {
			b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		for _, name := range []string{"one", "two"} {
			if got := b.post("/jobs", form(url.Values{"name": {name}})); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		sent.Before("UpdateJob", func() { sent.Refuse("ListGroups", 1, mysql.ErrInvalidConn) })
		got := b.post("/jobs/bulk", url.Values{"do": {"move"}, "id": {"1", "2"}, "group": {"2"}})
		if n := got.document(t).Find(bulkFields).Length(); got.status != http.StatusOK || n == 0 {
			t.Errorf("%d, and %d fields to take it back with: %s", got.status, n, got.body)
		}
	})
}
