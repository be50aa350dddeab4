package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTypedAddressesStandTheSameEverywhere: one that answers and one where nobody listens, on the pages of the executor, of a job and of
// the dashboard, in API v1, on the command line and at the doctor's; and that nothing is known of them once nobody asks.
func TestTypedAddressesStandTheSameEverywhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/beat" {
				t.Errorf("it was asked %s", r.URL.Path)
			}
			_, _ = w.Write([]byte(`{"code":200}`))
		}))
		t.Cleanup(answers.Close)
		dead := "http://127.0.0.1:" + executortest.FreePort(t) + "/"
		alive := answers.URL + "/"
		token := makeToken(t, root, url.Values{"name": {"cli"}, "scope": {"admin"}, "days": {"7"}})
		on := []string{"--url", a.Welcome().URL, "--token", token}
		c := &caller{t: t, base: a.Welcome().URL, token: token}
		var made struct{ ID int64 }
		c.json(http.StatusCreated, &made, "POST", "/groups", fmt.Sprintf(`{"app_name":"typed","title":"Typed","type":"manual","addresses":[%q,%q]}`, alive, dead))
		group := made.ID
		c.json(http.StatusCreated, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":"of typed","author":"ann","handler":"h","schedule":"CRON","cron":%q}`, group, notSoon()))
		job := "/jobs/" + strconv.FormatInt(made.ID, 10)
		c.json(http.StatusOK, &struct{}{}, "POST", job+"/start", "")

		executortest.Eventually(t, "both were asked", func() error {
			for _, s := range a.engine.Addresses(group) {
				if s.Asked.IsZero() {
					return errors.New(s.Address)
				}
			}
			return nil
		})
		of := func() (states []string) {
			t.Helper()
			var list struct {
				Items []struct {
					Address, State, Fault string
					Silent                string `json:"silent_since"`
					Asked                 string `json:"asked_at"`
				}
			}
			c.json(http.StatusOK, &list, "GET", fmt.Sprintf("/groups/%d/addresses", group), "")
			for _, s := range list.Items {
				states = append(states, s.State+" "+s.Fault)
				if (s.Asked == "") != (s.State == "manual") || (s.Silent == "") != (s.State != "offline") {
					t.Errorf("API v1: %+v", s)
				}
			}
			return states
		}
		if got := of(); !slices.Equal(got, []string{"online ", "offline refused"}) {
			t.Errorf("API v1: %q", got)
		}
		marks := func(path, selector string) string {
			t.Helper()
			var told []string
			for _, s := range root.get(path).document(t).Find(selector).EachIter() {
				told = append(told, strings.Join(strings.Fields(s.Text()), " "))
			}
			return strings.Join(told, " | ")
		}
		page := "/executors/" + strconv.FormatInt(group, 10)
		if got := marks(page, "#results tbody tr"); !strings.Contains(got, alive+"Online") || !strings.Contains(got, dead+"Offlinenoticed ") || !strings.Contains(got, "nobody listens there") {
			t.Errorf("the executor's page: %s", got)
		}
		if got := marks("/executors?q=typed", "#results tbody .badge"); got != "1 online" {
			t.Errorf("the executors: %s", got)
		}
		if got := marks(job, ".summary a .badge, dl a .badge"); !strings.Contains(got, "1 online") {
			t.Errorf("the job's page: %s", got)
		}
		if got := marks(job+"/run", ".addresses .address"); !strings.Contains(got, dead+" Offline, noticed") {
			t.Errorf("where to run it: %s", got)
		}
		if ticks := root.get(job + "/run").document(t).Find(".addresses label [type=checkbox][name=addresses]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("value", "") }); !slices.Contains(ticks, alive) || !slices.Contains(ticks, dead) {
			t.Errorf("to be ticked for a run: %v", ticks)
		}
		if got := root.get("/").body; !strings.Contains(got, dead) {
			t.Error("the dashboard does not name the address that is lost")
		}
		if out, err := punctual(t, append([]string{"executors", "addresses", strconv.FormatInt(group, 10)}, on...)...); err != nil || !strings.Contains(out, "offline") || !strings.Contains(out, "refused") || !strings.Contains(out, "online") {
			t.Errorf("the command line: %v\n%s", err, out)
		}
		ask := o
		ask.Listener = nil
		examine := func() DoctorReport {
			t.Helper()
			r, err := Doctor(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := examine(); r.Unwatched != 0 || !slices.Contains(keysOf(r.CheckFindings), "executors.away") || slices.Contains(keysOf(r.CheckFindings), "jobs.alone") {
			t.Errorf("the doctor: %+v", r)
		}

		c.json(http.StatusOK, &struct{}{}, "PATCH", "/settings", `{"executor_watch":"off"}`)
		if got := of(); !slices.Equal(got, []string{"manual ", "manual "}) {
			t.Errorf("where nobody asks, API v1: %q", got)
		}
		if got := marks(page, "#results tbody .badge"); got != "Entered by hand, not watched | Entered by hand, not watched" {
			t.Errorf("where nobody asks, the executor's page: %s", got)
		}
		if got := marks("/executors?q=typed", "#results tbody .badge"); got != "2 by hand, not watched" {
			t.Errorf("where nobody asks, the executors: %s", got)
		}
		if got := marks(job, ".summary a .badge, dl a .badge"); !strings.Contains(got, "2 by hand, not watched") {
			t.Errorf("where nobody asks, the job's page: %s", got)
		}
		if got := root.get("/").body; strings.Contains(got, dead) {
			t.Error("where nobody asks, the dashboard says that the address is lost")
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_executor SET asked_at = 1 WHERE app_name = 'typed'"); err != nil {
			t.Fatal(err)
		}
		if r := examine(); r.Unwatched != 2 || slices.Contains(keysOf(r.CheckFindings), "executors.away") {
			t.Errorf("where nobody asks, the doctor: %+v", r)
		}
	})
}

// TestTheDashboardSaysThatAnAddressRefuses: somebody answers there, so beside those that are lost it is told what is wrong with it.
func TestTheDashboardSaysThatAnAddressRefuses(t *testing.T) {
	t.Parallel()
	a, c := apiCaller(t, testOptions(t))
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"code":500,"msg":"The access token is wrong."}`))
	}))
	t.Cleanup(refuses.Close)
	var made struct{ ID int64 }
	c.json(http.StatusCreated, &made, "POST", "/groups", fmt.Sprintf(`{"app_name":"typed","title":"Typed","type":"manual","addresses":[%q]}`, refuses.URL+"/"))
	root := open(t, a).mustLogin()
	executortest.Eventually(t, "it was asked", func() error {
		told := strings.Join(strings.Fields(root.get("/").document(t).Find(".trouble.lost li").Text()), " ")
		if !strings.Contains(told, refuses.URL) || !strings.Contains(told, "Typed · Refuses calls") {
			return errors.New(told)
		}
		return nil
	})
}
