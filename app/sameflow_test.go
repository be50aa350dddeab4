package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawFlow is a flow in one of the ways in which people write it, with comments, and texts of all kinds.
func drawFlow(r *rapid.T) string {
	text := func(name string) string {
		raw, err := json.Marshal(oddText().Draw(r, name))
		if err != nil {
			r.Fatal(err)
		}
		return string(raw)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if rapid.Bool().Draw(r, "on failure") {
		line("on_failure: continue # since March")
	}
	line("steps:")
	line("  - id: fetch")
	for _, field := range []string{"name", "parameter"} {
		if rapid.Bool().Draw(r, "has "+field) {
			line("    %s: %s", field, text(field))
		}
	}
	line("    job: %s", rapid.SampledFrom([]string{"1", "{id: 1}"}).Draw(r, "job"))
	if rapid.Bool().Draw(r, "tried again") {
		line("    retries: 2\n    retry_backoff: \"1m, 5m\"\n")
	}
	line("  # asked before it is paid")
	line("  - id: ask\n    needs: %s", rapid.SampledFrom([]string{"fetch", "[fetch]", "\n      - fetch"}).Draw(r, "needs"))
	if rapid.Bool().Draw(r, "a condition") {
		line("    if: steps.fetch.output.sum > 0")
	}
	line("    approve: %s", rapid.SampledFrom([]string{"{}", "{message: " + text("message") + ", timeout_seconds: 60, default: approve}"}).Draw(r, "approve"))
	source := b.String() + rapid.SampledFrom([]string{"", "\n", "# the end", "  "}).Draw(r, "end")
	if rapid.Bool().Draw(r, "of Windows") {
		source = strings.ReplaceAll(source, "\n", "\r\n")
	}
	return source
}

func TestAFlowIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "xxl_job_info")
		u.beside = append(u.beside, "glue_updatetime")
		u.c.json(201, &struct{}{}, "POST", "/jobs", `{"group_id":1,"description":"fetch rates","author":"a","handler":"h"}`)
		dir := t.TempDir()
		do := func(r *rapid.T, args ...string) string {
			out, err := punctual(t, append(args, "--url", u.c.base, "--token", u.c.token)...)
			if err != nil {
				r.Fatalf("punctual %s: %v\n%s", args, err, out)
			}
			return out
		}
		often(t, func(r *rapid.T) bool {
			source := drawFlow(r)
			f, ok := u.make(r, "POST", "/jobs", map[string]any{"group_id": 1, "description": "end of day", "author": "ann", "kind": "FLOW", "script": source, "script_remark": "first"})
			if !ok {
				return false
			}
			defer f.delete()
			f.same("nothing")
			late := f.form(f.path+"/edit", f.path)
			f.patched()
			f.posted(f.path, late)

			// Beside the text there is a form of its steps, which is opened, and read, step by step.
			steps := &stepsForm{t: t, b: u.root, job: late, text: late.Get("source")}
			for _, deed := range []string{"", "open fetch", "open ask", ""} {
				if steps.send(deed, nil); strings.ReplaceAll(steps.text, "\r\n", "\n") != strings.ReplaceAll(late.Get("source"), "\r\n", "\n") {
					r.Fatalf("the form of steps wrote, at %q:\n%s\nof\n%s", deed, steps.text, source)
				}
			}
			late.Set("source", steps.text)
			f.posted(f.path, late)

			var rows struct{ Data []map[string]any }
			got := u.root.get("/xxl-job-admin/jobinfo/pageList?start=0&length=10&jobGroup=1&triggerStatus=-1")
			i := -1
			if json.Unmarshal([]byte(got.body), &rows) == nil {
				i = slices.IndexFunc(rows.Data, func(row map[string]any) bool { return number(row["id"]) == idOf(f.was) })
			}
			if i < 0 {
				r.Fatalf("the rows of XXL-JOB's console: %d %s", got.status, got.body)
			}
			if got := u.root.post("/xxl-job-admin/jobinfo/update", formOfRow(rows.Data[i])); !strings.Contains(got.body, `"code":200`) {
				r.Fatalf("XXL-JOB's form is refused: %s\nof %s", got.body, f.sent)
			}
			f.same("XXL-JOB's form")

			file := do(r, "jobs", "export")
			if err := os.WriteFile(filepath.Join(dir, "jobs.yaml"), []byte(file), 0o600); err != nil {
				r.Fatal(err)
			}
			if out := do(r, "diff", "-f", dir, "--source", "git/jobs"); !strings.Contains(out, "0 created, 0 changed, 0 deleted, 2 as they are, 0 refused") {
				r.Fatalf("what its own file would change: %s\n%s", out, file)
			}
			return true
		})
	})
}
