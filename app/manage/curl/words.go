package curl

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// words reads a command as bash does: quotes of each kind, backslashes, lines that go on. What a shell would do beyond that is a fault,
// except for variables, which become secrets of the same name.
type words struct {
	text      string
	at        int
	word      strings.Builder
	open      bool // a word has begun; it may be empty
	list      []string
	variables []string
}

// split takes a command apart.
func split(text string) (list, variables []string, err error) {
	w := words{text: strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")}
	for w.at < len(w.text) {
		if err := w.next(); err != nil {
			return nil, nil, err
		}
	}
	w.end()
	return w.list, w.variables, nil
}

func (w *words) end() {
	if w.open {
		w.list = append(w.list, w.word.String())
	}
	w.word.Reset()
	w.open = false
}

func (w *words) add(text string) {
	w.word.WriteString(text)
	w.open = true
}

func (w *words) rest() string { return w.text[w.at:] }

func (w *words) next() error {
	c := w.text[w.at]
	w.at++
	switch c {
	case ' ', '\t':
		w.end()
	case '\n':
		w.end()
		if strings.TrimSpace(w.rest()) != "" && len(w.list) > 0 {
			return &Fault{Kind: Shell, Text: firstLine(strings.TrimSpace(w.rest()))}
		}
	case '\\':
		switch {
		case w.at == len(w.text): // the last line goes on, and nothing comes
		case w.text[w.at] == '\n':
			w.at++
		default:
			w.add(w.text[w.at : w.at+1])
			w.at++
		}
	case '\'':
		i := strings.IndexByte(w.rest(), '\'')
		if i < 0 {
			return &Fault{Kind: Quote, Text: "'"}
		}
		w.add(w.rest()[:i])
		w.at += i + 1
	case '"':
		return w.double()
	case '$':
		if strings.HasPrefix(w.rest(), "'") {
			w.at++
			return w.ansi()
		}
		if strings.HasPrefix(w.rest(), `"`) { // bash translates it, and without a catalogue it is a text
			w.at++
			return w.double()
		}
		return w.variable()
	case '`':
		return &Fault{Kind: Expansion, Text: "`"}
	case '^':
		if rest := w.rest(); rest != "" && strings.ContainsAny(rest[:1], "\"\n^") {
			return &Fault{Kind: Cmd}
		}
		w.add("^")
	case ';', '&', '|', '<', '>', '(', ')':
		return &Fault{Kind: Shell, Text: string(c)}
	case '{':
		if w.braces() {
			return &Fault{Kind: Expansion, Text: firstLine(w.text[w.at-1:])}
		}
		w.add("{")
	case '#':
		if !w.open {
			return &Fault{Kind: Shell, Text: "#"}
		}
		w.add("#")
	default:
		w.add(string([]byte{c}))
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if r := []rune(line); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return line
}

// double reads what stands in double quotes; the first of them is behind us.
func (w *words) double() error {
	w.add("")
	for w.at < len(w.text) {
		c := w.text[w.at]
		w.at++
		switch c {
		case '"':
			if strings.HasPrefix(w.rest(), `"`) { // how Windows writes a quote within quotes, which a shell would drop
				return &Fault{Kind: Cmd}
			}
			return nil
		case '`':
			return &Fault{Kind: Expansion, Text: "`"}
		case '$':
			if err := w.variable(); err != nil {
				return err
			}
		case '\\':
			if w.at == len(w.text) {
				return &Fault{Kind: Quote, Text: `"`}
			}
			switch next := w.text[w.at]; next {
			case '\n':
			case '"', '\\', '$', '`':
				w.add(string(next))
			default:
				w.add(`\` + w.text[w.at:w.at+1])
			}
			w.at++
		default:
			w.add(w.text[w.at-1 : w.at])
		}
	}
	return &Fault{Kind: Quote, Text: `"`}
}

// variable reads $NAME and ${NAME}; the dollar is behind us. Expressions of ours stay as they are.
func (w *words) variable() error {
	rest := w.rest()
	if strings.HasPrefix(rest, "{{") {
		if i := strings.Index(rest, "}}"); i > 0 {
			w.add("$" + rest[:i+2])
			w.at += i + 2
			return nil
		}
	}
	switch {
	case rest == "" || !strings.ContainsAny(rest[:1], "{([$!?#*@-") && !nameByte(rest[0]):
		w.add("$")
		return nil
	case strings.ContainsAny(rest[:1], "$!?#*@-"): // the number of the shell, of its arguments and so on
		return &Fault{Kind: Expansion, Text: "$" + rest[:1]}
	}
	name, closed := strings.CutPrefix(rest, "{")
	n := 0
	for n < len(name) && nameByte(name[n]) {
		n++
	}
	after := name[n:]
	if n == 0 || n > 64 || name[0] <= '9' || closed && !strings.HasPrefix(after, "}") {
		return &Fault{Kind: Expansion, Text: firstLine("$" + rest[:min(len(rest), 12)])}
	}
	w.add(named(name[:n]))
	if !slices.Contains(w.variables, name[:n]) {
		w.variables = append(w.variables, name[:n])
	}
	w.at = len(w.text) - len(strings.TrimPrefix(after, "}"))
	if !closed {
		w.at = len(w.text) - len(after)
	}
	return nil
}

// braces says whether bash makes several words of what a brace begins: {a,b} and {1..3}, outside of quotes. The brace is behind us.
func (w *words) braces() bool {
	several, depth := false, 1
	for rest := w.rest(); rest != ""; {
		n := 1
		switch rest[0] {
		case ' ', '\t', '\n':
			return false
		case '\\':
			n = 2
		case '\'', '"':
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				return false
			}
			n = end + 2
		case '{':
			depth++
		case ',':
			several = several || depth == 1
		case '.':
			several = several || depth == 1 && strings.HasPrefix(rest, "..")
		case '}':
			if depth--; depth == 0 {
				return several
			}
		}
		rest = rest[min(n, len(rest)):]
	}
	return false
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// escapes are those of $'…' that stand for one byte.
var escapes = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansi reads $'…'; its first quote is behind us.
func (w *words) ansi() error {
	w.add("")
	for w.at < len(w.text) {
		c := w.text[w.at]
		w.at++
		if c == '\'' {
			return nil
		}
		if c != '\\' {
			w.add(w.text[w.at-1 : w.at])
			continue
		}
		if w.at == len(w.text) {
			break
		}
		c = w.text[w.at]
		w.at++
		b, simple := escapes[c]
		switch {
		case simple:
			w.add(string([]byte{b}))
		case c >= '0' && c <= '7':
			w.at--
			n, _ := w.number(8, 3)
			w.add(string([]byte{byte(n)})) //nolint:gosec // as bash does
		case c == 'x' && strings.HasPrefix(w.rest(), "{"): // bash knows it, and nobody writes it
			return &Fault{Kind: Expansion, Text: `\x{`}
		case c == 'x':
			if n, ok := w.number(16, 2); ok {
				w.add(string([]byte{byte(n)})) //nolint:gosec // two digits
			} else {
				w.add(`\x`)
			}
		case c == 'u':
			w.unicode(4)
		case c == 'U':
			w.unicode(8)
		case c == 'c' && w.at < len(w.text):
			w.add(string([]byte{w.text[w.at] & 0x1f}))
			w.at++
		default:
			w.add(`\` + w.text[w.at-1:w.at])
		}
	}
	return &Fault{Kind: Quote, Text: "$'"}
}

// unicode adds a character by its number. Browsers write one beyond U+FFFF as the two of UTF-16.
func (w *words) unicode(digits int) {
	n, ok := w.number(16, digits)
	if !ok {
		w.add(map[int]string{4: `\u`, 8: `\U`}[digits])
		return
	}
	r := rune(n & 0x7fffffff) //nolint:gosec // 31 bits
	if utf16.IsSurrogate(r) && strings.HasPrefix(w.rest(), `\u`) {
		w.at += 2
		low, _ := w.number(16, 4)
		r = utf16.DecodeRune(r, rune(low)) //nolint:gosec // four digits
	}
	if !utf8.ValidRune(r) {
		w.word.WriteByte(0xff) // the command is refused for what is no text
		return
	}
	w.word.WriteString(string(utf8.AppendRune(nil, r)))
}

// number reads at most so many digits.
func (w *words) number(base, digits int) (uint64, bool) {
	n := 0
	for n < digits && w.at+n < len(w.text) {
		if _, err := strconv.ParseUint(w.text[w.at+n:w.at+n+1], base, 8); err != nil {
			break
		}
		n++
	}
	value, err := strconv.ParseUint(w.text[w.at:w.at+n], base, 64)
	w.at += n
	return value, err == nil
}
