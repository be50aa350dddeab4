package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheWayFromACrontab goes it as the manual says, with a real executor: what cron ran every minute runs as a job, in the home of the
// user, with the crontab's variables, and what stood behind a % as its input.
func TestTheWayFromACrontab(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	a := m.running(t)
	startExecutor(t, executorSettings{admins: []string{a.url}, appName: "nightly", env: []string{"PUNCTUAL_EXECUTOR_GLUE=true", "HOME=" + m.dir}})
	s := a.login(t, testPassword)
	m.env = append(m.env, "PUNCTUAL_URL="+a.url, "PUNCTUAL_TOKEN="+s.token(t, "view", "edit", "glue", "schedule", "run"))
	m.write(t, "bin/crontab", `#!/bin/sh
[ "$1" = -l ] && cat <<'END'
# m h  dom mon dow   command
SHOP="the shop"
MAILTO=ops@example.com
# Count the orders
* * * * * tr a-z A-Z; echo "$SHOP in $PWD"%orders
0 4 1 * * /srv/shop/close.sh
END
`)
	steps := 0
	for _, e := range examplesOf(t) {
		if e.page == "from-crontab.md" {
			m.must(t, e.text)
			steps++
		}
	}
	if steps != 4 {
		t.Errorf("the page has %d steps", steps)
	}
	list := m.must(t, "punctual jobs list --tag crontab -o wide")
	for _, want := range []string{"Count the orders", "0 * * * * ?", "/srv/shop/close.sh", "0 0 4 1 * ?", "Asia/Shanghai", "running"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is not in the list:\n%s", want, list)
		}
	}
	if out := m.must(t, "punctual apply -f nightly.yaml --source nightly --keep-states --dry-run"); !strings.Contains(out, "2 as they are") {
		t.Errorf("the file is not what there is: %s", out)
	}
	out := m.must(t, "punctual run --wait --follow 'Count the orders'")
	if want := fmt.Sprintf("ORDERS\nthe shop in %s\n", m.dir); !strings.Contains(out, "ORDERS") || !strings.Contains(out, "the shop in "+m.dir) {
		t.Errorf("the run prints %q, want %q", out, want)
	}
	m.must(t, "punctual jobs list --tag crontab -o name | xargs punctual jobs release")
}
