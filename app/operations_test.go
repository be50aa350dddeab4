package app

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/wire"
)

func TestEveryAnswerSaysWhatItIsAndIsKeptByNobody(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	stranger, root := open(t, a), open(t, a).mustLogin()
	check := func(what string, h http.Header) {
		t.Helper()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") == "" || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: %v", what, h)
		}
	}
	for _, r := range a.server.Handler.(heads).Routes() {
		if r.Method != "GET" && r.Method != "POST" || strings.HasSuffix(r.Path, "/events") {
			continue
		}
		path := strings.NewReplacer(":id", "1", ":version", "1", ":route", "1", "*", "nowhere").Replace(r.Path)
		check(r.Method+" "+path, stranger.do(r.Method, path, nil).header)
	}
	for _, path := range []string{"/", "/jobs", "/login", "/static/nothing.css", "/jobs/999/edit", "/xxl-job-admin/jobinfo/pageList", "/api/registry"} {
		check("GET "+path, root.get(path).header)
	}
	check("a method that is none", root.do("TRACE", "/jobs", nil).header)
	check("a form of another site", root.do("POST", "/jobs", url.Values{}, "Origin", "http://evil.example").header)
	body := strings.NewReader("{}")
	check("an executor", stranger.raw("POST", "/xxl-job-admin/api/registry", body).header)
	resp, err := root.http.Get(root.base + "/runs/events")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	check("a stream", resp.Header)
	page := root.get("/jobs").document(t)
	sheet, _ := page.Find("link[rel=stylesheet]").Attr("href")
	if got := root.get(sheet).header; got.Get("Cache-Control") != "public, max-age=31536000, immutable" || got.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a style sheet: %v", got)
	}
}

func TestBrowsersComeBackOverTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	o := testOptions(t)
	o.TLSCert, o.TLSKey = cert, key
	a := start(t, o)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	r, err := client.Get("https://" + a.listener.Addr().String() + "/login")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if got := r.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("%q", got)
	}
}

func TestOperatorsHaveAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.AdminListen, o.Pprof, o.MetricsToken = "127.0.0.1:0", true, "a-metrics-token"
	a := start(t, o)
	main, own := open(t, a), open(t, a)
	own.base = "http://" + a.adminAddr
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/actuator/health": 200, "/metrics": 401, "/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/login": 404, "/api/registry": 404, "/static/x": 404} {
		if got := own.eventually(path, want); got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	for _, token := range []string{"", "Bearer x", "Bearer a-metrics-token2", "a-metrics-token"} {
		if got := own.do("GET", "/metrics", nil, "Authorization", token); got.status != http.StatusUnauthorized || strings.Contains(got.body, "punctual_") {
			t.Errorf("with %q: %d", token, got.status)
		}
	}
	if got := own.do("GET", "/metrics", nil, "Authorization", "Bearer a-metrics-token"); got.status != http.StatusOK || !strings.Contains(got.body, "punctual_") {
		t.Errorf("with the token: %d", got.status)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline"} {
		if got := main.do("GET", path, nil, "Authorization", "Bearer a-metrics-token"); got.status == http.StatusOK || strings.Contains(got.body, "punctual_") {
			t.Errorf("%s for everybody: %d", path, got.status)
		}
	}
	main.eventually("/readyz", http.StatusOK)
}

func TestWhereOperatorsListen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen string
		pprof  bool
		want   string
	}{{"", false, ""}, {"", true, "127.0.0.1:8081"}, {":9000", true, "127.0.0.1:9000"}, {"0.0.0.0:9000", false, "0.0.0.0:9000"}, {"nonsense", false, "wrong"}} {
		got, err := adminAddress(tt.listen, tt.pprof)
		if tt.want == "wrong" != (err != nil) || err == nil && got != tt.want {
			t.Errorf("%q: %q, %v", tt.listen, got, err)
		}
	}
}

func TestOnlyTrustedProxiesSayWhereARequestComesFrom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		proxies, from, forwarded, want string
	}{
		{"10.0.0.5, fd00::/8", "10.0.0.5:1", "192.0.2.7", "192.0.2.7"},
		{"10.0.0.5", "10.0.0.6:1", "192.0.2.7", "10.0.0.6"},
		{"10.0.0.5", "127.0.0.1:1", "192.0.2.7", "127.0.0.1"},
		{"10.0.0.5", "10.0.0.5:1", "192.0.2.7, 198.51.100.9", "198.51.100.9"},
		{"10.0.0.0/24", "10.0.0.5:1", "192.0.2.7, 10.0.0.9", "192.0.2.7"},
		{"fd00::/8", "[fd00::1]:1", "192.0.2.7", "192.0.2.7"},
		{"", "127.0.0.1:1", "192.0.2.7", "127.0.0.1"},
	} {
		o := testOptions(t)
		o.TrustedProxies = tt.proxies
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.from
		r.Header.Set("X-Forwarded-For", tt.forwarded)
		if got := o.addressOf()(r); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	for _, bad := range []string{"proxy.example", "10.0.0.0/33", "fe80::1%eth0"} {
		o := testOptions(t)
		o.TrustedProxies = bad
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestNamesFromProgramsHaveOneLineThatIsSeen sends names that a form takes no more than these do.
func TestNamesFromProgramsHaveOneLineThatIsSeen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, _ := programs(t, o)
		common := program{t, a.Welcome().URL, o.AccessToken}
		root := loggedIn(t, a)
		for _, name := range []string{"pay\nnow", "pay\u2028now", "pay\u202enow", "pay\u2066now\u2069", "pay\x00now", "pay\u200fnow", "pay\u0085now"} {
			quoted := strings.NewReplacer("\n", `\n`, "\x00", `\u0000`).Replace(name)
			for _, field := range []string{"registryKey", "registryValue", "registryGroup"} {
				body := map[string]string{"registryGroup": "EXECUTOR", "registryKey": "stock", "registryValue": "http://10.0.0.1:9999/"}
				body[field] = body[field] + quoted
				if said := common.call("registry", `{"registryGroup":"`+body["registryGroup"]+`","registryKey":"`+body["registryKey"]+`","registryValue":"`+body["registryValue"]+`"}`); said.Code == wire.CodeSuccess {
					t.Errorf("%s %q was taken", field, name)
				}
			}
			for _, job := range []string{`"name":"` + quoted + `","author":"ann","executorHandler":"h"`, `"name":"x","author":"` + quoted + `","executorHandler":"h"`, `"name":"x","author":"ann","executorHandler":"` + quoted + `"`} {
				if said := orders.call("addJob", `{"scheduleType":"NONE",`+job+`}`); said.Code == wire.CodeSuccess {
					t.Errorf("%s was taken", job)
				}
			}
			root.refused("/jobinfo/add", with(jobForm("1", "h"), "jobDesc", name), "jobDesc: ")
			root.refused("/jobgroup/save", url.Values{"appname": {"more"}, "title": {name}, "addressType": {"0"}}, "title: ")
		}
	})
}

// TestEveryFormRefusesMailsToOtherDomains goes through the console, the job API and XXL-JOB's endpoints.
func TestEveryFormRefusesMailsToOtherDomains(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.MailDomains = "example.com"
		a, orders, _, groups := programs(t, o)
		b := open(t, a).mustLogin()
		channel := func(to string) answer {
			return b.post("/alarms", url.Values{
				"name": {"mail to " + to}, "kind": {"mail"}, "host": {"127.0.0.1"}, "port": {"25"}, "security": {"none"}, "from": {"a@example.com"}, "recipients": {to},
			})
		}
		if got := channel("ops@elsewhere.example"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find("#recipients-error").Text(), "are not sent") {
			t.Errorf("a channel: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if got := channel("Ops <ops@example.com>"); got.status != http.StatusSeeOther {
			t.Errorf("a channel of the domain: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		orders.refused("addJob", `{"name":"n","author":"x","executorHandler":"h","alarmEmail":"a@elsewhere.example"}`, "are not sent")
		orders.must("addJob", `{"name":"n","author":"x","executorHandler":"h","alarmEmail":"a@example.com"}`)
		s := loggedIn(t, a)
		group := strconv.FormatInt(groups["orders"], 10)
		s.refused("/jobinfo/add", with(jobForm(group, "h"), "alarmEmail", "a@elsewhere.example"), "not sent")
		s.must("/jobinfo/add", "content", with(jobForm(group, "h"), "alarmEmail", "a@example.com"))
	})
}
