//go:build go1.26

package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseTraceParent(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tc := range []struct{ text, want string }{
		{good, good},
		{"cc" + good[2:] + "-what-is-to-come", good},
		{"cc" + good[2:], good},
		{"", ""}, {good[:54], ""}, {good + "-more", ""}, {good + " ", ""}, {"cc" + good[2:] + "x", ""}, {"ff" + good[2:], ""},
		{strings.ToUpper(good), ""}, {strings.ReplaceAll(good, "-", "_"), ""},
		{"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", ""}, {good[:36] + strings.Repeat("0", 16) + "-01", ""},
		{good[:53] + "0g", ""},
	} {
		if got := ParseTraceParent(tc.text); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.text, got, tc.want)
		}
	}
}

func FuzzParseTraceParent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x")
	f.Fuzz(func(t *testing.T, text string) {
		got := ParseTraceParent(text)
		if got == "" {
			return
		}
		if len(got) != 55 || strings.Trim(got, "0123456789abcdef-") != "" || !strings.HasPrefix(got, "00-") || ParseTraceParent(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// Executors of XXL-JOB may not read past what they do not know: a header only.
func TestATraceIsAHeaderAndNotInTheBody(t *testing.T) {
	t.Parallel()
	type seen struct{ header, body string }
	requests := make(chan seen, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Header.Get("traceparent"), string(body)}
		_, _ = w.Write(okBody)
	}))
	t.Cleanup(server.Close)
	client := NewExecutorClient(nil)
	t.Cleanup(client.Close)
	req := &RunRequest{JobID: 1, LogID: 2, TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	for _, want := range []string{req.TraceParent, ""} {
		req.TraceParent = want
		if _, err := client.Run(t.Context(), Target{Address: server.URL}, req); err != nil {
			t.Fatal(err)
		}
		if got := <-requests; got.header != want || strings.Contains(got.body, "trace") {
			t.Errorf("header %q, body %s; want %q", got.header, got.body, want)
		}
		if req.TraceParent != want {
			t.Errorf("the request became %+v", req)
		}
	}
}
