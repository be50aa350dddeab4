package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/views/link"
)

// TestClearingRuns goes from the preview to the end of a clearing, over HTTP and with the real engine.
func TestClearingRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		for _, name := range []string{"orders", "secret"} {
			b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		b.post("/jobs", form(nil))
		for range 3 {
			oldRun(t, a, 1, 1, 40*24*time.Hour, 200, 200, nil)
			oldRun(t, a, 2, 77, 40*24*time.Hour, 200, 200, nil)
		}
		open1 := oldRun(t, a, 1, 1, 40*24*time.Hour, 200, 0, nil) // without an executor, which would be asked for it in vain: it stays open
		young := oldRun(t, a, 1, 1, time.Hour, 200, 200, nil)

		if b.get("/runs").document(t).Find(`a[href="`+link.ClearPath+`"]`).Length() != 1 {
			t.Error("the list of runs does not lead to the clearing")
		}
		if got := b.get(link.Clear(1, 0, 1)); got.status != http.StatusOK || got.document(t).Find(".danger").Length() != 0 {
			t.Errorf("without a preview it could be deleted: %d", got.status)
		}
		preview := b.get(link.Clear(1, 0, 1) + "&preview=1")
		if preview.document(t).Find("input[name=previewed]").AttrOr("value", "") != "1..1" || preview.document(t).Find("button.danger").Length() != 1 || !strings.Contains(preview.document(t).Find(".notice").Text(), "3 ") {
			t.Errorf("preview: %s", preview.document(t).Find("#clear-form").Text())
		}
		for _, bad := range []string{"?preview=1&type=99", "?preview=1&type=x", "?preview=1&group=2&job=1&type=1", "?preview=1&type=99999999999999999999"} {
			if got := b.get(link.ClearPath + bad); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d", bad, got.status)
			}
		}

		// A normal user may clear their group, and neither another one nor everything.
		ann := normalUser(t, a)
		for path, want := range map[string]int{"?preview=1&type=9": 422, "?preview=1&type=9&group=2": 403, "?preview=1&type=9&group=1": 200} {
			if got := ann.get(link.ClearPath + path); got.status != want {
				t.Errorf("ann asks for %s: %d, want %d", path, got.status, want)
			}
		}
		if got := ann.post(link.ClearPath, url.Values{"group": {"2"}, "type": {"9"}}); got.status != http.StatusForbidden {
			t.Errorf("ann clears another group: %d", got.status)
		}
		// What was not previewed is not deleted: the answer is its preview.
		if got := ann.post(link.ClearPath, url.Values{"group": {"1"}, "type": {"9"}, "previewed": {"1..1"}}); got.status != http.StatusUnprocessableEntity || got.document(t).Find("button.danger").Length() != 1 {
			t.Errorf("a choice changed after the preview: %d", got.status)
		}
		if got := ann.post(link.ClearPath, url.Values{"group": {"1"}, "type": {"1"}, "previewed": {"1..1"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != link.ClearPath {
			t.Fatalf("ann clears her group: %d %s", got.status, got.body)
		}
		executortest.Eventually(t, "end of the clearing", func() error { // the engine begins by itself
			part := ann.do("GET", link.ClearProgressPath, nil, "HX-Request", "true")
			list, err := goquery.NewDocumentFromReader(strings.NewReader(part.body))
			if err != nil || strings.Contains(part.body, "<html") {
				t.Fatalf("progress: %.300s", part.body)
			}
			if list.Find("progress").Length() > 0 || list.Find("li").Length() != 1 {
				return executortest.ErrNotYet
			}
			if !strings.Contains(list.Find("li").Text(), "3 ") {
				t.Errorf("cleared: %s", list.Find("li").Text())
			}
			return nil
		})
		for id, want := range map[int64]int{open1: 200, young: 200, open1 - 1: 200, open1 - 2: 404} {
			if got := b.get(link.Run(id)); got.status != want {
				t.Errorf("run %d: %d, want %d", id, got.status, want)
			}
		}
		if got := ann.post(link.ClearingStop(1), url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("stop what has ended: %d", got.status)
		}
		if got := b.post(link.ClearingStop(99), url.Values{}); got.status != http.StatusNotFound {
			t.Errorf("stop what never was: %d", got.status)
		}
	})
}
