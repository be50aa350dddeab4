package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

const testPassword = "correct-horse-lamp"

// quick is what a password costs in tests, which log in all the time. What it costs otherwise: [TestPasswordsCostWhatTheyShould].
var quick = auth.Cost{MemoryKiB: 64, Passes: 1}

// testOptions are those of a quick and quiet app on a free port. Its database is empty and migrated, which is quicker than to have
// each app migrate one; see unmade.
func testOptions(t *testing.T) Options {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // when the app never got as far as taking it
	return Options{
		Listener: listener, DataDir: dbtest.Folder(t), UnsafeDB: true, AdminPassword: testPassword, Sample: SampleOff, HTTPJobs: SampleOff, Zone: dbtest.Zone,
		PasswordCost: quick, AccessToken: "test-token", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), DrainTimeout: executortest.Patience, Version: "test",
		lastWrite: executortest.Patience / 2, // however busy the database is
	}
}

// unmade are these options with a database in which there is nothing yet.
func unmade(t *testing.T, o Options) Options {
	t.Helper()
	o.DataDir = t.TempDir()
	if o.DatabaseURL != "" {
		o.DatabaseURL = dbtest.MariaDB(t)
	}
	return o
}

// onBoth runs a test on the embedded database and on MariaDB.
func onBoth(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, testOptions(t))
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		o := testOptions(t)
		o.DatabaseURL, o.DataDir = dbtest.Migrated(t), t.TempDir()
		test(t, o)
	})
}

// start brings an app up and down with the test.
func start(t *testing.T, o Options) *App {
	t.Helper()
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	running := a
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience)
		defer cancel()
		if err := running.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		running = nil // package testing keeps this function until all parallel tests have ended, and with it 10 MB
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// browser is somebody at the console.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func open(t *testing.T, a *App) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, base: a.Welcome().URL, http: &http.Client{
		Jar: jar, Transport: transport, Timeout: executortest.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// eventually asks until the answer has a status: a busy machine is not ready at each moment.
func (b *browser) eventually(path string, status int) (got answer) {
	b.t.Helper()
	executortest.Eventually(b.t, fmt.Sprintf("%d of %s", status, path), func() error {
		if got = b.get(path); got.status != status {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		return nil
	})
	return got
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path string, form url.Values, header ...string) answer {
	b.t.Helper()
	if form == nil {
		return b.raw(method, path, nil, header...)
	}
	return b.raw(method, path, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// raw makes a request with any body.
func (b *browser) raw(method, path string, body io.Reader, header ...string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	if err := undocumented(req, resp.StatusCode); err != nil {
		b.t.Errorf("%s %s: %v: %.300s", method, path, err, raw)
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

func (b *browser) get(path string) answer { b.t.Helper(); return b.do("GET", path, nil) }
func (b *browser) post(path string, form url.Values) answer {
	b.t.Helper()
	return b.do("POST", path, form)
}

func (b *browser) login(name, password string) answer {
	b.t.Helper()
	return b.post("/login", url.Values{"name": {name}, "password": {password}})
}

func (b *browser) mustLogin() *browser {
	b.t.Helper()
	if got := b.login("admin", testPassword); got.status != http.StatusSeeOther {
		b.t.Fatalf("login: %d %s", got.status, got.body)
	}
	return b
}

// document reads a page.
func (a answer) document(t *testing.T) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// events reads a stream and hands over each event until the function has seen enough.
func (b *browser) events(path string, enough func(name, data string) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), executortest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	client := *b.http
	client.Timeout = 0
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("%s: %d %s", path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	scanner := bufio.NewScanner(resp.Body)
	scanner.Buffer(nil, 4<<20)
	var name string
	var data []string
	for scanner.Scan() {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[len("data: "):])
		case line == "" && name != "":
			if enough(name, strings.Join(data, "\n")) {
				return
			}
			name, data = "", nil
		}
	}
	b.t.Fatalf("%s: the stream ended too early: %v", path, scanner.Err())
}

// version is the hidden field that notices concurrent edits.
func (b *browser) version(path string) string {
	b.t.Helper()
	v, _ := b.get(path).document(b.t).Find(`input[name="version"]`).Attr("value")
	return v
}

// notSoon is the cron text of a job that is due in half a year, whatever the day is: never while a test runs.
func notSoon() string {
	return fmt.Sprintf("0 0 3 1 %d ?", (int(time.Now().UTC().Month())+5)%12+1)
}

// form is a job's form with every field a browser would send.
func form(change url.Values) url.Values {
	v := url.Values{
		"name": {"close the day"}, "group": {"1"}, "author": {"ann"}, "schedule_type": {"CRON"}, "cron": {"0 0 2 * * ?"}, "seconds": {""},
		"misfire": {"DO_NOTHING"}, "route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "glue": {"BEAN"}, "handler": {"sampleGreet"}, "param": {""},
		"source": {""}, "children": {""}, "timeout": {"0"}, "retries": {"0"}, "alarm_email": {""}, "version": {""},
	}
	maps.Copy(v, change)
	return v
}

var runInPath = regexp.MustCompile(`^/runs/(\d+)$`)

// runOnce runs a job by hand and returns its run's path.
func (b *browser) runOnce(job string, form url.Values) string {
	b.t.Helper()
	got := b.post(job+"/run", form)
	path := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !runInPath.MatchString(path) {
		b.t.Fatalf("run once: %d %q %s", got.status, path, got.body)
	}
	return path
}

// state is a run's state as its page shows it, by the badge's class.
func (b *browser) state(run string) string {
	b.t.Helper()
	class, _ := b.get(run).document(b.t).Find(".page-head .badge").First().Attr("class")
	return strings.TrimSpace(strings.Replace(class, "badge", "", 1))
}

// TestTheStory is what a newcomer does, over HTTP, with the real engine and the real sample executor.
func TestTheStory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a)
		if got := b.get("/jobs"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next=%2Fjobs" {
			t.Fatalf("a stranger: %d %s", got.status, got.header.Get("Location"))
		}
		b.mustLogin()

		jobs := b.get("/jobs").document(t)
		paths := make(map[string]string) // job name → path
		jobs.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
			id, _ := row.Attr("data-id")
			paths[row.Find(".title").First().Text()] = "/jobs/" + id
		})
		for _, name := range []string{"Shell · 10 s", "Go · greet", "Go · slow", "Go · retry"} {
			if paths[name] == "" {
				t.Fatalf("no sample job %q in %v", name, paths)
			}
		}
		if n := b.get("/executors").document(t).Find(".address.online").Length(); n != 1 {
			t.Errorf("%d executors online", n)
		}

		// Run one with a parameter, follow its output to the end.
		greet := b.runOnce(paths["Go · greet"], url.Values{"param": {"<b>Ann</b>"}, "addresses": {""}})
		var output strings.Builder
		b.events(greet+"/events?from=1", func(name, data string) bool {
			if name == "log" {
				output.WriteString(data)
			}
			return name == "end"
		})
		if text := output.String(); !strings.Contains(text, "&lt;b&gt;Ann&lt;/b&gt;") || strings.Contains(text, "<b>Ann") {
			t.Errorf("output %s", text)
		}
		if got := b.state(greet); got != "success" {
			t.Errorf("the run is %q", got)
		}
		if got := b.get(greet + "/log?from=1&download=1"); !strings.Contains(got.body, `the parameter is "<b>Ann</b>"`) || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("downloaded %s as %s", got.body, got.header.Get("Content-Type"))
		}

		// A list that is open sees a run appear and end.
		var script string
		b.events("/runs/events?range=1h&job="+strings.TrimPrefix(paths["Shell · 10 s"], "/jobs/"), func(name, data string) bool {
			if script == "" {
				script = b.runOnce(paths["Shell · 10 s"], url.Values{"param": {""}})
			}
			return name == "run" && strings.Contains(data, `id="run-`+strings.TrimPrefix(script, "/runs/")+`"`) && strings.Contains(data, "badge success")
		})

		// Kill a slow one. It has no schedule: a fire of the sample's own, which comes every five minutes, would take this run's place.
		made := b.post("/jobs", form(url.Values{"name": {"wait"}, "schedule_type": {"NONE"}, "cron": {""}, "handler": {"sampleSlow"}}))
		if made.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", made.status, made.body)
		}
		wait, _ := b.get("/jobs?q=wait").document(t).Find("tbody tr").Attr("data-id")
		slow := b.runOnce("/jobs/"+wait, url.Values{"param": {"600"}})
		b.events(slow+"/events?from=1", func(name, data string) bool {
			return name == "log" && strings.Contains(data, "1 of 600 s")
		})
		if got := b.post(slow+"/kill", url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("kill: %d %s", got.status, got.body)
		}
		if got := b.state(slow); got != "killed" {
			t.Errorf("the killed run is %q", got)
		}
		if got := b.post(slow+"/kill", url.Values{}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("killed twice: %d", got.status)
		}
		if got := b.get(slow + "/kill"); got.status != http.StatusOK || got.document(t).Find(".panel .danger").Length() != 0 || got.document(t).Find(`.panel a[href="`+slow+`"]`).Length() != 1 {
			t.Errorf("asked about a run that has ended: %d %s", got.status, got.body)
		}

		// Edit a schedule, see its next times, stop and start.
		edit := form(url.Values{"name": {"Go · greet"}, "cron": {"0 15 10 ? * MON"}, "version": {b.version(paths["Go · greet"] + "/edit")}})
		if got := b.post("/jobs/schedule-preview", edit); got.document(t).Find("ol li").Length() != 8 || !strings.Contains(got.body, " 10:15:00") {
			t.Errorf("preview: %s", got.body)
		}
		ending := url.Values{"schedule_type": {"CRON"}, "cron": {"0 15 10 1 1 ? 2098-2099"}}
		if got := b.post("/jobs/schedule-preview", ending); got.document(t).Find("ol li").Length() != 2 || !strings.Contains(got.body, "After that the schedule is over.") {
			t.Errorf("preview of a schedule that ends: %s", got.body)
		}
		if got := b.post(paths["Go · greet"], edit); got.status != http.StatusSeeOther {
			t.Errorf("saved: %d %s", got.status, got.body)
		}
		for action, want := range map[string]string{"stop": "false", "start": "true"} {
			got := b.do("POST", paths["Go · greet"]+"/"+action, url.Values{}, "HX-Request", "true")
			row, err := goquery.NewDocumentFromReader(strings.NewReader("<table>" + got.body + "</table>"))
			if err != nil {
				t.Fatal(err)
			}
			if on, _ := row.Find(".switch").Attr("aria-checked"); got.status != http.StatusOK || on != want {
				t.Errorf("%s: %d, switched on: %s", action, got.status, on)
			}
		}

		// Stop the program and start it again: nothing is lost, and the sample is back.
		sample := a.Welcome().Sample
		stop, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		defer cancel()
		if err := a.Stop(stop); err != nil {
			t.Fatalf("stop: %v", err)
		}
		o.Sample = SampleAuto
		var err error
		if o.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		again := start(t, o)
		if w := again.Welcome(); w.FirstUser != "" || w.FirstPassword != "" || w.Sample == "" {
			t.Errorf("the second start says %+v", w)
		}
		b.base = again.Welcome().URL
		if got := b.state(greet); got != "success" {
			t.Errorf("after the restart, still logged in, the run is %q", got)
		}
		// Beside other tests its port may have been taken, and the output is then asked for in vain.
		if got := b.get(greet); again.Welcome().Sample == sample && !strings.Contains(got.body, "the parameter is") {
			t.Error("the output is gone after the restart")
		}
	})
}

// TestEveryAddressWithBadInput asks every endpoint wrong things: the answer is clear, and never our fault.
func TestEveryAddressWithBadInput(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		if got := b.post("/jobs", form(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create job: %d %s", got.status, got.body)
		}
		if got := b.post("/jobs", form(url.Values{"glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo 1"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create script: %d %s", got.status, got.body)
		}
		huge := strings.Repeat("x", maxForm)
		tests := []struct {
			method, path string
			form         url.Values
			status       int
		}{
			{"GET", "/jobs?group=abc&page=-1&state=maybe&q=" + url.QueryEscape("%_!'\"<"), nil, 200},
			{"GET", "/jobs?page=99999999999999999999", nil, 200},
			{"GET", "/jobs?page=2147483647", nil, 200},
			{"GET", "/jobs/999/edit", nil, 404},
			{"GET", "/jobs/0/edit", nil, 404},
			{"GET", "/jobs/-1/edit", nil, 404},
			{"GET", "/jobs/1e3/edit", nil, 404},
			{"GET", "/jobs/99999999999999999999/edit", nil, 404},
			{"GET", "/jobs/new?copy=999", nil, 404},
			{"GET", "/jobs/999/run", nil, 404},
			{"GET", "/jobs/999/delete", nil, 404},
			{"POST", "/jobs", url.Values{}, 422},
			{"POST", "/jobs", form(url.Values{"cron": {"every day"}}), 422},
			{"POST", "/jobs", form(url.Values{"timeout": {"soon"}}), 422},
			{"POST", "/jobs", form(url.Values{"timeout": {"-1"}}), 422},
			{"POST", "/jobs", form(url.Values{"retries": {"99999999999999999999"}}), 422},
			{"POST", "/jobs", form(url.Values{"schedule_type": {"SOMETIMES"}}), 422},
			{"POST", "/jobs", form(url.Values{"route": {"'; DROP TABLE xxl_job_info; --"}}), 422},
			{"POST", "/jobs", form(url.Values{"group": {"999"}}), 422},
			{"POST", "/jobs", form(url.Values{"name": {strings.Repeat("长", 256)}}), 422},
			{"POST", "/jobs", form(url.Values{"source": {huge}}), 413},
			{"POST", "/jobs/1", form(url.Values{"handler": {""}}), 422},
			{"POST", "/jobs/1", form(url.Values{"version": {"old"}, "author": {"mina"}}), 422},
			{"POST", "/jobs/1", form(url.Values{"version": {"old"}}), 303}, // what is stored says the same
			{"POST", "/jobs/999", form(nil), 404},
			{"POST", "/jobs/999/start", url.Values{}, 404},
			{"POST", "/jobs/999/stop", url.Values{}, 404},
			{"POST", "/jobs/999/delete", url.Values{}, 404},
			{"POST", "/jobs/999/run", url.Values{}, 404},
			{"POST", "/jobs/1/run", url.Values{"addresses": {"http://169.254.169.254/latest"}}, 422},
			{"POST", "/jobs/1/run", url.Values{"addresses": {"gopher://x"}}, 422},
			{"POST", "/jobs/1/run", url.Values{"param": {strings.Repeat("x", 70_000)}}, 422},
			{"GET", "/jobs/1/glue", nil, 409},
			{"GET", "/jobs/999/glue", nil, 404},
			{"POST", "/jobs/1/glue", url.Values{"source": {"echo"}, "remark": {"a remark"}}, 409},
			{"POST", "/jobs/1/glue/try", url.Values{}, 409},
			{"GET", "/jobs/2/glue", nil, 200},
			{"GET", "/jobs/2/glue/versions/999", nil, 404},
			{"GET", "/jobs/2/glue/versions/x", nil, 404},
			{"POST", "/jobs/2/glue/versions/999/restore", url.Values{}, 404},
			{"POST", "/jobs/2/glue", url.Values{"source": {"echo <script>"}, "remark": {"abc"}}, 422},
			{"POST", "/jobs/2/glue", url.Values{"source": {"echo <script>"}, "remark": {"a remark"}, "version": {"old"}}, 422},
			{"POST", "/jobs/2/glue", url.Values{"source": {huge}, "remark": {"a remark"}}, 413},
			{"POST", "/jobs/schedule-preview", url.Values{"schedule_type": {"CRON"}, "cron": {strings.Repeat("*/1,", 5000)}}, 200},
			{"POST", "/jobs/schedule-preview", url.Values{}, 200},
			{"DELETE", "/jobs/1", nil, 404},
			{"PUT", "/jobs", url.Values{}, 404},
			{"GET", "/runs?before=x&after=-5&range=century&from=never&result=?&q=" + url.QueryEscape("%00'"), nil, 200},
			{"GET", "/runs?range=custom&from=9999-99-99T99:99&to=x", nil, 200},
			{"GET", "/runs?before=9223372036854775807", nil, 200},
			{"GET", "/runs?after=9223372036854775807", nil, 200},
			{"GET", "/runs/999", nil, 404},
			{"GET", "/runs/999/log?from=x", nil, 404},
			{"GET", "/runs/999/events", nil, 404},
			{"GET", "/runs/999/kill", nil, 404},
			{"POST", "/runs/999/kill", url.Values{}, 404},
			{"GET", "/executors?page=-3&q=" + url.QueryEscape("<script>"), nil, 200},
			{"GET", "/executors/999/edit", nil, 404},
			{"GET", "/executors/999/delete", nil, 404},
			{"POST", "/executors", url.Values{"app_name": {"A"}, "title": {""}}, 422},
			{"POST", "/executors", url.Values{"app_name": {"orders"}, "title": {"x"}}, 422},
			{"POST", "/executors", url.Values{"app_name": {"manual"}, "title": {"x"}, "type": {"manual"}, "addresses": {"nowhere"}}, 422},
			{"POST", "/executors/1", url.Values{"app_name": {"orders"}, "title": {"x"}, "version": {"old"}}, 422},
			{"POST", "/executors/999", url.Values{"app_name": {"orders"}, "title": {"x"}}, 404},
			{"POST", "/executors/1/delete", url.Values{}, 409},
			{"POST", "/executors/999/delete", url.Values{}, 404},
			{"POST", "/preferences", url.Values{"lang": {"xx"}, "theme": {"pink"}, "next": {"//evil.example"}}, 303},
			{"GET", "/no/such/page", nil, 404},
			{"POST", "/no/such/page", url.Values{}, 404},
			{"GET", "/static/no-such-file.js", nil, 404},
			{"GET", "/login?next=//evil.example", nil, 303},
		}
		missing := regexp.MustCompile(`![a-z]+(?:\.[a-zA-Z0-9_]+)+!`)
		for _, tt := range tests {
			got := b.do(tt.method, tt.path, tt.form)
			if got.status != tt.status {
				t.Errorf("%s %.60s %.80s: %d, want %d\n%.300s", tt.method, tt.path, tt.form.Encode(), got.status, tt.status, got.body)
			}
			if m := missing.FindString(got.body); m != "" {
				t.Errorf("%s %.60s: no words for %s", tt.method, tt.path, m)
			}
			if strings.Contains(got.body, "<script>") || strings.HasPrefix(got.header.Get("Location"), "//") {
				t.Errorf("%s %s gives back what it was sent", tt.method, tt.path)
			}
		}
		b.eventually("/readyz", http.StatusOK)
		for _, wrong := range []string{"", "wrong"} {
			got := b.do("POST", "/api/registry", url.Values{"a": {"b"}}, "XXL-JOB-ACCESS-TOKEN", wrong)
			if got.status != http.StatusOK || !strings.Contains(got.body, "The access token is wrong.") {
				t.Errorf("token %q: %d %s", wrong, got.status, got.body)
			}
		}
		if got := b.do("POST", "/xxl-job-admin/api/registry", url.Values{"a": {"b"}}, "XXL-JOB-ACCESS-TOKEN", "test-token"); !strings.Contains(got.body, "openapi invoke error") {
			t.Errorf("a form instead of JSON: %s", got.body)
		}
	})
}

func TestPasswordsCostWhatTheyShould(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.PasswordCost = auth.Cost{}
	a := start(t, o)
	open(t, a).mustLogin()
	u, err := db.New().GetUserByName(t.Context(), a.pool, "admin")
	if want := "$argon2id$v=19$m=19456,t=2,p=1$"; err != nil || !strings.HasPrefix(u.Password, want) {
		t.Errorf("the password is kept as %q, want %s… (%v)", u.Password, want, err)
	}
}

func TestWhatANormalUserMayNot(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	for _, name := range []string{"orders", "secret"} {
		if got := admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
	}
	for _, group := range []string{"1", "2"} {
		if got := admin.post("/jobs", form(url.Values{"group": {group}, "name": {"job of " + group}})); got.status != http.StatusSeeOther {
			t.Fatalf("create job: %d %s", got.status, got.body)
		}
	}
	hash, err := auth.NewPasswords(1).At(quick).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	if got := ann.login("ann", testPassword); got.status != http.StatusSeeOther {
		t.Fatalf("login: %d", got.status)
	}
	list := ann.get("/jobs")
	if !strings.Contains(list.body, "job of 1") || strings.Contains(list.body, "job of 2") {
		t.Error("the list shows the wrong jobs")
	}
	if got := ann.get("/executors"); strings.Contains(got.body, "secret") || strings.Contains(got.body, "/executors/new") {
		t.Error("the executor list shows too much")
	}
	// Another group's job is as little there as one that does not exist.
	refusal := func(path string) int {
		if strings.Contains(path, "/executors") {
			return http.StatusForbidden
		}
		return http.StatusNotFound
	}
	for _, path := range []string{"/jobs/2/edit", "/jobs/2/run", "/jobs/2/delete", "/jobs/2/glue", "/jobs/2/glue/versions/1", "/jobs/new?copy=2", "/executors/new", "/executors/1/edit", "/executors/1/delete"} {
		if got := ann.get(path); got.status != refusal(path) || strings.Contains(got.body, "job of 2") {
			t.Errorf("GET %s: %d", path, got.status)
		}
	}
	for _, path := range []string{"/jobs/2", "/jobs/2/start", "/jobs/2/stop", "/jobs/2/delete", "/jobs/2/run", "/jobs/2/glue", "/jobs/2/glue/try", "/jobs/2/glue/versions/1/restore", "/executors", "/executors/1", "/executors/1/delete"} {
		if got := ann.post(path, form(nil)); got.status != refusal(path) {
			t.Errorf("POST %s: %d", path, got.status)
		}
	}
	// Taking the permission away works at once, within the session.
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET permission = '' WHERE username = 'ann'"); err != nil {
		t.Fatal(err)
	}
	if got := ann.get("/jobs/1/edit"); got.status != http.StatusNotFound {
		t.Errorf("after the permission was taken: %d", got.status)
	}
}

func TestLoginOverHTTP(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.loginNow = still()
	a := start(t, o)
	b := open(t, a)
	first := b.get("/login")
	if first.status != http.StatusOK || !strings.Contains(first.body, "printed once") {
		t.Errorf("the first visit: %d %s", first.status, first.body)
	}
	wrong, unknown := b.login("admin", "wrong"), b.login("nobody", "wrong")
	text := func(a answer) string { return a.document(t).Find(".notice").Text() }
	if wrong.status != http.StatusUnprocessableEntity || unknown.status != wrong.status || text(wrong) != text(unknown) || text(wrong) == "" {
		t.Errorf("wrong password %d %q, unknown name %d %q", wrong.status, text(wrong), unknown.status, text(unknown))
	}
	got := b.post("/login", url.Values{"name": {"admin"}, "password": {testPassword}, "next": {"/runs?range=all"}, "remember": {"on"}})
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/runs?range=all" {
		t.Errorf("login: %d to %s", got.status, got.header.Get("Location"))
	}
	if cookie := got.header.Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || !strings.Contains(cookie, "Max-Age=2592000") {
		t.Errorf("cookie %s", cookie)
	}
	evil := open(t, a)
	if got := evil.post("/login", url.Values{"name": {"admin"}, "password": {testPassword}, "next": {"https://evil.example/"}}); got.header.Get("Location") != "/" {
		t.Errorf("led to %s", got.header.Get("Location"))
	}
	if got := b.do("POST", "/jobs/1/stop", url.Values{}, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); got.status != http.StatusForbidden {
		t.Errorf("a form on another site: %d", got.status)
	}
	if got := b.post("/logout", url.Values{}); got.status != http.StatusSeeOther {
		t.Errorf("logout: %d", got.status)
	}
	if got := b.get("/jobs"); got.status != http.StatusSeeOther {
		t.Errorf("logged out: %d", got.status)
	}
	if got := b.get("/login"); strings.Contains(got.body, "printed once") {
		t.Error("somebody has logged in, and the page still tells where the password was printed")
	}
	limited := 0
	for range 15 {
		if got := b.login("ghost", "x"); got.status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited != 5 {
		t.Errorf("%d of 15 attempts were refused", limited)
	}
}

func TestOperationsEndpoints(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	b := open(t, a)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if got := b.eventually(path, http.StatusOK); got.body != want {
			t.Errorf("%s: %q", path, got.body)
		}
	}
	if got := b.get("/metrics"); !strings.Contains(got.body, "punctual_") || !strings.Contains(got.body, "go_goroutines") {
		t.Error("metrics are missing")
	}
	page := b.get("/login")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
	} {
		if got := page.header.Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	page.document(t).Find("link[href], script[src]").Each(func(_ int, s *goquery.Selection) {
		for _, name := range []string{"href", "src"} {
			if path, ok := s.Attr(name); ok {
				if got := b.get(path); got.status != http.StatusOK {
					t.Errorf("%s: %d", path, got.status)
				}
			}
		}
	})
	for path, want := range map[string]string{
		"/xxl-job-admin": "/", "/xxl-job-admin/": "/", "/xxl-job-admin/jobinfo": "/jobs", "/xxl-job-admin/toLogin": "/login", "/xxl-job-admin/joblog?jobId=3": "/runs?job=3",
		"/xxl-job-admin/joblog/logDetailPage?id=7": "/runs/7", "/jobcode?jobId=5": "/jobs/5/glue", "/toLogin": "/login", "/jobinfo?jobGroup=2": "/jobs?group=2",
		"/xxl-job-admin//evil.example": "/evil.example",
	} {
		if got := b.get(path); got.status != http.StatusFound || got.header.Get("Location") != want {
			t.Errorf("%s: %d to %q", path, got.status, got.header.Get("Location"))
		}
	}
	if got := b.get("/debug/pprof/"); got.status == http.StatusOK {
		t.Error("pprof is open although nobody asked for it")
	}
}

func TestTheLanguageIsTheReaders(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	b := open(t, a)
	if got := b.do("GET", "/login", nil, "Accept-Language", "zh-CN,zh;q=0.9"); !strings.Contains(got.body, `lang="zh-CN"`) {
		t.Error("Chinese was asked for")
	}
	b.post("/preferences", url.Values{"lang": {"zh-CN"}, "next": {"/login"}})
	if got := b.do("GET", "/login", nil, "Accept-Language", "en"); !strings.Contains(got.body, `lang="zh-CN"`) {
		t.Error("Chinese was chosen")
	}
	b.post("/preferences", url.Values{"theme": {"dark"}, "next": {"/login"}})
	if got := b.get("/login"); !strings.Contains(got.body, `data-theme="dark"`) {
		t.Error("dark was chosen")
	}
}
