// Package icon draws the Lucide icons of the console as inline SVG, in the colour and size of the text around them.
//
// The shapes come from lucide-static (ISC licence, see static/dist/LICENSES.txt) through static/src/icons.mjs.
package icon

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Icon draws an icon for the eye only: the text beside it, or the label of its button, says the same in words.
// It panics on a name that is not in the set, which rendering any page in a test shows.
func Icon(name string) templ.Component {
	path, ok := paths[name]
	if !ok {
		panic("icon: no icon " + name)
	}
	svg := `<svg class="icon" viewBox="0 0 24 24" width="16" height="16" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">` +
		path + `</svg>`
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, svg)
		return err
	})
}
