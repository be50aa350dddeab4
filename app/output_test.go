package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTheOutputOutlivesItsExecutor has an executor that is gone after its runs: those that failed can still be read, in the console, by
// programs and on the command line, and who may not read the run may not read them.
func TestTheOutputOutlivesItsExecutor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.OutputStore = filepath.Join(t.TempDir(), "outputs")
		o.SecretKeys = []string{strings.Repeat("k", minSecretKey)}
		a, c := apiCaller(t, o)
		ex := executortest.New(t, c.base, executortest.Handlers{
			"work": func(_ context.Context, r *executor.Run) error {
				r.Logf("begins with %s", r.Param)
				if r.Param == "bad long" { // more than is kept of a run
					for range 300 {
						r.Logf("%s", strings.Repeat("x", 1000))
					}
				}
				if strings.HasPrefix(r.Param, "bad") {
					r.Logf("ERROR it went wrong")
					return errors.New("it went wrong")
				}
				return nil
			},
		}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
		var ignored struct{}
		c.json(200, &ignored, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
		admin := open(t, a).mustLogin()
		if got := admin.post("/executors/1/secrets", url.Values{"name": {"PASSWORD"}, "value": {"hunter2-hunter2"}}); got.status != http.StatusSeeOther {
			t.Fatalf("the secret: %d %s", got.status, got.body)
		}
		run := func(param, keep string) string {
			t.Helper()
			var made struct{ ID int }
			c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"work","parameter":"`+param+`"`+keep+`}`)
			got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
			if got.status != http.StatusCreated {
				t.Fatalf("trigger: %d %s", got.status, got.body)
			}
			at := strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
			var r struct{ Ended bool }
			if c.json(200, &r, "GET", at+"?wait=60s", ""); !r.Ended {
				t.Fatalf("%s has not ended", at)
			}
			return at
		}
		bad, good := run("bad ${{ secrets.PASSWORD }}", ""), run("good", "")
		always, never := run("good", `,"keep_output":"ALL"`), run("bad", `,"keep_output":"NONE"`)
		long := run("bad long", "")
		written := c.do("GET", long+"/output", "").body
		if got := c.do("GET", bad+"/output", ""); got.header.Get("Output-Source") != "executor" || !strings.Contains(got.body, "went wrong") {
			t.Errorf("while the executor lives: %+v", got)
		}
		for _, at := range []string{bad, always, long} {
			executortest.Eventually(t, "the output of "+at+" is kept", func() error {
				var state int
				id := at[strings.LastIndexByte(at, '/')+1:]
				err := a.pool.QueryRowContext(t.Context(), "SELECT state FROM punctual_output WHERE log_id = ?", id).Scan(&state)
				if err == nil && state != 2 {
					err = fmt.Errorf("its state is %d", state)
				}
				return err
			})
		}
		stop, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		defer cancel()
		if err := ex.Stop(stop); err != nil {
			t.Fatal(err)
		}
		got := c.do("GET", bad+"/output", "")
		if got.status != 200 || got.header.Get("Output-Source") != "copy" || got.header.Get("Output-End") != "true" || !strings.Contains(got.body, "begins with bad ***") || !strings.Contains(got.body, "ERROR it went wrong\n") {
			t.Errorf("when it is gone: %+v", got)
		}
		if rest := c.do("GET", bad+"/output?from_line="+got.header.Get("Next-Line"), ""); rest.status != 200 || rest.body != "" {
			t.Errorf("the rest: %+v", rest)
		}
		if got := c.do("GET", always+"/output", ""); got.header.Get("Output-Source") != "copy" || !strings.Contains(got.body, "begins with good") {
			t.Errorf("of a job that wants all kept: %+v", got)
		}
		for _, at := range []string{good, never} {
			if got := c.do("GET", at+"/output", ""); got.status == 200 {
				t.Errorf("what nobody wanted kept: %+v", got)
			}
		}
		page := admin.get(bad)
		note := strings.TrimSpace(page.document(t).Find("[data-log-note]").Text())
		if !strings.Contains(page.body, "ERROR it went wrong") || !strings.HasPrefix(note, "This is the copy kept at ") {
			t.Errorf("the page says %q: %s", note, page.body)
		}
		if file := admin.get(bad + "/log?download=1"); file.status != 200 || !strings.Contains(file.body, "ERROR it went wrong") {
			t.Errorf("the download: %d %s", file.status, file.body)
		}
		// Lines have their numbers also behind those that are not kept.
		lines := admin.get(long).document(t).Find(`li[id^="L"]`)
		gap := lines.FilterFunction(func(_ int, line *goquery.Selection) bool {
			return strings.HasSuffix(line.Text(), " lines are not kept …")
		})
		if n := strings.Count(written, "\n"); lines.Last().AttrOr("value", "") != strconv.Itoa(n) || gap.AttrOr("value", "") != strconv.Itoa(n-gap.NextAll().Length()) {
			t.Errorf("of %d lines the last one is number %q, and what stands for those that are not kept is number %q", n, lines.Last().AttrOr("value", ""), gap.AttrOr("value", ""))
		}
		among, err := strconv.Atoi(gap.Prev().AttrOr("value", ""))
		if err != nil {
			t.Fatal(err)
		}
		part := admin.get(fmt.Sprintf("%s/log?from=%d", long, among+2)).document(t).Find(`li[id^="L"]`)
		if first := part.First(); first.AttrOr("value", "") != gap.AttrOr("value", "") || !strings.HasSuffix(first.Text(), " lines are not kept …") {
			t.Errorf("from a line that is not kept on: number %q, %q", first.AttrOr("value", ""), first.Text())
		}
		// Nothing readable lies in the store.
		if err := filepath.WalkDir(o.OutputStore, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), "begins") {
				t.Errorf("%s has %q", path, data)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		// It goes with the run.
		id := bad[strings.LastIndexByte(bad, '/')+1:]
		if _, err := a.engine.Upkeep().DeleteRunsOfJob(t.Context(), 1, 100); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_output WHERE log_id = ?", id).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d rows are left of a run that was deleted, %v", left, err)
		}
	})
}
