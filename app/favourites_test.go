package app

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// TestFavouritesAndTheStartPage marks a job on its page and in the list, and begins a visit with the jobs that are one's own.
func TestFavouritesAndTheStartPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		const jobs = 3
		for i := range jobs {
			c.json(201, new(struct{}), "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"job %d","author":"somebody","handler":"h"}`, i))
		}
		mine := func() int { return b.get("/jobs?show=mine").document(t).Find("tr[data-id]").Length() }
		if text := b.get("/jobs?show=mine").document(t).Find(".empty").Text(); mine() != 0 || text == "" {
			t.Errorf("at first %d, %q", mine(), text)
		}
		star := func(id int) (value, pressed string) {
			s := b.get(fmt.Sprintf("/jobs/%d", id)).document(t).Find("#favourite")
			return s.AttrOr("value", ""), s.AttrOr("aria-pressed", "")
		}
		if value, pressed := star(1); value != "1" || pressed != "false" {
			t.Errorf("not marked: %q %q", value, pressed)
		}
		if got := b.post("/jobs/1/favourite", url.Values{"favourite": {"1"}, "back": {"job"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/jobs/1" {
			t.Errorf("on its page: %d %s", got.status, got.header.Get("Location"))
		}
		if got := b.do("POST", "/jobs/3/favourite", url.Values{"favourite": {"1"}}, "HX-Request", "true"); got.status != http.StatusNoContent || got.header.Get("HX-Trigger") != "jobs-changed" {
			t.Errorf("in the list: %d %v", got.status, got.header)
		}
		if value, pressed := star(1); value != "0" || pressed != "true" {
			t.Errorf("marked: %q %q", value, pressed)
		}
		if n := b.get("/jobs").document(t).Find("td .starred").Length(); n != 2 || mine() != 2 {
			t.Errorf("%d stars in the list, %d are mine", n, mine())
		}
		b.post("/jobs/1/favourite", url.Values{"favourite": {"0"}})
		if mine() != 1 {
			t.Errorf("taken back: %d", mine())
		}

		begins := func(headers ...string) string {
			t.Helper()
			got := b.do("GET", "/", nil, headers...)
			if got.status == http.StatusOK {
				return "/"
			}
			return got.header.Get("Location")
		}
		if at := begins("Sec-Fetch-Site", "none"); at != "/" {
			t.Errorf("nobody has chosen anything: %s", at)
		}
		for start, want := range map[string]string{"mine": "/jobs?show=mine", "jobs": "/jobs", "runs": "/runs", "dashboard": "/"} {
			b.post("/preferences", url.Values{"start": {start}})
			if s := b.get("/profile").document(t).Find("#profile-start option[selected]").AttrOr("value", ""); s != start {
				t.Errorf("%s: the profile shows %q", start, s)
			}
			for _, from := range [][]string{{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-origin", "Referer", "http://127.0.0.1/login"}} {
				if at := begins(from...); at != want {
					t.Errorf("%s, %v: %s, want %s", start, from, at, want)
				}
			}
			if at := begins("Sec-Fetch-Site", "same-origin", "Referer", "http://127.0.0.1/jobs"); at != "/" {
				t.Errorf("%s: from a page of the console: %s", start, at)
			}
		}
		b.post("/preferences", url.Values{"start": {"mine"}})
		b.post("/preferences", url.Values{"start": {"https://elsewhere.example"}})
		if at := begins("Sec-Fetch-Site", "none"); at != "/jobs?show=mine" {
			t.Errorf("what is no page changes nothing: %s", at)
		}
	})
}
