package app

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMoreJobsThanAFileTakesAreExported: those of one executor, into several files, each of which apply takes. What earlier exports wrote beside
// them is gone. By API v1 they are asked for in pages, and who asks for one file is told what to do.
func TestMoreJobsThanAFileTakesAreExported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		const jobs = 2100
		for at := 0; at < jobs; at += 300 {
			var args []any
			for i := range 300 {
				glue, script := "BEAN", ""
				if n := at + i; n > jobs-60 { // of the newest 59 the scripts alone are more than a file takes
					glue, script = "GLUE_SHELL", fmt.Sprintf("#!/bin/sh\n# %d %s\n", n, strings.Repeat("x", 60_000))
				}
				args = append(args, fmt.Sprintf("job %d", at+i), glue, script)
			}
			q := "INSERT INTO xxl_job_info (job_group, job_desc, author, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_handler, executor_block_strategy, glue_type, glue_source, glue_remark) VALUES " +
				strings.TrimSuffix(strings.Repeat("(1, ?, 'ann', 'NONE', '', 'DO_NOTHING', 'FIRST', 'work', 'SERIAL_EXECUTION', ?, ?, 'as it was'),", 300), ",")
			if _, err := a.pool.ExecContext(t.Context(), q, args...); err != nil {
				t.Fatal(err)
			}
		}
		var r refusal
		if got := c.json(409, &r, "GET", "/jobs/export?group_id=1", ""); r.Code != "export.many" || !strings.Contains(got.body, "--dir") {
			t.Errorf("in one file: %s", got.body)
		}
		type file struct {
			Text, Next string
			Jobs       int
		}
		var page file
		if c.json(200, &page, "GET", "/jobs/export?group_id=1&limit=7&cursor=50", ""); page.Jobs != 7 || page.Next == "" || !strings.Contains(page.Text, "description: job 48") {
			t.Errorf("a page: %d, %q", page.Jobs, page.Next)
		}
		page = file{}
		if c.json(200, &page, "GET", "/jobs/export?group_id=1&cursor=50", ""); page.Jobs != 49 || page.Next != "" {
			t.Errorf("the last page: %d, %q", page.Jobs, page.Next)
		}
		c.json(422, &r, "GET", "/jobs/export?cursor=x", "")

		dir := t.TempDir()
		for name, text := range map[string]string{"orders+2.yaml": "old", "orders+4.yaml": "old", "orders+5.yaml": "old", "orders+9.yaml": "not ours"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := punctual(t, "jobs", "export", "--dir", dir, "--url", c.base, "--token", c.token)
		if err != nil || !strings.Contains(out, "2100 jobs in 3 files") {
			t.Fatalf("%v %s", err, out)
		}
		var args []string
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || info.Size() > 3<<20 {
				t.Errorf("%s: %d bytes, %v", e.Name(), info.Size(), err)
			}
			if args = append(args, e.Name()); e.Name() == "orders+9.yaml" {
				if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := strings.Join(args, " "); got != "orders+2.yaml orders+3.yaml orders+9.yaml orders.yaml" {
			t.Errorf("files: %s", got)
		}
		if out, err := punctual(t, "diff", "-f", dir, "--source", "git", "--url", c.base, "--token", c.token); err != nil || !strings.Contains(out, "2100 as they are") {
			t.Errorf("diff: %v %.300s", err, out)
		}
	})
}

// TestJobsAreExportedIntoAFolder with a file for each executor, as far as the token may see them. What stands there is what apply takes; a name
// that is none for a file, or that two executors have, becomes one. An executor that has lost its jobs has them in no file of an earlier day.
func TestJobsAreExportedIntoAFolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		for _, app := range []string{"stock", "empty", "strange", "double"} {
			c.json(201, &struct{}{}, "POST", "/groups", fmt.Sprintf(`{"app_name":%q,"title":%q,"type":"auto"}`, app, app))
		}
		for group, name := range map[int]string{1: "pay", 2: "count", 4: "strange", 5: "double"} {
			c.json(201, &struct{}{}, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":%q,"author":"ann","handler":"work","schedule":"NONE"}`, group, name))
		}
		for id, app := range map[int]string{4: "../Órders", 5: "stock"} { // as XXL-JOB takes them
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_group SET app_name = ? WHERE id = ?", app, id); err != nil {
				t.Fatal(err)
			}
		}
		dir := filepath.Join(t.TempDir(), "git", "jobs")
		export := func(token string, args ...string) (string, error) {
			return punctual(t, append([]string{"jobs", "export", "--dir", dir, "--url", c.base, "--token", token}, args...)...)
		}
		files := func() string {
			t.Helper()
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return strings.Join(names, " ")
		}
		out, err := export(c.token)
		if err != nil || !strings.Contains(out, "4 jobs in 5 files") || files() != "empty.yaml group-4.yaml orders.yaml stock-2.yaml stock-5.yaml" {
			t.Fatalf("%v %s: %s", err, out, files())
		}
		raw, err := os.ReadFile(filepath.Join(dir, "stock-2.yaml"))
		if err != nil || !strings.Contains(string(raw), "description: count") || strings.Contains(string(raw), "double") {
			t.Errorf("%v %s", err, raw)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "empty.yaml")); err != nil || !strings.Contains(string(raw), "app_name: empty") || strings.Contains(string(raw), "description") {
			t.Errorf("of one without jobs: %v %s", err, raw)
		}
		missing := filepath.Join(t.TempDir(), "missing.yaml")
		if err := os.WriteFile(missing, []byte("punctual_jobs: 1\nexecutors:\n  - app_name: nobody\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := punctual(t, "diff", "-f", missing, "--source", "git", "--create-groups", "--url", c.base, "--token", c.token); err == nil || !strings.Contains(out, "+ executor nobody") {
			t.Errorf("an executor that there is not is no difference: %v %s", err, out)
		}
		if out, err := punctual(t, "diff", "-f", filepath.Join(dir, "orders.yaml"), "--source", "git", "--url", c.base, "--token", c.token); err != nil || !strings.Contains(out, "1 as they are") {
			t.Errorf("diff: %v %s", err, out)
		}
		if out, err := export(c.token, "--group", "orders", "--format", "json"); err != nil || !strings.Contains(out, "1 job in 1 file") || !strings.Contains(files(), "orders.json") {
			t.Errorf("one alone: %v %s: %s", err, out, files())
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 77 WHERE job_desc = 'double'"); err != nil { // as XXL-JOB's admin leaves it when a group is deleted
			t.Fatal(err)
		}
		if out, err := export(c.token); err != nil || !strings.Contains(out, "3 jobs in 5 files") || !strings.Contains(out, "1 job is left out, since its group") {
			t.Errorf("without the job of a group that is gone: %v %s", err, out)
		}
		if out, err := export(c.token, "--group", "orders"); err != nil || strings.Contains(out, "left out") {
			t.Errorf("one alone: %v %s", err, out)
		}
		if out, err := export(c.token, "--tag", "night"); err == nil {
			t.Errorf("no job has the tag: %s", out)
		}

		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		jonas.login("jonas", testPassword)
		dir = filepath.Join(t.TempDir(), "mine")
		if out, err := export(makeToken(t, jonas, url.Values{"name": {"ci"}, "scope": {"view"}, "days": {"7"}})); err != nil || files() != "orders.yaml" {
			t.Errorf("of somebody who sees one executor: %v %s: %s", err, out, files())
		}
	})
}
