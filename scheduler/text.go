package scheduler

import "unicode/utf8"

// maxMessage is how many bytes of a message are stored; the columns hold 65,535 (docs/compat.md §8.2 #20).
const maxMessage = 60_000

// clip cuts a text to at most n bytes, between characters, and marks the cut.
func clip(s string, n int) string {
	const mark = " … (cut)"
	if len(s) <= n {
		return s
	}
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
