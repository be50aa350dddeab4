package runs

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/views/ui"
)

// piece is a stretch of a line of output in one look.
type piece struct {
	class string // of the style sheet; empty for plain text
	text  string
	link  bool // the text is an address of the web
}

// escapes are the colour and cursor codes that programs print for terminals. Those that choose a look have their numbers in
// the first group.
var escapes = regexp.MustCompile("\x1b(?:\\[([0-9;:]*)m|\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// framed are the line breaks that an executor of XXL-JOB writes around each run, for a page that showed output as HTML.
var framed = strings.NewReplacer("<br>-----------", "\n-----------")

// pieces is a line as a terminal would leave it: its colours without the codes for them, of a progress line only its last state, and
// addresses as links. A line that frames a run in an executor of XXL-JOB has breaks in it.
func pieces(line string) []piece {
	list := coloured(line)
	if !strings.Contains(line, "://") {
		return list
	}
	var linked []piece
	for _, p := range list {
		for _, s := range ui.Stretches(p.text) {
			linked = append(linked, piece{class: p.class, text: s.Text, link: s.Link})
		}
	}
	return linked
}

func coloured(line string) []piece {
	line = strings.TrimRight(framed.Replace(line), "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if strings.IndexByte(line, 0x1b) < 0 {
		return []piece{{text: visible(line)}}
	}
	var list []piece
	var now look
	add := func(text string) {
		if text == "" {
			return
		}
		if n := len(list); n > 0 && list[n-1].class == now.class() {
			list[n-1].text += visible(text)
			return
		}
		list = append(list, piece{class: now.class(), text: visible(text)})
	}
	at := 0
	for _, m := range escapes.FindAllStringSubmatchIndex(line, -1) {
		add(line[at:m[0]])
		if m[2] >= 0 {
			now = now.changed(line[m[2]:m[3]])
		}
		at = m[1]
	}
	add(line[at:])
	return list
}

// look is what codes have chosen. Grounds and the difference between plain and bright colours are left out: what is printed
// for somebody else's theme must stay readable on ours.
type look struct {
	colour string // "red", …; empty for the text's own
	bold   bool
}

func (l look) class() string {
	switch {
	case l.bold && l.colour != "":
		return "bold " + l.colour
	case l.bold:
		return "bold"
	}
	return l.colour
}

// colours are the eight of a terminal, by red, green and blue as the bits 1, 2 and 4. White is the text's own.
var colours = [8]string{"gray", "red", "green", "yellow", "blue", "magenta", "cyan", ""}

// changed reads the numbers of one code.
func (l look) changed(code string) look {
	var n []int
	for text := range strings.FieldsFuncSeq(code, func(r rune) bool { return r == ';' || r == ':' }) {
		v, err := strconv.Atoi(text)
		if err != nil {
			return l
		}
		n = append(n, v)
	}
	if len(n) == 0 {
		return look{}
	}
	for i := 0; i < len(n); i++ {
		switch c := n[i]; {
		case c == 0:
			l = look{}
		case c == 1:
			l.bold = true
		case c == 22:
			l.bold = false
		case c == 39:
			l.colour = ""
		case c >= 30 && c <= 37:
			l.colour = colours[c-30]
		case c >= 90 && c <= 97:
			l.colour = colours[c-90]
		case (c == 38 || c == 48) && i+2 < len(n) && n[i+1] == 5:
			if c == 38 {
				l.colour = indexed(n[i+2])
			}
			i += 2
		case (c == 38 || c == 48) && i+4 < len(n) && n[i+1] == 2:
			if c == 38 {
				l.colour = indexed(cubed(n[i+2], n[i+3], n[i+4]))
			}
			i += 4
		}
	}
	return l
}

// indexed is a colour of the table of 256: sixteen, a cube of six steps a side, and grays. The style sheet has the nearest of the
// eight; the script of the output has them all (static/src/js/colours.js).
func indexed(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return colours[n%8]
	case n >= 232:
		return strings.TrimLeft(gray(n)+" c"+strconv.Itoa(n), " ")
	}
	cube := n - 16
	return strings.TrimLeft(nearest(cube/36, cube/6%6, cube%6)+" c"+strconv.Itoa(n), " ")
}

func gray(n int) string {
	if n < 248 {
		return "gray"
	}
	return ""
}

// cubed is the place of a true colour in the table.
func cubed(r, g, b int) int {
	step := func(v int) int {
		if v < 48 {
			return 0
		}
		return min(5, max(1, (v-35)/40))
	}
	return 16 + 36*step(r) + 6*step(g) + step(b)
}

// nearest is the colour of the eight with the same hue.
func nearest(r, g, b int) string {
	strong := max(r, g, b)
	bits := 0
	for i, v := range [3]int{r, g, b} {
		if strong > 0 && 10*v >= 6*strong {
			bits |= 1 << i
		}
	}
	return colours[bits]
}

// visible shows what would otherwise not be seen, or would show the rest of the line as something else: control characters
// by their pictures, and marks that turn the direction of writing around.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 && r != '\t' && r != '\n':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return 0xfffd
		}
		return r
	}, text)
}
