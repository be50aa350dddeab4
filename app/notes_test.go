package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNotesStandAtRunsAndJobs writes notes at a run, at a job in the past, and about all jobs of an executor by the API, as a deployment
// does; they stand on the pages and among the bars, and can be struck out.
func TestNotesStandAtRunsAndJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		for _, name := range []string{"orders", "stock"} {
			admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		for _, job := range []url.Values{{"group": {"1"}, "name": {"nightly"}}, {"group": {"1"}, "name": {"hourly"}}, {"group": {"2"}, "name": {"foreign"}}} {
			if got := admin.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		var runs []int64
		for i := range 4 {
			runs = append(runs, oldRun(t, a, 1, 1, time.Duration(4-i)*time.Hour, 200, 200, nil))
		}
		text := func(path, selector string) string {
			t.Helper()
			return strings.Join(strings.Fields(admin.get(path).document(t).Find(selector).Text()), " ")
		}
		page := fmt.Sprintf("/runs/%d", runs[3])

		if got := admin.post(page+"/note", url.Values{"remark": {" \n"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Write the text of the note") {
			t.Errorf("an empty note: %d", got.status)
		}
		if got := admin.post(page+"/note", url.Values{"remark": {strings.Repeat("说", 501)}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a long note: %d", got.status)
		}
		if got := admin.post("/jobs/1/note", url.Values{"remark": {"x"}, "at": {"2999-01-01T00:00"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Choose a time from 1970 to tomorrow") {
			t.Errorf("a note in the future: %d", got.status)
		}
		if got := admin.post(page+"/note", url.Values{"remark": {"the <b>bank</b> was down, see https://wiki.example.com/a_(b)?c=1&d=<2. javascript://x"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != page {
			t.Fatalf("a note at a run: %d %s", got.status, got.body)
		}
		at := time.Now().Add(-150 * time.Minute).In(a.pool.Zone()).Format("2006-01-02T15:04") // between the second run and the third
		if got := admin.post("/jobs/1/note", url.Values{"remark": {"new index"}, "at": {at}}); got.status != http.StatusSeeOther {
			t.Fatalf("a note at a job: %d %s", got.status, got.body)
		}
		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, admin, url.Values{"name": {"ci"}, "scope": {"run"}, "days": {"7"}})}
		deployed := fmt.Sprintf(`{"text":"release 4.2","at":%q}`, time.Now().Add(-90*time.Minute).UTC().Format(time.RFC3339))
		if got := c.do("POST", "/groups/1/notes", deployed); got.status != http.StatusCreated {
			t.Fatalf("a deployment: %d %s", got.status, got.body)
		}

		if got := text(page, ".notes li"); !strings.HasPrefix(got, "the <b>bank</b> was down, see https://wiki.example.com/a_(b)?c=1&d=<2. javascript://x admin · ") || strings.Contains(admin.get(page).body, "<b>bank") {
			t.Errorf("at the run: %q", got)
		}
		for _, path := range []string{page, "/jobs/1"} {
			links := admin.get(path).document(t).Find(".notes .wrap a")
			if links.Length() != 1 || links.AttrOr("href", "") != "https://wiki.example.com/a_(b)?c=1&d=" || links.AttrOr("rel", "") != "noopener noreferrer nofollow" || links.AttrOr("target", "") != "_blank" {
				t.Errorf("%s leads to %q, %q", path, links.Text(), links.AttrOr("href", ""))
			}
		}
		notes := text("/jobs/1", ".notes")
		for _, want := range []string{"the <b>bank</b> was down", "new index", "release 4.2", "All jobs of the executor", fmt.Sprintf("#%d", runs[3])} {
			if !strings.Contains(notes, want) {
				t.Errorf("%q is not at the job: %q", want, notes)
			}
		}
		// The bars of four runs are at the right end; the note stands between the second and the third, the release behind the third.
		marks := admin.get("/jobs/1").document(t).Find(".run-bars .noted")
		if marks.Length() != 2 || marks.Eq(0).Find("line").AttrOr("x1", "") != "480" || marks.Eq(1).Find("line").AttrOr("x1", "") != "490" || !strings.Contains(marks.Eq(1).Find("title").Text(), "release 4.2") {
			t.Errorf("%d marks among the bars: %s", marks.Length(), marks.Text())
		}
		if got := text("/jobs/2", ".notes li"); !strings.HasPrefix(got, "release 4.2") || strings.Contains(got, "new index") {
			t.Errorf("at the other job of the executor: %q", got)
		}
		if got := text("/jobs/3", ".notes li"); got != "" {
			t.Errorf("at a job of another executor: %q", got)
		}

		if got := admin.post("/notes/2/delete", url.Values{"next": {"/jobs/1"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/jobs/1" {
			t.Errorf("strike out: %d", got.status)
		}
		if got := text("/jobs/1", ".notes"); strings.Contains(got, "new index") {
			t.Errorf("still there: %q", got)
		}
		if got := admin.get("/audit?kind=note").body; !strings.Contains(got, "Created") || !strings.Contains(got, "Deleted") {
			t.Error("the audit log does not know it")
		}
	})
}

// TestNotesAreDrawnInPicturesOfTimes writes notes at a job, at a run and about all jobs of an executor: the timeline has each in the rows that it
// is about, the dashboard's charts those of executors, and nobody sees one of an executor that is not theirs.
func TestNotesAreDrawnInPicturesOfTimes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		for _, name := range []string{"orders", "stock"} {
			admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		for _, job := range []url.Values{{"group": {"1"}, "name": {"nightly"}}, {"group": {"1"}, "name": {"hourly"}}, {"group": {"2"}, "name": {"foreign"}}} {
			if got := admin.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		var run int64
		for job, group := range map[int64]int64{1: 1, 2: 1, 3: 2} {
			if id := oldRun(t, a, group, job, 30*time.Minute, 200, 200, nil); job == 1 {
				run = id
			}
		}
		ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, admin, url.Values{"name": {"ci"}, "scope": {"run"}, "days": {"7"}})}
		for path, body := range map[string]string{
			"/groups/1/notes": fmt.Sprintf(`{"text":"release 4.2","at":%q}`, ago(20*time.Minute)), "/groups/2/notes": fmt.Sprintf(`{"text":"stock moved","at":%q}`, ago(10*time.Minute)),
			"/jobs/1/notes": fmt.Sprintf(`{"text":"new index","at":%q}`, ago(15*time.Minute)), fmt.Sprintf("/runs/%d/notes", run): `{"text":"bank down"}`,
		} {
			if got := c.do("POST", path, body); got.status != http.StatusCreated {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
		}
		if got := c.do("POST", "/groups/1/notes", fmt.Sprintf(`{"text":"long ago","at":%q}`, ago(20*24*time.Hour))); got.status != http.StatusCreated {
			t.Fatalf("a note of another time: %d", got.status)
		}
		if got := admin.post("/users", url.Values{"name": {"reader"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("a user: %d %s", got.status, got.body)
		}
		reader := open(t, a)
		reader.login("reader", testPassword)

		rows := func(b *browser, path string) string {
			t.Helper()
			var said []string
			for _, row := range b.get(path).document(t).Find(".time-row:not(.axis)").EachIter() {
				var notes []string
				for _, n := range row.Find(".noted").EachIter() {
					notes = append(notes, n.AttrOr("href", ""))
				}
				slices.Sort(notes)
				said = append(said, strings.TrimSpace(row.Find(".time-name a").First().Text())+": "+strings.Join(notes, " "))
			}
			return strings.Join(said, "; ")
		}
		own := fmt.Sprintf("nightly: /executors/1 /jobs/1 /runs/%d", run)
		if got, want := rows(admin, "/timeline"), "foreign: /executors/2; hourly: /executors/1; "+own; got != want {
			t.Errorf("the timeline: %s; want %s", got, want)
		}
		if got, want := rows(reader, "/timeline"), "hourly: /executors/1; "+own; got != want {
			t.Errorf("for who sees one executor: %s; want %s", got, want)
		}
		list := admin.get("/timeline").document(t).Find(".time-list").Text()
		for _, want := range []string{"orders · release 4.2 · ", "stock moved", "new index", fmt.Sprintf("#%d · bank down", run)} {
			if !strings.Contains(list, want) {
				t.Errorf("the list beside it does not say %q", want)
			}
		}
		for b, want := range map[*browser][]string{admin: {"stock moved", "release 4.2"}, reader: {"release 4.2"}} {
			chart := b.get("/").document(t).Find(".chart").First()
			for _, selector := range []string{".noted title", ".as-table-body li"} {
				if got := texts(b.get("/").document(t), ".chart.tall "+selector); len(got) != len(want) || !strings.Contains(got[0], want[0]) || !strings.Contains(got[len(got)-1], "release 4.2") {
					t.Errorf("the dashboard, %s: %q, want %q", selector, got, want)
				}
			}
			if x := chart.Find(".noted line").Last().AttrOr("x1", ""); !strings.HasPrefix(x, "13") && !strings.HasPrefix(x, "12") { // today, the 14th day of 10 each; yesterday just after midnight
				t.Errorf("it stands at %s", x)
			}
			if got := len(texts(b.get("/?days=30").document(t), ".chart.tall .noted title")); got != len(want)+1 {
				t.Errorf("in 30 days: %d", got)
			}
		}
	})
}
