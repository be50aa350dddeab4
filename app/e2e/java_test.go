package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// javaExecutor is the class path with which an executor of a release of XXL-JOB's own library starts. The test is skipped
// where there is no Java, no Maven, or nothing that Maven can reach.
func javaExecutor(t *testing.T, release string) string {
	t.Helper()
	for _, name := range []string{"mvn", "javac", "java"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s here: install a JDK and Maven to test with XXL-JOB's own executor", name)
		}
	}
	dir := t.TempDir()
	list := filepath.Join(dir, "classpath")
	mvn := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-f", "testdata/java/pom.xml", "-Dcore="+release,
		"dependency:build-classpath", "-Dmdep.outputFile="+list)
	if out, err := mvn.CombinedOutput(); err != nil {
		t.Skipf("Maven cannot get xxl-job-core %s: %v\n%s", release, err, out[max(0, len(out)-1000):])
	}
	jars, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSpace(string(jars)) + string(os.PathListSeparator) + dir
	javac := exec.CommandContext(t.Context(), "javac", "-d", dir, "-cp", path, "testdata/java/Main.java")
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return path
}

// lateProxy stands before an executor and gives every fourth answer to /run back 4 s late: after the admin has stopped to
// wait for it.
type lateProxy struct {
	*httptest.Server
	to    string
	delay time.Duration

	mu   sync.Mutex
	runs int
	late int
}

func newLateProxy(t *testing.T, to string, delay time.Duration) *lateProxy {
	t.Helper()
	p := &lateProxy{to: to, delay: delay}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *lateProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	late := false
	if r.URL.Path == "/run" {
		p.mu.Lock()
		p.runs++
		if late = p.runs%4 == 0; late {
			p.late++
		}
		p.mu.Unlock()
	}
	// Not the caller's context: what has been sent arrives, whether somebody waits for the answer or not.
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, p.to+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header = r.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if late {
		time.Sleep(p.delay)
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(said)
}

// TestXXLJobCore has jobs with two retries on executors made of XXL-JOB's own library, of which every fourth answer is late:
// none of the planned fires may be done twice, and none left out.
func TestXXLJobCore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, release := range []string{"2.3.1", "3.3.2"} {
		t.Run(release, func(t *testing.T) {
			waits(t)
			testXXLJobCore(t, release)
		})
	}
}

func testXXLJobCore(t *testing.T, release string) {
	const jobs, fires, period = 20, 10, 2 * time.Second
	classPath := javaExecutor(t, release)
	program(t, "punctual")
	port, adminPort, dir := executortest.FreePort(t), executortest.FreePort(t), t.TempDir()
	done := filepath.Join(dir, "done")
	p := startProcess(t, "java", nil, "-Xmx256m", "-cp", classPath, "Main", "http://127.0.0.1:"+adminPort+"/xxl-job-admin", testToken, "java", port, dir, done)
	eventually(t, "executor listening", func() error {
		select {
		case <-p.ended:
			t.Fatalf("the executor ended at its start: %v\n%s%s", p.err, p.stdout.String(), p.stderr.String())
		default:
		}
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	proxy := newLateProxy(t, "http://127.0.0.1:"+port, 4*time.Second)

	d := newDatabase(t, db.MySQL)
	begin := time.Now().Add(4 * time.Second).Truncate(time.Second)
	d.seed(t, func(ctx context.Context, pool *db.Pool) error {
		group, err := addGroup(ctx, pool, "behind-a-proxy", proxy.URL+"/")
		if err != nil {
			return err
		}
		for i := range jobs {
			first := begin.Add(time.Duration(i) * period / jobs)
			id, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) {
				p.ScheduleConf, p.ExecutorFailRetryCount = "2", 2
				// Longer than the period for some: their runs wait in the executor's queue, where they have no log.
				p.ExecutorParam = db.Text(strconv.Itoa(100 + 130*i))
				p.EndAt = first.Add((fires - 1) * period).UnixMilli()
			})
			if err != nil {
				return err
			}
			if err := startJob(ctx, pool, id, first); err != nil {
				return err
			}
		}
		return nil
	})
	s := d.settings()
	s.port = adminPort
	a := startAdmin(t, s)
	until(t, begin.Add(fires*period))
	d.settled(t)

	text, err := os.ReadFile(done)
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[int64]int) // of each run
	for line := range strings.FieldsSeq(string(text)) {
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatalf("the handler wrote %q", line)
		}
		times[id]++
	}
	origins := d.origins(t)
	byFire := make(map[int64]int) // how often each planned fire was done, by the id of its first run
	planned := 0
	for id, origin := range origins {
		root := id
		for origin != 0 {
			root, origin = origin, origins[origin]
		}
		byFire[root] += times[id]
		if root == id {
			planned++
		}
	}
	var twice, never int
	for root, n := range byFire {
		if n > 1 {
			twice++
			t.Errorf("the fire of run %d was done %d times:\n%s", root, n, d.story(t, root))
		}
		if n == 0 {
			never++
			t.Errorf("the fire of run %d was not done:\n%s", root, d.story(t, root))
		}
	}
	proxy.mu.Lock()
	t.Logf("xxl-job-core %s: %d fires, %d calls, %d answers late, %d rows; %d done twice, %d not done", release, planned, proxy.runs, proxy.late, len(origins), twice, never)
	if planned != jobs*fires || proxy.late < jobs*fires/5 {
		t.Errorf("%d fires were planned and %d answers late, which is not what this is about", planned, proxy.late)
	}
	proxy.mu.Unlock()
	if n := d.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = ? AND outcome <> ?", wire.CodeSuccess, event.Succeeded); n > 0 {
		t.Errorf("%d runs have a successful result and another outcome", n)
	}
	a.noPanic(t)
}

// origins are the runs, with those that each is a retry of.
func (d *database) origins(t testing.TB) map[int64]int64 {
	t.Helper()
	rows, err := d.sql.QueryContext(t.Context(), "SELECT id, origin_log_id FROM xxl_job_log")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	origins := make(map[int64]int64)
	for rows.Next() {
		var id, origin int64
		if err := rows.Scan(&id, &origin); err != nil {
			t.Fatal(err)
		}
		origins[id] = origin
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return origins
}

// story is what the rows of a fire say.
func (d *database) story(t testing.TB, root int64) string {
	t.Helper()
	var b strings.Builder
	rows, err := d.sql.QueryContext(t.Context(), "SELECT id, outcome, trigger_code, handle_code, COALESCE(trigger_msg, '') FROM xxl_job_log WHERE id = ? OR origin_log_id = ?", root, root)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, outcome, sent, handled int64
		var message string
		if err := rows.Scan(&id, &outcome, &sent, &handled, &message); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "run %d: outcome %d, codes %d %d\n%s\n", id, outcome, sent, handled, message)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
