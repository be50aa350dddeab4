package app

import (
	"net/http"
	"testing"
)

// TestHeadIsAnsweredAsGetIs where balancers and probes ask, on both listeners. What each person and token may is in the permission tests.
func TestHeadIsAnsweredAsGetIs(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.AdminListen = "127.0.0.1:0"
	a := start(t, o)
	pages := open(t, a)
	operators := *pages
	operators.base = "http://" + a.adminAddr
	sheet, _ := pages.get("/login").document(t).Find("link[rel=stylesheet]").Attr("href")
	for path, b := range map[string]*browser{
		"/healthz": pages, "/readyz": pages, "/actuator/health": pages, "/login": pages, "/jobs": pages, "/nothing": pages, sheet: pages, "/api/v1/openapi.json": pages, "/api/v1/nothing": pages,
		"/metrics": &operators, "/healthz?of=operators": &operators,
	} {
		sameWithoutBody(t, path, b.get(path), b.do(http.MethodHead, path, nil))
	}
	if got := pages.do(http.MethodHead, "/api/v1/runs/rerun", nil); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" || got.body != "" { // nothing is read there
		t.Errorf("where nothing is read: %d %v", got.status, got.header)
	}
}
