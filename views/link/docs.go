package link

import "net/url"

// The manual, and one of its pages.
const (
	DocsPath     = "/docs"
	DocPageRoute = "/docs/:page"
)

// Doc is a page of the manual, at one of its headings if id is not empty.
func Doc(page, id string) string {
	address := DocsPath + "/" + url.PathEscape(page)
	if id != "" {
		address += "#" + id
	}
	return address
}

// DocOf is the page of the manual that belongs to a place of the navigation.
func DocOf(place string) string {
	switch place {
	case "jobs", "runs", "dashboard":
		return Doc("concepts", "")
	case "executors":
		return Doc("executor", "")
	case "alarms":
		return Doc("alarms", "")
	case "nodes":
		return Doc("cluster", "")
	case "users":
		return Doc("operations", "people-and-rights")
	case "audit":
		return Doc("operations", "the-audit-log")
	case "settings":
		return Doc("operations", "settings")
	default:
		return DocsPath
	}
}
