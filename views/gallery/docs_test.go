package gallery

import (
	"github.com/punctual-job/punctual/docs"
	"github.com/punctual-job/punctual/views/manual"
)

func (f fakes) docs(text string) manual.FrontPage {
	m := docs.In(f.Lang())
	return manual.FrontPage{Page: f.page("/docs"), Manual: m, Text: text, Hits: m.Search(text)}
}

func (f fakes) docsPage(name string) manual.ReadPage {
	m := docs.In(f.Lang())
	open, _ := m.Page(name)
	return manual.ReadPage{Page: f.page("/docs/" + name), Manual: m, Open: open}
}
