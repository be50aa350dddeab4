package app

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/app/api"
)

// untouched saves things of a kind as they are, by each way of saving, and sees that nothing says otherwise: not what programs read, not the
// rows, not the ETag, not the audit log, and no event.
type untouched struct {
	a    *App
	c    *caller
	root *browser
	// tables hold the thing. Of their columns, beside are left out: what says when something was saved, and what is sealed anew each time.
	tables []string
	beside []string
}

func newUntouched(t *testing.T, o Options, tables ...string) *untouched {
	o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
	a, c := apiCaller(t, o)
	u := &untouched{a: a, c: c, root: open(t, a).mustLogin(), tables: tables, beside: []string{"update_time", "updated_at", "config", "holder", "lease_until"}}
	c.json(201, &struct{}{}, "POST", "/webhooks", `{"name":"told of jobs","url":"http://127.0.0.1:1/","types":["punctual.job.created","punctual.job.updated","punctual.job.deleted","punctual.job.started","punctual.job.stopped"]}`) // or no event is kept
	return u
}

// thing is something that was made.
type thing struct {
	*untouched
	r    *rapid.T
	path string // in API v1
	sent string
	was  map[string]any
	etag string
	rows string
}

// make makes something of JSON that was drawn, if it is allowed. It is read at the address that the answer names, or at the last of path.
func (u *untouched) make(r *rapid.T, method, path string, sent any, at ...string) (*thing, bool) {
	body, err := json.Marshal(sent)
	if err != nil {
		r.Fatal(err)
	}
	got := u.c.do(method, path, string(body))
	if got.status == http.StatusUnprocessableEntity {
		var refused refusal
		if err := json.Unmarshal([]byte(got.body), &refused); err != nil || len(refused.Errors) == 0 || slices.ContainsFunc(refused.fields(), func(f string) bool { return strings.Contains(f, "!") }) {
			r.Fatalf("a refusal that names no field: %s\nof %s", got.body, body)
		}
		return nil, false
	}
	if got.status != http.StatusCreated && got.status != http.StatusOK {
		r.Fatalf("%d %s\nof %s", got.status, got.body, body)
	}
	if made := strings.TrimPrefix(got.header.Get("Location"), "/api/v1"); made != "" {
		path = made
	}
	if len(at) > 0 {
		path = at[0]
	}
	t := &thing{untouched: u, r: r, path: path, sent: string(body)}
	t.was, t.etag, t.rows = t.read(), t.tag(), t.stored()
	return t, true
}

func (t *thing) read() map[string]any {
	var now map[string]any
	t.c.json(200, &now, "GET", t.path, "")
	for _, name := range []string{"updated_at", "changed_at"} {
		delete(now, name)
	}
	return now
}

func (t *thing) tag() string { return t.c.do("GET", t.path, "").header.Get("ETag") }

// stored is what the database holds of things of this kind, and what it says of changes.
func (t *thing) stored() string {
	var text strings.Builder
	for _, table := range append([]string{"punctual_audit", "punctual_webhook_delivery", "xxl_job_logglue"}, t.tables...) {
		rows, err := t.a.pool.QueryContext(t.c.t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2")
		if err != nil {
			t.r.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.r.Fatal(err)
		}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		for n := 0; rows.Next(); n++ {
			if err := rows.Scan(into...); err != nil {
				t.r.Fatal(err)
			}
			fmt.Fprintf(&text, "%s", table)
			for i, v := range into {
				v := *v.(*any)
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				if !slices.Contains(t.beside, columns[i]) && (slices.Contains(t.tables, table) || slices.Contains([]string{"id", "action", "object_kind", "before_json", "after_json"}, columns[i])) {
					fmt.Fprintf(&text, " %s=%q", columns[i], fmt.Sprint(v))
				}
			}
			text.WriteByte('\n')
		}
		if err := rows.Close(); err != nil {
			t.r.Fatal(err)
		}
	}
	return text.String()
}

// same sees that nothing says that something changed.
func (t *thing) same(by string) {
	t.r.Helper()
	if diff := cmp.Diff(t.was, t.read()); diff != "" {
		t.r.Fatalf("by %s (-was +is):\n%s\nof %s", by, diff, t.sent)
	}
	if diff := cmp.Diff(strings.Split(t.rows, "\n"), strings.Split(t.stored(), "\n")); diff != "" {
		t.r.Fatalf("by %s, in the database (-was +is):\n%s\nof %s", by, diff, t.sent)
	}
	if now := t.tag(); now != t.etag {
		t.r.Fatalf("by %s, the ETag is %s instead of %s\nof %s", by, now, t.etag, t.sent)
	}
}

// replaced saves what is read by a PUT, without what only the answer has, and with what it calls otherwise.
func (t *thing) replaced(without []string, called map[string]func(any) (string, any)) {
	t.r.Helper()
	body := t.read()
	for _, name := range without {
		delete(body, name)
	}
	for name, other := range called {
		now, value := other(body[name])
		delete(body, name)
		body[now] = value
	}
	t.send("PUT", body)
	t.same("PUT")
}

// patched saves nothing, and then each field of what was sent, by a PATCH.
func (t *thing) patched(without ...string) {
	t.r.Helper()
	t.send("PATCH", map[string]any{})
	t.same("an empty PATCH")
	var sent map[string]any
	if err := json.Unmarshal([]byte(t.sent), &sent); err != nil {
		t.r.Fatal(err)
	}
	for _, name := range without {
		delete(sent, name)
	}
	t.send("PATCH", sent)
	t.same("PATCH")
}

func (t *thing) send(method string, body map[string]any) {
	t.r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.r.Fatal(err)
	}
	if got := t.c.do(method, t.path, string(text), "If-Match", t.etag); got.status != http.StatusOK {
		t.r.Fatalf("%s: %d %s\nof %s", method, got.status, got.body, text)
	}
}

// form is a form of a page as a browser sends it that nobody typed into.
func (t *thing) form(page, action string) url.Values {
	t.r.Helper()
	got := t.root.get(page)
	if got.status != http.StatusOK {
		t.r.Fatalf("%s: %d %s", page, got.status, got.body)
	}
	return formTo(t.r, got.document(t.c.t), action)
}

// posted saves a form.
func (t *thing) posted(action string, form url.Values) {
	t.r.Helper()
	if got := t.root.post(action, form); got.status != http.StatusSeeOther {
		t.r.Fatalf("the form is refused: %d %s\nof %s\n%v", got.status, got.document(t.c.t).Find(".error").Text(), t.sent, form)
	}
	t.same("the form")
}

// delete deletes it, so that the next may have its name.
func (t *thing) delete() { t.c.do("DELETE", t.path, "") }

// formTo is the form with an action, as a browser sends it.
func formTo(t interface{ Fatalf(string, ...any) }, doc *goquery.Document, action string) url.Values {
	form := doc.Find(fmt.Sprintf("form[action=%q]", action))
	if form.Length() != 1 {
		t.Fatalf("%d forms to %s", form.Length(), action)
	}
	values := url.Values{}
	lines := strings.NewReplacer("\r\n", "\r\n", "\n", "\r\n", "\r", "\r\n")
	form.Find("input[name], textarea[name], select[name]").Each(func(_ int, s *goquery.Selection) {
		if s.Is("[disabled], fieldset[disabled] *") {
			return
		}
		name, value := s.AttrOr("name", ""), s.AttrOr("value", "")
		switch kind := s.AttrOr("type", "text"); {
		case s.Is("select"):
			chosen := s.Find("option[selected]")
			if chosen.Length() == 0 {
				chosen = s.Find("option").First()
			}
			chosen.Each(func(_ int, o *goquery.Selection) { values.Add(name, o.AttrOr("value", o.Text())) })
		case s.Is("textarea"):
			values.Add(name, lines.Replace(s.Text()))
		case kind == "radio" || kind == "checkbox":
			if _, checked := s.Attr("checked"); checked {
				values.Add(name, s.AttrOr("value", "on"))
			}
		case kind == "file" || kind == "submit" || kind == "button":
		case kind == "hidden":
			values.Add(name, lines.Replace(value))
		default:
			values.Add(name, strings.NewReplacer("\r", "", "\n", "").Replace(value)) // a line holds no line ends
		}
	})
	return values
}

func idOf(made map[string]any) string { return fmt.Sprintf("%.0f", made["id"]) }

// draw is a member of JSON, or none.
func maybe(r *rapid.T, into map[string]any, name string, value *rapid.Generator[any]) {
	if rapid.IntRange(0, 2).Draw(r, "has "+name) > 0 {
		into[name] = value.Draw(r, name)
	}
}

func anyOf[T any](values ...T) *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any { return rapid.SampledFrom(values).Draw(r, "one") })
}

func odd() *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any { return oddText().Draw(r, "text") })
}

// oddLine is mostly one that is allowed.
func oddLine(most int) *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any {
		text := oddText().Draw(r, "text")
		if rapid.Bool().Draw(r, "plain") {
			text = strings.Map(func(c rune) rune {
				if c < ' ' {
					return -1
				}
				return c
			}, text)
		}
		if rapid.Bool().Draw(r, "named") {
			text = "x" + text + strings.Repeat("长", rapid.SampledFrom([]int{0, 1, max(0, most-len([]rune(text))-1)}).Draw(r, "more"))
		}
		return text
	})
}

// often checks a property, and that it was asked for often enough: for twenty things that could be saved, or as often as -rapid.checks says.
func often(t *testing.T, property func(r *rapid.T) bool) {
	t.Helper()
	saved, checks := 0, flag.Lookup("rapid.checks")
	few := checks == nil || checks.Value.String() == checks.DefValue
	rapid.Check(t, func(r *rapid.T) {
		if few && saved == 20 {
			return
		}
		if property(r) {
			saved++
		}
	})
	if saved < 10 {
		t.Errorf("only %d could be saved", saved)
	}
}

// auditOf is what the newest entry about a thing of a kind says.
func auditOf(t *testing.T, a *App, kind string) (before, after string) {
	t.Helper()
	err := a.pool.QueryRowContext(t.Context(), "SELECT before_json, after_json FROM punctual_audit WHERE object_kind = ? ORDER BY id DESC LIMIT 1", kind).Scan(&before, &after)
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

func TestAGroupIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "xxl_job_group", "punctual_group")
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{"app_name": rapid.SampledFrom([]string{"other-app", "Other_App.2", "x1.y", "orders2"}).Draw(r, "app_name"), "title": oddLine(64).Draw(r, "title")}
			maybe(r, sent, "type", anyOf("auto", "manual"))
			if sent["type"] == "manual" || rapid.IntRange(0, 4).Draw(r, "odd") == 0 {
				sent["addresses"] = rapid.SliceOfN(rapid.SampledFrom([]string{"http://127.0.0.1:1/", "http://b.example:2", " http://c.example/x/ ", "https://中文.example/?a=1", "http://[::1]:9/,http://d.example"}), 0, 4).Draw(r, "addresses")
			}
			for _, name := range []string{"idle_is_lost", "token_manages", "script_review"} {
				maybe(r, sent, name, anyOf(true, false))
			}
			maybe(r, sent, "max_running", anyOf(0, 1, 99_999))
			maybe(r, sent, "keep_output", anyOf("INHERIT", "ALL", "FAILED", "NONE"))
			g, ok := u.make(r, "POST", "/groups", sent)
			if !ok {
				return false
			}
			defer g.delete()
			g.same("nothing")
			id := idOf(g.was)
			late := g.form("/executors/"+id+"/edit", "/executors/"+id)
			g.replaced([]string{"id"}, nil)
			g.patched()
			g.posted("/executors/"+id, late)
			var row map[string]any
			if got := g.root.post("/xxl-job-admin/jobgroup/loadById", url.Values{"id": {id}}); json.Unmarshal([]byte(got.body), &struct{ Data *map[string]any }{&row}) != nil || row == nil {
				r.Fatalf("XXL-JOB's console: %s", got.body)
			}
			if got := g.root.post("/xxl-job-admin/jobgroup/update", formOfRow(row)); !strings.Contains(got.body, `"code":200`) {
				r.Fatalf("XXL-JOB's form is refused: %s\nof %s", got.body, g.sent)
			}
			g.same("XXL-JOB's form")
			return true
		})
	})
}

// formOfRow is what XXL-JOB's console sends of a row that it edits.
func formOfRow(row map[string]any) url.Values {
	form := url.Values{}
	for name, value := range row {
		switch value := value.(type) {
		case string:
			form.Set(name, value)
		case float64:
			form.Set(name, fmt.Sprintf("%.0f", value))
		}
	}
	return form
}
