package ui

import (
	"regexp"
	"strings"
)

// Stretch is a part of a text that somebody else wrote.
type Stretch struct {
	Text string
	Link bool // it is an address of the web
}

// address is one of the web in a text. Nothing but these two schemes becomes a link, and no mark that turns the direction of writing
// around is in one.
var address = regexp.MustCompile(`https?://[^\s<>"'` + "`" + `{}|\\^\x00-\x1f\x7f\x{fffd}\x{2400}-\x{2421}\x{202a}-\x{202e}\x{2066}-\x{2069}]+`)

// maxAddress bounds a link, in bytes; what is longer stays text.
const maxAddress = 2000

// Stretches finds the addresses of the web in a text.
func Stretches(text string) (list []Stretch) {
	at := 0
	for _, m := range address.FindAllStringIndex(text, -1) {
		end := m[0] + len(withoutEnd(text[m[0]:m[1]]))
		if end-m[0] > maxAddress || strings.HasSuffix(text[m[0]:end], "://") {
			continue
		}
		if m[0] > at {
			list = append(list, Stretch{Text: text[at:m[0]]})
		}
		list, at = append(list, Stretch{text[m[0]:end], true}), end
	}
	if at == 0 || at < len(text) {
		list = append(list, Stretch{Text: text[at:]})
	}
	return list
}

// withoutEnd leaves out what ends a sentence behind an address, and a bracket that was opened before it.
func withoutEnd(link string) string {
	for {
		shorter := strings.TrimRight(link, ".,;:!?。，；、）”")
		for _, b := range []string{"()", "[]"} {
			if strings.HasSuffix(shorter, b[1:]) && strings.Count(shorter, b[1:]) > strings.Count(shorter, b[:1]) {
				shorter = shorter[:len(shorter)-1]
			}
		}
		if shorter == link {
			return link
		}
		link = shorter
	}
}
