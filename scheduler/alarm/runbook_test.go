package alarm

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

// TestAMessageHasTheRunbook: of a failure, not of a recovery, and no other address that somebody wrote into the column.
func TestAMessageHasTheRunbook(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		hook := newReceiver(t, false, says(200, ""))
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: hook.URL}})
		fail := func(address string) string {
			t.Helper()
			b.exec("UPDATE xxl_job_info SET runbook = ? WHERE id = ?", address, b.job)
			b.clock.add(1e12)
			before := len(hook.received())
			b.raise(b.job, scheduler.AlarmFailed, "")
			b.work()
			calls := hook.received()
			if len(calls) != before+1 {
				t.Fatalf("%d messages", len(calls)-before)
			}
			return string(calls[before].body)
		}
		const address = "https://wiki.example.com/settle?a=1"
		if got := fail(address); !strings.Contains(got, `"runbook":"https://wiki.example.com/settle?a=1"`) || strings.Count(got, address) != 2 {
			t.Errorf("the message is %s", got)
		}
		for _, other := range []string{"", "javascript:alert(1)", "ftp://wiki.example.com/", "https://", "https://ann:secret@wiki.example.com/", "https://a b/", "https://a/\nhttps://b/"} {
			if got := fail(other); strings.Contains(got, "runbook") || strings.Contains(strings.ToLower(got), "alert(1)") {
				t.Errorf("%q: the message is %s", other, got)
			}
		}
		b.exec("UPDATE xxl_job_info SET runbook = ? WHERE id = ?", address, b.job)
		b.clock.add(1e12)
		b.succeed(b.job)
		b.work()
		calls := hook.received()
		if got := string(calls[len(calls)-1].body); !strings.Contains(got, "Recovered") || strings.Contains(got, address) {
			t.Errorf("the recovery says %s", got)
		}
		m := sample("en", "failed")
		m.items[0].book, m.items[0].ack = address, "https://punctual.test/alarms/link/x"
		html, err := m.html()
		if err != nil || !strings.Contains(html, `<a href="https://wiki.example.com/settle?a=1"`) || !strings.Contains(html, `<a href="https://punctual.test/alarms/link/x"`) {
			t.Errorf("the mail is %v %s", err, html)
		}
	})
}
