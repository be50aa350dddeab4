//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/internal/leak"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// bundle is an executor with an admin and a client to call it.
type bundle struct {
	*executortest.Executor
	admin  *executortest.Admin
	client *wire.ExecutorClient
}

func setup(t *testing.T, handlers executortest.Handlers, options ...func(*executor.Config)) *bundle {
	t.Helper()
	admin := executortest.NewAdmin(t)
	client := wire.NewExecutorClient(nil)
	t.Cleanup(client.Close)
	return &bundle{Executor: executortest.New(t, admin.URL, handlers, options...), admin: admin, client: client}
}

// request is a run of handler "h"; its job and trigger time follow from the id unless changed.
func request(logID int64) *wire.RunRequest {
	return &wire.RunRequest{JobID: logID, LogID: logID, ExecutorHandler: "h", GlueType: wire.GlueBean,
		LogDateTime: 1_767_225_600_000 + logID, BroadcastTotal: 1}
}

func (b *bundle) run(t *testing.T, req *wire.RunRequest) wire.Answer {
	t.Helper()
	answer, err := b.client.Run(t.Context(), b.Target(), req)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (b *bundle) mustRun(t *testing.T, req *wire.RunRequest) {
	t.Helper()
	if answer := b.run(t, req); !answer.OK() {
		t.Fatalf("run %d is refused: %s", req.LogID, answer.Msg)
	}
}

// log reads the whole run log.
func (b *bundle) log(t *testing.T, req *wire.RunRequest) string {
	t.Helper()
	var text strings.Builder
	for from := 1; ; {
		piece, answer, err := b.client.Log(t.Context(), b.Target(), wire.LogRequest{LogID: req.LogID, LogDateTime: req.LogDateTime, FromLineNum: from})
		if err != nil || !answer.OK() {
			t.Fatalf("log: %+v, %v", answer, err)
		}
		text.WriteString(piece.LogContent)
		if piece.IsEnd || piece.ToLineNum < from {
			return text.String()
		}
		from = piece.ToLineNum + 1
	}
}

func (b *bundle) wantResult(t *testing.T, logID int64, code int, msg string) {
	t.Helper()
	if cb := b.admin.Result(t, logID); cb.HandleCode != code || cb.HandleMsg != msg {
		t.Errorf("run %d: result %d %q, want %d %q", logID, cb.HandleCode, cb.HandleMsg, code, msg)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler executor.Handler
		code    int
		msg     string
		log     []string
	}{
		"success": {func(context.Context, *executor.Run) error { return nil }, 200, "", []string{"execute start", "Param: a=1", "handleCode=200"}},
		"a message": {func(_ context.Context, run *executor.Run) error { run.SetResult("done 中文"); return nil }, 200, "done 中文",
			[]string{"handleMsg = done 中文"}},
		"an error":           {func(context.Context, *executor.Run) error { return errors.New("boom") }, 500, "boom", []string{"handleCode=500, handleMsg = boom"}},
		"a code":             {func(context.Context, *executor.Run) error { return executor.Fail(777, "odd") }, 777, "odd", nil},
		"a wrapped code":     {func(context.Context, *executor.Run) error { return fmt.Errorf("step: %w", executor.Fail(300, "odd")) }, 300, "step: odd", nil},
		"a code of 0":        {func(context.Context, *executor.Run) error { return executor.Fail(0, "none") }, 500, "none", nil},
		"its own time-out":   {func(context.Context, *executor.Run) error { return executor.ErrTimeout }, 502, "job execute timeout", nil},
		"a panic":            {func(context.Context, *executor.Run) error { panic("oh") }, 500, "panic: oh", []string{"panic: oh", "executor_test.go"}},
		"an ended goroutine": {func(context.Context, *executor.Run) error { runtime.Goexit(); return nil }, 500, "the handler ended its goroutine", nil},
		"a long message": {func(context.Context, *executor.Run) error { return errors.New(strings.Repeat("é", 50_001)) }, 500,
			strings.Repeat("é", 50_000) + "...", nil},
		"log lines": {func(ctx context.Context, run *executor.Run) error {
			run.Logf("number %d", 7)
			again, ok := executor.FromContext(ctx)
			if !ok || again != run {
				return errors.New("the context does not know its run")
			}
			run.Logger().With("shard", run.Shard.Index).WithGroup("g").Warn("careful", "a", "b c")
			_, _ = fmt.Fprintln(run, "raw output")
			return nil
		}, 200, "", []string{"[executor_test.go]-[", "number 7\n", `WARN careful shard=0 g.a="b c"`, "\nraw output\n", "execute end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, executortest.Handlers{"h": tc.handler})
			req := request(1)
			req.ExecutorParams = "a=1"
			b.mustRun(t, req)
			b.wantResult(t, 1, tc.code, tc.msg)
			b.mustRun(t, onJob(request(2), 1, wire.BlockSerial)) // the job goes on
			b.wantResult(t, 2, tc.code, tc.msg)
			text := b.log(t, req)
			for _, want := range tc.log {
				if !strings.Contains(text, want) {
					t.Errorf("log lacks %q:\n%s", want, text)
				}
			}
		})
	}
}

func TestRunKnowsWhatItIs(t *testing.T) {
	t.Parallel()
	got := make(chan *executor.Run, 1)
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error { got <- run; return nil }})
	req := request(4321)
	req.JobID, req.ExecutorParams, req.BroadcastIndex, req.BroadcastTotal = 7, "p", 2, 5
	b.mustRun(t, req)
	run := <-got
	if run.JobID != 7 || run.LogID != 4321 || run.Param != "p" || run.Handler != "h" || run.Shard != (executor.Shard{Index: 2, Total: 5}) ||
		!run.Planned.Equal(time.UnixMilli(req.LogDateTime)) {
		t.Errorf("run %+v of %+v", run, req)
	}
	if cb := b.admin.Result(t, 4321); cb.LogDateTim != req.LogDateTime {
		t.Errorf("callback %+v does not echo the trigger time", cb)
	}
	// A retry has another planned time than the one under which its log and result are filed.
	again := request(4322)
	again.PlannedAt = again.LogDateTime - 86_400_000
	b.mustRun(t, again)
	if run := <-got; !run.Planned.Equal(time.UnixMilli(again.PlannedAt)) {
		t.Errorf("planned %s of %+v", run.Planned, again)
	}
	if cb := b.admin.Result(t, 4322); cb.LogDateTim != again.LogDateTime {
		t.Errorf("callback %+v does not echo the trigger time", cb)
	}
}

// blocker is a handler that says when it begins and goes on until told, or until its context ends.
type blocker struct {
	begun chan int64
	free  chan struct{}
	deaf  bool // ignores its context
}

func newBlocker() *blocker { return &blocker{begun: make(chan int64, 100), free: make(chan struct{})} }

func (h *blocker) handle(ctx context.Context, run *executor.Run) error {
	h.begun <- run.LogID
	if h.deaf {
		<-h.free
		return nil
	}
	select {
	case <-h.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func onJob(req *wire.RunRequest, jobID int64, block wire.Block) *wire.RunRequest {
	req.JobID, req.BlockStrategy = jobID, block
	return req
}

func TestSerialRunsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle}, func(c *executor.Config) { c.QueueLimit = 2 })
	for id := range int64(3) {
		b.mustRun(t, onJob(request(id+1), 7, wire.BlockSerial))
	}
	if answer := b.run(t, onJob(request(9), 7, wire.BlockSerial)); answer.OK() || !strings.Contains(answer.Msg, "queue of job 7 is full: 2") {
		t.Errorf("a full queue answers %+v", answer)
	}
	if first := <-h.begun; first != 1 {
		t.Errorf("run %d began first", first)
	}
	idle, err := b.client.IdleBeat(t.Context(), b.Target(), wire.IdleBeatRequest{JobID: 7})
	if err != nil || idle.Code != 500 || idle.Msg != "job thread is running or has trigger queue." {
		t.Errorf("idle beat of a busy job: %+v, %v", idle, err)
	}
	if idle, err := b.client.IdleBeat(t.Context(), b.Target(), wire.IdleBeatRequest{JobID: 8}); err != nil || !idle.OK() {
		t.Errorf("idle beat of a free job: %+v, %v", idle, err)
	}
	if stats := b.Stats(); stats.Running != 1 || stats.Waiting != 2 || stats.Refused != 1 {
		t.Errorf("stats %+v", stats)
	}
	if len(h.begun) != 0 {
		t.Error("a second run began beside the first")
	}
	close(h.free)
	for id := range int64(3) {
		b.wantResult(t, id+1, 200, "")
	}
	if second, third := <-h.begun, <-h.begun; second != 2 || third != 3 {
		t.Errorf("then %d and %d began", second, third)
	}
}

func TestDiscardLater(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, onJob(request(1), 7, wire.BlockDiscardLater))
	// That it is here already comes before any other reason not to take it.
	if answer := b.run(t, onJob(request(1), 7, wire.BlockDiscardLater)); !answer.Repeated() {
		t.Errorf("the same run again: %+v", answer)
	}
	if answer := b.run(t, onJob(request(2), 7, wire.BlockDiscardLater)); answer.Code != 500 || answer.Msg != "block strategy effect：Discard Later" {
		t.Errorf("answer %+v", answer)
	}
	close(h.free)
	b.wantResult(t, 1, 200, "")
}

func TestCoverEarlyEndsWhatWasBefore(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, onJob(request(1), 7, wire.BlockSerial))
	<-h.begun
	b.mustRun(t, onJob(request(2), 7, wire.BlockSerial))
	b.mustRun(t, onJob(request(3), 7, wire.BlockCoverEarly))
	b.wantResult(t, 1, 500, "block strategy effect：Cover Early [job running, killed]")
	b.wantResult(t, 2, 500, "block strategy effect：Cover Early [job not executed, in the job queue, killed.]")
	if id := <-h.begun; id != 3 {
		t.Errorf("run %d began", id)
	}
	close(h.free)
	b.wantResult(t, 3, 200, "")
	if text := b.log(t, request(2)); !strings.Contains(text, "Cover Early") {
		t.Errorf("the log of a run that never began says %q", text)
	}
}

func TestDuplicatesAreRefused(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	for id := range int64(2) { // 1 runs, 2 waits
		b.mustRun(t, onJob(request(id+1), 7, wire.BlockSerial))
	}
	<-h.begun
	refused := func(id int64) {
		t.Helper()
		want := fmt.Sprintf("repeat trigger job, logId:%d", id)
		if answer := b.run(t, onJob(request(id), 7, wire.BlockSerial)); answer.Code != 500 || answer.Msg != want {
			t.Errorf("answer %+v, want %q", answer, want)
		}
	}
	refused(1)
	refused(2)
	close(h.free)
	b.admin.Result(t, 2)
	refused(1) // finished and forgotten, but not its id
	if b.admin.Result(t, 1).HandleCode != 200 || len(b.admin.Callbacks()) != 2 {
		t.Errorf("results %+v", b.admin.Callbacks())
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	for id := range int64(4) {
		b.mustRun(t, onJob(request(id+1), 7, wire.BlockSerial))
	}
	<-h.begun
	kill := func(req wire.KillRequest) wire.Answer {
		t.Helper()
		answer, err := b.client.Kill(t.Context(), b.Target(), req)
		if err != nil || !answer.OK() {
			t.Fatalf("kill: %+v, %v", answer, err)
		}
		return answer
	}
	if text := b.log(t, request(2)); strings.Contains(text, "execute start") {
		t.Errorf("the log of a run that waits says %q", text)
	}
	kill(wire.KillRequest{JobID: 7, LogID: 2}) // one that waits
	b.wantResult(t, 2, 500, "scheduling center kill job. [job not executed, in the job queue, killed.]")
	kill(wire.KillRequest{JobID: 7, LogID: 1}) // the one that runs
	b.wantResult(t, 1, 500, "scheduling center kill job. [job running, killed]")
	if id := <-h.begun; id != 3 {
		t.Errorf("after the kill %d began, want 3", id)
	}
	kill(wire.KillRequest{JobID: 7}) // as upstream: everything of the job
	b.wantResult(t, 3, 500, "scheduling center kill job. [job running, killed]")
	b.wantResult(t, 4, 500, "scheduling center kill job. [job not executed, in the job queue, killed.]")
	if answer := kill(wire.KillRequest{JobID: 99}); string(answer.Data) != `"job thread already killed."` {
		t.Errorf("killing nothing answers %+v", answer)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	req := request(1)
	req.TimeoutSeconds = 1
	b.mustRun(t, req)
	b.wantResult(t, 1, 502, "job execute timeout ")
	if n := len(b.admin.Callbacks()); n != 1 {
		t.Errorf("%d results", n)
	}
}

// TestAResultKeepsNothingElseInMemory: it may be a line of a large text, and the executor remembers the results of thousands of runs.
func TestAResultKeepsNothingElseInMemory(t *testing.T) {
	t.Parallel()
	var large weak.Pointer[byte]
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		text := strings.Repeat("x", 1<<20)
		large = weak.Make(unsafe.StringData(text))
		run.SetResult(text[:10])
		return nil
	}})
	b.mustRun(t, request(1))
	b.wantResult(t, 1, 200, "xxxxxxxxxx")
	if err := b.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if runtime.GC(); large.Value() != nil {
		t.Error("the text is kept")
	}
	runtime.KeepAlive(b)
}

func TestAHandlerThatIgnoresItsEndIsOverlappedAfterTheGrace(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	h.deaf = true
	b := setup(t, executortest.Handlers{"h": h.handle}, func(c *executor.Config) { c.OverlapGrace = 50 * time.Millisecond })
	first := onJob(request(1), 7, wire.BlockSerial)
	first.TimeoutSeconds = 1
	b.mustRun(t, first)
	second := onJob(request(2), 7, wire.BlockSerial)
	b.mustRun(t, second)
	b.wantResult(t, 1, 502, "job execute timeout ")
	if a, c := <-h.begun, <-h.begun; a != 1 || c != 2 {
		t.Errorf("begun: %d, %d", a, c)
	}
	close(h.free)
	b.wantResult(t, 2, 200, "")
	if text := b.log(t, first); !strings.Contains(text, "does not listen to its context") {
		t.Errorf("the first log does not tell:\n%s", text)
	}
	if text := b.log(t, second); !strings.Contains(text, "although the handler of run 1") {
		t.Errorf("the second log does not tell:\n%s", text)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.admin.Wait(t, "registration", func() bool { return len(b.admin.Registered()) == 1 })
	if got := b.admin.Registered()[0]; got != b.URL {
		t.Errorf("registered %q, want %q", got, b.URL)
	}
	for id := range int64(2) {
		b.mustRun(t, onJob(request(id+1), 7, wire.BlockSerial))
	}
	<-h.begun
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(t.Context()) }()
	b.wantResult(t, 2, 500, "the executor is shutting down. [job not executed, in the job queue, killed.]")
	b.admin.Wait(t, "removal from the registry", func() bool { return len(b.admin.Registered()) == 0 })
	if answer := b.run(t, request(3)); answer.OK() || !strings.Contains(answer.Msg, "shutting down") {
		t.Errorf("a draining executor answers %+v", answer)
	}
	if answer, err := b.client.Beat(t.Context(), b.Target()); err != nil || answer.OK() {
		t.Errorf("beat of a draining executor: %+v, %v", answer, err)
	}
	close(h.free)
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
	b.wantResult(t, 1, 200, "")
	if err := b.Drain(t.Context()); err != nil {
		t.Errorf("second drain: %v", err)
	}
}

func TestStopCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, request(1))
	<-h.begun
	if err := b.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "1 runs were cancelled") {
		t.Errorf("stop: %v", err)
	}
	b.wantResult(t, 1, 500, "the executor is shutting down. [job running, killed]")
}

func TestStopHurriesADrain(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, request(1))
	<-h.begun
	b.mustRun(t, onJob(request(2), 1, wire.BlockSerial))
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(t.Context()) }()
	b.admin.Result(t, 2) // the drain has begun
	if err := b.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-drained; err == nil {
		t.Error("the drain does not tell that a run was cancelled")
	}
	b.wantResult(t, 1, 500, "the executor is shutting down. [job running, killed]")
}

func TestResultsWaitForAnAdmin(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	b := setup(t, executortest.Handlers{"h": func(context.Context, *executor.Run) error { n.Add(1); return nil }})
	b.admin.Refuse(true)
	for id := range int64(50) {
		b.mustRun(t, request(id+1))
	}
	b.admin.Refuse(false)
	for id := range int64(50) {
		b.wantResult(t, id+1, 200, "")
	}
	if n.Load() != 50 {
		t.Errorf("%d executions", n.Load())
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]executor.Config{
		"no app name":                {Token: "t"},
		"scripts without a token":    {AppName: "a", GlueEnabled: true},
		"an admin that is no URL":    {AppName: "a", Admins: []string{"localhost:8080"}},
		"an admin of another scheme": {AppName: "a", Admins: []string{"ftp://x"}},
		"a port without a host":      {AppName: "a", Listen: "9999"},
		"a port that is none":        {AppName: "a", Listen: "127.0.0.1:99999"},
		"a port of no service":       {AppName: "a", Listen: ":nonsense"},
		"an address of no scheme":    {AppName: "a", Address: "ftp://10.0.0.1:9999/"},
		"an address of no host":      {AppName: "a", Address: "http://:9999/"},
		"an address with blanks":     {AppName: "a", Address: "http://10.0.0.1 :9999/"},
		"a negative log bound":       {AppName: "a", MaxLogBytes: -1},
		"a negative queue":           {AppName: "a", QueueLimit: -1},
		"a negative number of runs":  {AppName: "a", MaxRuns: -1},
		"a negative grace":           {AppName: "a", OverlapGrace: -1},
		"a negative drain":           {AppName: "a", DrainTimeout: -1},
		"heartbeats without a pause": {AppName: "a", BeatInterval: -1},
		"batches without results":    {AppName: "a", CallbackBatch: -1},
		"no time for an admin":       {AppName: "a", AdminTimeout: -1},
	} {
		if _, err := executor.New(config); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for name, config := range map[string]executor.Config{
		"a list as people write it":     {AppName: "a", Admins: []string{"http://a:8080", " https://b/xxl-job-admin/ "}, LogRetentionDays: executor.KeepLogs},
		"any port of an address":        {AppName: "a", Listen: "127.0.0.1:"},
		"a port of IPv6":                {AppName: "a", Listen: "[::1]:9999", Address: "https://[2001:db8::1]:9999/"},
		"an address without its scheme": {AppName: "a", Listen: ":https", Address: "orders.internal:9999"},
	} {
		if _, err := executor.New(config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := setup(t, nil)
	other, err := executor.New(executor.Config{AppName: "a", DataDir: b.DataDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "used by another executor") {
		t.Errorf("a second executor on one data folder: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a second handler of one name is accepted")
		}
	}()
	b.Handle("x", newBlocker().handle)
	b.Handle("x", newBlocker().handle)
}

// A run whose result comes from elsewhere keeps nobody waiting, and nothing is reported of it, not after a restart either.
func TestAResultThatIsReportedLaterIsNotOurs(t *testing.T) {
	t.Parallel()
	handlers := executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		if run.LogID == 1 {
			return fmt.Errorf("given away: %w", executor.ErrLater)
		}
		return nil
	}}
	dir := t.TempDir()
	keep := func(c *executor.Config) { c.DataDir = dir }
	b := setup(t, handlers, keep)
	first := request(1)
	b.mustRun(t, first)
	b.mustRun(t, onJob(request(2), 1, wire.BlockSerial))
	b.wantResult(t, 2, 200, "")
	if text := b.log(t, first); !strings.Contains(text, "the result is reported later") || strings.Contains(text, "handleCode") {
		t.Errorf("its log says %q", text)
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := setup(t, handlers, keep)
	again.mustRun(t, request(3))
	again.wantResult(t, 3, 200, "")
	for _, cb := range append(b.admin.Callbacks(), again.admin.Callbacks()...) {
		if cb.LogID == 1 {
			t.Errorf("reported: %+v", cb)
		}
	}
}
