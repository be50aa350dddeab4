package e2e

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

var printedPassword = regexp.MustCompile(`Password\s+(\S+)`)

// firstPassword is what the program printed at its first start.
func (a *admin) firstPassword(t testing.TB) string {
	t.Helper()
	var found []string
	eventually(t, "password printed", func() error {
		found = printedPassword.FindStringSubmatch(a.stdout.String())
		if found == nil {
			return errNotYet
		}
		return nil
	})
	return found[1]
}

// TestPortTakenAtFirstStart starts for the first time on a port that somebody has: the next start must still be the
// first one, with a password that is shown and the sample.
func TestPortTakenAtFirstStart(t *testing.T) {
	waits(t)
	port := executortest.FreePort(t)
	taken, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	settings := adminSettings{port: port, dataDir: t.TempDir(), env: []string{"PUNCTUAL_ADMIN_PASSWORD=", "PUNCTUAL_SAMPLE=auto"}}
	first := launchAdmin(t, settings)
	<-first.ended
	if log := first.stderr.String(); !strings.Contains(log, "address already in use") || first.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d, log:\n%s", first.cmd.ProcessState.ExitCode(), log)
	}
	if log := first.stderr.String(); !strings.Contains(log, "PUNCTUAL_LISTEN=") || strings.Count(log, "\n") != 1 {
		t.Errorf("without a hint, or with more than that:\n%s", log)
	}
	if left, err := os.ReadDir(settings.dataDir); err != nil || len(left) > 0 {
		t.Errorf("the start that failed left %v (%v)", left, err)
	}
	if out := first.stdout.String(); out != "" {
		t.Errorf("the start that failed said %q", out)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}

	second := startAdmin(t, settings)
	browser := second.login(t, second.firstPassword(t))
	if _, page := browser.get(t, "/jobs"); !strings.Contains(page, "sampleGreet") {
		t.Error("the jobs page shows no sample job")
	}
	second.terminate(t)

	third := startAdmin(t, settings)
	if out := third.stdout.String(); printedPassword.MatchString(out) {
		t.Errorf("the third start said a password:\n%s", out)
	}
	if code, _ := browser.get(t, "/jobs"); code != 200 {
		t.Errorf("the session of before the restart: status %d", code)
	}
	third.terminate(t)
	third.noPanic(t)
}
