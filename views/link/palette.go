package link

import "net/url"

// The palette and the list of keys.
const (
	PalettePath = "/palette"
	KeysPath    = "/keys"
)

// Palette is the palette with a text typed into it.
func Palette(text string) string {
	q := url.Values{}
	setText(q, "q", text)
	return withQuery(PalettePath, q)
}

// JobsBulk asks (GET) and does something to many jobs (POST).
const JobsBulk = JobsPath + "/bulk"
