package console

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/docs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/manual"
	"github.com/punctual-job/punctual/views/ui"
)

// docPages are the manual, in the reader's language, for everybody who is logged in.
type docPages struct{ *frame }

func (c *docPages) routes(g *echo.Group) {
	g.GET(link.DocsPath, c.front)
	g.GET(link.DocPageRoute, c.read)
}

// maxDocSearch bounds what is looked for, in bytes.
const maxDocSearch = 200

func (c *docPages) front(ec echo.Context) error {
	page := manual.FrontPage{Page: c.pageWithFlash(ec), Text: strings.TrimSpace(ec.QueryParam("q"))}
	page.Manual = docs.In(page.Lang())
	if len(page.Text) <= maxDocSearch {
		page.Hits = page.Manual.Search(page.Text)
	}
	return renderPart(ec, http.StatusOK, manual.Front(page), ui.FragmentResults)
}

func (c *docPages) read(ec echo.Context) error {
	page := manual.ReadPage{Page: c.pageWithFlash(ec)}
	page.Manual = docs.In(page.Lang())
	open, ok := page.Manual.Page(ec.Param("page"))
	if !ok {
		return notFound()
	}
	page.Open = open
	return render(ec, http.StatusOK, manual.Read(page))
}
