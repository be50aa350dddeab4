package legacy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/views/link"
)

// pages are those that people have in their bookmarks, wikis and old mails, and where they are now.
var pages = map[string]func(q url.Values) string{
	"":           func(url.Values) string { return link.Root },
	"dashboard":  func(url.Values) string { return link.Root },
	"help":       func(url.Values) string { return link.Root },
	"toLogin":    func(url.Values) string { return link.Login },
	"auth/login": func(url.Values) string { return link.Login },
	"jobgroup":   func(url.Values) string { return link.ExecutorsPath },
	"user":       func(url.Values) string { return link.UsersPath },
	"jobinfo":    func(q url.Values) string { return link.Jobs(link.JobFilter{Group: link.Number(q, "jobGroup")}) },
	"joblog": func(q url.Values) string {
		return link.Runs(link.RunFilter{Group: link.Number(q, "jobGroup"), Job: link.Number(q, "jobId")})
	},
	"jobcode":              func(q url.Values) string { return orRoot(link.Number(q, "jobId"), link.JobGlue) },
	"joblog/logDetailPage": func(q url.Values) string { return orRoot(link.Number(q, "id"), link.Run) },
}

func orRoot(id int64, to func(int64) string) string {
	if id == 0 {
		return link.Root
	}
	return to(id)
}

// formerPage leads from a page of upstream's to ours. What is none of them is looked for under the root.
func formerPage(ec echo.Context) error {
	u := ec.Request().URL
	rest := strings.Trim(strings.TrimPrefix(u.Path, Prefix), "/")
	if to, known := pages[rest]; known {
		return ec.Redirect(http.StatusFound, to(u.Query()))
	}
	to := link.Local("/" + rest)
	if to == "" {
		to = link.Root
	}
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return ec.Redirect(http.StatusFound, to)
}
