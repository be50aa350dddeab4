package app

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// An admin that was away for an hour does not take it for the executors' silence: what it makes up for finds them, although the executors
// inside it register before it works.
func TestAfterAnAbsenceExecutorsAreThere(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.HTTPJobs = SampleOn
	a := start(t, o)
	b := open(t, a).mustLogin()
	if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	if err := a.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: "http://127.0.0.1:9/"}); err != nil {
		t.Fatal(err)
	}
	var group int64
	if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_group WHERE app_name = 'orders'").Scan(&group); err != nil {
		t.Fatal(err)
	}
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_registry SET update_time = ? WHERE registry_key = 'orders'", a.pool.Wall(time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Listener = testOptions(t).Listener
	if list := start(t, o).engine.Addresses(group); len(list) != 1 || !list[0].Live {
		t.Errorf("after the absence: %+v", list)
	}
}
