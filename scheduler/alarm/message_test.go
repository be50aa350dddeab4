package alarm

import "testing"

// TestATextOnOneLine: whatever some program takes for the end of a line, or does not show, is a space, and what is saved has none at its ends.
func TestATextOnOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ line, saved string }{
		"":                          {"", ""},
		"a name":                    {"a name", "a name"},
		"  a  name ":                {"  a  name ", "a  name"},
		"a\nb\r\nc":                 {"a b c", "a b c"},
		"\ta\t\x00\x1f":             {"a", "a"},
		"a \n":                      {"a ", "a"},
		"a\x7fb\u0085c":             {"a b c", "a b c"},
		"a\u2028b\u2029c":           {"a b c", "a b c"},
		"\u00a0\u4e00\u3000~\u0086": {"\u00a0\u4e00\u3000~\u0086", "\u4e00\u3000~\u0086"},
	} {
		if got := line(text); got != want.line {
			t.Errorf("%q: %q, want %q", text, got, want.line)
		}
		if got := trimmedLine(text); got != want.saved {
			t.Errorf("%q is saved as %q, want %q", text, got, want.saved)
		}
	}
}
