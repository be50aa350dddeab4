package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/scheduler/flow"
)

// flowFaultFaces are the ways to save a flow, for somebody who may edit and run jobs of the first executor.
type flowFaultFaces struct {
	t    *testing.T
	api  *caller
	page *browser
}

// fault is what is wrong with a flow, and where.
type fault struct {
	Field, Code, Detail, Step string
	Part                      string `json:"step_field"`
	At                        int    `json:"step_line"`
	Line                      int    // of a file
}

func (f fault) String() string { return fmt.Sprintf("%s %d %s %s", f.Step, f.At, f.Part, f.Code) }

func (f flowFaultFaces) byAPI(source string, job int64, children string) []fault {
	f.t.Helper()
	raw, _ := json.Marshal(source)
	body := fmt.Sprintf(`{"group_id":1,"description":"new flow","author":"a","kind":"FLOW","script":%s,"children":[%s]}`, raw, children)
	method, path := "POST", "/jobs"
	if job != 0 {
		method, path, body = "PATCH", fmt.Sprintf("/jobs/%d", job), fmt.Sprintf(`{"script":%s,"children":[%s]}`, raw, children)
	}
	got := f.api.do(method, path, body, "If-Match", "*")
	var problem struct{ Errors []fault }
	if err := json.Unmarshal([]byte(got.body), &problem); err != nil || got.status != http.StatusUnprocessableEntity {
		f.t.Errorf("API: %d %s", got.status, got.body)
	}
	return problem.Errors
}

// fileBefore is how many lines of a file stand before a definition.
const fileBefore = 10

func (f flowFaultFaces) byFile(source, name, children string) []fault {
	f.t.Helper()
	text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: " + name + "\n        author: a\n        schedule: NONE\n        kind: FLOW\n        children: [" + children + "]\n        script: |2\n"
	for line := range strings.Lines(source) {
		text += "          " + line
	}
	raw, _ := json.Marshal(text)
	got := f.api.do("POST", "/jobs/apply?dry_run=true", fmt.Sprintf(`{"source":"git","files":[{"text":%s}]}`, raw))
	var plan struct{ Jobs []struct{ Problems []fault } }
	if err := json.Unmarshal([]byte(got.body), &plan); err != nil || got.status != http.StatusOK || len(plan.Jobs) != 1 {
		f.t.Fatalf("file: %d %s", got.status, got.body)
	}
	return plan.Jobs[0].Problems
}

func (f flowFaultFaces) form(name, source, children string) url.Values {
	return form(url.Values{"name": {name}, "glue": {"FLOW"}, "handler": {""}, "schedule_type": {"NONE"}, "cron": {""}, "source": {source}, "children": {children}})
}

// TestEveryFaultOfAFlowIsTheSameEverywhere sends each kind of fault as a program, in a file and in the forms of the console. All refuse it for the
// same reasons, at the same steps and lines.
func TestEveryFaultOfAFlowIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		c.json(201, &struct{}{}, "POST", "/groups", `{"app_name":"stock","title":"Stock","type":"manual","addresses":["http://127.0.0.1:1/"]}`)
		c.json(201, &struct{}{}, "POST", "/groups", `{"app_name":"hidden","title":"Hidden","type":"manual","addresses":["http://127.0.0.1:1/"]}`)
		add := func(group int, name, more string) (id int64) {
			var made struct{ ID int64 }
			c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":%q,"author":"a",%s}`, group, name, more))
			return made.ID
		}
		add(1, "one", `"handler":"x"`)                                                                                   // 1
		add(2, "in stock", `"handler":"x"`)                                                                              // 2: may be seen, not run
		add(3, "hidden", `"handler":"x"`)                                                                                // 3
		self := add(1, "self", `"kind":"FLOW","script":"steps: [{id: a, job: 1}]"`)                                      // 4
		add(1, "outer", fmt.Sprintf(`"kind":"FLOW","script":"steps: [{id: a, flow: %d}]"`, self))                        // 5: runs it
		add(1, "parent", fmt.Sprintf(`"handler":"x","children":[%d]`, self))                                             // 6: starts it
		add(1, "runs parent", `"kind":"FLOW","script":"steps: [{id: a, job: {app_name: orders, description: parent}}]"`) // 7
		add(1, "code", `"handler":"commandJobHandler"`)                                                                  // 8
		if got := root.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view", "1.edit", "1.run", "2.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		mina := open(t, a)
		mina.login("mina", testPassword)
		token := makeToken(t, mina, url.Values{"name": {"deploy"}, "scope": {"edit", "run"}, "days": {"7"}})
		faces := flowFaultFaces{t, &caller{t: t, base: c.base, token: token}, mina}

		const step, b = "steps:\n  - id: a\n    job: 1\n", "  - id: b\n    needs: a\n    job: 1\n"
		many := "steps:\n"
		for i := range flow.MaxSteps + 1 {
			many += fmt.Sprintf("  - {id: s%d, job: 1}\n", i)
		}
		for _, tt := range []struct {
			name, source string
			children     string
			ofSelf       bool // in place of the definition of a flow that there is
			want         string
		}{
			{"steps that need each other", "steps:\n  - id: a\n    needs: b\n    job: 1\n" + b, "", false, "a 3 needs flow.error.cycle"},
			{"itself", "steps:\n  - id: a\n    flow: 4\n", "", true, "a 3 flow flow.error.circle"},
			{"a flow that runs it", "steps:\n  - id: a\n    flow: 5\n", "", true, "a 3 flow flow.error.circle"},
			{"a job that starts it", "steps:\n  - id: a\n    job: 6\n", "", true, "a 3 job flow.error.circle"},
			{"a flow whose job starts it", "steps:\n  - id: a\n    job: 1\n  - id: b\n    flow: {app_name: orders, description: runs parent}\n", "", true, "b 5 flow flow.error.circle"},
			{"a child that leads back", step, "7", true, " 0  flow.error.circle"},
			{"a step that there is not", step + "  - id: b\n    needs: [a, c]\n    job: 1\n", "", false, "b 5 needs flow.error.needs"},
			{"a step that never starts", step + "    if: 1 > 2\n" + b, "", false, "a 4 if flow.error.never; b 6 needs flow.error.never"},
			{"a job that may not be run", step + "  - id: b\n    job: 2\n", "", false, "b 5 job flow.error.may_not"},
			{"a job that may not be run, by its name", "steps:\n  - id: b\n    job: {app_name: stock, description: in stock}\n", "", false, "b 3 job flow.error.may_not"},
			{"a job that may not be seen", step + "  - id: b\n    job: 3\n", "", false, "b 5 job flow.error.job_gone"},
			{"a job that there is not", "steps:\n  - id: a\n    job: 99\n", "", false, "a 3 job flow.error.job_gone"},
			{"a flow as a job", "steps:\n  - id: a\n    job: 5\n", "", false, "a 3 job flow.error.is_flow"},
			{"a job as a flow", "steps:\n  - id: a\n    flow: 1\n", "", false, "a 3 flow flow.error.no_flow"},
			{"a program as the parameter", "steps:\n  - id: a\n    job: 8\n    parameter: rm\n", "", false, "a 4 parameter job.error.param_code"},
			{"201 steps", many, "", false, " 202  flow.error.many"},
			{"10,001 items", step + "    foreach: {items: '[1]', max: 10001}\n", "", false, "a 4 max job.error.out_of_range"},
			{"1001 at a time", step + "    foreach:\n      items: '[1]'\n      parallel: 1001\n", "", false, "a 6 parallel job.error.out_of_range"},
			{"an if that cannot be read", step + "    if: 1 +\n", "", false, "a 4 if flow.error.expr.syntax"},
			{"an if that a comment ends", step + "  - id: b\n    needs: a\n    job: 1\n    if: count(steps.a.output.x, # > 1) > 2\n", "", false, "b 7 if flow.error.expr.syntax; b 7 if flow.error.cut"},
			{"a parameter that a comment ends", step + "  - id: b\n    needs: a\n    job: 1\n    parameter: x ${{ map(steps.a.output.x, #.y) }}\n", "", false, "b 7 parameter flow.error.cut"},
			{"an if with an unknown name", step + "    if: foo\n", "", false, "a 4 if flow.error.expr.name"},
			{"an if that reads what is not before", step + "  - id: b\n    job: 1\n    if: steps.a.code == 1\n", "", false, "b 6 if flow.error.not_before"},
			{"a foreach without items", step + "    foreach: {parallel: 2}\n", "", false, "a 4  import.error.missing"},
			{"a foreach that cannot be read", step + "    foreach: {items: '[1'}\n", "", false, "a 4 items flow.error.expr.syntax"},
			{"a time-out below 0", step + "    timeout_seconds: -1\n", "", false, "a 4 timeout_seconds job.error.out_of_range"},
			{"a time-out that is too long", step + "    timeout_seconds: 31536001\n", "", false, "a 4 timeout_seconds job.error.out_of_range"},
			{"a time-out that is no number", step + "    timeout_seconds: soon\n", "", false, "a 4  import.error.number"},
			{"an answer in too long a time", "steps:\n  - id: a\n    approve:\n      timeout_seconds: 31536001\n", "", false, "a 4 timeout_seconds job.error.out_of_range"},
			{"a wait for nothing", "steps:\n  - id: a\n    wait: {}\n", "", false, "a 3 wait flow.error.wait"},
			{"a moment that is none", "steps:\n  - id: a\n    wait: {until: tomorrow}\n", "", false, "a 3 until flow.error.moment"},
			{"a join of more than there are", step + "  - id: b\n    needs: a\n    join: 2\n    job: 1\n", "", false, "b 6 join flow.error.join"},
			{"a join that is none", step + "  - id: b\n    needs: a\n    join: some\n    job: 1\n", "", false, "b 6  flow.error.join_word"},
			{"an id twice", step + "  - id: A\n    job: 1\n", "", false, "A 4 id flow.error.same_id"},
			{"an id that is none", "steps:\n  - id: a-b\n    job: 1\n", "", false, "a-b 2 id flow.error.id"},
			{"an unknown field", step + b + "    colour: red\n", "", false, "b 7  import.error.unknown"},
			{"a misspelt field", step + "    reties: 3\n", "", false, "a 4  import.error.near"},
			{"a field twice", step + "    job: 1\n", "", false, "a 4  import.error.twice"},
			{"a text for a list", "steps: all\n", "", false, " 1  import.error.list"},
			{"a list for a text", "steps:\n  - id: [a]\n    job: 1\n", "", false, " 2  import.error.text"},
			{"no mapping", "- a\n", "", false, " 1  import.error.mapping"},
			{"no YAML", step + "  - id: [\n", "", false, " 4  import.error.syntax"},
			{"no steps", "on_failure: stop\n", "", false, " 1  import.error.missing"},
			{"a step that does nothing", step + "  - id: b\n", "", false, "b 4 id flow.error.no_kind"},
			{"a step that does two things", step + "    wait: {seconds: 1}\n", "", false, "a 4 wait flow.error.kinds"},
			{"an approval with a parameter", "steps:\n  - id: a\n    approve: {}\n    parameter: x\n", "", false, "a 4 parameter flow.error.not_of"},
			{"what may become of a failure", "on_failure: retry\n" + step, "", false, " 1 on_failure job.error.unknown"},
			{"retries without number", step + "    retries: -1\n", "", false, "a 4 retries job.error.out_of_range"},
			{"a back-off that cannot be read", step + "    retry_backoff: soon\n", "", false, "a 4 retry_backoff job.error.backoff"},
			{"a secret in a question", "steps:\n  - id: a\n    approve: {message: '${{ secrets.DB }}'}\n", "", false, "a 3 message flow.error.expr.secret"},
			{"a job that there is not, a step that never starts, and a number too small", "steps:\n  - id: a\n    job: 99\n    if: 1 > 2\n  - id: b\n    needs: a\n    job: 1\n    retries: -1\n", "", false,
				"a 3 job flow.error.job_gone; a 4 if flow.error.never; b 6 needs flow.error.never; b 8 retries job.error.out_of_range"},
			{"two faults", step + "    retries: -1\n  - id: b\n    needs: a\n    wait: {}\n", "", false, "a 4 retries job.error.out_of_range; b 7 wait flow.error.wait"},
		} {
			job, name := int64(0), "new flow"
			if tt.ofSelf {
				job, name = self, "self"
			}
			ofAPI := faces.byAPI(tt.source, job, tt.children)
			if got := joined(ofAPI); got != tt.want {
				t.Errorf("%s: API v1 says %s\nwant %s\n%+v", tt.name, got, tt.want, ofAPI)
				continue
			}
			ofFile := faces.byFile(tt.source, name, tt.children)
			for i, f := range ofFile {
				if f.Field == "script" {
					if f.Line != f.At || f.At <= fileBefore {
						t.Errorf("%s: on line %d of the file, and in words on %d", tt.name, f.Line, f.At)
					}
					was := fmt.Sprintf("ine %d", f.At)
					ofFile[i].At -= fileBefore
					ofFile[i].Detail = strings.Replace(f.Detail, was, fmt.Sprintf("ine %d", ofFile[i].At), 1)
				}
				ofFile[i].Line = 0
			}
			if got, want := fmt.Sprintf("%+v", details(ofFile)), fmt.Sprintf("%+v", details(ofAPI)); got != want || joined(ofFile) != tt.want {
				t.Errorf("%s: the file says %s, %s\nwant %s, %s", tt.name, joined(ofFile), got, tt.want, want)
			}

			values := faces.form(name, tt.source, tt.children)
			at, sent := "/jobs", values
			switch {
			case tt.ofSelf && tt.children == "":
				at, sent = fmt.Sprintf("/jobs/%d/glue", self), url.Values{"source": {tt.source}, "remark": {"changed"}, "version": {""}}
			case tt.ofSelf:
				at = fmt.Sprintf("/jobs/%d", self)
			}
			saved := mina.post(at, sent)
			words := saved.document(t).Find(".error").Text()
			if saved.status != http.StatusUnprocessableEntity || !strings.Contains(words, ofAPI[0].Detail) {
				t.Errorf("%s: %s says %d %q\nwant %q", tt.name, at, saved.status, words, ofAPI[0].Detail)
			}
			if tt.ofSelf {
				values.Set("job", fmt.Sprint(self))
			}
			preview := mina.post("/jobs/flow-preview", values)
			told := preview.document(t).Find(".flow-faults .notice").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) })
			if got, want := strings.Join(told, "\n"), strings.Join(details(ofAPI), "\n"); got != want {
				t.Errorf("%s: beside the form stands %d %q\nwant %q", tt.name, preview.status, got, want)
			}
		}
	})
}

func joined(faults []fault) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

func details(faults []fault) []string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Detail
	}
	return texts
}
