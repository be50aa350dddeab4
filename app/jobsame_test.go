package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAJobIsTheSameWhereverItIsSaved saves jobs of all kinds as each way of saving shows them: the form of the console, that of XXL-JOB, and
// a file. Nothing of a job is other after that.
func TestAJobIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		dir := t.TempDir()
		do := func(r *rapid.T, command string, args ...string) string {
			out, err := punctual(t, append(append([]string{command}, args...), "--url", c.base, "--token", c.token)...)
			if err != nil {
				r.Fatalf("punctual %s: %v\n%s", command, err, out)
			}
			return out
		}
		saved := 0
		rapid.Check(t, func(r *rapid.T) {
			sent, err := json.Marshal(drawJob(r))
			if err != nil {
				r.Fatal(err)
			}
			var made map[string]any
			switch got := c.do("POST", "/jobs", string(sent)); {
			case got.status == http.StatusUnprocessableEntity: // what was drawn does not go together
				return
			case got.status != http.StatusCreated:
				r.Fatalf("%d %s\nof %s", got.status, got.body, sent)
			case json.Unmarshal([]byte(got.body), &made) != nil:
				r.Fatal(got.body)
			}
			saved++
			job := fmt.Sprintf("/jobs/%.0f", made["id"])
			defer func() { c.do("DELETE", job, "") }()
			said := func() string { // of changes: the ETag, and what the audit log has
				entries := 0
				if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE object_kind = 'job'").Scan(&entries); err != nil {
					r.Fatal(err)
				}
				return fmt.Sprintf("%s, %d entries", c.do("GET", job, "").header.Get("ETag"), entries)
			}
			begun := said()
			same := func(by string) {
				if now := said(); by != "a file" && now != begun {
					r.Fatalf("by %s: %s, was %s\nof %s", by, now, begun, sent)
				}
				var now map[string]any
				c.json(200, &now, "GET", job, "")
				if diff := cmp.Diff(made, now, cmp.FilterPath(besideTheJob, cmp.Ignore())); diff != "" {
					r.Fatalf("by %s (-was +is):\n%s\nof %s", by, diff, sent)
				}
			}
			same("nothing")

			form := formTo(r, root.get(job+"/edit").document(t), job)
			if got := root.post(job, form); got.status != http.StatusSeeOther {
				r.Fatalf("the form is refused: %d\nof %s", got.status, sent)
			}
			same("the form")

			var rows struct{ Data []map[string]any }
			if got := root.get("/xxl-job-admin/jobinfo/pageList?start=0&length=10&jobGroup=1&triggerStatus=-1"); json.Unmarshal([]byte(got.body), &rows) != nil || len(rows.Data) != 1 {
				r.Fatalf("the rows of XXL-JOB's console: %d %s", got.status, got.body)
			}
			form = url.Values{}
			for name, value := range rows.Data[0] {
				switch value := value.(type) {
				case string:
					form.Set(name, value)
				case float64:
					form.Set(name, fmt.Sprintf("%.0f", value))
				}
			}
			if got := root.post("/xxl-job-admin/jobinfo/update", form); !strings.Contains(got.body, `"code":200`) {
				r.Fatalf("XXL-JOB's form is refused: %s\nof %s", got.body, sent)
			}
			same("XXL-JOB's form")

			file := do(r, "jobs", "export")
			if err := os.WriteFile(filepath.Join(dir, "jobs.yaml"), []byte(file), 0o600); err != nil {
				r.Fatal(err)
			}
			if out := do(r, "diff", "-f", dir, "--source", "git/jobs"); !strings.Contains(out, "0 created, 0 changed, 0 deleted, 1 as they are, 0 refused") {
				r.Fatalf("what the job's own file would change: %s\n%s", out, file)
			}
			c.do("DELETE", job, "")
			do(r, "apply", "-f", dir, "--source", "git/jobs")
			var all struct{ Items []struct{ ID int } }
			if c.json(200, &all, "GET", "/jobs", ""); len(all.Items) != 1 {
				r.Fatalf("%d jobs of one file\n%s", len(all.Items), file)
			}
			job = fmt.Sprintf("/jobs/%d", all.Items[0].ID)
			do(r, "jobs", "release", fmt.Sprint(all.Items[0].ID))
			same("a file")
		})
		if saved < 10 {
			t.Errorf("only %d jobs could be saved", saved)
		}
	})
}

// besideTheJob are members of its JSON that are no part of its definition.
func besideTheJob(p cmp.Path) bool {
	at, ok := p.Last().(cmp.MapIndex)
	if !ok || len(p) != 2 {
		return false
	}
	switch at.Key().String() {
	case "id", "created_at", "updated_at", "managed_by":
		return true
	}
	return false
}

// drawJob is the JSON of a job. Not each can be saved.
func drawJob(t *rapid.T) map[string]any {
	job := map[string]any{"group_id": 1, "description": "close the day", "author": "ann", "schedule": "NONE", "handler": "closeDay"}
	scripted := rapid.Bool().Draw(t, "scripted")
	for _, f := range jobspec.Fields {
		switch f.Name {
		case jobspec.FieldGlue, jobspec.FieldHandler, jobspec.FieldSource, jobspec.FieldRemark, jobspec.FieldCron, jobspec.FieldSeconds, jobspec.FieldMoment, jobspec.FieldChildren:
			continue // in what goes together
		}
		if rapid.IntRange(0, 3).Draw(t, "has "+f.File) == 0 {
			job[f.File] = drawField(t, f)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "together") > 0 { // or most of them would be refused
		for name, with := range map[string]any{"misfire_last": string(jobspec.MisfireFireLast), "misfire_within_seconds": string(jobspec.MisfireFireWithin)} {
			if job["misfire"] != with {
				delete(job, name)
			}
		}
		if name, _ := job["calendar"].(string); name == "" {
			delete(job, "calendar_rule")
		}
		if tags, ok := job["tags"].([]string); ok {
			for i, tag := range tags {
				tags[i] = strings.NewReplacer("\n", "", "\r", "", ",", "", "，", "").Replace(tag)
			}
		}
	}
	switch job["schedule"] {
	case string(jobspec.ScheduleCron):
		job["cron"] = rapid.SampledFrom([]string{"0 0 2 * * ?", " 0 0  2 * * ? ", "0 0/5 * ? * MON-FRI", "0 15 10 L * ?", "0 0 0 1 1 ? 2099"}).Draw(t, "cron")
	case string(jobspec.ScheduleFixRate), string(jobspec.ScheduleFixDelay):
		job["every_seconds"] = rapid.SampledFrom([]int{1, 60, 86_400}).Draw(t, "every_seconds")
	case string(jobspec.ScheduleOnce):
		job["at"] = rapid.SampledFrom([]string{"2099-05-01 12:00:00", "2099-05-01T12:00:00Z", "2099-05-01T12:00:00+08:00", "2099-05-01 12:00"}).Draw(t, "at")
	}
	if scripted {
		delete(job, "handler")
		job["kind"] = rapid.SampledFrom([]string{"GLUE_SHELL", "GLUE_PYTHON", "GLUE_GROOVY"}).Draw(t, "kind")
		job["script"], job["script_remark"] = "line\n"+oddText().Draw(t, "script"), "remark"
	}
	return job
}

// drawField is a value of a field, mostly one that is allowed.
func drawField(t *rapid.T, f *jobspec.Field) any {
	some := func(values ...string) any { return rapid.SampledFrom(values).Draw(t, f.File) }
	switch f.Kind {
	case jobspec.Number:
		return rapid.SampledFrom([]int{0, 1, 7, 60, f.Max}).Draw(t, f.File)
	case jobspec.Flag:
		return rapid.Bool().Draw(t, f.File)
	case jobspec.Choice:
		return some(f.Options...)
	case jobspec.Moments:
		return time.Unix(rapid.Int64Range(1e9, 4e9).Draw(t, f.File), 0).UTC().Format(time.RFC3339)
	case jobspec.Text, jobspec.List:
	}
	switch f.Name {
	case jobspec.FieldAlarmEmail:
		return rapid.SliceOfN(rapid.SampledFrom([]string{"a@example.com", "b@example.com"}), 0, 3).Draw(t, f.File)
	case jobspec.FieldTags:
		return rapid.SliceOfN(oddText(), 0, 3).Draw(t, f.File)
	case jobspec.FieldZone:
		return some("", "Asia/Shanghai", "America/New_York", "UTC", " Asia/Tokyo")
	case jobspec.FieldCalendar:
		return some("", "cn")
	case jobspec.FieldBackoff:
		return some("", "10s,1m", "10s, 1m", " 5s ")
	case jobspec.FieldDoneBy:
		return some("", "06:00", "6:00", "23:59")
	case jobspec.FieldRunbook:
		return some("", "https://wiki.example.com/a?b=c&d=<e>#f", " https://x.example/ ")
	}
	return oddText().Draw(t, f.File)
}

// oddText is what people paste, and what a reader of files or forms may take for something else. No page can show the character 0.
func oddText() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"yes", "~", "null", "007", "1e3", "- a", "a: b", "# c", "{}", "[1]", "'", `"`, "\\", "\t", "\n", "\r\n", "\r", " ", "  ", "\n\n", "<b>&amp;", "&lt;", "%s",
			"${{ planned | yyyy-MM-dd }}", "中文，", "é", "😀", "\u00a0", "\u2028", "|", ">", "*a", "&a", "!t", "@", "`", ",", "--- x", "...",
		}),
		rapid.StringN(0, 6, 20),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.ReplaceAll(strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), ""), "\x00", "")
	})
}
