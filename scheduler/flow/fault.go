package flow

import (
	"encoding/json"
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
	CodeNoJob:                          "job {Value} does not exist",
	CodeItself:                         "flow {Value} would start itself",
	CodeParamLong:                      "with its values filled in the parameter is too long: at most {Max} bytes",
}

// Said is the fault as the message of a step has it, in English as all that is kept of results: where it is in the step, and what. Pages say
// it in the reader's language, by what [Fault.Stored] keeps.
func (f *Fault) Said() string {
	if _, known := words[f.Key]; !known {
		return f.Error()
	}
	text := f.Text(english{})
	switch {
	case f.Key == CodeNoJob, f.Key == CodeItself: // no field is wrong
		return text
	case f.Line > 0:
		return fmt.Sprintf("%s (line %d): %s", f.Name, f.Line, text)
	}
	return f.Name + ": " + text
}

// english has the words of faults, and those of the reasons that are arguments of theirs.
type english struct{}

// T implements [invalid.Printer].
func (english) T(key string, args ...any) string {
	if text, known := words[key]; known {
		return expr.Put(text, args)
	}
	return expr.Said(invalid.Field{Key: key, Args: args})
}

// storedField is a [Fault] as a step keeps it beside its words.
type storedField struct {
	invalid.Stored
	Line int `json:"line,omitempty"`
}

// storedFault is what a step has in the place of what its run gave.
type storedFault struct {
	Fault *storedField `json:"fault"`
}

// Stored is the fault as a step keeps it, for those who say it in another language than [Fault.Said].
func (f *Fault) Stored() string {
	raw, err := json.Marshal(storedFault{&storedField{f.Field.Stored(), f.Line}})
	if err != nil {
		return ""
	}
	return string(raw)
}

// FaultOf reads what [Fault.Stored] wrote, of a step; ok is false of anything else that a run gave.
func FaultOf(step, output string) (f *Fault, ok bool) {
	var s storedFault
	if !strings.HasPrefix(output, `{"fault":`) || json.Unmarshal([]byte(output), &s) != nil || s.Fault == nil {
		return nil, false
	}
	field, ok := s.Fault.Field()
	return &Fault{Step: step, Line: s.Fault.Line, Field: field}, ok
}

// What a fault is told as: with its step, or as one of the whole flow, or of a step that was named before.
const (
	keyAt = "flow.error.at"
	keyIn = "flow.error.in"
)

// Told is the fault as a message that says where it is and what.
func (f *Fault) Told() invalid.Field {
	key := keyAt
	if f.Step == "" {
		key = keyIn
	}
	return invalid.Field{Key: key, Args: []any{"Step", f.Step, "Line", f.Line, "Part", f.Name, "Text", invalid.Field{Key: f.Key, Args: f.Args}}}
}

// ToldFault is the other way: the fault that a message tells; ok is false of one that tells of none.
func ToldFault(told invalid.Field) (f Fault, ok bool) {
	if told.Key != keyAt && told.Key != keyIn || len(told.Args) != 8 {
		return f, false
	}
	inner, is := told.Args[7].(invalid.Field)
	f.Step, _ = told.Args[1].(string)
	f.Line, _ = told.Args[3].(int)
	f.Name, _ = told.Args[5].(string)
	f.Key, f.Args = inner.Key, inner.Args
	return f, is
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
