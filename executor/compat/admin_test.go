package compat

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	token    = "compat-token"
	password = "kettle-orbit-lamp-17"
	patience = 90 * time.Second // as executortest.Patience, of another module
)

// admin is a running admin and a browser that is logged in to it.
type admin struct {
	url    string
	client *http.Client
}

// startAdmin builds the admin and starts it with an empty embedded database.
func startAdmin(t *testing.T) *admin {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "punctual")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./app/cmd/punctual")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "serve")
	cmd.Env = append(os.Environ(), "PUNCTUAL_LISTEN=127.0.0.1:0", "PUNCTUAL_DATABASE_URL=", "PUNCTUAL_DATA_DIR="+filepath.Join(dir, "data"),
		"PUNCTUAL_ACCESS_TOKEN="+token, "PUNCTUAL_ADMIN_PASSWORD="+password, "PUNCTUAL_SAMPLE=off", "PUNCTUAL_HTTP_JOBS=off")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	read := make(chan struct{})
	var said strings.Builder
	go func() { // reads to the end, or the admin would wait
		defer close(read)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if found := regexp.MustCompile(`Console +(http://\S+)`).FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the admin ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the admin said:\n%s", said.String())
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &admin{client: &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	select {
	case a.url = <-address:
	case <-read:
		t.Fatalf("the admin ended:\n%s", said.String())
	case <-time.After(patience):
		t.Fatal("the admin does not start")
	}
	a.post(t, "/login", url.Values{"name": {"admin"}, "password": {password}})
	return a
}

// post sends a form as a browser does and returns where it leads.
func (a *admin) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	resp, err := a.client.PostForm(a.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("POST %s: %s\n%s", path, resp.Status, words(body))
	}
	return resp.Header.Get("Location")
}

// kill ends a run; the admin must say that it is done.
func (a *admin) kill(t *testing.T, run string) {
	t.Helper()
	to := a.post(t, run+"/kill", nil)
	if text, _ := a.page(t, to); !strings.Contains(text, "is killed.") {
		t.Errorf("the kill of %s is answered with:\n%s", run, text)
	}
}

var runLink = regexp.MustCompile(`href="(/runs/\d+)"`)

// runsOf are the runs of a job, as the list of its runs shows them.
func (a *admin) runsOf(t *testing.T, job string) []string {
	t.Helper()
	_, source := a.page(t, "/runs?job="+strings.TrimPrefix(job, "/jobs/"))
	var runs []string
	for _, found := range runLink.FindAllStringSubmatch(source, -1) {
		if !slices.Contains(runs, found[1]) {
			runs = append(runs, found[1])
		}
	}
	return runs
}

// page reads a page without its tags.
func (a *admin) page(t *testing.T, path string) (text, source string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Language", "en")
	resp, err := a.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", path, resp.Status, err)
	}
	source = string(body)
	return words(body), source
}

// words is what a page says, without its tags.
func words(page []byte) string {
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(page), " "))
	return regexp.MustCompile(`[ \n]+`).ReplaceAllString(text, " ")
}

// addJob makes a job that runs only when it is told to, and returns its address.
func (a *admin) addJob(t *testing.T, handler string, more url.Values) string {
	t.Helper()
	form := url.Values{"group": {"1"}, "name": {"job of " + handler}, "author": {"test"}, "schedule_type": {"NONE"}, "misfire": {"DO_NOTHING"},
		"route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "glue": {"BEAN"}, "handler": {handler}, "timeout": {"0"}, "retries": {"0"}}
	for name, values := range more {
		form[name] = values
	}
	a.post(t, "/jobs", form)
	_, source := a.page(t, "/jobs")
	newest := ""
	for _, found := range regexp.MustCompile(`/jobs/(\d+)/edit`).FindAllStringSubmatch(source, -1) {
		if len(found[1]) > len(newest) || len(found[1]) == len(newest) && found[1] > newest {
			newest = found[1]
		}
	}
	return "/jobs/" + newest
}

var badge = regexp.MustCompile(`class="badge ([a-z]+)`)

// state is what a run's page shows as its state.
func (a *admin) state(t *testing.T, run string) (state, text string) {
	t.Helper()
	text, source := a.page(t, run)
	found := badge.FindStringSubmatch(source)
	if found == nil {
		t.Fatalf("%s shows no state:\n%s", run, text)
	}
	return found[1], text
}

// wait looks at a run again and again until its state is one of those wanted, and returns the page's text.
func (a *admin) wait(t *testing.T, run string, wanted ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		state, text := a.state(t, run)
		if slices.Contains(wanted, state) {
			return text
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s is %s, not one of %s:\n%s", run, state, wanted, text)
		}
	}
}
