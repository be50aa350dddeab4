package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// counting is a script that says four times a second what time it is (epoch ms).
const counting = "for i in $(seq 1 480); do echo \"tick $(date +%s%3N)\"; sleep 0.25; done"

// TestKillExecutorAndReadItsOutput kills an executor in the middle of a run of more than 30 seconds. What it had written up to 5 seconds
// before can be read, though its file went with it, and after a kill of the admin too. With two admins one is killed before: the other
// goes on with its runs.
func TestKillExecutorAndReadItsOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of more than 30 s are left out with -short")
	}
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			port := executortest.FreePort(t)
			d := newDatabase(t, dialect)
			jobs := make([]int64, 4) // one run of a job at a time
			d.seed(t, func(ctx context.Context, pool *db.Pool) error {
				group, err := addGroup(ctx, pool, "group0", "http://127.0.0.1:"+port+"/")
				if err != nil {
					return err
				}
				for i := range jobs {
					if jobs[i], err = addJob(ctx, pool, group, func(p *db.InsertJobParams) {
						p.GlueType, p.GlueSource = wire.GlueShell, db.Text(counting)
					}); err != nil {
						return err
					}
				}
				return nil
			})
			settings := d.settings()
			settings.env = []string{"PUNCTUAL_OUTPUT_STORE=" + t.TempDir()}
			admins := []*admin{startAdmin(t, settings)}
			urls := []string{admins[0].url}
			if dialect == db.MySQL {
				second := settings
				second.dataDir = t.TempDir()
				admins = append(admins, startAdmin(t, second))
				urls = append(urls, admins[1].url)
			}
			last := len(admins) - 1
			s := admins[last].login(t, testPassword)
			x := startExecutor(t, executorSettings{admins: urls, appName: "group0", port: port})
			began := time.Now()
			var ids []int64
			for _, job := range jobs {
				id := s.runOnce(t, job, "")
				d.await(t, id, "sending", isSent)
				ids = append(ids, id)
			}
			after := 31 * time.Second
			if last > 0 {
				until(t, began.Add(26*time.Second)) // copies have been made by both
				admins[0].kill()
				after = 45 * time.Second
			}
			until(t, began.Add(after-10*time.Second))
			held := holdUps(t)
			until(t, began.Add(after))
			for _, id := range ids {
				if r := d.row(t, id); r.handled != 0 {
					t.Fatalf("run %d is over already: %+v", id, r)
				}
			}
			killed := time.Now()
			x.kill()
			late := held()

			check := func(s *session) {
				t.Helper()
				for _, id := range ids {
					code, text := s.get(t, fmt.Sprintf("/runs/%d/log?from=1&download=1", id))
					first, last, n := ticks(t, text)
					if code != 200 || n < 2 {
						t.Fatalf("of run %d is left: %d %q", id, code, text)
					}
					if lost := killed.Sub(last); lost > 5*time.Second+late {
						t.Errorf("of run %d the last %v are lost (the machine was held up for %v)", id, lost, late)
					}
					if gap := last.Sub(first) / time.Duration(n-1); gap > 2*time.Second {
						t.Errorf("of run %d there are %d lines of %v", id, n, last.Sub(first))
					}
				}
			}
			check(s)
			saysCopy(t, s, ids[0])
			admins[last].kill()
			settings.port, settings.dataDir = "", d.dir
			again := startAdmin(t, settings)
			check(again.login(t, testPassword))
			again.noPanic(t)
		})
	}
}

// saysCopy looks at the output of a run in the console, by API v1 and with the command: each has it, and says that it is the copy.
func saysCopy(t *testing.T, s *session, id int64) {
	t.Helper()
	token := s.token(t, "view")
	if code, page := s.get(t, fmt.Sprintf("/runs/%d", id)); code != http.StatusOK || !strings.Contains(page, "tick ") || !strings.Contains(page, "data-log-note>") {
		t.Errorf("the page does not say that it has the copy: %d", code)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/api/v1/runs/%d/output", s.url, id), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Output-Source") != "copy" || !strings.Contains(string(text), "tick ") {
		t.Errorf("API v1 answers %d, the source is %q, %v", resp.StatusCode, resp.Header.Get("Output-Source"), err)
	}
	cmd := exec.CommandContext(t.Context(), program(t, "punctual"), "runs", "logs", strconv.FormatInt(id, 10))
	cmd.Env = []string{"PUNCTUAL_URL=" + s.url, "PUNCTUAL_TOKEN=" + token, "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "tick ") || !strings.Contains(string(out), "this is the copy that is kept") {
		t.Errorf("the command says %.300q, %v", out, err)
	}
}

// ticks reads what is left of the output of a run.
func ticks(t *testing.T, text string) (first, last time.Time, n int) {
	t.Helper()
	for line := range strings.Lines(text) {
		_, ms, ok := strings.Cut(strings.TrimSpace(line), "tick ")
		if !ok {
			continue
		}
		at, err := strconv.ParseInt(ms, 10, 64)
		if err != nil {
			t.Fatalf("a line is %q", line)
		}
		last = time.UnixMilli(at)
		if n == 0 {
			first = last
		}
		n++
	}
	return first, last, n
}

// holdUps measures for how long this machine lets nobody go on who could, until it is asked.
func holdUps(t *testing.T) func() time.Duration {
	const step = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		tick := time.NewTicker(step)
		defer tick.Stop()
		var most time.Duration
		for before := time.Now(); ; before = time.Now() {
			select {
			case <-ctx.Done():
				longest <- most
				return
			case <-tick.C:
				most = max(most, time.Since(before)-step)
			}
		}
	}()
	return func() time.Duration {
		cancel()
		return <-longest
	}
}
