package link

import (
	"net/url"
	"strings"
)

// Where filters are kept.
const (
	ViewsPath   = "/views"
	ViewNewPath = "/views/new"
)

// ViewParams is the filter of a list as its query has it, without the place in the list, with everything left out that the list
// would not understand; empty for a list whose filters cannot be kept.
func ViewParams(page, query string) string {
	q, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	var address string
	switch page {
	case "jobs":
		f := JobsFrom(q)
		f.Page = 0
		address = Jobs(f)
	case "runs":
		f := RunsFrom(q)
		f.Before, f.After = 0, 0
		address = Runs(f)
	case "executors":
		f := ExecutorsFrom(q)
		f.Page = 0
		address = Executors(f)
	case "audit":
		f := AuditFrom(q)
		f.Before, f.After = 0, 0
		address = Audit(f)
	}
	_, params, _ := strings.Cut(address, "?")
	return params
}

// ViewOf is a list under a kept filter.
func ViewOf(page, params string) string {
	path := map[string]string{"jobs": JobsPath, "runs": RunsPath, "executors": ExecutorsPath, "audit": AuditPath}[page]
	if params == "" {
		return path
	}
	return path + "?" + params
}

// ViewNew asks for the name of a filter to keep.
func ViewNew(page, params string) string {
	return ViewNewPath + "?" + url.Values{"page": {page}, "params": {params}}.Encode()
}

// View is where a kept filter's form is posted (POST only).
func View(viewID int64) string { return ViewsPath + "/" + id(viewID) }

// ViewEdit is a kept filter's form.
func ViewEdit(viewID int64) string { return View(viewID) + "/edit" }

// ViewDelete forgets a kept filter (POST).
func ViewDelete(viewID int64) string { return View(viewID) + "/delete" }
