package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzShorten: a text that is told is short, valid, and moves nobody's cursor.
func FuzzShorten(f *testing.F) {
	for _, text := range []string{"", "plain", "\x1b[31mred", "日终结算", "a\u202eb", "\xff\xfe", strings.Repeat("é", 40), "\U000e0041"} {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 1 + min(max(most, 0), 1000)
		got := shorten(text, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most+len("… (18446744073709551615 more characters)") || strings.ContainsAny(got, "\x1b\r\u202e\u200b\x7f") {
			t.Errorf("%q for %d is %q", text, most, got)
		}
		if seen := visible(text); utf8.RuneCountInString(seen) <= most && got != seen {
			t.Errorf("%q was changed to %q", seen, got)
		} else if kept, _, cut := strings.Cut(got, "… ("); cut && !strings.HasPrefix(seen, kept) {
			t.Errorf("%q begins with %q", seen, kept)
		}
	})
}

// FuzzOwnName: only this machine's names, and pages of the very same place, are let in.
func FuzzOwnName(f *testing.F) {
	for _, host := range []string{"127.0.0.1:8090", "localhost", "[::1]:1", "evil.example", "localhost.evil.example", "mcp.example.com:443", "0x7f.1", ""} {
		f.Add(host, "http://"+host)
		f.Add(host, "https://evil.example")
	}
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := &http.Request{Host: host, Header: http.Header{"Origin": {origin}}}
		if !ownName(r, []string{"mcp.example.com"}) {
			return
		}
		if name := strings.ToLower(hostOf(host)); !loopback(name) && name != "mcp.example.com" {
			t.Errorf("%q is let in", host)
		}
		if !strings.EqualFold(origin, "http://"+host) && !strings.EqualFold(origin, "https://"+host) && !strings.Contains(origin, host) {
			t.Errorf("a page of %q is let in at %q", origin, host)
		}
	})
}

func TestWhyAJobDoesNotRun(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	job := func(fields item) item {
		j := item{"id": json.Number("7"), "state": "running", "schedule": "CRON", "next_due_at": "2026-11-24T02:00:00Z"}
		maps.Copy(j, fields)
		return j
	}
	live := []item{{"live": true}}
	group, ready := item{"type": "automatic"}, item{"ready": true}
	for _, tt := range []struct {
		name      string
		job       item
		group     item
		addresses []item
		late      bool
		health    item
		want      []string
	}{
		{"nothing", job(nil), group, live, false, ready, nil},
		{"stopped", job(item{"state": "stopped"}), group, live, false, ready, []string{causeStopped}},
		{"no schedule", job(item{"state": "stopped", "schedule": "NONE", "next_due_at": nil}), group, live, false, ready, []string{causeNoSchedule}},
		{"not yet", job(item{"not_before": "2026-11-23T12:00:01Z"}), group, live, false, ready, []string{causeNotYet}},
		{"in its time", job(item{"not_before": "2026-11-23T12:00:00Z", "not_after": "2026-11-23T12:00:00Z"}), group, live, false, ready, nil},
		{"paused", job(item{"paused": map[string]any{"pause_id": json.Number("1")}}), group, live, false, ready, []string{causePaused}},
		{"held without an end", job(item{"paused": map[string]any{"pause_id": json.Number("1")}, "next_due_at": nil}), group, live, false, ready, []string{causePaused}},
		{"a fixed delay that waits", job(item{"schedule": "FIX_DELAY", "next_due_at": nil}), group, live, false, ready, nil},
		{"over", job(item{"not_after": "2026-11-23T11:59:59Z", "next_due_at": nil}), group, live, false, ready, []string{causeOver, causeNoTime}},
		{"nobody", job(nil), group, nil, false, ready, []string{causeAlone}},
		{"a flow, whose steps go elsewhere", job(item{"kind": "FLOW"}), group, nil, false, ready, nil},
		{"none that is well", job(nil), group, []item{{"live": true, "gone": true}, {"live": true, "disabled": true}, {"live": true, "too_old": true}, {"live": false}}, false, ready, []string{causeAlone}},
		{"a typed address", job(nil), item{"type": "manual"}, []item{{"live": false}}, false, ready, nil},
		{"late", job(nil), group, live, true, ready, []string{causeLate}},
		{"an admin that does not work", job(nil), group, live, false, item{"ready": false}, []string{causeAdmin}},
	} {
		if got := whyNot(tt.job, tt.group, tt.addresses, tt.late, tt.health, now); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		for _, code := range tt.want {
			if causes[code] == "" {
				t.Errorf("%s has no text", code)
			}
		}
	}
}

// TestOutputIsReadWithinItsBounds: an admin that miscounts, a line that is a whole file, and output without an end.
func TestOutputIsReadWithinItsBounds(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		from := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("from_line"), &from)
		w.Header().Set("Next-Line", fmt.Sprint(from+2))
		switch r.URL.Path {
		case "/api/v1/runs/1/output": // three lines that are said to be two
			if from == 1 {
				_, _ = io.WriteString(w, "a\nb\nc\n")
			}
		case "/api/v1/runs/2/output": // for ever
			_, _ = io.WriteString(w, strings.Repeat("y", 1<<20)+"NEEDLE"+strings.Repeat("y", 1<<20)+"\nz\n")
		}
	}))
	defer server.Close()
	s := &assistant{api: &api{base: server.URL, http: server.Client()}}
	out, err := s.readOutput(t.Context(), outputWanted{oneRun: oneRun{1}})
	if got := out.(lines); err != nil || !got.End || got.Next != 3 || !slices.Equal(got.Lines, []string{"a", "b"}) {
		t.Errorf("miscounted: %+v, %v", out, err)
	}
	asked = 0
	out, err = s.searchOutput(t.Context(), searchWanted{oneRun: oneRun{2}, Text: "needle"})
	if got := out.(matches); err != nil || got.End || got.Next < 2 || len(got.Matches) == 0 || len(got.Matches) > maxMatches || asked > searchBytes>>21+1 {
		t.Errorf("for ever: %d asked, to %d, %v", asked, got.Next, err)
	} else if text := got.Matches[0].Text; !strings.Contains(text, "NEEDLE") || len(text) > 2*lineLength {
		t.Errorf("a long line: %.200s", text)
	}
	ended, err := s.tail(t.Context(), 2, 10, tailBytes)
	if err != nil || ended.End || ended.More == "" || len(ended.Lines) == 0 || len(ended.Lines) > 10 || ended.Next-ended.From != len(ended.Lines) {
		t.Errorf("the end of what has none: %d lines from %d to %d, %v", len(ended.Lines), ended.From, ended.Next, err)
	}
}

// TestAnAssistantThatSaysNothingIsLeft: an interruption ends the program while it waits for a message.
func TestAnAssistantThatSaysNothingIsLeft(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"ann","admin":false,"rights_in_all_groups":[],"rights":[]}`)
	}))
	defer server.Close()
	in, say := io.Pipe()
	defer say.Close()
	heard, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- MCPCmd{Admin: Admin{URL: server.URL, Token: "pnc_x"}}.Run(ctx, Streams{In: in, Out: out, Err: io.Discard})
	}()
	if _, err := io.WriteString(say, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(heard).ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAnAssistantThatAsksTooOftenIsToldUntilWhen by the listener, as the admin says it, and by tools.
func TestAnAssistantThatAsksTooOftenIsToldUntilWhen(t *testing.T) {
	t.Parallel()
	admin := &http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
		r := answer(http.StatusTooManyRequests, "application/problem+json", `{"title":"Too many requests","status":429}`)
		r.Header.Set("Retry-After", "5")
		return r, nil
	})}
	w := httptest.NewRecorder()
	asked := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	asked.Header.Set("Authorization", "Bearer pnc_x")
	overHTTP("1", &api{base: "http://admin.example", http: admin}, nil).ServeHTTP(w, asked)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "5" || w.Body.String() != "Too many requests\nAsk again after 5 seconds.\n" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
