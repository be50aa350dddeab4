package app

import (
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db"
)

// bound is a listener that says another address than its own.
type bound struct {
	net.Listener
	addr net.Addr
}

func (b bound) Addr() net.Addr { return b.addr }

func TestTheSamplesScriptsDoNotReachTheAdminsData(t *testing.T) {
	t.Parallel()
	here, anywhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 1}
	for _, tt := range []struct {
		name  string
		addr  net.Addr
		proxy bool
		may   bool // as an ordinary user
	}{
		{"on this machine only", here, false, true},
		{"behind a proxy", here, true, false},
		{"for everybody", anywhere, false, false},
	} {
		a := &App{listener: bound{addr: tt.addr}, opts: Options{TrustProxy: tt.proxy}}
		may, as := a.sampleScripts()
		if os.Geteuid() == 0 {
			if !may || as != sampleUser {
				t.Errorf("%s, as root: %v as %q", tt.name, may, as)
			}
		} else if may != tt.may || as != "" {
			t.Errorf("%s: %v as %q", tt.name, may, as)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	// As root, a script looks for the database.
	o := testOptions(t)
	o.Sample = SampleOn
	a := start(t, o)
	if at := mustURL(t, a.Welcome().Sample).Hostname(); at != "127.0.0.1" {
		t.Errorf("the sample executor listens at %s", at)
	}
	if a.pool.Dialect() != db.SQLite {
		t.Fatal("the test is about a database in a file")
	}
	info, err := os.Stat(o.DataDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory is open: %v %v", info.Mode(), err)
	}
	b := open(t, a)
	b.mustLogin()
	var script string
	b.get("/jobs").document(t).Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
		if strings.HasPrefix(row.Find(".title").First().Text(), "Shell") {
			id, _ := row.Attr("data-id")
			script = "/jobs/" + id
		}
	})
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET glue_source = ?, glue_updatetime = '2030-01-01 00:00:00' WHERE id = ?",
		"id -un; ls "+o.DataDir+" 2>&1; exit 0", strings.TrimPrefix(script, "/jobs/")); err != nil {
		t.Fatal(err)
	}
	run := b.runOnce(script, url.Values{"param": {""}, "addresses": {""}})
	var output strings.Builder
	b.events(run+"/events?from=1", func(name, data string) bool {
		if name == "log" {
			output.WriteString(data)
		}
		return name == "end"
	})
	if text := output.String(); !strings.Contains(text, sampleUser) || !strings.Contains(text, "ermission denied") || strings.Contains(text, ".db") {
		t.Errorf("the script says\n%s", text)
	}
}
