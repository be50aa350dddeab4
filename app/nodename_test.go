package app

import (
	"net"
	"os"
	"testing"
)

// Two admins of one machine have one host name.
func TestANodeIsNamedByItsPortToo(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Listen: ":8080"}, host + ":8080"},
		{Options{Listen: "127.0.0.1:8081"}, host + ":8081"},
		{Options{Listen: ":0"}, host},
		{Options{Listen: ":8080", Listener: listener}, host + ":" + port},
	} {
		if got := c.options.nodeName(); got != c.want {
			t.Errorf("%q is called %q, want %q", c.options.Listen, got, c.want)
		}
	}
}
