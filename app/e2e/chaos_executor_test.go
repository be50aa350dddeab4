package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// runOnce runs a job by hand and gives the run's id.
func (s *session) runOnce(t testing.TB, job int64, param string) int64 {
	t.Helper()
	header := s.must(t, fmt.Sprintf("/jobs/%d/run", job), url.Values{"param": {param}})
	id, err := strconv.ParseInt(strings.TrimPrefix(header.Get("Location"), "/runs/"), 10, 64)
	if err != nil {
		t.Fatalf("running a job once leads to %q", header.Get("Location"))
	}
	return id
}

func (d *database) row(t testing.TB, id int64) run {
	t.Helper()
	for _, r := range d.runs(t) {
		if r.id == id {
			return r
		}
	}
	t.Fatalf("there is no run %d", id)
	return run{}
}

// await waits until a run is as ok says.
func (d *database) await(t testing.TB, id int64, what string, ok func(run) bool) run {
	t.Helper()
	var r run
	eventually(t, fmt.Sprintf("%s of run %d", what, id), func() error {
		if r = d.row(t, id); !ok(r) {
			return fmt.Errorf("it is %+v", r)
		}
		return nil
	})
	return r
}

func isSent(r run) bool   { return r.code == wire.CodeSuccess }
func hasEnded(r run) bool { return r.handled != 0 || r.code != 0 && r.code != wire.CodeSuccess }

// bundle is an admin on an embedded database with a job for each of some executors.
type bundle struct {
	*admin
	*session
	database *database
	jobs     []int64
}

func handler(name string) func(*db.InsertJobParams) {
	return func(p *db.InsertJobParams) { p.ExecutorHandler = db.Text(name) }
}

// newBundle makes for each address a group that has it and one job.
func newBundle(t *testing.T, change func(*db.InsertJobParams), addresses ...string) *bundle {
	t.Helper()
	b := &bundle{database: newDatabase(t, db.SQLite)}
	b.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		for i, address := range addresses {
			group, err := addGroup(ctx, pool, fmt.Sprintf("group%d", i), address)
			if err != nil {
				return err
			}
			job, err := addJob(ctx, pool, group, change)
			if err != nil {
				return err
			}
			b.jobs = append(b.jobs, job)
		}
		return nil
	})
	b.admin = startAdmin(t, b.database.settings())
	b.session = b.login(t, testPassword)
	return b
}

// log is a run's output as the console gives it.
func (b *bundle) log(t testing.TB, id int64) string {
	t.Helper()
	_, body := b.get(t, fmt.Sprintf("/runs/%d/log?from=1&download=1", id))
	return body
}

// TestKillExecutor kills two executors in the middle of a run. The one that is started again says at once what became of
// its run; of the other's the admin finds out by itself.
func TestKillExecutor(t *testing.T) {
	waits(t)
	ports := []string{executortest.FreePort(t), executortest.FreePort(t)}
	b := newBundle(t, handler("slowJobHandler"), "http://127.0.0.1:"+ports[0]+"/", "http://127.0.0.1:"+ports[1]+"/")
	executors := make([]*executorProcess, 2)
	runs := make([]int64, 2)
	for i := range executors {
		executors[i] = startExecutor(t, executorSettings{admins: []string{b.admin.url}, appName: fmt.Sprintf("group%d", i), port: ports[i]})
		runs[i] = b.runOnce(t, b.jobs[i], "600")
		b.database.await(t, runs[i], "sending", isSent)
		waiting := b.runOnce(t, b.jobs[i], "0") // behind it
		b.database.await(t, waiting, "sending", isSent)
		eventually(t, "output", func() error {
			if !strings.Contains(b.log(t, runs[i]), "0 of 600 seconds done") {
				return errNotYet
			}
			return nil
		})
		executors[i].kill()
	}
	killed := time.Now()

	again := startExecutor(t, executors[0].settings)
	passed := executortest.Watch()
	r := b.database.await(t, runs[0], "end", hasEnded)
	if r.handled != wire.CodeFail || !strings.Contains(r.result, "the executor restarted while the run was going on") {
		t.Errorf("the run that was going on ended as %d %q", r.handled, r.result)
	}
	if took := passed(); took > 15*time.Second {
		t.Errorf("the end of the run that was going on was known %v after its executor was there again", took)
	}
	if r := b.database.await(t, runs[0]+1, "end", hasEnded); r.handled != wire.CodeSuccess {
		t.Errorf("the run that waited ended as %d %q", r.handled, r.result)
	}
	if log := b.log(t, runs[0]); !strings.Contains(log, "0 of 600 seconds done") || !strings.Contains(log, "the executor restarted") {
		t.Errorf("the output is\n%s", log)
	}
	again.terminate(t)

	if testing.Short() {
		t.Log("how a run is lost whose executor stays away takes 40 s and is left out with -short")
		return
	}
	for id := runs[1]; id <= runs[1]+1; id++ {
		r := b.database.await(t, id, "end", hasEnded)
		if r.handled != wire.CodeFail || r.outcome != event.Lost {
			t.Errorf("run %d of the executor that stayed away ended as %d %q", id, r.handled, r.result)
		}
	}
	t.Logf("lost runs were known %v after the kill", time.Since(killed).Round(time.Second))
	b.noPanic(t)
}

// TestFullDiskOfExecutor fills the disk an executor writes its journal and run logs to.
func TestFullDiskOfExecutor(t *testing.T) {
	waits(t)
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountTmpfs(dir, 16<<20); err != nil {
		t.Skipf("no disk to fill: %v (mounting one needs root on Linux)", err)
	}
	t.Cleanup(func() { unmount(t, dir) }) // after the executor's end: clean-ups run backwards
	port := executortest.FreePort(t)
	b := newBundle(t, func(p *db.InsertJobParams) {
		p.GlueType, p.GlueSource = wire.GlueShell, db.Text("eval \"$1\"\n# "+strings.Repeat("x", 1<<20))
	}, "http://127.0.0.1:"+port+"/")
	x := startExecutor(t, executorSettings{admins: []string{b.admin.url}, appName: "group0", port: port, dataDir: dir})

	// A run whose output does not fit runs to its end, and says that its log is not whole.
	id := b.runOnce(t, b.jobs[0], "seq 1 3000000")
	r := b.database.await(t, id, "end", hasEnded)
	if !strings.Contains(r.result, "the run log is incomplete") {
		t.Errorf("a run with more output than room ended as %d %q", r.handled, r.result)
	}
	// The journal keeps some room ahead. Runs it still takes are done; one that does not fit is refused with the reason, so that
	// nothing is promised that a crash would break.
	filler := fillDisk(t, dir)
	refused := false
	for range 8 {
		id := b.runOnce(t, b.jobs[0], "true")
		r := b.database.await(t, id, "end", hasEnded)
		if r.code != wire.CodeSuccess {
			refused = true
			if !strings.Contains(r.message, "cannot write its journal") || !strings.Contains(r.message, "no space left on device") {
				t.Errorf("a run that was refused does not say why: %s", r.message)
			}
		} else if r.handled != wire.CodeSuccess {
			t.Errorf("a run that was accepted ended as %d %q", r.handled, r.result)
		}
	}
	if !refused {
		t.Error("every run was accepted on a full disk")
	}
	// With room again it works, without anybody doing anything.
	for _, f := range []string{filler, logOf(t, dir, id)} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "run that is accepted again", func() error { // the executor looks once a second
		id = b.runOnce(t, b.jobs[0], "echo there is room")
		if r := b.database.await(t, id, "end", hasEnded); r.handled != wire.CodeSuccess {
			return fmt.Errorf("it ended as %d %q, %s", r.handled, r.result, r.message)
		}
		return nil
	})
	if log := b.log(t, id); !strings.Contains(log, "there is room") {
		t.Errorf("the output is %q", log)
	}
	x.terminate(t)
	b.noPanic(t)
	if log := x.stderr.String(); strings.Contains(log, "panic") {
		t.Errorf("the executor panicked:\n%s", log)
	}
}

// fillDisk writes until there is no room, to the last byte.
func fillDisk(t testing.TB, dir string) (path string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := bytes.Repeat([]byte{1}, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return f.Name()
}

// logOf is the file of a run's log.
func logOf(t testing.TB, dir string, id int64) (path string) {
	t.Helper()
	want := fmt.Sprintf("%d.log", id)
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if filepath.Base(p) == want {
			path = p
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no file %s: %v", want, err)
	}
	return path
}
