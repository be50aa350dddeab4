package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestNobodyReadsTheLog has whoever takes an admin's log stop reading under load, as a daemon of logs does that hangs, until no more fits
// between the two.
func TestNobodyReadsTheLog(t *testing.T) {
	waits(t)
	l := newLoad(t, db.MySQL, 1, 100, 14)
	s := l.database.settings()
	s.port, s.env = l.ports[0], []string{"PUNCTUAL_LOG_LEVEL=debug"}
	a := startAdmin(t, s)
	l.at(t, 2)
	release := sync.OnceFunc(a.stderr.Hold())
	defer release()
	// Each result of a run that there never was is a line of the log.
	const lines = 2000
	body := fmt.Sprintf(`[{"logId":%d,"logDateTim":0,"handleCode":200}]`, int64(1)<<40)
	for range lines {
		if post(t, a.url+"/api/callback", testToken, body) == "" {
			break
		}
	}
	l.at(t, 9)
	a.waitReady(t)
	release()
	l.account(t)
	a.noPanic(t)
	a.terminate(t)
	if n := strings.Count(a.stderr.String(), "results ignored"); n != lines {
		t.Errorf("%d of %d lines were written when they were taken again", n, lines)
	}
}

// TestTheReaderOfALogIsGone has what reads the logs of an admin and of an executor end. Neither is killed by its next line.
func TestTheReaderOfALogIsGone(t *testing.T) {
	waits(t)
	port := executortest.FreePort(t)
	b := newBundle(t, handler("slowJobHandler"), "http://127.0.0.1:"+port+"/")
	x := startExecutor(t, executorSettings{admins: []string{b.admin.url}, appName: "group0", port: port})
	x.hangUp()
	run := b.runOnce(t, b.jobs[0], "1")
	b.database.await(t, run, "sending", isSent)
	b.admin.kill()
	eventually(t, "the run's end, of which nobody can be told", func() error {
		if answer := post(t, x.url+"idleBeat", testToken, fmt.Sprintf(`{"jobId":%d}`, b.jobs[0])); !strings.HasPrefix(answer, `{"code":200`) {
			return fmt.Errorf("it answers %q", answer)
		}
		return nil
	})
	s := b.database.settings()
	s.port = b.admin.port
	a := startAdmin(t, s)
	a.hangUp()
	if answer := post(t, a.url+"/api/registry", "another token", `{}`); strings.Contains(answer, "200") {
		t.Fatalf("a wrong token is answered %s", answer)
	}
	if r := b.database.await(t, run, "end", hasEnded); r.handled != wire.CodeSuccess {
		t.Errorf("the run: %+v", r)
	}
	a.waitReady(t)
	a.terminate(t)
	x.terminate(t)
}

// post is what somebody with a token is answered.
func post(t *testing.T, url, token, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(wire.HeaderToken, token)
	client := http.Client{Timeout: patience}
	answer, err := client.Do(r)
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return strings.TrimSpace(string(text))
}
