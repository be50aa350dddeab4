// Package icon draws the Lucide icons of the console, in the colour and size of the text around them.
//
// The shapes come from lucide-static (ISC licence, see static/dist/LICENSES.txt) through static/src/icons.mjs. They stand in one file that
// browsers keep, icons.svg, and a page names them: the shapes themselves were half of a long list.
package icon

import (
	"context"
	"io"
	"regexp"
	"sync"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/static"
)

// known are the icons of the file, each as a page writes it, from the first page on.
var known = sync.OnceValue(func() map[string]string {
	const file = "icons.svg"
	drawn := make(map[string]string)
	for _, found := range regexp.MustCompile(`<symbol id="([a-z0-9-]+)"`).FindAllSubmatch(static.Body(file), -1) {
		name := string(found[1])
		drawn[name] = `<svg class="icon" width="16" height="16" aria-hidden="true"><use href="` + static.URL(file) + "#" + name + `"/></svg>`
	}
	return drawn
})

// Icon draws an icon for the eye only: the text beside it, or the label of its button, says the same in words.
// It panics on a name that is not in the set, which rendering any page in a test shows.
func Icon(name string) templ.Component {
	svg, ok := known()[name]
	if !ok {
		panic("icon: no icon " + name)
	}
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, svg)
		return err
	})
}
