package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/client"
)

// keptFiles is an installation whose jobs are kept in a folder, as a pipeline works on them.
type keptFiles struct {
	t     *testing.T
	a     *App
	c     *caller
	root  *browser
	whole string // a token that may everything
	dir   string
}

func keepingFiles(t *testing.T, o Options) *keptFiles {
	t.Helper()
	a, c := apiCaller(t, o) // with the group orders
	things(t, a, 2, secret)
	root := open(t, a).mustLogin()
	return &keptFiles{t, a, c, root, makeToken(t, root, url.Values{"name": {"ci"}, "scope": {"admin"}, "days": {"7"}}), t.TempDir()}
}

func (k *keptFiles) write(name, text string) {
	k.t.Helper()
	path := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// fileOf is a file of jobs of orders.
func fileOf(jobs ...string) string {
	text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
	for _, j := range jobs {
		text += "      - {author: ann, handler: h, schedule: CRON, cron: '0 0 2 * * ?', " + j + "}\n"
	}
	return text
}

// do gives a command the folder, and what it says with its code.
func (k *keptFiles) do(token, command string, args ...string) (string, int) {
	k.t.Helper()
	args = append([]string{command, "-f", k.dir, "--source", "git/jobs", "--url", k.c.base, "--token", token}, args...)
	out, err := punctual(k.t, args...)
	if exit, ok := errors.AsType[*client.ExitError](err); ok {
		return out + err.Error(), exit.Code
	} else if err != nil {
		return out + err.Error(), -1
	}
	return out, 0
}

func (k *keptFiles) says(code int, want, command string, args ...string) {
	k.t.Helper()
	if out, got := k.do(k.whole, command, args...); got != code || !strings.Contains(out, want) {
		k.t.Errorf("%s %v: %d, want %d with %q:\n%s", command, args, got, code, want, out)
	}
}

// begin keeps two jobs in the folder.
func (k *keptFiles) begin() {
	k.t.Helper()
	k.write("a.yaml", fileOf("description: close the day, state: running, retries: 2"))
	k.write("deep/b.yml", fileOf("description: open the day"))
	k.says(0, "2 created, 0 changed", "apply", "--revision", "abc1234")
}

type keptJob struct {
	ID          int
	Description string
	State       string
	Retries     int
}

// job is the job of a name, the zero value if there is none.
func (k *keptFiles) job(name string) keptJob {
	k.t.Helper()
	var all struct{ Items []keptJob }
	k.c.json(200, &all, "GET", "/jobs?text="+url.QueryEscape(name), "")
	for _, item := range all.Items {
		if item.Description == name {
			return item
		}
	}
	return keptJob{}
}

// TestJobsAreKeptInFiles of a folder: what would be done is told first, and nothing else is done. Another source may not take them.
func TestJobsAreKeptInFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.write("a.yaml", fileOf("description: close the day, state: running, retries: 2"))
		k.write("deep/b.yml", fileOf("description: open the day"))
		k.write("deep/notes.txt", "no jobs")
		k.write(".git/c.yaml", "no jobs either")
		k.says(1, "2 created", "diff")
		k.says(0, "(nothing was done)", "apply", "--dry-run")
		k.write("deep/b.yml", strings.Replace(fileOf("description: open the day"), "orders", "nowhere", 1))
		k.says(2, "1 job refused; nothing was done; --create-groups makes groups that there are not", "apply")
		k.write("deep/b.yml", fileOf("description: open the day"))
		if k.job("close the day").ID != 0 {
			t.Fatal("a dry run made a job")
		}
		k.says(0, "2 created, 0 changed", "apply", "--revision", "abc1234")
		if j := k.job("close the day"); j.State != "running" || j.Retries != 2 {
			t.Errorf("made: %+v", j)
		}
		k.says(0, "2 as they are", "diff")

		// Another source may not take it.
		out, err := punctual(t, "apply", "-f", k.dir, "--source", "git/other", "--url", k.c.base, "--token", k.whole)
		if exit, ok := errors.AsType[*client.ExitError](err); !ok || exit.Code != 2 || !strings.Contains(out, "git/jobs") || !strings.Contains(out, "2 refused") {
			t.Errorf("another source: %v\n%s", err, out)
		}

		// A plan that was shown is the one that is done.
		var r refusal
		body := `{"files":[{"text":"punctual_jobs: 1\nexecutors: []\n"}],"source":"git/jobs","prune":true,"digest":"0123456789abcdef"}`
		if k.c.json(412, &r, "POST", "/jobs/apply", body); r.Code != "changed" {
			t.Errorf("another plan: %+v", r)
		}
	})
}

// TestWhatIsChangedByHandShows on the pages of a job that is kept in files, and goes with the next apply; where the setting says so, nobody changes it.
func TestWhatIsChangedByHandShows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.begin()
		// What somebody changes by hand shows, and goes with the next apply.
		byHand := k.job("close the day")
		k.c.json(200, &struct{}{}, "PATCH", fmt.Sprintf("/jobs/%d", byHand.ID), `{"retries":5}`)
		page := k.root.get(fmt.Sprintf("/jobs/%d", byHand.ID))
		if kept := strings.Join(strings.Fields(page.document(t).Find("[data-kept]").Text()), " "); !strings.Contains(kept, "git/jobs") || !strings.Contains(kept, "abc1234") || !strings.Contains(kept, "changed here since") {
			t.Errorf("the page of a job that was changed by hand says %q", kept)
		}
		var read struct {
			Kept struct {
				Source, Revision string
				Changed          bool
			} `json:"kept_in"`
		}
		if k.c.json(200, &read, "GET", fmt.Sprintf("/jobs/%d", byHand.ID), ""); read.Kept.Source != "git/jobs" || read.Kept.Revision != "abc1234" || !read.Kept.Changed {
			t.Errorf("where a job is kept, to programs: %+v", read)
		}
		k.says(1, `retries: "5" -> "2"`, "diff")
		k.says(0, "1 changed", "apply", "--revision", "def5678")
		if j := k.job("close the day"); j.ID != byHand.ID || j.Retries != 2 {
			t.Errorf("applied again: %+v", j)
		}
		kept := strings.Join(strings.Fields(k.root.get(fmt.Sprintf("/jobs/%d/edit", byHand.ID)).document(t).Find("[data-kept]").Text()), " ")
		if !strings.Contains(kept, "def5678") || strings.Contains(kept, "changed here since") {
			t.Errorf("the form of a job that is as in its files says %q", kept)
		}

		// Where the setting says so, files alone decide.
		k.c.json(200, &struct{}{}, "PATCH", "/settings", `{"files_hold":"on"}`)
		var held refusal
		if k.c.json(409, &held, "PATCH", fmt.Sprintf("/jobs/%d", byHand.ID), `{"retries":5}`); !strings.Contains(held.Detail, "git/jobs") {
			t.Errorf("a change of a job that is held: %+v", held)
		}
		if kept := k.root.get(fmt.Sprintf("/jobs/%d", byHand.ID)).document(t).Find("[data-kept]").Text(); !strings.Contains(kept, "changed there only") {
			t.Errorf("the page of a job that is held says %q", kept)
		}
		k.c.json(200, &struct{}{}, "PATCH", "/settings", `{"files_hold":"off"}`)
	})
}

// TestWhatIsInTheFilesNoMore is deleted where that is asked for, or renamed where its number says that it is another.
func TestWhatIsInTheFilesNoMore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.begin()
		byHand := k.job("close the day")
		// What is in the files no more stays, unless it is to be deleted.
		k.write("deep/b.yml", fileOf())
		k.says(0, "0 deleted, 1 as they are", "apply")
		k.says(1, "- orders: open the day", "diff", "--prune")
		k.says(0, "1 deleted", "apply", "--prune")
		if k.job("open the day").ID != 0 || k.job("close the day").ID == 0 {
			t.Error("the wrong job was deleted, or none")
		}

		// One that its number finds is renamed, and keeps it; one that somebody made by hand is told to be the files' from then on.
		k.write("a.yaml", fileOf(fmt.Sprintf("description: close the night, state: running, retries: 2, id: %d", byHand.ID)))
		k.says(1, `description: "close the day" -> "close the night"`, "diff", "--by-id", "--prune")
		k.says(0, "1 changed, 0 deleted", "apply", "--by-id", "--prune")
		if k.job("close the night").ID != byHand.ID {
			t.Error("a job that was renamed is another one")
		}
		k.write("a.yaml", fileOf("description: close the day, state: running, retries: 2, id: "+fmt.Sprint(byHand.ID)))
		k.says(0, "1 changed", "apply", "--by-id")
		k.c.json(201, &struct{}{}, "POST", "/jobs", `{"group_id":1,"description":"by hand","author":"ann","handler":"h"}`)
		k.write("deep/b.yml", "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - {author: ann, handler: h, schedule: NONE, description: by hand}\n")
		k.says(0, "kept in no files so far", "diff")
		k.says(0, "kept in no files so far", "apply")
		if out, code := k.do(k.whole, "diff"); code != 0 || strings.Contains(out, "so far") {
			t.Errorf("one that is the files' already: %d %s", code, out)
		}
		k.write("deep/b.yml", fileOf())
		k.says(0, "1 deleted", "apply", "--prune")
	})
}

// TestWhatIsWrongInFilesIsToldByTheirLines.
func TestWhatIsWrongInFilesIsToldByTheirLines(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.begin()
		// What is wrong is told by file and line, and nothing is done.
		k.write("deep/b.yml", "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - colour: red\n")
		if out, code := k.do(k.whole, "apply"); code != -1 || !strings.Contains(out, "deep/b.yml:5") {
			t.Errorf("a field that is none: %d %s", code, out)
		}
		k.write("deep/b.yml", strings.Replace(fileOf("description: x"), "0 0 2 *", "0 0 25 *", 1))
		if out, code := k.do(k.whole, "apply"); code != 2 || !strings.Contains(out, "deep/b.yml:5: cron: ") {
			t.Errorf("a cron that is none: %d %s", code, out)
		}
	})
}

// TestFilesOfSomebodyWithRightsInOneGroup: they neither see nor delete what is kept for other groups.
func TestFilesOfSomebodyWithRightsInOneGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.begin()
		k.write("deep/b.yml", fileOf())
		k.says(0, "1 deleted", "apply", "--prune")
		// Somebody with rights in one group.
		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view", "1.edit", "1.schedule"}}
		if got := k.root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, k.a)
		jonas.login("jonas", testPassword)
		token := makeToken(t, jonas, url.Values{"name": {"ci"}, "scope": {"view", "edit", "schedule"}, "days": {"7"}})
		k.write("deep/b.yml", strings.Replace(fileOf("description: mine"), "orders", strings.ToLower(secret), 1))
		if out, code := k.do(token, "apply"); code != 2 || k.job("mine").ID != 0 {
			t.Errorf("a group that is not theirs: %d %s", code, out)
		}
		k.write("deep/b.yml", fileOf("description: mine"))
		if out, code := k.do(token, "apply"); code != 0 || !strings.Contains(out, "1 created") {
			t.Errorf("their group: %d %s", code, out)
		}
		if _, err := k.a.pool.ExecContext(t.Context(), "INSERT INTO punctual_file_job (job_id, source) SELECT id, 'git/jobs' FROM xxl_job_info WHERE job_group = 2"); err != nil {
			t.Fatal(err)
		}
		if out, code := k.do(token, "apply", "--prune"); code != 0 || strings.Contains(out, secret) || !strings.Contains(out, "0 deleted") {
			t.Errorf("jobs of the source that they may not see: %d %s", code, out)
		}

		// What is exported can be applied.
		exported, err := punctual(t, "jobs", "export", "--group", "orders", "--url", k.c.base, "--token", token)
		if err != nil || !strings.Contains(exported, "close the day") || strings.Contains(exported, secret) {
			t.Errorf("exported: %v\n%s", err, exported)
		}
		if err := os.RemoveAll(filepath.Join(k.dir, "deep")); err != nil {
			t.Fatal(err)
		}
		k.write("a.yaml", exported)
		k.says(0, "2 as they are", "diff")
	})
}

// TestAJobThatIsReleased may be changed by hand, stays when its former source is pruned, and goes to the next source.
func TestAJobThatIsReleased(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		k := keepingFiles(t, o)
		k.begin()
		k.write("a.yaml", fileOf("description: close the day, state: running, retries: 2", "description: mine"))
		k.write("deep/b.yml", fileOf())
		k.says(0, "1 created, 0 changed, 1 deleted", "apply", "--prune")
		if _, err := k.a.pool.ExecContext(t.Context(), "INSERT INTO punctual_file_job (job_id, source) SELECT id, 'git/jobs' FROM xxl_job_info WHERE job_group = 2"); err != nil {
			t.Fatal(err)
		}
		byHand := k.job("close the day")
		// A job that is released may be changed by hand, stays when its former source is pruned, and goes to the next source.
		k.c.json(200, &struct{}{}, "PATCH", "/settings", `{"files_hold":"on"}`)
		if got := k.root.post(fmt.Sprintf("/jobs/%d/release", byHand.ID), url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("release: %d %s", got.status, got.body)
		}
		k.c.json(200, &struct{}{}, "PATCH", fmt.Sprintf("/jobs/%d", byHand.ID), `{"retries":7}`)
		if k.root.get(fmt.Sprintf("/jobs/%d", byHand.ID)).document(t).Find("[data-kept]").Length() != 0 {
			t.Error("the page of a job that was released says that it is kept in files")
		}
		if out, err := punctual(t, "jobs", "release", "close the day", "--url", k.c.base, "--token", k.whole); err == nil || !strings.Contains(err.Error(), "kept in no files") {
			t.Errorf("released twice: %v %s", err, out)
		}
		if out, err := punctual(t, "jobs", "release", "mine", "--url", k.c.base, "--token", k.whole); err != nil || !strings.Contains(out, "mine released") {
			t.Errorf("release: %v %s", err, out)
		}
		k.write("a.yaml", fileOf())
		k.says(0, "1 deleted", "apply", "--prune") // the one of the other group
		if k.job("close the day").Retries != 7 || k.job("mine").ID == 0 {
			t.Error("a job that was released was pruned or changed")
		}
		k.write("a.yaml", fileOf("description: mine"))
		if out, err := punctual(t, "apply", "-f", k.dir, "--source", "git/other", "--url", k.c.base, "--token", k.whole); err != nil || !strings.Contains(out, "0 refused") && strings.Contains(out, "refused") {
			t.Errorf("the next source: %v\n%s", err, out)
		}
		if kept := k.root.get(fmt.Sprintf("/jobs/%d", k.job("mine").ID)).document(t).Find("[data-kept]").Text(); !strings.Contains(kept, "git/other") {
			t.Errorf("the page of a job that went to another source says %q", kept)
		}
		var log struct{ Items []struct{ Action string } }
		if k.c.json(200, &log, "GET", fmt.Sprintf("/audit?object_kind=job&object_id=%d&text=close", byHand.ID), ""); len(log.Items) < 2 || log.Items[1].Action != "update" {
			t.Errorf("the audit log of a job that was released: %+v", log.Items)
		}
	})
}

// TestInstallationsDifferInOneFile: the jobs are the same in each, and what they leave open stands in a file of the installation. An executor that was
// renamed has its jobs and their runs under the new name, if its files say that.
func TestInstallationsDifferInOneFile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		dir := t.TempDir()
		write := func(name, text string) string {
			t.Helper()
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("punctual_jobs: 1\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		const jobs = "defaults: {author: ann, handler: h, schedule: CRON, state: running}\nexecutors:\n  - app_name: %s\n    jobs:\n      - {description: close, cron: '0 0 2 * * ?'}\n      - {description: by hand, schedule: NONE, alarm_email: []}\n"
		write("jobs/orders.yaml", fmt.Sprintf(jobs, "orders"))
		production, again := write("production.yaml", "defaults: {alarm_email: [ops@example.com], retries: 3}\n"), write("again.yaml", "defaults: {route: ROUND,\n  retries: 3}\n")
		apply := func(command string, files ...string) (string, error) {
			t.Helper()
			args := []string{command, "--source", "git", "--url", c.base, "--token", c.token, "-f", filepath.Join(dir, "jobs")}
			for _, f := range files {
				args = append(args, "-f", f)
			}
			return punctual(t, args...)
		}
		if out, err := apply("apply", production); err != nil || !strings.Contains(out, "2 created") {
			t.Fatalf("%v %s", err, out)
		}
		var all struct {
			Items []struct {
				ID                         int
				Description, Author, State string
				Retries                    int
				AlarmEmail                 []string `json:"alarm_email"`
			}
		}
		c.json(200, &all, "GET", "/jobs", "")
		for _, j := range all.Items {
			mail := map[string]string{"close": "ops@example.com"}[j.Description]
			if j.Author != "ann" || j.Retries != 3 || strings.Join(j.AlarmEmail, ",") != mail {
				t.Errorf("%+v", j)
			}
		}
		if out, err := apply("diff"); err == nil || !strings.Contains(out, `retries: "3" -> "0"`) {
			t.Errorf("without it: %v %s", err, out)
		}
		if out, err := apply("diff", production, again); err == nil || !strings.Contains(err.Error(), "again.yaml:3") {
			t.Errorf("two that say the same: %v %s", err, out)
		}
		when := write("when.yaml", "defaults: {schedule: FIX_RATE, state: stopped}\n")
		write("jobs/more/stock.yaml", "executors:\n  - app_name: orders\n    jobs:\n      - {description: open, author: ann, handler: h, every_seconds: 60}\n")
		if out, err := apply("diff", production, when); err == nil || !strings.Contains(out, "1 created") {
			t.Errorf("the schedule stands there: %v %s", err, out)
		}
		if _, err := apply("diff", production); err == nil || !strings.Contains(err.Error(), "stock.yaml:5: The field “schedule” is missing") {
			t.Errorf("the schedule stands nowhere: %v", err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "jobs/more")); err != nil {
			t.Fatal(err)
		}
		c.json(200, &struct{}{}, "PATCH", "/groups/1", `{"app_name":"billing"}`)
		write("jobs/orders.yaml", fmt.Sprintf(jobs, "billing"))
		if out, err := apply("diff", production); err != nil || !strings.Contains(out, "2 as they are") {
			t.Errorf("an executor that was renamed: %v %s", err, out)
		}
	})
}

// TestAPlanTakesATokenThatMayOnlyView says what would be done for who may, and tells nothing of a script; nothing is done with it.
func TestAPlanTakesATokenThatMayOnlyView(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		things(t, a, 2, secret)
		root := open(t, a).mustLogin()
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		write := func(retries int, script string) {
			t.Helper()
			text := fmt.Sprintf("punctual_jobs: 1\ndefaults: {author: ann, schedule: NONE, retries: %d}\nexecutors:\n  - app_name: orders\n    jobs:\n      - {description: close, handler: h, schedule: CRON, cron: '0 0 2 * * ?', state: running, children: [{app_name: orders, description: script}]}\n"+
				"      - {description: script, kind: GLUE_SHELL, script: %s}\n", retries, script)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		whole := makeToken(t, root, url.Values{"name": {"ci"}, "scope": {"admin"}, "days": {"7"}})
		do := func(token, command string, more ...string) (string, error) {
			t.Helper()
			return punctual(t, append([]string{command, "-f", path, "--source", "git", "--url", c.base, "--token", token}, more...)...)
		}
		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		jonas.login("jonas", testPassword)
		view := makeToken(t, jonas, url.Values{"name": {"plan"}, "scope": {"view"}, "days": {"7"}})

		write(1, "echo one")
		if out, err := do(view, "diff"); err == nil || !strings.Contains(out, "2 created, 0 changed, 0 deleted, 0 as they are, 0 refused") || !strings.Contains(out, "may only view") {
			t.Errorf("of new jobs: %v\n%s", err, out)
		}
		if out, err := do(view, "apply"); err == nil || strings.Contains(out, "created") && !strings.Contains(out, "nothing was done") {
			t.Errorf("applied with it: %v\n%s", err, out)
		}
		if out, err := do(whole, "apply"); err != nil || !strings.Contains(out, "2 created") {
			t.Fatalf("%v\n%s", err, out)
		}
		write(2, "echo two")
		out, err := do(view, "diff")
		if err == nil || !strings.Contains(out, `retries: "1" -> "2"`) || !strings.Contains(out, "The scripts of 1 job were not compared") || strings.Contains(out, "script: ") {
			t.Errorf("of other jobs: %v\n%s", err, out)
		}
		write(1, "echo three")
		if out, err := do(view, "diff", "--prune"); err != nil || !strings.Contains(out, "2 as they are") {
			t.Errorf("of another script alone: %v\n%s", err, out)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(raw), "orders", strings.ToLower(secret), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, create := range []string{"false", "true"} {
			if out, err := do(view, "diff", "--create-groups="+create); err == nil || strings.Contains(out, secret) || !strings.Contains(out, "2 refused") {
				t.Errorf("of a group that they may not see: %v\n%s", err, out)
			}
		}
		all := makeToken(t, root, url.Values{"name": {"plan"}, "scope": {"view"}, "days": {"7"}})
		if out, err := do(all, "diff", "--create-groups"); err == nil || !strings.Contains(out, "+ executor "+strings.ToLower(secret)) || !strings.Contains(out, "2 created") {
			t.Errorf("of a group that is not there, with a token that sees all: %v\n%s", err, out)
		}
	})
}

// TestThePipelinesOfTheManual runs the lines of docs/jobfile.md that people put into theirs.
func TestThePipelinesOfTheManual(t *testing.T) {
	for _, page := range []string{"../docs/jobfile.md", "../docs/zh-CN/jobfile.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, c := working(t, testOptions(t), "Close the day")
		for name, value := range map[string]string{"PUNCTUAL_URL": c.base, "PUNCTUAL_TOKEN": c.token, "PUNCTUAL_SOURCE": "", "PUNCTUAL_REVISION": ""} {
			t.Setenv(name, value)
		}
		dir := filepath.Join(t.TempDir(), "jobs")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimSpace(line)
			for _, before := range []string{"run: ", "- "} {
				line = strings.TrimPrefix(line, before)
			}
			line = strings.Replace(line, `"$(git rev-parse HEAD)"`, "abc1234", 1)
			if !strings.HasPrefix(line, "punctual ") {
				continue
			}
			lines++
			line, to, _ := strings.Cut(line, " > ")
			args := words(line)
			for i, arg := range args {
				if arg == "jobs" && args[i-1] == "-f" {
					args[i] = dir
				}
			}
			if args[1] == "apply" { // what the pipelines say of themselves
				t.Setenv("PUNCTUAL_SOURCE", "team/jobs")
			}
			out, err := punctual(t, args[1:]...)
			exit, differs := errors.AsType[*client.ExitError](err)
			if err != nil && !(differs && args[1] == "diff" && exit.Code == 1) {
				t.Errorf("%s: %s: %v\n%s", page, line, err, out)
			}
			if to != "" {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(to)), []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if lines != 7 {
			t.Errorf("%s: %d lines were found", page, lines)
		}
	}
}
