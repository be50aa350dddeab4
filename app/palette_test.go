package app

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// TestThePaletteFinds what somebody may see, and nothing else.
func TestThePaletteFinds(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	for _, name := range []string{"orders", "secret"} {
		admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
	}
	for _, group := range []string{"1", "2"} {
		if got := admin.post("/jobs", form(url.Values{"group": {group}, "name": {"job of " + group}, "tags": {"night,money"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d", got.status)
		}
	}
	run := admin.post("/jobs/2/run", url.Values{"param": {""}}).header.Get("Location")
	hash, err := auth.NewPasswords(1).At(quick).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	ann.login("ann", testPassword)
	number := strings.TrimPrefix(run, "/runs/")
	for _, tt := range []struct {
		who  *browser
		text string
		want string // an address among the hits
		none string // one that must not be
	}{
		{admin, "job of", "/jobs/2", ""},
		{ann, "job of", "/jobs/1", "/jobs/2"},
		{admin, "secret", "/jobs?group=2", ""},
		{ann, "secret", "", "/jobs?group=2"},
		{admin, "#" + number, run, ""},
		{ann, number, "", run},
		{admin, "", "/nodes", ""},
		{ann, "", "/jobs/new", "/nodes"},
		{ann, "<script>", "", ""},
	} {
		got := tt.who.do("GET", "/palette?part=hits&q="+url.QueryEscape(tt.text), nil, "HX-Request", "true")
		doc := got.document(t)
		has := func(address string) bool { return doc.Find(`[data-hit][href="`+address+`"]`).Length() > 0 }
		if got.status != http.StatusOK || strings.Contains(got.body, "<html") || tt.want != "" && !has(tt.want) || tt.none != "" && has(tt.none) {
			t.Errorf("%q: %d, want %q and not %q in %s", tt.text, got.status, tt.want, tt.none, got.body)
		}
	}
	for _, path := range []string{"/palette?q=job", "/keys"} {
		if got := ann.get(path); got.status != http.StatusOK || !strings.Contains(got.body, "<html") {
			t.Errorf("%s without script: %d", path, got.status)
		}
	}
	for tag, want := range map[string]int{"night": 1, "money": 1, "nigh": 0, "n%": 0, "": 1} {
		if got := ann.get("/jobs?tag=" + url.QueryEscape(tag)).document(t).Find("tr[data-id]").Length(); got != want {
			t.Errorf("tag %q: %d jobs, want %d", tag, got, want)
		}
	}
	if n := admin.get("/jobs").document(t).Find("#job-2 .history-bars").Length(); n != 1 {
		t.Errorf("%d history bars beside the job that ran", n)
	}
}

// TestThePaletteDoesThings to jobs, for who may, in the words of each language and as Chinese is typed.
func TestThePaletteDoesThings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		admin, reader := open(t, a).mustLogin(), normalUser(t, a)
		c.json(200, new(struct{}), "PATCH", "/users/2", `{"rights":[{"group_id":1,"rights":["view"]}]}`)
		for _, values := range []url.Values{{"name": {"每日对账"}, "start": {"1"}}, {"name": {"nightly close"}}, {"name": {"nightly report"}}} {
			admin.post("/jobs", form(values))
		}
		job := func(b *browser, name string) string {
			return b.get("/jobs?q="+url.QueryEscape(name)).document(t).Find("tbody a.title").First().AttrOr("href", "")
		}
		daily, closing, report := job(admin, "每日对账"), job(admin, "close"), job(admin, "report")
		hits := func(b *browser, lang, text string) (list []string) {
			doc := b.do("GET", "/palette?part=hits&q="+url.QueryEscape(text), nil, "HX-Request", "true", "Accept-Language", lang).document(t)
			doc.Find("[data-hit]").Each(func(_ int, s *goquery.Selection) { list = append(list, s.AttrOr("hx-post", s.AttrOr("href", ""))) })
			return list
		}
		for _, tt := range []struct {
			who        *browser
			lang, text string
			want       []string // all of the hits
		}{
			{admin, "en", "run nightly", []string{report + "/run", closing + "/run"}},
			{admin, "en", "RUN close", []string{closing + "/run"}},
			{admin, "zh-CN", "执行对账", []string{daily + "/run"}},
			{admin, "zh-CN", "执行 close", []string{closing + "/run"}},
			{admin, "zh-CN", "zx dz", []string{daily + "/run"}},
			{admin, "zh-TW", "執行對账", nil}, // the name is written otherwise
			{admin, "zh-TW", "執行 mrdz", []string{daily + "/run"}},
			{admin, "en", "stop mrdz", []string{daily + "/stop"}},
			{admin, "en", "start mrdz", nil}, // it is started
			{admin, "en", "start close", []string{closing + "/start"}},
			{admin, "en", "pause mrdz", []string{"/pauses?scope=job&target=" + strings.TrimPrefix(daily, "/jobs/")}},
			{admin, "en", "edit report", []string{report + "/edit?back=job"}},
			{admin, "en", "backfill report", []string{report + "/backfill"}},
			{admin, "en", "delete report", []string{report + "/delete"}},
			{reader, "en", "run nightly", nil},
			{reader, "en", "edit report", nil},
			{reader, "en", "meiri", []string{daily, "/runs?group=1&job=" + strings.TrimPrefix(daily, "/jobs/") + "&range=all", daily + "/account"}},
			{admin, "zh-CN", "rwgl", []string{"/jobs"}},
			{admin, "zh-CN", "holidays", []string{"/calendars"}},
			{admin, "zh-CN", "jrb", nil},
			{admin, "zh-CN", "jjr", []string{"/calendars"}},
			{admin, "zh-TW", "叢集", []string{"/nodes"}},
			{reader, "zh-CN", "holidays", nil},
		} {
			if got := hits(tt.who, tt.lang, tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("%s, %q: %v, want %v", tt.lang, tt.text, got, tt.want)
			}
		}
		// What can be done to a job that is found alone stands below it.
		if got := hits(admin, "en", "nightly rep"); len(got) < 8 || got[0] != report || got[1] != report+"/run" {
			t.Errorf("deeds of one job: %v", got)
		}
		// The deed is done where somebody is, and its message takes it back.
		done := admin.do("POST", closing+"/start", url.Values{"undo": {"1"}}, "HX-Request", "true")
		if done.status != http.StatusOK || done.header.Get("HX-Trigger") != "jobs-changed" || done.document(t).Find(".toast .undo").AttrOr("action", "") != closing+"/stop" {
			t.Errorf("start from the palette: %d %s", done.status, done.body)
		}
		// With a script the hits are the list of the field; without one they are links.
		box := admin.do("GET", "/palette?q=report", nil, "HX-Request", "true").document(t)
		field := box.Find(`input[name="q"]`)
		if field.AttrOr("role", "") != "combobox" || box.Find("#"+field.AttrOr("aria-controls", "none")+` [role="listbox"] [role="group"] [role="option"][id]`).Length() < 8 {
			t.Errorf("no combobox: %s", box.Text())
		}
		if plain := admin.get("/palette?q=report").document(t); plain.Find("main [role=option], main [role=combobox]").Length() > 0 || plain.Find(`main a[href="`+report+`/run"]`).Length() != 1 {
			t.Error("without a script the hits are no links")
		}
	})
}

// TestKeysAreSwitchedOff by one person, for all their browsers.
func TestKeysAreSwitchedOff(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin, other := open(t, a).mustLogin(), normalUser(t, a)
		off := func(b *browser) bool {
			_, is := b.get("/jobs").document(t).Find("body").Attr("data-no-keys")
			return is
		}
		for _, keys := range []string{"off", "on"} {
			if got := admin.get("/keys").document(t).Find(`form [name="keys"]`).AttrOr("value", ""); got != keys {
				t.Errorf("offered: %q, want %q", got, keys)
			}
			admin.post("/preferences", url.Values{"keys": {keys}, "next": {"/keys"}})
			if again := open(t, a).mustLogin(); off(admin) != (keys == "off") || off(again) != off(admin) || off(other) {
				t.Errorf("%s: here %v, in another browser %v, of somebody else %v", keys, off(admin), off(again), off(other))
			}
		}
	})
}
