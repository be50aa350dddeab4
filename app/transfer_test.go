package app

import (
	"bytes"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/manage/jobfile"
)

// upload posts a file of jobs as a browser does.
func (b *browser) upload(t *testing.T, text string, fields url.Values) answer {
	t.Helper()
	return b.choose(t, "/jobs/import", "file", text, fields)
}

// choose posts a form with a file that was chosen in one of its fields.
func (b *browser) choose(t *testing.T, path, field, text string, fields url.Values) answer {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range fields {
		if err := w.WriteField(name, fields.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.CreateFormFile(field, "chosen")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.raw("POST", path, &body, "Content-Type", w.FormDataContentType())
}

// confirmed are the fields that the import's button sends.
func confirmed(doc *goquery.Document) url.Values {
	return url.Values{
		"text": {strings.TrimPrefix(doc.Find("#text").Text(), "\n")}, "match": {doc.Find(`[name="match"][checked]`).AttrOr("value", "")},
		"states": {doc.Find(`[name="states"][checked]`).AttrOr("value", "")}, "create_groups": {map[int]string{1: "1"}[doc.Find(`[name="create_groups"][checked]`).Length()]},
		"confirm": {doc.Find(`button[name="confirm"]`).AttrOr("value", "")},
	}
}

// TestJobsTravelAsFiles exports jobs, changes the file, previews it and imports it, over HTTP and without script.
func TestJobsTravelAsFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		if got := b.get("/jobs/export"); got.document(t).Find(".notice").Length() != 1 || got.document(t).Find(".primary").Length() != 0 {
			t.Errorf("nothing to export: %d", got.status)
		}
		if got := b.get("/jobs/export/file"); got.status != http.StatusNotFound {
			t.Errorf("a file of nothing: %d", got.status)
		}
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		if got := b.get("/jobs/export").document(t).Find(".panel .body p").First().Text(); got != "1 executor goes into the file. It has no jobs yet." {
			t.Errorf("a group without jobs: %s", got)
		}
		for _, name := range []string{"<b>first</b>", "second"} {
			if got := b.post("/jobs", form(url.Values{"name": {name}})); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		dialog := b.do("GET", "/jobs/export?q=second&group=1", nil, "HX-Request", "true")
		if dialog.document(t).Find(`input[name="q"]`).AttrOr("value", "") != "second" || strings.Contains(dialog.body, "<html") {
			t.Errorf("the question: %s", dialog.body)
		}
		for path, want := range map[string]int{"": 2, "?q=second": 1, "?id=1": 1, "?id=1&id=2&format=json": 2} {
			got := b.get("/jobs/export/file" + path)
			f, err := jobfile.Parse([]byte(got.body))
			if err != nil || len(f.Groups[0].Jobs) != want || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment; ") {
				t.Errorf("%s: %v, %s", path, err, got.body)
			}
		}
		if got := b.get("/jobs/export/file?state=paused"); got.status != http.StatusNotFound {
			t.Errorf("those that are paused, which none is: %d %s", got.status, got.body)
		}
		text := b.get("/jobs/export/file").body
		same := b.upload(t, text, nil)
		if doc := same.document(t); same.status != http.StatusOK || doc.Find(`button[name="confirm"]`).Length() != 0 || doc.Find("details .import-items li").Length() != 2 || strings.Contains(same.body, "<b>first") {
			t.Fatalf("the same file: %d %s", same.status, same.body)
		}

		text = strings.Replace(strings.ReplaceAll(text, "\n", "\r\n"), "second", "third", 1)
		text = strings.Replace(text, "cron: ", "retries: 3\r\n        cron: ", 1)
		preview := b.upload(t, text, url.Values{"states": {"file"}})
		doc := preview.document(t)
		if n := doc.Find(".import-plan > .import-items > li").Length(); preview.status != http.StatusOK || n != 2 || b.get("/jobs?q=third").document(t).Find("tr[data-id]").Length() != 0 {
			t.Fatalf("preview: %d, %d jobs: %s", preview.status, n, preview.body)
		}
		fields := confirmed(doc)
		tampered := url.Values{}
		maps.Copy(tampered, fields)
		nobodys := b.post("/jobs/import", url.Values{"text": {strings.Replace(text, "author: ", "author: '' # ", 1)}}).document(t)
		if said := nobodys.Find(".import-items").Text(); !strings.Contains(said, "author: Fill this in.") {
			t.Errorf("of a job without an author: %s", said)
		}
		tampered.Set("text", strings.Replace(fields.Get("text"), "retries: 3", "retries: 4", 1))
		if got := b.post("/jobs/import", tampered); got.status != http.StatusUnprocessableEntity || got.document(t).Find(".notice.error").Length() != 1 || got.document(t).Find(`button[name="confirm"]`).AttrOr("value", "") == fields.Get("confirm") {
			t.Errorf("a text that was not previewed: %d", got.status)
		}
		done := b.post("/jobs/import", fields)
		if done.status != http.StatusOK || done.document(t).Find(`.import-items a.title[href="/jobs/3"]`).Length() != 1 || b.get("/jobs/1/edit").document(t).Find("#retries").AttrOr("value", "") != "3" {
			t.Errorf("import: %d %s", done.status, done.body)
		}
		if got := b.post("/jobs/import", fields); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the same once more: %d", got.status)
		}

		newcomer := strings.Replace(text, "app_name: orders", "app_name: stock-service", 1)
		if got := b.upload(t, newcomer, nil).document(t); got.Find(".badge.failed").Length() == 0 || got.Find(`button[name="confirm"]`).Length() != 0 {
			t.Error("an executor that is missing was accepted")
		} else if way := got.Find(`.notice button[name="create_groups"]`); way.AttrOr("value", "") != "1" || !strings.Contains(way.Closest(".notice").Text(), "stock-service") {
			t.Errorf("how to have it created: %s", got.Find(".import-plan").Text())
		}
		made := b.upload(t, newcomer, url.Values{"create_groups": {"1"}, "states": {"file"}})
		plan := made.document(t).Find(".import-plan")
		if n := plan.Find(`button[name="create_groups"]`).Length(); n != 0 {
			t.Error("it is offered once more")
		}
		if said := plan.Text(); strings.Contains(newcomer, "state: running") || strings.Contains(said, "The import starts") {
			t.Errorf("none is started: %s", said)
		}
		starting := b.upload(t, strings.ReplaceAll(newcomer, "state: stopped", "state: running"), url.Values{"create_groups": {"1"}, "states": {"file"}}).document(t)
		if said := starting.Find(".import-plan").Text(); !strings.Contains(said, "The import starts 2 jobs.") || strings.Count(said, "will be started") != 2 {
			t.Errorf("jobs that are started: %s", said)
		}
		if got := b.post("/jobs/import", confirmed(made.document(t))); got.status != http.StatusOK || b.get("/jobs?group=2").document(t).Find("tr[data-id]").Length() != 2 {
			t.Errorf("with a new executor: %d", got.status)
		}
		b.post("/executors", url.Values{"app_name": {"newcomer"}, "title": {"Newcomer"}, "type": {"auto"}})
		if all, some := b.get("/jobs/export/file").body, b.get("/jobs/export/file?q=second").body; !strings.Contains(all, "newcomer") || strings.Contains(some, "newcomer") {
			t.Errorf("an executor without jobs: %s\nand under a filter: %s", all, some)
		}
		for name, tt := range map[string]struct {
			got  answer
			line string
		}{
			"nothing":        {b.upload(t, "", nil), ""},
			"a broken file":  {b.upload(t, "punctual_jobs: 1\nexecutors: 5\n<script>: 1\n", nil), "Line 3"},
			"broken text":    {b.post("/jobs/import", url.Values{"text": {"{\n\"x\": 1}"}}), "Line 2"},
			"a huge file":    {b.upload(t, strings.Repeat("x", jobfile.MaxBytes+1), nil), "at most 3 MB"},
			"its line ends":  {b.upload(t, "jobs: []"+strings.Repeat("\r\n", jobfile.MaxBytes/2), nil), "at most 3 MB"},
			"no form at all": {b.raw("POST", "/jobs/import", strings.NewReader("x"), "Content-Type", "multipart/form-data"), ""},
		} {
			want := http.StatusUnprocessableEntity
			if name == "no form at all" {
				want = http.StatusBadRequest
			}
			if tt.got.status != want || !strings.Contains(tt.got.body, tt.line) || strings.Contains(tt.got.body, "<script>:") {
				t.Errorf("%s: %d %s", name, tt.got.status, fmt.Sprintf("%.2000s", tt.got.body))
			}
		}
	})
}
