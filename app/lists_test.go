package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db"
)

func texts(doc *goquery.Document, selector string) []string {
	return doc.Find(selector).Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) })
}

// TestListsAreSorted sorts jobs and runs by their headings, in the console and for programs, and keeps the order beside a filter.
func TestListsAreSorted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, program := apiCaller(t, o)
		admin := open(t, a).mustLogin()
		for name, values := range map[string]url.Values{
			"bravo": {"cron": {"0 0 3 1 1 ? 2099"}, "start": {"1"}}, "alpha": {"cron": {"0 0 3 1 1 ? 2098"}, "start": {"1"}}, "delta": {}, "charlie": {"cron": {"0 0 3 1 1 ? 2097"}, "start": {"1"}},
		} {
			values.Set("name", name)
			if got := admin.post("/jobs", form(values)); got.status != http.StatusSeeOther {
				t.Fatalf("create %s: %d %s", name, got.status, got.body)
			}
		}
		for sort, want := range map[string][]string{
			"name": {"alpha", "bravo", "charlie", "delta"}, "-name": {"delta", "charlie", "bravo", "alpha"},
			"next": {"charlie", "alpha", "bravo", "delta"}, "-next": {"bravo", "alpha", "charlie", "delta"},
		} {
			for _, filter := range []string{"", "&group=1", "&author=ann", "&q=a"} {
				doc := admin.get("/jobs?sort=" + sort + filter).document(t)
				if got := texts(doc, "tbody a.title"); !slices.Equal(got, want) {
					t.Errorf("%s%s: %v, want %v", sort, filter, got, want)
				}
				// The filter is sent together with the order, and the heading says which it is.
				if got := doc.Find(`select[name="sort"][form="filters"] option[selected]`).AttrOr("value", ""); got != sort {
					t.Errorf("%s%s: the filter has the order %q", sort, filter, got)
				}
				by, desc := strings.CutPrefix(sort, "-")
				direction := map[bool]string{false: "ascending", true: "descending"}[desc]
				if got := doc.Find("th:has(#sort-"+by+")").AttrOr("aria-sort", ""); got != direction {
					t.Errorf("%s%s: the heading says %q", sort, filter, got)
				}
				// What is done to all under the filter knows no order.
				if doc.Find(`#bulk input[name="sort"]`).Length() > 0 {
					t.Errorf("%s%s: a deed for all has an order", sort, filter)
				}
			}
			if got := namesPageAfterPage(t, program, "text=a&sort="+sort); !slices.Equal(got, want) {
				t.Errorf("%s, for programs: %v, want %v", sort, got, want)
			}
		}
		if doc := admin.get("/jobs?sort=colour").document(t); !strings.Contains(doc.Find(".notice").Text(), "sort=colour") || doc.Find("tbody tr").Length() != 4 {
			t.Errorf("an order that there is not: %s", doc.Find(".notice").Text())
		}
		for _, cursor := range []string{"17", "e30", "bm8"} {
			program.json(422, new(refusal), "GET", "/jobs?sort=name&cursor="+cursor, "")
		}
		var first struct{ Next string }
		program.json(200, &first, "GET", "/jobs?sort=name&limit=1", "")
		for _, sort := range []string{"", "&sort=-name", "&sort=next", "&sort=last"} { // a place of one order is none of another
			program.json(422, new(refusal), "GET", "/jobs?cursor="+first.Next+sort, "")
		}
		program.json(200, &first, "GET", "/jobs?sort=name&limit=1&cursor="+first.Next, "")

		var runs []string
		for i, took := range []int64{3000, 0, 9000, 500} {
			id := oldRun(t, a, 1, 1, time.Hour, 200, 200, func(r *db.NewRun) { r.PlannedAt -= took })
			sent := time.Now().Add(-time.Hour).UnixMilli()
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET planned_at = ?, sent_at = ?, finished_at = ? WHERE id = ?", sent-int64(i)*100, sent, sent+took, id); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, fmt.Sprintf("run-%d", id))
		}
		never := fmt.Sprintf("run-%d", oldRun(t, a, 1, 1, time.Hour, 500, 500, nil)) // it was not sent
		for sort, want := range map[string][]string{
			"-duration": {runs[2], runs[0], runs[3], runs[1], never}, "duration": {runs[1], runs[3], runs[0], runs[2], never},
			"-lateness": {runs[3], runs[2], runs[1], runs[0], never}, "lateness": {runs[0], runs[1], runs[2], runs[3], never},
		} {
			doc := admin.get("/runs?job=1&sort=" + sort).document(t)
			if got := doc.Find("tbody tr").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("id", "") }); !slices.Equal(got, want) {
				t.Errorf("runs by %s: %v, want %v", sort, got, want)
			}
			if note := strings.TrimSpace(doc.Find(".sorted-note").Text()); note != "Sorted among all 5 runs under this filter." {
				t.Errorf("runs by %s: %q", sort, note)
			}
			if doc.Find("[data-live-runs]").Length() > 0 {
				t.Errorf("runs by %s: new ones would come in on top", sort)
			}
		}

		// Their last runs are in the order that the column says.
		for i, job := range []int64{2, 4, 1} {
			oldRun(t, a, 1, job, time.Hour-time.Duration(i)*time.Minute, 200, 200, nil)
		}
		for sort, want := range map[string][]string{"-last": {"1", "4", "2", "3"}, "last": {"2", "4", "1", "3"}} {
			for _, filter := range []string{"", "&group=1", "&author=ann", "&q=a"} {
				doc := admin.get("/jobs?sort=" + sort + filter).document(t)
				if got := doc.Find("tbody tr").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-id", "") }); !slices.Equal(got, want) {
					t.Errorf("%s%s: %v, want %v", sort, filter, got, want)
				}
				if got := doc.Find("th:has(#sort-last)").AttrOr("aria-sort", ""); got != map[bool]string{true: "descending", false: "ascending"}[sort == "-last"] {
					t.Errorf("%s%s: the heading says %q", sort, filter, got)
				}
			}
			names := texts(admin.get("/jobs?sort="+sort).document(t), "tbody a.title")
			if got := namesPageAfterPage(t, program, "text=a&sort="+sort); !slices.Equal(got, names) {
				t.Errorf("%s, for programs: %v, want %v", sort, got, names)
			}
		}
	})
}

// namesPageAfterPage reads a list of jobs two by two.
func namesPageAfterPage(t *testing.T, program *caller, query string) (names []string) {
	t.Helper()
	for cursor := ""; len(names) < 20; {
		var list struct {
			Items []struct{ Description string }
			Next  string
		}
		program.json(200, &list, "GET", "/jobs?limit=2&"+query+cursor, "")
		for _, j := range list.Items {
			names = append(names, j.Description)
		}
		if list.Next == "" {
			break
		}
		cursor = "&cursor=" + list.Next
	}
	return names
}

// TestAListLooksAsItsReaderWants hides columns, and has rows of one line and pages of another size, for one person and in every browser.
func TestAListLooksAsItsReaderWants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		for i := range 21 {
			if got := admin.post("/jobs", form(url.Values{"name": {fmt.Sprintf("nightly %d", i)}})); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		ann := normalUser(t, a)
		if got := admin.post("/preferences", url.Values{"next": {"/jobs?page=2&state=stopped"}, "list": {"jobs"}, "column": {"schedule", "next", "last", "history", "nothing"}, "dense": {"1"}, "rows": {"20"}}); got.header.Get("Location") != "/jobs?state=stopped" {
			t.Fatalf("choose: %d %s", got.status, got.header.Get("Location"))
		}
		again := open(t, a).mustLogin()
		for name, b := range map[string]*browser{"in this browser": admin, "in another browser": again} {
			doc := b.get("/jobs").document(t)
			if table := doc.Find("table.table"); !table.HasClass("dense") || !table.HasClass("hide-author") || !table.HasClass("hide-code") || table.HasClass("hide-next") {
				t.Errorf("%s: %s", name, table.AttrOr("class", ""))
			}
			if n := doc.Find("tbody tr").Length(); n != 20 {
				t.Errorf("%s: %d rows", name, n)
			}
			if got := texts(b.get("/jobs?page=2").document(t), "tbody a.title"); !slices.Equal(got, []string{"nightly 0"}) {
				t.Errorf("%s: the second page has %v", name, got)
			}
			// The choice is shown as it was made.
			if got := doc.Find(`.look input[name="column"]:not([checked])`).Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("value", "") }); !slices.Equal(got, []string{"code", "author"}) {
				t.Errorf("%s: %v are not ticked", name, got)
			}
		}
		if table := admin.get("/runs").document(t).Find(".look"); table.Find("input[name=column]:not([checked])").Length() > 0 {
			t.Error("the other list lost columns")
		}
		doc := ann.get("/jobs").document(t)
		if table := doc.Find("table.table"); table.HasClass("dense") || table.HasClass("hide-author") || doc.Find("tbody tr").Length() != 21 {
			t.Errorf("somebody else: %s, %d rows", table.AttrOr("class", ""), doc.Find("tbody tr").Length())
		}
		// Where a script sends the form, the list is drawn anew where it is.
		usual := url.Values{"next": {"/jobs"}, "list": {"jobs"}, "column": {"schedule", "code", "next", "last", "history", "author"}, "rows": {"50"}}
		if got := admin.do("POST", "/preferences", usual, "HX-Request", "true", "HX-Current-URL", "http://x/jobs?page=2&q=nightly"); got.header.Get("HX-Redirect") != "/jobs?q=nightly" {
			t.Errorf("with a script: %d %v", got.status, got.header)
		}
		if table := admin.get("/jobs").document(t).Find("table.table"); table.HasClass("dense") || strings.Contains(table.AttrOr("class", ""), "hide-") {
			t.Errorf("as it comes: %q", table.AttrOr("class", ""))
		}
	})
}
