package flow

import (
	"strings"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// CodeCut is what is wrong with a text that YAML ends before its author did: behind a blank, the # of an expression begins a comment.
const CodeCut = "flow.error.cut" // Value: what is left of it

// cut is a text of a step that a comment ended.
type cut struct {
	field, left string
}

// notCut notes that a text of the step was ended by a comment, if it was.
func (s *Step) notCut(field string, n document.Node, template bool) {
	if left := isCut(n, template); left != "" {
		s.cuts = append(s.cuts, cut{field, left})
	}
}

// isCut is what a comment left of an expression, or of a text with expressions, that was meant to go on; "" where none was.
func isCut(n document.Node, template bool) string {
	text := n.Text
	if n.Beside == "" {
		return ""
	}
	if at := strings.LastIndex(text, "${{"); at >= 0 {
		if strings.Contains(text[at:], "}}") {
			return ""
		}
	} else if template || !open(text) {
		return ""
	}
	return n.Shown()
}

// open says whether more brackets are opened in an expression than closed, but for those in quotes.
func open(expression string) bool {
	depth, quote := 0, rune(0)
	escaped := false
	for _, c := range expression {
		switch {
		case escaped:
			escaped = false
		case quote != 0 && c == '\\' && quote != '`':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return depth > 0 || quote != 0
}

// cutFaults are the texts of a definition that comments ended. A run goes by them as they are: they are said to whoever saves them.
func cutFaults(def *Definition) (faults Faults) {
	fault := func(step string, line int, field, left string) {
		faults = append(faults, Fault{Step: step, Line: line, Field: invalid.Field{Name: field, Key: CodeCut, Args: []any{"Value", left}}})
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		for _, c := range s.cuts {
			fault(s.ID, s.LineOf(c.field), c.field, c.left)
		}
	}
	for _, o := range def.Outputs {
		if o.cut != "" {
			fault("", o.line, o.path(), o.cut)
		}
	}
	return faults
}
