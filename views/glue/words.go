package glue

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/format"
)

// script is the editor with a language's grammar. PHP's brings those of HTML and CSS along, so it has a bundle of its own.
func script(glueType string) string {
	if glueType == "GLUE_PHP" {
		return static.URL("editor-php.js")
	}
	return static.URL("editor.js")
}

// The forms whose text a trial takes.
const (
	editForm = "glue-form"
	tryForm  = "glue-waits"
)

// lineNumber is empty where a side has no line.
func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// sign says in a character what the colour says.
func sign(k LineKind, left bool) string {
	switch {
	case left && (k == LineChanged || k == LineRemoved):
		return "−"
	case !left && (k == LineChanged || k == LineAdded):
		return "+"
	default:
		return ""
	}
}

func differs(lines []Line) bool {
	for _, l := range lines {
		if l.Kind != LineSame && l.Kind != LineGap {
			return true
		}
	}
	return false
}

// textRows gives the plain text area room for a whole script, within reason.
func textRows(source string) int { return min(max(strings.Count(source, "\n")+2, 16), 40) }

// title is what a version is called by: its remark, or the number of one that has none, as the first of every job.
func (v Version) title() string { return cmp.Or(v.Remark, "#"+format.Digits(v.ID)) }

// merges says whether the editor of scripts shows the difference; that of a definition is a table.
func (p ComparePage) merges() bool { return p.Type != "FLOW" }

func (p EditPage) sourceLabel() string {
	if p.Flow != nil {
		return p.T("flow.form.text")
	}
	return p.T("glue.source")
}
