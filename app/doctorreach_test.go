package app

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

// TestTheDoctorTriesWhatOthersServe: mail servers, the bucket of outputs and proxies.
func TestTheDoctorTriesWhatOthersServe(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		ask := o
		ask.Listener = nil
		examine := func() (DoctorReport, map[string]string) {
			t.Helper()
			r, err := Doctor(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			of := make(map[string]string)
			for _, p := range r.Points {
				of[p.Key] = p.Text + ": " + strings.Join(p.Of, ", ")
			}
			return r, of
		}
		if r, of := examine(); of["mail"]+of["outputs"]+of["mail.sealed"] != "" || r.MailServers != 0 || r.OutputStore {
			t.Errorf("with none: %+v, %v", r.reached, of)
		}
		c.json(201, &struct{}{}, "POST", "/alarms/channels", `{"name":"on call","kind":"mail","host":"127.0.0.1","port":1,"security":"none","from":"a@example.com","recipients":["b@example.com"]}`)
		c.json(201, &struct{}{}, "POST", "/alarms/channels", `{"name":"off","kind":"mail","enabled":false,"host":"127.0.0.1","port":1,"security":"none","from":"a@example.com","recipients":["b@example.com"]}`)
		ask.OutputStore = "s3://key:hush-hush@127.0.0.1:1/outputs?plain=true"
		r, of := examine()
		if r.Verdict != CheckFailed || r.MailServers != 1 || !strings.Contains(of["mail"], "on call: ") || !r.OutputStore || !strings.Contains(of["outputs"], "127.0.0.1:1") {
			t.Errorf("with some that are not there: %s %+v, %v", r.Verdict, r.reached, of)
		}
		if strings.Contains(of["outputs"], "hush-hush") {
			t.Errorf("the key of the bucket shows: %s", of["outputs"])
		}
	})
}

func TestTheDoctorTriesProxies(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	by := func(plain, safe string) func(*http.Request) (*url.URL, error) {
		return func(r *http.Request) (*url.URL, error) {
			switch text := map[string]string{"http": plain, "https": safe}[r.URL.Scheme]; text {
			case "":
				return nil, nil
			case "bad":
				return nil, errors.New("invalid proxy address")
			default:
				return url.Parse(text)
			}
		}
	}
	there := "http://ann:hush@" + listener.Addr().String()
	for name, tt := range map[string]struct {
		plain, safe string
		proxies     int
		want        []string // parts of what fails
	}{
		"none":               {"", "", 0, nil},
		"one for both":       {there, there, 1, nil},
		"one that is away":   {there, "http://ann:hush@127.0.0.1:1", 2, []string{"http://ann:xxxxx@127.0.0.1:1: "}},
		"one that is no URL": {"bad", "", 0, []string{"http: invalid proxy address"}},
	} {
		var r DoctorReport
		r.proxies(t.Context(), by(tt.plain, tt.safe))
		var failed []string
		for _, p := range r.Points {
			failed = append(failed, p.Of...)
		}
		fits := len(failed) == len(tt.want)
		for i := range min(len(failed), len(tt.want)) {
			fits = fits && strings.HasPrefix(failed[i], tt.want[i])
		}
		if !fits || r.Proxies != tt.proxies {
			t.Errorf("%s: %d proxies, %q", name, r.Proxies, failed)
		}
	}
}

func TestTheDoctorJudgesTheWayToTheDatabase(t *testing.T) {
	t.Parallel()
	ends := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		tls   db.TLS
		want  []string
		certs int
	}{
		"plain":                   {db.TLS{}, nil, 0},
		"plain to one that could": {db.TLS{Ends: ends}, nil, 0},
		"checked":                 {db.TLS{Asked: "true", Version: "TLSv1.3", Ends: ends}, nil, 1},
		"unchecked":               {db.TLS{Asked: "skip-verify", Version: "TLSv1.3"}, []string{"db.tls"}, 0},
		"if there is any":         {db.TLS{Asked: "preferred", Version: "TLSv1.3"}, []string{"db.tls"}, 0},
		"and there is none":       {db.TLS{Asked: "preferred"}, []string{"db.tls"}, 0},
	} {
		var r DoctorReport
		certs := r.databaseTLS(tt.tls, "database")
		if got := keysOf(r.CheckFindings); !slices.Equal(got, tt.want) || len(certs) != tt.certs || r.DatabaseTLS != tt.tls.Version {
			t.Errorf("%s: %v, %d certificates", name, got, len(certs))
		}
	}
}
