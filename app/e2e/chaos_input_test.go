package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// routes are the methods and paths the program answers to.
func routes(t *testing.T) []string {
	t.Helper()
	a, err := app.New(t.Context(), app.Options{DataDir: t.TempDir(), UnsafeDB: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	return a.Routes()
}

// badBody is something that no endpoint expects.
type badBody struct {
	name, contentType string
	body              []byte
}

const form = "application/x-www-form-urlencoded"

var badBodies = []badBody{
	{"nothing", "", nil},
	{"no form at all", form, []byte("\x00\xff\xfe;;;===&&&%%%")},
	{"a broken escape", form, []byte("name=%zz&group=1")},
	{"wrong types", form, []byte("group=abc&name[]=1&cron=1&cron=2&timeout=-1&retries=99999999999999999999&schedule_type=NEVER&version=x&seconds=1e9&start=maybe")},
	{"odd text", form, []byte("name=" + url.QueryEscape("\x00\u202e'\"<script>alert(1)</script>; DROP TABLE xxl_job_info --") + "&handler=%ff%fe&param=%00")},
	{"a JSON", "application/json", []byte(`{"name":"x","group":{"a":[1,2,3]}}`)},
	{"a JSON that breaks off", "application/json", []byte(`{"name":"x","group":{"a":[1,2`)},
	{"a multipart form without parts", "multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nno end")},
	{"a multipart form without a boundary", "multipart/form-data", []byte("x")},
	{"a content type that is none", "////;;;=", []byte("x")},
	{"a field of 6 MiB", form, append([]byte("name=a&source="), bytes.Repeat([]byte("x"), 6<<20)...)},
	{"100,000 fields", form, bytes.Repeat([]byte("a=1&"), 100_000)},
}

// badIDs take the place of :id.
var badIDs = []string{"999999999", "0", "-1", "abc", "9223372036854775807", "9223372036854775808", "1e3", "%00", "%ff", "..%2f..%2fetc%2fpasswd", "1;drop", "%20", "1%0d%0aX-Evil:1"}

// tryRequest makes one request and returns the answer with at most 1 MiB of its body. An event stream is left at once.
func tryRequest(ctx context.Context, client *http.Client, method, address string, b badBody, header map[string]string) (*http.Response, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(b.body))
	if err != nil {
		return nil, "", err
	}
	if b.contentType != "" {
		r.Header.Set("Content-Type", b.contentType)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer, "", nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer, string(body), err
}

// TestBadInput sends what makes no sense to every address of the program: each answer must be clear, none may be an
// internal error, and afterwards the program works as before.
func TestBadInput(t *testing.T) {
	works(t)
	d := newDatabase(t, db.SQLite)
	port := executortest.FreePort(t)
	worker := executortest.New(t, "http://127.0.0.1:"+port, executortest.Handlers{"count": func(context.Context, *executor.Run) error { return nil }})
	var good int64
	d.seed(t, func(ctx context.Context, pool *db.Pool) error {
		for i := range 3 { // the first is called 1 in addresses; it may be started, stopped, renamed or deleted
			group, err := addGroup(ctx, pool, []string{"one", "two", executortest.AppName}[i], worker.URL)
			if err != nil {
				return err
			}
			if good, err = addJob(ctx, pool, group, nil); err != nil {
				return err
			}
		}
		return nil
	})
	s := d.settings()
	s.port = port
	s.env = []string{"PUNCTUAL_ACCESS_TOKEN=" + executortest.Token, "PUNCTUAL_CALL_TIMEOUT=1s"}
	a := startAdmin(t, s)
	browser := a.login(t, testPassword)
	browser.runOnce(t, good, "")
	stranger := &http.Client{CheckRedirect: browser.CheckRedirect}

	list := routes(t)
	tried := 0
	statuses := make(map[int]int)
	check := func(who, method, path string, b badBody, r *http.Response, body string, err error) {
		t.Helper()
		tried++
		where := fmt.Sprintf("%s %s %s with %s", who, method, path, b.name)
		if err != nil {
			if len(b.body) > 4<<20 { // the answer came while we still sent, and the connection was closed
				return
			}
			t.Errorf("%s: %v", where, err)
			return
		}
		statuses[r.StatusCode]++
		switch {
		case r.StatusCode >= 500:
			t.Errorf("%s: status %d: %s", where, r.StatusCode, clip(body))
		case r.StatusCode >= 300 && r.StatusCode < 400:
			if to := r.Header.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\") {
				t.Errorf("%s: leads to %q", where, to)
			}
		case r.StatusCode >= 400 && method != http.MethodHead && body == "" && r.StatusCode != http.StatusUnauthorized:
			t.Errorf("%s: status %d without a word", where, r.StatusCode)
		}
		if r.Header.Get("X-Evil") != "" {
			t.Errorf("%s: a header was made out of the path", where)
		}
		if strings.Contains(body, "goroutine ") || strings.Contains(body, "SELECT ") || strings.Contains(body, ".go:") {
			t.Errorf("%s: the answer tells of the inside: %s", where, clip(body))
		}
	}
	for _, route := range list {
		method, path, _ := strings.Cut(route, " ")
		if method == echoNotFound || strings.HasSuffix(path, "/logout") || isProtocol(path) {
			continue
		}
		for _, p := range fill(path) {
			bodies := badBodies
			if method == http.MethodGet {
				bodies = badBodies[:1]
			} else if !strings.HasSuffix(p, "/1") && strings.Contains(path, ":") && !strings.Contains(p, "/1/") {
				bodies = badBodies[:3] // an id that is none
			}
			for _, b := range bodies {
				r, body, err := tryRequest(t.Context(), &browser.Client, method, a.url+p, b, nil)
				check("admin", method, p, b, r, body, err)
				if err == nil && b.name == "a field of 6 MiB" && r.StatusCode == http.StatusOK {
					t.Errorf("%s %s takes 6 MiB", method, p)
				}
			}
			r, body, err := tryRequest(t.Context(), stranger, method, a.url+p, badBodies[0], nil)
			check("stranger", method, p, badBodies[0], r, body, err)
			if err == nil && isFormer(path) {
				if r.StatusCode == http.StatusOK && !strings.Contains(body, `"code":500`) {
					t.Errorf("a stranger's %s %s: %s", method, p, clip(body))
				}
			} else if isSecret(path) {
				if err == nil && r.StatusCode/100 != 4 {
					t.Errorf("a stranger's %s %s: status %d, want it refused", method, p, r.StatusCode)
				}
				continue // whoever has the address may use it from anywhere
			} else if err == nil && method == http.MethodPost && r.StatusCode == http.StatusUnauthorized {
				// A page that keeps what was typed.
			} else if err == nil && !isOpen(path) && (r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), "/login")) {
				t.Errorf("a stranger's %s %s: status %d, Location %q; want the login page", method, p, r.StatusCode, r.Header.Get("Location"))
			}
			if method == http.MethodPost {
				r, body, err := tryRequest(t.Context(), &browser.Client, method, a.url+p, badBodies[3],
					map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
				check("another site", method, p, badBodies[3], r, body, err)
				if err == nil && r.StatusCode != http.StatusForbidden {
					t.Errorf("another site's POST %s: status %d, want 403", p, r.StatusCode)
				}
			}
		}
		// Methods that the address does not have.
		for _, other := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "PROPFIND", http.MethodHead} {
			if slices.Contains(list, other+" "+path) || path == "/*" {
				continue
			}
			if other == http.MethodHead && (slices.Contains(list, http.MethodGet+" "+path) || strings.HasPrefix(path, "/xxl-job-admin/")) {
				continue // it is answered as GET is, which leads on from there
			}
			p := fill(path)[0]
			r, body, err := tryRequest(t.Context(), &browser.Client, other, a.url+p, badBodies[0], nil)
			check("admin", other, p, badBodies[0], r, body, err)
			if other == http.MethodOptions && err == nil && r.StatusCode == http.StatusNoContent && r.Header.Get("Allow") != "" {
				continue // it says which there are
			}
			if err == nil && (r.StatusCode < 400 || r.StatusCode >= 500) {
				t.Errorf("%s %s: status %d, though there is no such method", other, p, r.StatusCode)
			}
		}
	}
	t.Logf("%d requests to %d routes; answers by status: %v", tried, len(list), statuses)

	badPaths(t, a)
	badProtocol(t, a)

	// It works as before, for who is logged in; the many wrong logins have closed that door for a while.
	a.noPanic(t)
	id := browser.runOnce(t, good, "")
	if r := d.await(t, id, "end", hasEnded); r.handled != wire.CodeSuccess {
		t.Errorf("afterwards a run ends as %+v", r)
	}
	for _, path := range []string{"/jobs", "/runs", "/executors", "/jobs/new"} {
		if code, _ := browser.get(t, path); code != http.StatusOK {
			t.Errorf("afterwards %s answers %d", path, code)
		}
	}
	if code, _, _ := browser.post(t, "/logout", nil); code != http.StatusSeeOther {
		t.Errorf("logout answers %d", code)
	}
	if code, _ := browser.get(t, "/jobs"); code != http.StatusSeeOther {
		t.Errorf("after logout /jobs answers %d", code)
	}
	a.terminate(t)
}

// fill makes addresses out of a route: first one with an id that exists, then those that make no sense.
func fill(path string) []string {
	switch {
	case strings.Contains(path, ":"):
		var paths []string
		for _, id := range append([]string{"1"}, badIDs...) {
			parts := strings.Split(path, "/")
			for i, part := range parts {
				if strings.HasPrefix(part, ":") {
					parts[i] = id
				}
			}
			paths = append(paths, strings.Join(parts, "/"))
		}
		return paths
	case strings.HasSuffix(path, "*"):
		base := strings.TrimSuffix(path, "*")
		return []string{base + "no-such-thing", base + "..%2f..%2f..%2fetc%2fpasswd", base + "%00", base + "%ff", base + strings.Repeat("a", 5000)}
	case path == "/runs" || path == "/jobs":
		return []string{path, path + "?page=-1&job=abc&group=99999999999999999999&status=x&from=yesterday&to=%00&before=-5&range=custom", path + "?" + strings.Repeat("a=b&", 2000),
			path + "?name=%25%27%22%5c%00&handler=%ff"}
	case path == "/login":
		return []string{path, path + "?next=//evil.example", path + "?next=https://evil.example/", path + "?next=%5c%5cevil.example"}
	}
	return []string{path}
}

// echoNotFound is the method under which echo lists what it answers where there is no route.
const echoNotFound = "echo_route_not_found"

func isProtocol(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/xxl-job-admin/api") || strings.HasPrefix(path, "/http-executor/")
}

// isSecret says which addresses are known to whom they are for alone: those of the reports of HTTP jobs, and the links in messages of alarms.
func isSecret(path string) bool {
	return strings.HasPrefix(path, "/callbacks/") || strings.HasPrefix(path, "/alarms/link/")
}

// isFormer says which addresses are those of XXL-JOB's console, which lead to ours or answer in its own way.
func isFormer(path string) bool {
	for _, family := range []string{"/jobinfo", "/joblog", "/jobgroup", "/jobcode", "/user", "/auth", "/chartInfo", "/dashboard", "/help", "/toLogin"} {
		if path == family || strings.HasPrefix(path, family+"/") {
			return true
		}
	}
	return false
}

// isOpen says which addresses need no login.
func isOpen(path string) bool {
	switch path {
	case "/login", "/preferences", "/healthz", "/readyz", "/metrics":
		return true
	}
	return strings.HasPrefix(path, "/static/") || strings.HasPrefix(path, "/xxl-job-admin") || path == "/actuator/health"
}

func clip(s string) string { return s[:min(len(s), 300)] }

// badPaths sends request lines that a client library would not.
func badPaths(t *testing.T, a *admin) {
	t.Helper()
	for _, line := range []string{
		"GET //evil.example/ HTTP/1.1", "GET /xxl-job-admin//evil.example HTTP/1.1", `GET /xxl-job-admin/\evil.example HTTP/1.1`,
		"GET /xxl-job-admin/https:%2f%2fevil.example HTTP/1.1", "GET /static/../../../../etc/passwd HTTP/1.1", "GET /static/%2e%2e/%2e%2e/go.mod HTTP/1.1",
		`GET /static/..\..\go.mod HTTP/1.1`, "GET /jobs/../../runs HTTP/1.1", "GET /./jobs/./1/./edit HTTP/1.1", "GET /jobs// HTTP/1.1", "GET /jobs/%2e%2e/runs HTTP/1.1",
		"GET * HTTP/1.1", "OPTIONS * HTTP/1.1", "GET http://evil.example/ HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1", "GET /%zz HTTP/1.1", "GET jobs HTTP/1.1",
		"GET /" + strings.Repeat("a", 100_000) + " HTTP/1.1", "GET / HTTP/9.9", "\x16\x03\x01\x02", "GET /jobs\x00 HTTP/1.1", "BREW / HTTP/1.1", "TRACE / HTTP/1.1",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(15 * time.Second))
		fmt.Fprintf(conn, "%s\r\nHost: localhost\r\nConnection: close\r\n\r\n", line)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", clip(line), err)
			conn.Close()
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		conn.Close()
		if answer.StatusCode >= 500 && answer.StatusCode != http.StatusHTTPVersionNotSupported || strings.Contains(string(body), "root:") || strings.Contains(string(body), "module github") {
			t.Errorf("%s: status %d: %s", clip(line), answer.StatusCode, clip(string(body)))
		}
		if to := answer.Header.Get("Location"); strings.HasPrefix(to, "//") || strings.HasPrefix(to, "http") || strings.HasPrefix(to, `/\`) {
			t.Errorf("%s: leads to %q", clip(line), to)
		}
	}
}

// badProtocol calls the executor API, which answers everything with HTTP status 200 and a code.
func badProtocol(t *testing.T, a *admin) {
	t.Helper()
	deep := strings.Repeat("[", 100_000)
	bodies := map[string]string{
		"empty": "", "white space": " \r\n", "garbage": "\x00\xff\x01", "half": `[{"logId":1`, "wrong types": `[{"logId":"x","handleCode":{}}]`,
		"a number": "42", "null": "null", "a text": `"x"`, "nesting": deep, "nesting in objects": strings.Repeat(`{"a":`, 50_000), "6 MiB": `[{"handleMsg":"` + strings.Repeat("x", 6<<20) + `"}]`,
		"an object for a list": `{"logId":1,"handleCode":200}`, "huge numbers": `[{"logId":1e400,"handleCode":99999999999999999999}]`,
		"a registration without anything": `{}`, "a registration of odd text": `{"registryGroup":"EXECUTOR","registryKey":"<b>","registryValue":"javascript:alert(1)"}`,
		"twice the same key": `{"registryGroup":"EXECUTOR","registryGroup":"x","registryKey":"a","registryValue":"http://1.2.3.4:1/"}`,
	}
	client := &http.Client{}
	for _, prefix := range []string{"/api", "/xxl-job-admin/api"} {
		for _, name := range []string{"", "/", "/registry", "/registryRemove", "/callback", "/unknown", "/callback/", "/..%2fjobs", "/%00", "/%ff"} {
			for what, text := range bodies {
				for _, token := range []string{executortest.Token, "wrong", ""} {
					b := badBody{name: what, contentType: "application/json", body: []byte(text)}
					r, body, err := tryRequest(t.Context(), client, http.MethodPost, a.url+prefix+name, b, map[string]string{wire.HeaderToken: token})
					where := fmt.Sprintf("POST %s%s with %s, token %q", prefix, name, what, token)
					if err != nil {
						if len(text) < 4<<20 {
							t.Errorf("%s: %v", where, err)
						}
						continue
					}
					var answer struct {
						Code int    `json:"code"`
						Msg  string `json:"msg"`
					}
					if err := json.Unmarshal([]byte(body), &answer); err != nil || r.StatusCode != http.StatusOK {
						t.Errorf("%s: status %d, %q: %v", where, r.StatusCode, clip(body), err)
						continue
					}
					if answer.Msg == "" && answer.Code != wire.CodeSuccess {
						t.Errorf("%s: refused without a word: %s", where, body)
					}
					if token != executortest.Token && answer.Code == wire.CodeSuccess {
						t.Errorf("%s was accepted", where)
					}
				}
			}
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				r, body, err := tryRequest(t.Context(), client, method, a.url+prefix+name, badBodies[0], map[string]string{wire.HeaderToken: executortest.Token})
				if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(body, `"code":500`) {
					t.Errorf("%s %s%s: %v, %s, %v", method, prefix, name, r, clip(body), err)
				}
			}
		}
	}
}
