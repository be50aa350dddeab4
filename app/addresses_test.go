package app

import (
	"net/netip"
	"testing"
)

func TestExecutorsAreNotCalledAtTheAdminsOwnAddress(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	a := start(t, o)
	p := program{t, a.Welcome().URL, o.AccessToken}
	at := netip.MustParseAddrPort(a.listener.Addr().String())
	register := func(url string) string {
		return `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"` + url + `"}`
	}
	p.refused("registry", register("http://"+at.String()+"/"), "executor_deny")
	p.refused("registry", register(at.String()), "executor_deny")
	p.refused("registry", register("http://169.254.169.254/"), "executor_deny")
	p.refused("registry", register("a%25:1"), "registryValue")
	p.must("registry", register("http://10.0.0.1:9999/"))

	a.ownAddr.Store("[::]:8080")
	for text, own := range map[string]bool{"127.0.0.1:8080": true, "[::1]:8080": true, "0.0.0.0:8080": true, "127.0.0.1:8081": false, "192.0.2.1:8080": false} {
		if got := a.isOwn(netip.MustParseAddrPort(text)); got != own {
			t.Errorf("%s is its own: %v", text, got)
		}
	}
}
