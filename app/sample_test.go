package app

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
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

// TestTheSampleOutlivesARotation: its executor is part of the program, and nobody can give it another token.
func TestTheSampleOutlivesARotation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		var job int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_info WHERE job_desc = 'Go · greet'").Scan(&job); err != nil {
			t.Fatal(err)
		}
		if _, err := a.tokens.Rotate(t.Context(), sampleAppName, 0); err != nil {
			t.Fatal(err)
		}
		path := b.runOnce("/jobs/"+strconv.FormatInt(job, 10), url.Values{"param": {"Ann"}, "addresses": {""}})
		run, err := strconv.ParseInt(path[strings.LastIndex(path, "/")+1:], 10, 64)
		if err != nil {
			t.Fatal(path, err)
		}
		eventually(t, "the run's end", func() bool {
			r, err := db.New().GetRun(t.Context(), a.pool, run)
			if err != nil || r.TriggerCode > 0 && r.TriggerCode != wire.CodeSuccess {
				t.Fatalf("%+v, %v", r, err)
			}
			return r.HandleCode == wire.CodeSuccess
		})
		// Whoever else calls it needs the token that it began with.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Welcome().Sample+"/beat", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "token") {
			t.Errorf("a stranger: %s, %v", body, err)
		}
	})
}
