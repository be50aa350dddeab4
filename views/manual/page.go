// Package manual draws the pages of the manual that the program carries ([docs.Manual]), and what was found in it.
package manual

import (
	"github.com/punctual-job/punctual/docs"
	"github.com/punctual-job/punctual/views/layout"
)

// FrontPage lists all pages, or what was found ([Front]).
type FrontPage struct {
	layout.Page
	Manual *docs.Manual
	Text   string // that was looked for; empty: nothing was
	Hits   []docs.Hit
}

// ReadPage is one page of the manual ([Read]).
type ReadPage struct {
	layout.Page
	Manual *docs.Manual
	Open   *docs.Page
}

// places are the headings that the list beside a page names.
func (p ReadPage) places() []docs.Heading {
	var all []docs.Heading
	for _, h := range p.Open.Headings {
		if h.Level == 2 {
			all = append(all, h)
		}
	}
	return all
}
