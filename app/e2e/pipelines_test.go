package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/db"
)

// pipeline is one of docs/jobfile.md: what it hands on to its commands, and which those are.
type pipeline struct {
	Variables map[string]string `yaml:"variables"`
	Jobs      map[string]struct {
		Env   map[string]string `yaml:"env"`
		Steps []struct {
			If, Run string
		} `yaml:"steps"`
	} `yaml:"jobs"`
	Plan, Apply struct {
		Rules  []struct{ If string } `yaml:"rules"`
		Script []string              `yaml:"script"`
	}
}

var expression = regexp.MustCompile(`\$\{\{ *([\w.]+) *\}\}`)

// isTrue says whether a condition of the form a == b is true of what a service knows.
func isTrue(condition string, known map[string]string) bool {
	a, b, _ := strings.Cut(condition, " == ")
	value := func(text string) string {
		if bare := strings.Trim(text, `"'`); bare != text {
			return bare
		}
		return known[strings.TrimPrefix(text, "$")]
	}
	return value(a) == value(b)
}

// lines are the commands that a service runs, and the variables that they find.
func (p pipeline) lines(known map[string]string) (lines, env []string) {
	for name, text := range p.Variables {
		env = append(env, name+"="+os.Expand(text, func(of string) string { return known[of] }))
	}
	for _, job := range []struct {
		rules  []struct{ If string }
		script []string
	}{{p.Plan.Rules, p.Plan.Script}, {p.Apply.Rules, p.Apply.Script}} {
		if len(job.rules) == 1 && isTrue(job.rules[0].If, known) {
			lines = append(lines, job.script...)
		}
	}
	for _, job := range p.Jobs {
		for name, text := range job.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(text, func(e string) string { return known[expression.FindStringSubmatch(e)[1]] }))
		}
		for _, step := range job.Steps {
			if step.Run != "" && isTrue(step.If, known) {
				lines = append(lines, step.Run)
			}
		}
	}
	return lines, env
}

// TestPipelines does what the pipelines of the manual do, as GitHub, Gitea and GitLab would: their lines in a shell, in a checkout, with the
// variables that each service sets. A request to change the files only shows what that would do; a push does it.
func TestPipelines(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../../docs/jobfile.md", "../../docs/zh-CN/jobfile.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var pipelines []pipeline
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
			if strings.Contains(block[1], "punctual apply") {
				var p pipeline
				if err := yaml.Unmarshal([]byte(block[1]), &p); err != nil {
					t.Fatal(err)
				}
				pipelines = append(pipelines, p)
			}
		}
		if len(pipelines) != 2 {
			t.Fatalf("%s has %d pipelines", page, len(pipelines))
		}
		d := newDatabase(t, db.SQLite)
		a := startAdmin(t, adminSettings{dataDir: d.dir})
		s := a.login(t, testPassword)
		s.must(t, "/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {"http://127.0.0.1:1/"}})
		token := s.token(t, "view", "edit", "schedule")
		for service, p := range map[string]pipeline{"github": pipelines[0], "gitea": pipelines[0], "gitlab": pipelines[1]} {
			repo, admin, programs := t.TempDir(), a.url, filepath.Dir(program(t, "punctual"))+":"
			shell := func(command string, env ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
				cmd.Dir = repo
				cmd.Env = append([]string{"PATH=" + programs + os.Getenv("PATH"), "HOME=" + repo}, env...)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			commit := func(jobs ...string) (id string) {
				t.Helper()
				text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
				for _, j := range jobs {
					text += "      - {author: ann, handler: h, schedule: CRON, cron: '0 0 2 * * ?', description: " + service + " " + j + "}\n"
				}
				if err := os.MkdirAll(filepath.Join(repo, "jobs"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(repo, "jobs", "orders.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := shell("git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm jobs && git rev-parse HEAD")
				if err != nil {
					t.Fatalf("commit: %v %s", err, out)
				}
				return strings.TrimSpace(out)
			}
			const none = "none was written"
			comment := none
			forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				written := struct{ Body string }{r.FormValue("body")}
				switch r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + r.Header.Get("PRIVATE-TOKEN") {
				case "POST /repos/team/" + service + "/issues/7/comments Bearer forge-token":
					if err := json.NewDecoder(r.Body).Decode(&written); err != nil {
						t.Errorf("%s: the comment: %v", service, err)
					}
				case "POST /projects/5/merge_requests/7/notes forge-token":
				default:
					t.Errorf("%s: a comment goes to %s", service, r.URL)
				}
				comment = written.Body
			}))
			t.Cleanup(forge.Close)
			run := func(push bool, commit string) (string, error) {
				t.Helper()
				event, source, branch := "pull_request", "merge_request_event", ""
				if push {
					event, source, branch = "push", "push", "main"
				}
				lines, env := p.lines(map[string]string{
					"vars.PUNCTUAL_URL": admin, "secrets.PUNCTUAL_TOKEN": token, "github.repository": "team/" + service, "github.sha": commit, "github.event_name": event, "github.event.number": "7", "github.token": "forge-token",
					"CI_PROJECT_PATH": "team/" + service, "CI_COMMIT_SHA": commit, "CI_PIPELINE_SOURCE": source, "CI_COMMIT_BRANCH": branch, "CI_DEFAULT_BRANCH": "main",
				})
				command := strings.Join(lines, "\n")
				if strings.Count(command, "punctual apply") != 1 {
					t.Fatalf("%s: %s: the lines of %s are %q", page, service, event, lines)
				}
				comment = none
				out, err := shell(command, append(env, "PUNCTUAL_URL="+admin, "PUNCTUAL_TOKEN="+token, "COMMENT_TOKEN=forge-token", // GitLab has these three as variables of the project
					"GITHUB_API_URL="+forge.URL, "CI_API_V4_URL="+forge.URL, "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=7")...)
				return out + comment, err
			}
			kept := func() (list []string) {
				t.Helper()
				rows, err := d.sql.QueryContext(t.Context(), "SELECT j.job_desc, f.revision FROM punctual_file_job f JOIN xxl_job_info j ON j.id = f.job_id WHERE f.source = ? ORDER BY j.job_desc", "team/"+service)
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var name, revision string
					if err := rows.Scan(&name, &revision); err != nil {
						t.Fatal(err)
					}
					list = append(list, name+"@"+revision)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				return list
			}
			is := func(want ...string) {
				t.Helper()
				if got := kept(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %s: the jobs of the source are %q, want %q", page, service, got, want)
				}
			}
			says := func(want string, push bool, commit string) {
				t.Helper()
				if out, err := run(push, commit); err != nil || !strings.Contains(out, want) {
					t.Errorf("%s: %s: %v, want %q:\n%s", page, service, err, want, out)
				}
			}
			first := commit("open", "close")
			says("### Jobs: 2 to create", false, first)
			is()
			says("2 created", true, first)
			is(service+" close@"+first, service+" open@"+first)
			second := commit("close")
			says("### Jobs: 1 to delete", false, second)
			is(service+" close@"+first, service+" open@"+first)
			says("1 deleted", true, second)
			if got := kept(); len(got) != 1 {
				t.Errorf("%s: %s: after the push there are %q", page, service, got)
			}
			if out, err := run(false, commit("close, colour: red")); err == nil || !strings.Contains(comment, "jobs/orders.yaml:5") {
				t.Errorf("%s: %s: files that are wrong pass: %v\n%s", page, service, err, out)
			}
			admin = "http://127.0.0.1:1"
			if out, err := run(false, second); err == nil || !strings.HasPrefix(comment, "### Jobs: there is no plan\n") || !strings.Contains(comment, "cannot reach "+admin) {
				t.Errorf("%s: %s: without an admin: %v, and the comment is %q\n%s", page, service, err, comment, out)
			}
			programs = ""
			if out, err := run(false, second); err == nil || comment != none {
				t.Errorf("%s: %s: without the program: %v, and the comment is %q\n%s", page, service, err, comment, out)
			}
		}
		a.noPanic(t)
	}
}
