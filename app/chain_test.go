package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAChainIsShownBeforeItIsAFlow: the page of the first job leads to what it and its children would be, which is made with one button.
func TestAChainIsShownBeforeItIsAFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := working(t, o, "greet", "greet two") // jobs 1 and 2
		b := open(t, a).mustLogin()
		var made, gone struct{ ID int64 }
		c.json(201, &gone, "POST", "/jobs", `{"group_id":1,"description":"gone","author":"a","handler":"greet"}`)
		c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"begin","author":"a","handler":"greet","schedule":"CRON","cron":"0 0 2 * * ?","children":[1,2,%d]}`, gone.ID))
		if got := c.do("DELETE", fmt.Sprintf("/jobs/%d", gone.ID), ""); got.status != http.StatusOK {
			t.Fatalf("delete: %d %s", got.status, got.body)
		}
		first := fmt.Sprintf("/jobs/%d", made.ID)
		if n := b.get(first).document(t).Find(fmt.Sprintf("a[href=%q]", first+"/chain")).Length(); n != 1 {
			t.Errorf("%d ways lead from the page of the first job", n)
		}
		if n := b.get("/jobs/1").document(t).Find(`a[href="/jobs/1/chain"]`).Length(); n != 0 {
			t.Error("a way leads from a job that others start")
		}
		if got := b.get("/jobs/1/chain"); got.status != http.StatusConflict || !strings.Contains(got.body, "starts this one") {
			t.Errorf("not the first: %d", got.status)
		}
		page := b.get(first + "/chain")
		doc := page.document(t)
		if page.status != http.StatusOK || doc.Find("svg.flow").Length() == 0 || !strings.Contains(doc.Find("pre").Text(), "job: 1") {
			t.Fatalf("the page: %d %s", page.status, doc.Find("main").Text())
		}
		if changes := doc.Find("[aria-labelledby=chain-changes]").Text(); !strings.Contains(changes, fmt.Sprintf("get no step: #%d.", gone.ID)) {
			t.Errorf("nothing says that a child is gone: %s", changes)
		}
		form := url.Values{"version": {doc.Find("[name=version]").AttrOr("value", "")}, "name": {""}}
		got := b.post(first+"/chain", form)
		if got.status != http.StatusUnprocessableEntity || got.document(t).Find("[name=name][aria-invalid=true]").Length() != 1 {
			t.Errorf("without a name: %d", got.status)
		}
		form.Set("name", "nightly")
		if got = b.post(first+"/chain", form); got.status != http.StatusSeeOther {
			t.Fatalf("make it: %d %s", got.status, got.body)
		}
		if flow := b.get(got.header.Get("Location")); !strings.Contains(flow.body, "nightly") || flow.document(t).Find("svg.flow").Length() == 0 {
			t.Errorf("what was made: %d", flow.status)
		}
		if got := b.post(first+"/chain", form); got.status != http.StatusConflict {
			t.Errorf("made a second time: %d", got.status)
		}
		at := got.header.Get("Location")
		at, _, _ = strings.Cut(at, "?")
		if n := b.get(at).document(t).Find(fmt.Sprintf("form[action=%q]", at+"/unchain")).Length(); n != 1 {
			t.Errorf("%d ways back from the flow", n)
		}
		if got := b.post(at+"/unchain", nil); got.status != http.StatusSeeOther {
			t.Fatalf("undo it: %d %s", got.status, got.body)
		}
		if n := b.get(first).document(t).Find(fmt.Sprintf("a[href=%q]", first+"/chain")).Length(); n != 1 || b.get(at).status != http.StatusNotFound {
			t.Error("it is not as it was before")
		}
		if got := b.post(first+"/unchain", nil); got.status != http.StatusConflict {
			t.Errorf("of a job that was not made so: %d", got.status)
		}
	})
}
