package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"
)

// TestTheAuditLogFitsTheTerminal, which has many columns of middling texts: the longest are cut, moments and numbers stay whole.
func TestTheAuditLogFitsTheTerminal(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"id":1234567,"at":"2026-03-05T18:00:00Z","user":"billing-deployer","action":"unacknowledge","object_kind":"job","object_id":123456,"object_name":"Close the books of the month"},
			{"id":1234566,"at":"2026-03-05T18:00:00Z","user":"日终结算负责人","action":"login","object_kind":"calendar","object_id":0,"object_name":""}]}`)
	}))
	t.Cleanup(admin.Close)
	t.Setenv("PUNCTUAL_URL", admin.URL)
	t.Setenv("PUNCTUAL_TOKEN", "pnc_x")
	x := newTerminal(t)
	if err := unix.IoctlSetWinsize(int(x.other.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24}); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if code := runWith([]string{"audit-log"}, x.other, x.other, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	x.until("1234566")
	x.until("\n")
	shown := x.said.String()
	for line := range strings.Lines(shown) {
		if wide := runewidth.StringWidth(strings.TrimSpace(line)); wide > 80 {
			t.Errorf("a line is %d wide: %s", wide, line)
		}
	}
	for _, whole := range []string{"1234567", ":00:00", "unacknowl", "calendar"} {
		if !strings.Contains(shown, whole) {
			t.Errorf("%s is missing in\n%s", whole, shown)
		}
	}
}

// TestTablesFitTheTerminal by shortening long names; moments and numbers stay whole, and so does everything that is no table on a terminal.
func TestTablesFitTheTerminal(t *testing.T) {
	const long = "每天凌晨把订单、退款与优惠券核对一遍并通知财务同事的任务"
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"id":123456,"state":"running","description":"`+long+`","schedule":"CRON","cron":"0 0 2 * * ?","next_due_at":"2026-03-05T18:00:00Z"}]}`)
	}))
	t.Cleanup(admin.Close)
	t.Setenv("PUNCTUAL_URL", admin.URL)
	t.Setenv("PUNCTUAL_TOKEN", "pnc_x")
	var said strings.Builder
	for _, columns := range []uint16{80, 200} {
		x := newTerminal(t)
		if err := unix.IoctlSetWinsize(int(x.other.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}); err != nil {
			t.Fatal(err)
		}
		if code := runWith([]string{"jobs"}, x.other, x.other, &said); code != 0 {
			t.Fatalf("exit code %d: %s", code, said.String())
		}
		x.until("123456")
		x.until("\n")
		shown := x.said.String()
		if strings.Contains(shown, "\x1b") { // no colours, whatever NO_COLOR says
			t.Errorf("%d columns: %q", columns, shown)
		}
		for line := range strings.Lines(shown) {
			if wide := runewidth.StringWidth(strings.TrimSpace(line)); wide > int(columns) {
				t.Errorf("%d columns: a line is %d wide: %s", columns, wide, line)
			}
		}
		if cut := strings.Contains(shown, "…"); cut != (columns == 80) || cut == strings.Contains(shown, long) || !strings.Contains(shown, ":00:00") {
			t.Errorf("%d columns:\n%s", columns, shown)
		}
	}
	var piped strings.Builder
	if code := run([]string{"jobs"}, &piped, &said); code != 0 || !strings.Contains(piped.String(), long) {
		t.Errorf("piped, exit code %d: %s", code, piped.String())
	}
}
