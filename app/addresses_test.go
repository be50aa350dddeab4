package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestExecutorsAreNotCalledAtTheAdminsOwnAddresses names its listeners at a registration, in a form, for one run, and by what a name
// stands for.
func TestExecutorsAreNotCalledAtTheAdminsOwnAddresses(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.AdminListen, o.Allow = "127.0.0.1:0", "*"
	a := start(t, o)
	p := program{t, a.Welcome().URL, o.AccessToken}
	b := open(t, a).mustLogin()
	group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders", AddressType: 1, AddressList: "http://10.0.0.1:9999/"})
	if err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprintf("/jobs/%d/run", things(t, a, group, "plain").job)
	rule := manage.NewAddressRule(a.held, a.isOwn, a.http.is)
	register := func(url string) string {
		return `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"` + url + `"}`
	}
	for what, listener := range map[string]string{"everybody's": a.listener.Addr().String(), "operators'": a.adminAddr} {
		port := listener[strings.LastIndexByte(listener, ':'):]
		p.refused("registry", register("http://"+listener+"/"), "executor_deny")
		p.refused("registry", register(listener), "executor_deny")
		form := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {"http://" + listener}}
		if got := b.post(fmt.Sprintf("/executors/%d", group), form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find(".error").Text(), "Executors are not called") {
			t.Errorf("%s, typed: %d %s", what, got.status, got.document(t).Find(".error").Text())
		}
		if got := b.post(job, url.Values{"addresses": {"http://" + listener}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s, for one run: %d", what, got.status)
		}
		for _, address := range []string{listener, "0.0.0.0" + port, "[::ffff:127.0.0.1]" + port} {
			if err := rule.Dial(address); !errors.Is(err, manage.ErrAddressDenied) {
				t.Errorf("%s, %s is dialled: %v", what, address, err)
			}
		}
		if err := rule.Dial("127.0.0.2" + port); err != nil {
			t.Errorf("%s, another machine's port: %v", what, err)
		}
		// What was ticked comes beside what was typed.
		both := b.post(job, url.Values{"addresses": {"http://" + listener, "http://10.0.0.1:9999/"}})
		if text := both.document(t).Find("#run-addresses").Text(); both.status != http.StatusUnprocessableEntity || strings.TrimSpace(text) != "http://"+listener+"\nhttp://10.0.0.1:9999/" {
			t.Errorf("ticked and typed: %d %q", both.status, text)
		}
		// A name says nothing until it is dialled.
		run := b.runOnce(strings.TrimSuffix(job, "/run"), url.Values{"addresses": {"http://localhost" + port}})
		executortest.Eventually(t, "refusal of "+what+" by a name", func() error {
			if state := b.state(run); state != "sendfailed" {
				return fmt.Errorf("the run is %q", state)
			}
			return nil
		})
		if page := b.get(run).document(t).Find("main").Text(); !strings.Contains(page, "executor_deny") {
			t.Errorf("%s, by a name: %s", what, page)
		}
	}
	p.refused("registry", register("http://169.254.169.254/"), "executor_deny")
	p.refused("registry", register("a%25:1"), "registryValue")
	p.must("registry", register("http://10.0.0.1:9999/"))

	for text, own := range map[string]bool{"127.0.0.1:8080": true, "[::1]:8080": true, "0.0.0.0:8080": true, "127.0.0.1:8081": false, "192.0.2.1:8080": false} {
		if got := reaches(netip.MustParseAddrPort(text), netip.MustParseAddrPort("[::]:8080")); got != own {
			t.Errorf("%s is its own: %v", text, got)
		}
	}
}
