package curl

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
)

// request is what a server sees of a call.
type request struct {
	method, host, uri, body string
	header                  http.Header
}

// TestCallsAreThoseOfCurl runs each command of testdata/real.txt in bash with curl itself, and makes the call that it becomes. Both are the
// same, or the command is refused, or a note names what is not; and also then the call goes to the same address by the same method.
func TestCallsAreThoseOfCurl(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here")
		}
	}
	text, err := os.ReadFile("testdata/real.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan request, 16)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- request{r.Method, r.Host, r.RequestURI, string(body), r.Header}
	}))
	t.Cleanup(site.Close)
	at := site.Listener.Addr().String()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at)
		},
		DisableKeepAlives: true, DisableCompression: true,
	}}
	taken, noted := 0, 0
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n----\n") {
		in, values, err := parseWithValues(line)
		if err != nil {
			continue
		}
		want := runInBash(t, at, line, seen)
		if want == nil {
			t.Errorf("curl refuses what is taken: %s", line)
			continue
		}
		for name, value := range values {
			quoted, _ := json.Marshal(value)
			in.Param = strings.ReplaceAll(in.Param, name, string(quoted[1:len(quoted)-1]))
		}
		call, err := httpcall.Parse(in.Param)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, in.Param)
		}
		req, err := call.Request(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		_ = resp.Body.Close()
		got := <-seen
		if got.method != want.method || got.host != want.host {
			t.Errorf("%s: %s %s, but curl %s %s", line, got.method, got.host, want.method, want.host)
		}
		if slices.ContainsFunc(in.Notes, func(n Note) bool {
			return slices.Contains([]Kind{LeftOut, Insecure, File, Own, Glob, Variable}, n.Kind)
		}) {
			noted++
			continue
		}
		taken++
		g, w := comparable(got), comparable(*want)
		if g.uri != w.uri || g.body != w.body || !maps.EqualFunc(g.header, w.header, slices.Equal[[]string]) {
			t.Errorf("%s:\n%+v\nbut curl\n%+v\nnotes %v", line, g, w, in.Notes)
		}
	}
	if taken < 60 || noted < 10 {
		t.Errorf("%d commands were compared, %d had notes", taken, noted)
	}
}

// runInBash answers with the first request that a command makes, or nil.
func runInBash(t *testing.T, at, line string, seen <-chan request) *request {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `curl() { command curl -q -s --connect-to "::$AT" "$@"; }; `+line)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AT="+at, "http_proxy=", "no_proxy=*", "LC_ALL=C.UTF-8")
	_ = cmd.Run()
	var first *request
	for {
		select {
		case r := <-seen:
			if first == nil {
				first = &r
			}
		default:
			return first
		}
	}
}

// parseWithValues is [Parse], with what stands for each secret and variable.
func parseWithValues(text string) (Import, map[string]string, error) {
	in, err := Parse(text)
	if err != nil {
		return in, nil, err
	}
	list, variables, err := split(text)
	if err != nil {
		return in, nil, err
	}
	c := command{retries: -1}
	if err := c.read(list[1:]); err != nil {
		return in, nil, err
	}
	if _, err := c.result(variables); err != nil {
		return in, nil, err
	}
	values := map[string]string{}
	for _, v := range variables {
		values[named(v)] = ""
	}
	for _, n := range c.secrets.notes {
		values[named(n.Name)] = c.secrets.byName[n.Name]
		if n.Kind == Basic {
			values[named(n.Name)] = base64.StdEncoding.EncodeToString([]byte(c.secrets.byName[n.Name]))
		}
	}
	return in, values, nil
}

// comparable is a request without what differs between any two programs: their names, their connections, how JSON is laid out that is no line of its own, what
// stands between the parts of a form, how a percent sign's digits are written.
func comparable(r request) request {
	h := r.header.Clone()
	for name, values := range h {
		h[name] = []string{strings.Join(values, ", ")}
	}
	if agent := h.Get("User-Agent"); agent == "punctual" || strings.HasPrefix(agent, "curl/") {
		h.Del("User-Agent")
	}
	if h.Get("Accept") == "*/*" {
		h.Del("Accept")
	}
	for _, name := range []string{"Content-Length", "Accept-Encoding", "Connection"} {
		h.Del(name)
	}
	if r.body == "" {
		h.Del("Content-Type")
	}
	if before, after, ok := strings.Cut(h.Get("Content-Type"), "boundary="); ok {
		h.Set("Content-Type", before)
		r.body = strings.ReplaceAll(r.body, after, "")
	}
	if cookies := h.Get("Cookie"); cookies != "" {
		h.Set("Cookie", strings.NewReplacer(", ", ";", "; ", ";").Replace(cookies))
	}
	var compact bytes.Buffer
	if !strings.HasSuffix(r.body, "\n") && json.Compact(&compact, []byte(r.body)) == nil {
		r.body = compact.String()
	}
	return request{r.method, r.host, lowerEscapes(r.uri), r.body, h}
}

func lowerEscapes(uri string) string {
	b := []byte(uri)
	for i := range b {
		if b[i] == '%' && i+2 < len(b) {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}
