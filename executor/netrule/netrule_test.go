//go:build go1.26

package netrule

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestWhatIsOnAList(t *testing.T) {
	t.Parallel()
	l, err := Parse(" 10.0.0.0/8,127.0.0.1:8080, [fd00::1]:80 ,::ffff:192.0.2.0/120,,fe80::1%eth0,Billing.internal,*.example.com,.lab,build:9999,inside", "inside")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.String(), "10.0.0.0/8,127.0.0.1:8080,[fd00::1]:80,::ffff:192.0.2.0/120,fe80::1%eth0,Billing.internal,*.example.com,.lab,build:9999,inside"; got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
	for at, want := range map[string]bool{
		"10.1.2.3:1": true, "[::ffff:10.1.2.3]:1": true, "11.0.0.1:1": false, "127.0.0.1:8080": true, "127.0.0.1:80": false, "[fd00::1]:80": true, "[fd00::1]:81": false,
		"192.0.2.7:1": true, "[fe80::1%eth1]:1": true, "[fe80::2]:1": false,
		"billing.internal:1": true, "BILLING.internal.:1": true, "a.example.com:1": true, "example.com:1": false, "badexample.com:1": false, "b.lab:1": true, "lab:1": false,
		"build:9999": true, "build:80": false, "inside:1": false,
	} {
		host, port, _ := strings.Cut(at, ":")
		got := false
		if p, err := netip.ParseAddrPort(at); err == nil {
			_, port, _ = strings.Cut(at[strings.LastIndex(at, "]")+1:], ":")
			got = l.Addr(p.Addr(), port)
		} else {
			got = l.Name(host, port)
		}
		if got != want {
			t.Errorf("%s is on the list: %v, want %v", at, got, want)
		}
	}
	if !l.Has("inside") || l.Has("outside") || l.Empty() || !(List{}).Empty() {
		t.Error("the words of the list are wrong")
	}
	for _, wrong := range []string{"10.0.0.0/33", "http://x", "a b", "x:y", ".", "*.", "user@host", "*x", "a.*", "/", "[::1", "inside:"} {
		l, err := Parse("a,"+wrong, "outside")
		if part, ok := errors.AsType[*Error](err); wrong != "inside:" && (!ok || part.Part != wrong || !l.Empty()) {
			t.Errorf("%q is read as %v, %v", wrong, l, err)
		}
	}
	if _, err := Parse("a b", "outside"); err == nil || err.Error() != `"a b": write a host, host:port, .domain, an address range such as 10.0.0.0/8, outside, or *` {
		t.Errorf("a list that cannot be read: %v", err)
	}
}

// TestALineEndsARule, since a name with two of them would be nobody's: what was to be denied would not be.
func TestALineEndsARule(t *testing.T) {
	l, err := Parse("a.example\r\nb.example\n\n10.0.0.1")
	if err != nil || l.String() != "a.example,b.example,10.0.0.1" {
		t.Errorf("%q, %v", l.String(), err)
	}
	for _, wrong := range []string{"a\tb", "a\u2028b", "a\x00b", "a\u00a0b", "10.0.0.5\u200b", "\u202ahost", "\ufeffhost"} {
		if l, err := Parse(wrong); err == nil {
			t.Errorf("%q is taken for %q", wrong, l.String())
		}
	}
}

// FuzzParse looks for lists that are read, and read otherwise when they are read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "*", "10.0.0.0/8,.lab", "[::1]:80,a:1", "*.a,public", "::ffff:1.2.3.4/97", "fe80::1%x", " , ", "a:,b:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text, "public")
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(l.String(), "public")
		if err != nil || again.String() != l.String() || len(again.rules) != len(l.rules) {
			t.Fatalf("%q is %q, and then %q, %v", text, l, again, err)
		}
		for i, r := range l.rules {
			if again.rules[i] != r {
				t.Errorf("%q: %+v, and then %+v", text, r, again.rules[i])
			}
			if !r.any && r.word == "" && !r.prefix.IsValid() && r.host == "" {
				t.Errorf("%q: a rule of nothing", text)
			}
			if r.prefix.IsValid() && !l.Addr(r.prefix.Addr(), r.port) {
				t.Errorf("%q: %s is not on its own list", text, r.prefix)
			}
			if r.host != "" && !strings.HasSuffix(r.host, ".") && !l.Name("x"+r.host, r.port) && !l.Name(r.host, r.port) {
				t.Errorf("%q: %s is not on its own list", text, r.host)
			}
		}
	})
}
