package app

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/app/client"
)

// TestTheCommandLine works with an admin as somebody would, with a token of their own.
func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, _ := programs(t, o)
		root := open(t, a).mustLogin()
		orders.must("addJob", `{"name":"日终结算","author":"安","executorHandler":"closeDay","scheduleType":"CRON","scheduleConf":"0 0 2 * * ?"}`)
		token := makeToken(t, root, url.Values{"name": {"cli"}, "scope": {"admin"}, "days": {"7"}})
		do := func(token string, args ...string) (string, error) {
			t.Helper()
			var c struct {
				Jobs      client.JobsCmd      `cmd:""`
				Run       client.RunCmd       `cmd:""`
				Executors client.ExecutorsCmd `cmd:""`
			}
			parser, err := kong.New(&c)
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := parser.Parse(append(args, "--url", a.Welcome().URL, "--token", token))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			chosen.BindTo(t.Context(), (*context.Context)(nil))
			err = chosen.Run(client.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
			return out.String(), err
		}
		says := func(want string, args ...string) string {
			t.Helper()
			out, err := do(token, args...)
			if err != nil || !strings.Contains(out, want) {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return out
		}
		says("日终结算  0 0 2 * * ?", "jobs")
		says("started", "jobs", "start", "日终结算")
		says("running", "jobs", "show", "日终结算")
		says("handler: closeDay", "jobs", "-o", "yaml")
		says("stopped", "jobs", "stop", "日终结算")
		says("orders", "executors")
		if run := says("", "run", "日终结算", "--param", "x=1"); strings.Trim(run, "0123456789\n") != "" || len(run) < 2 {
			t.Errorf("a run is %q", run)
		}
		says("would be deleted", "jobs", "delete", "日终结算", "--dry-run")
		says("日终结算 deleted", "jobs", "delete", "日终结算")
		if _, err := do(token, "jobs", "show", "日终结算"); err == nil {
			t.Error("a deleted job is shown")
		}
		if _, err := do("pnc_"+strings.Repeat("0", 36), "jobs"); err == nil {
			t.Error("a token that there is not counts")
		}
	})
}
