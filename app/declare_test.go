package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAProgramBringsItsJobs with it: three replicas start, one job is made and runs, and the console says whose it is. Before the group's
// token may manage jobs nothing is made, and the program tries again.
func TestAProgramBringsItsJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		group := "/executors/" + strconv.FormatInt(groups["orders"], 10)
		form := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}, "token_manages": {"off"}}
		if got := root.post(group, form); got.status != http.StatusSeeOther {
			t.Fatalf("switch off: %d %s", got.status, got.body)
		}
		ran, refused := make(chan string, 100), make(chan struct{}, 100)
		for range 3 {
			ex, err := executor.New(executor.Config{
				AppName: "orders", Admins: []string{orders.base}, Token: orders.token, DataDir: t.TempDir(), Listen: "127.0.0.1:0",
				BeatInterval: 50 * time.Millisecond, NoSync: true, Logger: slog.New(noticing{"cannot declare jobs", refused}),
			})
			if err != nil {
				t.Fatal(err)
			}
			ex.Handle("pulse", func(_ context.Context, run *executor.Run) error { ran <- run.Param; return nil })
			ex.Declare(executor.Job{Name: "pulse", Description: "Take the pulse", Param: "wrist", Schedule: executor.Every(time.Second)})
			if err := ex.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ex.Stop(context.Background()) })
		}
		<-refused
		jobs := func() []db.ListJobNamesRow {
			t.Helper()
			rows, err := db.New().ListJobNames(t.Context(), a.pool, db.ListJobNamesParams{JobGroup: groups["orders"], Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		if n := len(jobs()); n != 0 {
			t.Errorf("%d jobs were made with a token that manages none", n)
		}
		form.Set("token_manages", "on")
		if got := root.post(group, form); got.status != http.StatusSeeOther {
			t.Fatalf("switch on: %d %s", got.status, got.body)
		}
		if param := <-ran; param != "wrist" {
			t.Errorf("it ran with %q", param)
		}
		rows := jobs()
		if len(rows) != 1 || rows[0].JobDesc != "Take the pulse" {
			t.Fatalf("the jobs of three replicas are %+v", rows)
		}
		page := root.get("/jobs/" + strconv.FormatInt(rows[0].ID, 10) + "/edit").body
		if !strings.Contains(page, "The program orders declares this job") || strings.Count(page, "set by the program</span>") != 6 {
			t.Errorf("the form does not mark what the program decides (%d marks)", strings.Count(page, "set by the program</span>"))
		}
		if j, err := db.New().GetJob(t.Context(), a.pool, rows[0].ID); err != nil || j.TriggerStatus != int64(jobspec.StatusRunning) {
			t.Errorf("its schedule is not started: %v", err)
		}
	})
}

// noticing is a log in which somebody waits for a message.
type noticing struct {
	message string
	seen    chan<- struct{}
}

func (n noticing) Enabled(context.Context, slog.Level) bool { return true }
func (n noticing) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n noticing) WithGroup(string) slog.Handler            { return n }
func (n noticing) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, n.message) {
		select {
		case n.seen <- struct{}{}:
		default:
		}
	}
	return nil
}
