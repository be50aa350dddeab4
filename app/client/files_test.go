package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"
)

// pipeline is an admin that gives one answer after the other to who applies files.
type pipeline struct {
	asked   []string
	answers []func() (*http.Response, error)
}

func (p *pipeline) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, digest, _ := strings.Cut(string(body), `"digest":"`)
	digest, _, _ = strings.Cut(digest, `"`)
	p.asked = append(p.asked, fmt.Sprintf("%s%s", r.URL.Query().Get("dry_run"), digest))
	next := p.answers[0]
	p.answers = p.answers[1:]
	return next()
}

// TestFilesAreAppliedUntilTheyAre: an answer that is lost is asked for again, and where something was changed after the plan, as by another
// pipeline or by what was thought lost, there is a new plan.
func TestFilesAreAppliedUntilTheyAre(t *testing.T) {
	t.Parallel()
	said := func(status int, body string) func() (*http.Response, error) {
		return func() (*http.Response, error) {
			kind := "application/json"
			if status >= 400 {
				kind = "application/problem+json"
			}
			return answer(status, kind, body), nil
		}
	}
	plan := func(digest string) func() (*http.Response, error) { return said(200, `{"digest":"`+digest+`"}`) }
	done := said(200, `{"done":true,"jobs":[{"outcome":"same"}]}`)
	gone := func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	stale := said(412, `{"title":"Changed","code":"changed"}`)
	for _, tt := range []struct {
		name    string
		answers []func() (*http.Response, error)
		asked   string
		err     string
	}{
		{"an answer that is lost", []func() (*http.Response, error){plan("a"), gone, stale, plan("b"), done}, "true a a true b", ""},
		{"another pipeline", []func() (*http.Response, error){plan("a"), stale, plan("b"), done}, "true a true b", ""},
		{"one that never rests", []func() (*http.Response, error){plan("a"), stale, plan("a"), stale, plan("a"), stale, plan("a"), stale, plan("a"), stale}, "", "apply again"},
		{"a refusal", []func() (*http.Response, error){plan("a"), said(409, `{"title":"No"}`)}, "", "No"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pipeline{answers: tt.answers}
			a := (&api{base: "http://admin.example", http: &http.Client{Transport: p}}).patient(io.Discard, false)
			a.same = true
			var out bytes.Buffer
			err := ApplyCmd{}.apply(t.Context(), a, Streams{Out: &out}, nil)
			if asked := strings.Join(p.asked, " "); tt.asked != "" && asked != tt.asked {
				t.Errorf("%s: asked %q", tt.name, asked)
			}
			if tt.err == "" && (err != nil || !strings.Contains(out.String(), "1 as they are")) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || len(p.answers) > 0 {
				t.Errorf("%s: %v, asked %q, %d answers are left:\n%s", tt.name, err, p.asked, len(p.answers), &out)
			}
		})
	}
}

// TestWhoInterruptsAnApplyIsToldThatItMayBeDone, since the admin goes on with what it has begun.
func TestWhoInterruptsAnApplyIsToldThatItMayBeDone(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	p := &pipeline{answers: []func() (*http.Response, error){
		func() (*http.Response, error) { return answer(200, "application/json", `{"digest":"a"}`), nil },
		func() (*http.Response, error) { interrupt(); return nil, ctx.Err() },
	}}
	err := ApplyCmd{}.apply(ctx, &api{base: "http://admin.example", http: &http.Client{Transport: p}}, Streams{Out: io.Discard}, nil)
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != codeInterrupted || !strings.Contains(err.Error(), "punctual diff") {
		t.Errorf("interrupted: %v", err)
	}
}

// TestAPlanIsAComment of a size that services take, and what others wrote in it is no markup.
func TestAPlanIsAComment(t *testing.T) {
	t.Parallel()
	p := plan{Jobs: []planned{{AppName: "orders", Name: "````\n# @all <img src=x> ````", Outcome: "create"}}}
	for i := range 5000 {
		p.Jobs = append(p.Jobs, planned{ID: int64(i), AppName: "orders", Name: strings.Repeat("结", 20), Outcome: "change"})
	}
	p.Jobs = append(p.Jobs, planned{AppName: "orders", Name: "the last of the files", Outcome: "refuse"})
	var out bytes.Buffer
	p.markdown(&out, "a`b", "")
	text := out.String()
	head, body, _ := strings.Cut(text, "\n`````diff\n")
	body, rest, _ := strings.Cut(body, "\n`````\n")
	if head != "### Jobs: 1 to create, 5000 to change, 1 refused\n\n`` a`b ``. As they are: 0.\nWhile a job is refused, none of this is done.\n" || !strings.HasPrefix(body, "! orders: the last of the files\n") {
		t.Errorf("it begins %q and goes on %.100q", head, body)
	}
	if shown := strings.Count(body, "\n"); len(text) > 65_536 || shown < 500 || rest != fmt.Sprintf("\n%s more, which `punctual diff` lists.\n", countedJobs(5001-shown)) {
		t.Errorf("%d bytes, %d lines, and at last %q", len(text), shown, rest)
	}

	out.Reset()
	failedMarkdown(&out, &RefusedError{Title: "No", Errors: []FieldProblem{{Field: "jobs/a.yaml:5", Detail: "```"}}}, "team", "1a2b")
	if want := "### Jobs: the files cannot be read\n\n`team` at `1a2b`\n\n````\nNo\n  jobs/a.yaml:5: ```\n````\n"; out.String() != want {
		t.Errorf("files that cannot be read: %q", out.String())
	}

	many := &RefusedError{Title: "No"}
	for i := range 5000 {
		many.Errors = append(many.Errors, FieldProblem{Field: fmt.Sprintf("jobs/a.yaml:%d", i), Detail: strings.Repeat("错", 10)})
	}
	many.Errors = append(many.Errors, FieldProblem{Field: "jobs/b.yaml:1", Detail: strings.Repeat("错", 50_000)})
	out.Reset()
	failedMarkdown(&out, many, "team", "1a2b")
	_, body, _ = strings.Cut(out.String(), "\n```\nNo\n")
	body, rest, _ = strings.Cut(body, "\n```\n")
	if shown := strings.Count(body, "jobs/a.yaml"); out.Len() > 65_536 || shown < 500 || rest != fmt.Sprintf("\n%d faults more, which `punctual diff` lists.\n", 5001-shown) {
		t.Errorf("%d bytes, %d faults, and at last %q", out.Len(), shown, rest)
	}

	out.Reset()
	failedMarkdown(&out, errors.New("cannot reach "+strings.Repeat("路", 50_000)), "team", "")
	if text := out.String(); len(text) > 65_536 || !utf8.ValidString(text) || !strings.HasPrefix(text, "### Jobs: there is no plan\n\n`team`\n\n```\ncannot reach 路") || !strings.HasSuffix(text, "…\n\n```\n") && !strings.HasSuffix(text, "…\n```\n") {
		t.Errorf("an admin that is away: %d bytes, %.80q", len(text), text)
	}

	p = plan{Jobs: []planned{{AppName: "orders", Name: "one", Outcome: "refuse"}}}
	for i := range 2000 {
		p.NewGroups = append(p.NewGroups, fmt.Sprintf("%s-%d", strings.Repeat("g", 60), i))
	}
	out.Reset()
	if p.markdown(&out, "team", ""); out.Len() > 65_536 || !strings.Contains(out.String(), "\n! orders: one\n") || !strings.Contains(out.String(), " groups of executors more, which `punctual diff` lists.\n") {
		t.Errorf("many groups: %d bytes, at last %q", out.Len(), out.String()[max(0, out.Len()-200):])
	}
}
