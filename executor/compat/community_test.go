package compat

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

// quiet keeps the executor's own words for a test that fails.
type quiet struct{ t *testing.T }

func (quiet) Info(string, ...any)             {}
func (q quiet) Error(format string, a ...any) { q.t.Logf("executor: "+format, a...) }

// startExecutor runs the community's executor behind a server of our own, as its documentation shows, and returns the
// address it registers.
func startExecutor(t *testing.T, admin string, begun chan<- string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	logger := quiet{t}
	ex := xxl.NewExecutor(xxl.ServerAddr(admin+"/xxl-job-admin"), xxl.AccessToken(token), xxl.ExecutorIp(host), xxl.ExecutorPort(port),
		xxl.RegistryKey("community"), xxl.SetLogger(logger))
	ex.LogHandler(func(req *xxl.LogReq) *xxl.LogRes {
		return &xxl.LogRes{Code: xxl.SuccessCode, Content: xxl.LogResContent{
			FromLineNum: req.FromLineNum, ToLineNum: 1, LogContent: fmt.Sprintf("output of run %d", req.LogID), IsEnd: true}}
	})
	mux.HandleFunc("/run", ex.RunTask)
	mux.HandleFunc("/kill", ex.KillTask)
	mux.HandleFunc("/log", ex.TaskLog)
	mux.HandleFunc("/beat", ex.Beat)
	mux.HandleFunc("/idleBeat", ex.IdleBeat)
	ex.Init() // begins to register; there is no way to end that, so it goes on until the process ends
	ex.RegTask("echo", func(_ context.Context, req *xxl.RunReq) string {
		return fmt.Sprintf("echo %s, slice %d of %d", req.ExecutorParams, req.BroadcastIndex, req.BroadcastTotal)
	})
	ex.RegTask("panics", func(context.Context, *xxl.RunReq) string { panic("on purpose") })
	ex.RegTask("waits", func(ctx context.Context, req *xxl.RunReq) string {
		begun <- req.ExecutorParams
		if req.ExecutorParams == "not at all" {
			return "did not wait"
		}
		<-ctx.Done()
		return "ended: " + ctx.Err().Error()
	})
	t.Cleanup(ex.Stop)
	return server.URL
}

func TestCommunityExecutor(t *testing.T) {
	a := startAdmin(t)
	a.post(t, "/executors", url.Values{"app_name": {"community"}, "title": {"Community"}, "type": {"auto"}})
	begun := make(chan string, 10)
	address := startExecutor(t, a.url, begun)
	deadline := time.Now().Add(patience)
	for again := time.NewTicker(20 * time.Millisecond); ; <-again.C {
		if text, _ := a.page(t, "/executors"); strings.Contains(text, address) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the executor does not appear in the console")
		}
	}
	run := func(t *testing.T, job, param string) string {
		return a.post(t, job+"/run", url.Values{"param": {param}})
	}
	wantText := func(t *testing.T, text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("the page lacks %q:\n%s", part, text)
			}
		}
	}

	t.Run("a run, its result and its output", func(t *testing.T) {
		text := a.wait(t, run(t, a.addJob(t, "echo", nil), "世界 <b>"), "success")
		wantText(t, text, "echo 世界 <b>, slice 0 of 1", "output of run", address)
	})
	t.Run("a broadcast", func(t *testing.T) {
		text := a.wait(t, run(t, a.addJob(t, "echo", url.Values{"route": {"SHARDING_BROADCAST"}}), "all"), "success")
		wantText(t, text, "echo all, slice 0 of 1")
	})
	t.Run("a panic", func(t *testing.T) {
		wantText(t, a.wait(t, run(t, a.addJob(t, "panics", nil), ""), "failed"), "task panic:on purpose")
	})
	t.Run("a task that is not there", func(t *testing.T) {
		wantText(t, a.wait(t, run(t, a.addJob(t, "unknown", nil), ""), "sendfailed"), "Task not registered")
	})
	t.Run("killed", func(t *testing.T) {
		job := a.addJob(t, "waits", nil)
		first := run(t, job, "one")
		if got := <-begun; got != "one" {
			t.Errorf("began with %q", got)
		}
		// This executor has no queue: it refuses what upstream would let wait.
		wantText(t, a.wait(t, run(t, job, "two"), "sendfailed"), "There are tasks running")
		a.wait(t, first, "sent")
		a.kill(t, first)
		a.wait(t, first, "killed")
		third := run(t, job, "three")
		if got := <-begun; got != "three" {
			t.Errorf("after the kill, began with %q", got)
		}
		a.wait(t, third, "sent")
		a.kill(t, third)
		a.wait(t, third, "killed")
	})
	t.Run("a kill that races with the executor's own report", func(t *testing.T) {
		// The kill ends the task's context, and the task reports what it says then as a success. Whether that or the kill's own
		// answer comes first is a matter of microseconds; the run is killed either way.
		child := a.addJob(t, "echo", url.Values{"name": {"child of the killed"}})
		job := a.addJob(t, "waits", url.Values{"children": {strings.TrimPrefix(child, "/jobs/")}, "retries": {"2"}})
		var killed []string
		for i := range 14 {
			r := run(t, job, fmt.Sprint(i))
			if got := <-begun; got != fmt.Sprint(i) {
				t.Fatalf("run %d began with %q", i, got)
			}
			if i%2 == 0 { // else the kill may come before the answer to the sending is on record
				a.wait(t, r, "sent")
			}
			a.kill(t, r)
			killed = append(killed, r)
		}
		for _, r := range killed {
			a.wait(t, r, "killed")
		}
		// What would follow of a success or a failure would have a lower number than this one's.
		last := run(t, job, "not at all")
		<-begun
		text := a.wait(t, last, "success")
		if got := a.runsOf(t, job); len(got) != len(killed)+1 {
			t.Errorf("the job has %d runs; want %d, and no retry: %s\n%s", len(got), len(killed)+1, got, text)
		}
		if got := a.runsOf(t, child); len(got) != 1 {
			t.Errorf("the child has the runs %s; want only the one after %s", got, last)
		}
		for _, r := range killed {
			if state, text := a.state(t, r); state != "killed" {
				t.Errorf("%s is %s in the end:\n%s", r, state, text)
			}
		}
	})
	t.Run("out of time", func(t *testing.T) {
		// Its context ends, and what the task says then is its result: this executor knows no time-out code.
		text := a.wait(t, run(t, a.addJob(t, "waits", url.Values{"timeout": {"1"}}), "short"), "success")
		wantText(t, text, "ended: context deadline exceeded")
	})
}
