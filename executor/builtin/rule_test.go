//go:build go1.26

package builtin

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
)

func TestAddressRule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		list    string
		yes, no string // addresses
	}{
		{"", "93.184.216.34:80 [2606:2800:220:1::]:443", "127.0.0.1:80 10.0.0.1:80 172.16.0.1:80 192.168.1.1:80 169.254.169.254:80 " +
			"100.100.100.200:80 0.0.0.0:80 224.0.0.1:80 255.255.255.255:80 [::1]:80 [::]:80 [fe80::1]:80 [fd00::1]:80 [::ffff:127.0.0.1]:80 " +
			"[64:ff9b::7f00:1]:80 [2002:7f00:1::]:80 [::127.0.0.1]:80 [ff02::1]:80"},
		{"public", "93.184.216.34:80", "10.0.0.1:80"},
		{"10.0.0.0/8", "10.1.2.3:80 [::ffff:10.1.2.3]:80", "11.0.0.1:80 93.184.216.34:80"},
		{"public, 127.0.0.1:8080 ", "93.184.216.34:80 127.0.0.1:8080", "127.0.0.1:80"},
		{"[fd00::1]:80,fd00::2", "[fd00::1]:80 [fd00::2]:1 ", "[fd00::1]:81"},
		{"fe80::/10", "[fe80::1%eth0]:80", "[::1]:80"},
		{"*", "127.0.0.1:80 [::1]:80 [64:ff9b::5db8:d822]:80", "169.254.169.254:80 [::ffff:169.254.169.254]:80 100.100.100.200:80 [fd00:ec2::254]:80 [fe80::1]:80 " +
			"[64:ff9b::a9fe:a9fe]:80 [64:ff9b::6464:64c8]:80 [2002:a9fe:a9fe::1]:80 [::169.254.169.254]:80"},
		{"64:ff9b::/96", "[64:ff9b::a9fe:a9fe]:80", "[2002:a9fe:a9fe::1]:80"},
		{"*,169.254.0.0/16", "169.254.169.254:80", "100.100.100.200:80"},
	} {
		rule, err := ParseAddressRule(tc.list)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range strings.Fields(tc.yes) {
			if !rule.permits(netip.MustParseAddrPort(at)) {
				t.Errorf("%q refuses %s", tc.list, at)
			}
		}
		for _, at := range strings.Fields(tc.no) {
			if rule.permits(netip.MustParseAddrPort(at)) {
				t.Errorf("%q permits %s", tc.list, at)
			}
		}
	}
	for _, list := range []string{"10.0.0.0/33", "http://x", "a b", "x:y", ".", "user@host", "public,/"} {
		if _, err := ParseAddressRule(list); err == nil {
			t.Errorf("%q is accepted", list)
		}
	}
}

func TestAddressRuleNames(t *testing.T) {
	t.Parallel()
	rule, err := ParseAddressRule("Billing.internal, .example.com, localhost:8080, public")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]bool{
		"billing.internal:80": true, "BILLING.internal.:80": true, "a.example.com:80": true, "example.com:80": false, "badexample.com:80": false,
		"localhost:8080": true, "localhost:80": false, "public:80": false, "other:80": false,
	} {
		host, port, err := net.SplitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := rule.list.Name(host, port); got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}

// A name can stand for any address, so it is the address dialled that counts.
func TestANameDoesNotLeadAroundTheRule(t *testing.T) {
	t.Parallel()
	reached := false
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := (AddressRule{}).dial(t.Context(), "tcp", "localhost:"+port); !errors.Is(err, errNotAllowed) || conn != nil {
		t.Errorf("localhost: %v", err)
	}
	rule, err := ParseAddressRule("localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rule.Except(func(netip.AddrPort) bool { return true }).dial(t.Context(), "tcp", "localhost:"+port); !errors.Is(err, errNotAllowed) {
		t.Errorf("a name that is listed stands for an excepted address: %v", err)
	}
	conn, err := rule.dial(t.Context(), "tcp", "localhost:"+port)
	if err != nil {
		t.Fatalf("a name that is listed: %v", err)
	}
	_ = conn.Close()
	if reached {
		t.Error("a request was sent")
	}
}

func TestRedirectsToAnotherHostLeaveSecretsBehind(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	t.Cleanup(other.Close)
	var status int
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) }))
	t.Cleanup(first.Close)
	rule, err := ParseAddressRule("*")
	if err != nil {
		t.Fatal(err)
	}
	call := httpcall.Call{URL: first.URL + "/s?key=s", Method: http.MethodPost, Auth: "Bearer s", Headers: map[string]string{"X-Secret": "s"},
		Cookies: map[string]string{"c": "s"}, Data: "secret"}
	transport := &http.Transport{DialContext: rule.dial, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: checkRedirect(&call)}
	for _, status = range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		req, err := call.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if status == http.StatusTemporaryRedirect {
			if err == nil || !strings.Contains(err.Error(), "redirect of a body to another host") {
				t.Errorf("the body went on: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		header := <-seen
		for _, name := range []string{"Authorization", "Cookie", "X-Secret", "Content-Type", "Referer"} {
			if got := header.Get(name); got != "" {
				t.Errorf("%s: %q went to the other host", name, got)
			}
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                                nil,
		"  \t ":                           nil,
		"a  b\tc\nd":                      {"a", "b", "c", "d"},
		`a 'b c' "d e"`:                   {"a", "b c", "d e"},
		`--x="a b"'c d'e`:                 {"--x=a bc de"},
		`""`:                              {""},
		`"a \"b\" \\ \n"`:                 {`a "b" \ \n`},
		`'a \' b`:                         {`a \`, "b"},
		`C:\Users\x "C:\Program Files\y"`: {`C:\Users\x`, `C:\Program Files\y`},
		"中文 '空 格'":                        {"中文", "空 格"},
	} {
		if got, err := splitWords(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`it's`, `"a`, `"a\"`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q is split into %q", line, got)
		}
	}
}

func FuzzParseCall(f *testing.F) {
	for _, seed := range []string{`{"url":"http://x","expectedStatus":[200,"3xx"],"data":{"a":1}}`, "url: http://x\nmethod: get\nexpectedStatus: 200-204"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, param string) {
		call, err := httpcall.Parse(param)
		if err != nil {
			return
		}
		if _, err := call.Request(t.Context()); err == nil && call.URL == "" {
			t.Error("a request to nowhere")
		}
		_ = call.Expected.String()
	})
}
