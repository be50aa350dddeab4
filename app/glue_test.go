package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestAScriptIsEdited goes through the editor without its script: save, look at the difference, restore.
func TestAScriptIsEdited(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Sample = SampleOn
	b := open(t, start(t, o)).mustLogin()
	if got := b.post("/jobs", form(url.Values{"name": {"a script"}, "glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo first"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	row := b.get("/jobs?q=" + url.QueryEscape("a script")).document(t).Find("tbody tr")
	id, _ := row.Attr("data-id")
	editor := "/jobs/" + id + "/glue"
	if row.Find(`a[href="`+editor+`"]`).Length() != 1 {
		t.Error("the list does not lead to the editor")
	}
	page := b.get(editor)
	nonce, _ := page.document(t).Find("[data-editor]").Attr("data-nonce")
	if policy := page.header.Get("Content-Security-Policy"); nonce == "" || !strings.Contains(policy, "style-src 'self' 'nonce-"+nonce+"'") || strings.Contains(policy, "unsafe") {
		t.Errorf("nonce %q in %s", nonce, policy)
	}
	version, _ := page.document(t).Find(`input[name="version"]`).Attr("value")
	save := url.Values{"source": {"echo <b>second</b>\r\necho more"}, "remark": {"the second one"}, "version": {version}}
	if got := b.post(editor, save); got.status != http.StatusSeeOther || got.header.Get("Location") != editor {
		t.Fatalf("save: %d %s", got.status, got.body)
	}
	if got := b.get(editor).document(t).Find("textarea[data-editor]").Text(); strings.TrimPrefix(got, "\n") != "echo <b>second</b>\necho more" {
		t.Errorf("stored %q", got)
	}
	// Somebody who opened the editor before is shown both texts, and may then save.
	save.Set("source", "echo third")
	late := b.post(editor, save)
	if doc := late.document(t); late.status != http.StatusUnprocessableEntity || doc.Find(".difference .changed").Length() == 0 || !strings.Contains(doc.Find("textarea[data-editor]").Text(), "echo third") {
		t.Errorf("a late save: %d %s", late.status, late.body)
	}
	again, _ := late.document(t).Find(`input[name="version"]`).Attr("value")
	save.Set("version", again)
	if got := b.post(editor, save); got.status != http.StatusSeeOther {
		t.Errorf("the late save again: %d", got.status)
	}
	compare, _ := b.get(editor).document(t).Find(".versions a").Last().Attr("href")
	difference := b.get(compare).document(t)
	if difference.Find(".difference .changed .left").Text() == "" || difference.Find("[data-left]").Text() == "" {
		t.Errorf("no difference at %s", compare)
	}
	if got := b.post(compare+"/restore", url.Values{}); got.status != http.StatusSeeOther {
		t.Fatalf("restore: %d %s", got.status, got.body)
	}
	doc := b.get(editor).document(t)
	if got := doc.Find("textarea[data-editor]").Text(); strings.TrimPrefix(got, "\n") != "echo first" || doc.Find(".versions li").Length() != 4 {
		t.Errorf("restored %q of %d versions", got, doc.Find(".versions li").Length())
	}
}

func TestScriptsCanBeOff(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	a := start(t, o)
	b := open(t, a).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	b.post("/jobs", form(url.Values{"glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo 1"}}))
	if got := b.get("/jobs/1/glue"); got.status != http.StatusOK {
		t.Fatalf("on: %d", got.status)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	off := testOptions(t)
	o.Listener, o.Glue = off.Listener, new(bool)
	b.base = start(t, o).Welcome().URL
	if got := b.get("/jobs/1/glue"); got.status != http.StatusForbidden {
		t.Errorf("off: %d", got.status)
	}
	if got := b.post("/jobs/1/glue", url.Values{"source": {"echo 2"}, "remark": {"a remark"}}); got.status != http.StatusForbidden {
		t.Errorf("off, saved: %d", got.status)
	}
	if got := b.get("/jobs"); strings.Contains(got.body, "/jobs/1/glue") {
		t.Error("off, but offered")
	}
}

// What nobody changed is not shown as different: a form posts every choice, also where the job stores nothing for it.
func TestALateEditShowsWhoWasFirst(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	posted := func(more url.Values) url.Values {
		v := form(url.Values{"calendar_rule": {"WORKDAYS"}, "when_lost": {"FAIL"}, "keep_output": {"INHERIT"}, "misfire_last": {"3"}, "done_by": {"6:00"}, "tags": {"b, a"}})
		for name := range more {
			v[name] = more[name]
		}
		return v
	}
	b.post("/jobs", posted(nil))
	version := b.version("/jobs/1/edit")
	if got := b.post("/jobs/1", posted(url.Values{"version": {version}, "author": {"mina"}})); got.status != http.StatusSeeOther {
		t.Fatalf("the first edit: %d %s", got.status, got.body)
	}
	doc := b.post("/jobs/1", posted(url.Values{"version": {version}, "param": {"mine"}})).document(t)
	var labels []string
	doc.Find(".changes tbody tr").Each(func(_ int, row *goquery.Selection) { labels = append(labels, row.Find("td").First().Text()) })
	if got := strings.Join(labels, "|"); got != "Owner|Parameter" {
		t.Errorf("differences are shown of %q", got)
	}
	if by := strings.Join(strings.Fields(doc.Find(".changes .job-changes").Text()), " "); !strings.HasPrefix(by, "Changed admin ") || !strings.HasSuffix(by, "Owner") {
		t.Errorf("who was first: %q", by)
	}
}

// A form that was open while somebody else saved shows both, and may then be saved.
func TestALateEditShowsBoth(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	b.post("/jobs", form(nil))
	version := b.version("/jobs/1/edit")
	if got := b.post("/jobs/1", form(url.Values{"version": {version}, "param": {"theirs <b>"}})); got.status != http.StatusSeeOther {
		t.Fatalf("the first edit: %d %s", got.status, got.body)
	}
	mine := form(url.Values{"version": {version}, "param": {"mine"}})
	late := b.post("/jobs/1", mine)
	doc := late.document(t)
	if got := doc.Find(".changes .theirs").Text() + "|" + doc.Find(".changes .mine").Text(); late.status != http.StatusUnprocessableEntity || got != "theirs <b>|mine" {
		t.Errorf("the late edit: %d, differences %q", late.status, got)
	}
	again, _ := doc.Find(`input[name="version"]`).Attr("value")
	mine.Set("version", again)
	if got := b.post("/jobs/1", mine); got.status != http.StatusSeeOther {
		t.Errorf("saved over it: %d", got.status)
	}
}

// TestALateEditIsMergedWithTheFirst: what somebody else stored while a form was open stays where the form's writer did not touch it; of
// what both changed the writer chooses.
func TestALateEditIsMergedWithTheFirst(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	b.post("/jobs", form(nil))
	posted := func(doc *goquery.Document, change url.Values) url.Values {
		v := make(url.Values)
		doc.Find("form.form").Find("input, select, textarea").Each(func(_ int, f *goquery.Selection) {
			value, _ := f.Attr("value")
			switch {
			case f.Is("textarea"):
				value = f.Text()
			case f.Is("select"):
				value = f.Find("option[selected]").AttrOr("value", f.Find("option").First().AttrOr("value", ""))
			case f.Is("[type=radio], [type=checkbox]") && !f.Is("[checked]"):
				return
			}
			v.Set(f.AttrOr("name", ""), value)
		})
		for name := range change {
			v[name] = change[name]
		}
		return v
	}
	rows := func(doc *goquery.Document) string {
		var rows []string
		doc.Find(".changes tbody tr").Each(func(_ int, row *goquery.Selection) {
			rows = append(rows, row.Find("td").First().Text()+": "+row.Find(".theirs").Text()+" / "+row.Find(".mine").Text()+" → "+strings.TrimSpace(row.Find("td").Last().Find("span").Text()))
		})
		return strings.Join(rows, "\n")
	}
	stored := func() string {
		doc := b.get("/jobs/1/edit").document(t)
		v := posted(doc, nil)
		return strings.Join([]string{v.Get("name"), v.Get("author"), v.Get("schedule_type"), v.Get("cron"), v.Get("seconds"), v.Get("param"), v.Get("retries"), v.Get("tags")}, "|")
	}
	mine, theirs := b.get("/jobs/1/edit").document(t), b.get("/jobs/1/edit").document(t)
	first := posted(theirs, url.Values{"author": {"mina"}, "schedule_type": {"FIX_RATE"}, "seconds": {"30"}, "param": {"theirs"}, "retries": {"2"}})
	if got := b.post("/jobs/1", first); got.status != http.StatusSeeOther {
		t.Fatalf("the first edit: %d %s", got.status, got.body)
	}
	if got, want := stored(), "close the day|mina|FIX_RATE||30|theirs|2|"; got != want {
		t.Fatalf("the first edit stored %q, want %q", got, want)
	}
	late := b.post("/jobs/1", posted(mine, url.Values{"name": {"end the day"}, "param": {"mine"}, "retries": {"3"}, "tags": {"night"}}))
	if late.status != http.StatusUnprocessableEntity {
		t.Fatalf("the late edit: %d", late.status)
	}
	doc := late.document(t)
	want := strings.Join([]string{
		"Description: close the day / end the day → Yours",
		"Owner: mina / ann → What is stored",
		"Schedule: Fixed rate · 30 / Cron · 0 0 2 * * ? → What is stored",
		"Parameter: theirs / mine → Yours; both changed it",
		"Retries: 2 / 3 → Yours; both changed it",
		"Tags: – / night → Yours",
	}, "\n")
	if got := rows(doc); got != want {
		t.Errorf("the late edit shows\n%s\nwant\n%s", got, want)
	}
	if got, want := posted(doc, nil).Get("author")+"|"+posted(doc, nil).Get("schedule_type")+"|"+posted(doc, nil).Get("param"), "mina|FIX_RATE|mine"; got != want {
		t.Errorf("the form is filled with %q, want %q", got, want)
	}
	if got, want := stored(), "close the day|mina|FIX_RATE||30|theirs|2|"; got != want {
		t.Errorf("it stored %q, want %q", got, want)
	}
	// Their parameter is taken. What both changed beside it is still marked.
	take := b.post("/jobs/1", posted(doc, url.Values{"take": {doc.Find(".changes button[name=take]").Eq(1).AttrOr("value", "")}}))
	doc = take.document(t)
	want = "Description: close the day / end the day → Yours\nRetries: 2 / 3 → Yours; both changed it\nTags: – / night → Yours"
	if got := rows(doc); take.status != http.StatusOK || got != want {
		t.Errorf("taken: %d\n%s\nwant\n%s", take.status, got, want)
	}
	if got := b.post("/jobs/1", posted(doc, nil)); got.status != http.StatusSeeOther {
		t.Fatalf("saved what was merged: %d %s", got.status, got.body)
	}
	if got, want := stored(), "end the day|mina|FIX_RATE||30|theirs|3|night"; got != want {
		t.Errorf("merged to %q, want %q", got, want)
	}
	// Who comes late with the same has nothing to decide.
	mine, theirs = b.get("/jobs/1/edit").document(t), b.get("/jobs/1/edit").document(t)
	for who, form := range map[string]*goquery.Document{"first": theirs, "late": mine} {
		if got := b.post("/jobs/1", posted(form, url.Values{"author": {"jonas"}})); got.status != http.StatusSeeOther {
			t.Errorf("the same, %s: %d", who, got.status)
		}
	}
}

// TestALateScriptIsMergedWithTheFirst: lines that only one changed are taken from that one; of those that both changed the writer sees both and
// what they were before, and nothing is stored unseen.
func TestALateScriptIsMergedWithTheFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		const first = "#!/bin/sh\nset -e\n\necho one\necho two\necho three\n\nls /tmp\n"
		if got := b.post("/jobs", form(url.Values{"glue": {"GLUE_SHELL"}, "handler": {""}, "source": {first}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		const editor = "/jobs/1/glue"
		opened := b.version(editor)
		save := func(version, source string, more url.Values) answer {
			v := url.Values{"source": {strings.ReplaceAll(source, "\n", "\r\n")}, "remark": {"a remark"}, "version": {version}}
			for name := range more {
				v[name] = more[name]
			}
			return b.post(editor, v)
		}
		text := func(doc *goquery.Document) string {
			return strings.TrimPrefix(doc.Find("textarea[name=source]").Text(), "\n")
		}
		hidden := func(doc *goquery.Document, name string) string {
			return doc.Find(`input[name="`+name+`"]`).AttrOr("value", "")
		}
		theirs := strings.NewReplacer("echo two", "echo 2 <b>", "ls /tmp", "ls /var/tmp").Replace(first)
		if got := save(opened, theirs, nil); got.status != http.StatusSeeOther {
			t.Fatalf("the first save: %d %s", got.status, got.body)
		}
		late := save(opened, strings.NewReplacer("echo two", "echo zwei", "set -e", "set -eu").Replace(first), nil)
		doc := late.document(t)
		const merged = "#!/bin/sh\nset -eu\n\necho one\necho zwei\necho three\n\nls /var/tmp\n"
		if late.status != http.StatusUnprocessableEntity || text(doc) != merged {
			t.Fatalf("the late save: %d, the editor has %q", late.status, text(doc))
		}
		var sides []string
		doc.Find(".conflicts .sides pre").Each(func(_ int, s *goquery.Selection) { sides = append(sides, s.Text()) })
		if got := strings.Join(sides, "|"); got != "echo two|echo 2 <b>|echo zwei" {
			t.Errorf("what both changed: %q", got)
		}
		if got := strings.TrimSpace(doc.Find(".notice.error").Text()); !strings.Contains(got, "from what they saved: 1.") || !strings.Contains(got, "as you typed them: 1.") {
			t.Errorf("said: %q", got)
		}
		if doc.Find(".difference .changed").Length() != 2 || doc.Find("#glue-remark").AttrOr("value", "") != "a remark" {
			t.Errorf("%d lines are shown as unlike what is stored", doc.Find(".difference .changed").Length())
		}
		if got := text(b.get(editor).document(t)); got != theirs {
			t.Errorf("stored unseen: %q", got)
		}
		// What is stored is taken at that place, and what was typed beside it meanwhile stays.
		take := doc.Find(".conflicts button[name=take]")
		again := save(hidden(doc, "version"), merged+"# more\n", url.Values{"base": {hidden(doc, "base")}, "take": {take.AttrOr("value", "")}})
		doc = again.document(t)
		const taken = "#!/bin/sh\nset -eu\n\necho one\necho 2 <b>\necho three\n\nls /var/tmp\n# more\n"
		if again.status != http.StatusUnprocessableEntity && again.status != http.StatusOK || text(doc) != taken || doc.Find(".conflicts").Length() != 0 || text(b.get(editor).document(t)) != theirs {
			t.Errorf("taken: %d, the editor has %q", again.status, text(doc))
		}
		// A third one saves while that is looked at: the merge begins with what was stored when it was made.
		version := hidden(doc, "version")
		if got := save(b.version(editor), strings.Replace(theirs, "echo one", "echo 1", 1), nil); got.status != http.StatusSeeOther {
			t.Fatalf("a third one: %d", got.status)
		}
		third := save(version, taken, url.Values{"base": {hidden(doc, "base")}})
		doc = third.document(t)
		if want := strings.Replace(taken, "echo one", "echo 1", 1); third.status != http.StatusUnprocessableEntity || doc.Find(".conflicts").Length() == 0 && text(doc) != want {
			t.Errorf("late again: %d, %q", third.status, text(doc))
		}
		// A mark that names nothing any more, and a version that is not kept, lose nothing of what was typed.
		for name, more := range map[string]url.Values{"a stale mark": {"base": {hidden(doc, "base")}, "take": {"x"}}, "no such version": {"base": {"x"}, "take": {"x"}}} {
			if got := save(hidden(doc, "version"), "echo typed\n", more).document(t); text(got) == "" || !strings.Contains(text(got), "echo typed") {
				t.Errorf("%s: %q", name, text(got))
			}
		}
		if got := save(hidden(doc, "version"), text(doc), nil); got.status != http.StatusSeeOther {
			t.Errorf("saved what was merged: %d", got.status)
		}
		if got := save("gone", "echo mine\n", nil).document(t); text(got) != "echo mine\n" || got.Find(".difference .changed").Length() == 0 || got.Find(".conflicts").Length() != 0 {
			t.Errorf("with nothing that both began with: %q", text(got))
		}
	})
}
