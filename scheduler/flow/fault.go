package flow

import (
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Fault is what is wrong in a definition, or with an expression of a run: in which step (empty: in the flow), in which of its fields (Name,
// as in the file) and on which line (0: it was read from no text).
type Fault struct {
	Step string
	Line int
	invalid.Field
}

// Error implements error, for logs.
func (f *Fault) Error() string {
	return fmt.Sprintf("line %d: step %s: %s: %s %v", f.Line, f.Step, f.Name, f.Key, f.Args)
}

// words are what may be wrong while a flow runs, in English.
var words = map[string]string{
	CodeExpr + string(expr.KindValue):  "the expression “{Expression}” has no value: {Reason}",
	CodeExpr + string(expr.KindEffort): "the expression “{Expression}” does too much, or its value is too large",
	CodeExpr + string(expr.KindBraces): "with its values filled in, “{Expression}” would ask for something else: one of them contains an expression",
	CodeItems:                          "the list has {Count} items, and at most {Max} are allowed",
	CodeMoment:                         "“{Value}” is no moment, such as 2026-12-31 23:30:00",
	CodeParamLong:                      "with its values filled in the parameter is too long: at most {Max} bytes",
}

// Said is the fault as the step of a run keeps it, in English as all that is kept of results: where it is in the step, and what.
func (f *Fault) Said() string {
	text, known := words[f.Key]
	if !known {
		return f.Error()
	}
	pairs := make([]string, len(f.Args))
	for i, arg := range f.Args {
		if pairs[i] = fmt.Sprint(arg); i%2 == 0 {
			pairs[i] = "{" + pairs[i] + "}"
		}
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	if f.Line > 0 {
		return fmt.Sprintf("%s (line %d): %s", f.Name, f.Line, text)
	}
	return f.Name + ": " + text
}

// Faults are what is wrong with a definition, in the order of its steps.
type Faults []Fault

// Error implements error, for logs.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i := range f {
		texts[i] = f[i].Error()
	}
	return strings.Join(texts, "; ")
}
