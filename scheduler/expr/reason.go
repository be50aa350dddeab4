package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/file"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// The keys of the messages that say why an expression cannot be read, or has no value. A value is called by its kind.
const (
	reasonKey = "flow.reason."
	kindKey   = "flow.reason.kind."
)

// why is a reason as the functions give it.
type why struct{ invalid.Field }

// Error implements error, for logs.
func (w *why) Error() string { return Said(w.Field) }

func because(reason string, args ...any) *why {
	return &why{invalid.Field{Key: reasonKey + reason, Args: args}}
}

// english are the reasons as what is kept of runs says them. All languages are in package locales.
var english = map[string]string{
	"adding":      "{Kind} and {Other} cannot be added",
	"arguments":   "{Name}() takes nothing between its brackets",
	"endless":     "the number has no end",
	"inside":      "nothing is in {Kind}",
	"json":        "the text is no JSON",
	"keys":        "{Kind} has no keys",
	"large":       "the number is too large",
	"length":      "{Kind} has no length",
	"library":     "{Detail}",
	"list":        "{Kind} is no list",
	"multiplying": "{Kind} and {Other} cannot be multiplied",
	"nolist":      "it is no list, but {Kind}",
	"notext":      "{Kind} has no text",
	"notruth":     "it is neither true nor false, but {Kind}",
	"number":      "{Kind} is no number",
	"offered":     "this is not offered",
	"order":       "{Kind} and {Other} have no order",
	"parts":       "{Kind} has no parts",
	"pattern":     "a pattern has at most {Max} bytes",
	"place":       "{Kind} is no place in {Other}",
	"range":       "there is no range from {Kind} to {Other}",
	"repeats":     "the pattern repeats too much",
	"stepname":    "a step is named as in steps.ID",
	"subtracting": "{Kind} and {Other} cannot be subtracted",
	"text":        "{Kind} is no text",
	"textnumber":  "the text is no number",
	"textwhole":   "the text is no whole number",
	"variables":   "variables and several expressions in one are not offered",

	"kind.large":   "a number that is too large",
	"kind.list":    "a list",
	"kind.map":     "a map",
	"kind.nothing": "nothing",
	"kind.number":  "a number",
	"kind.other":   "something else",
	"kind.text":    "a text",
	"kind.truth":   "a truth value",

	"planned.format": "a planned time has no format “{Value}”",
	"planned.offset": "“{Value}” is no offset of a planned time",
	"planned.whole":  "“{Value}” is no planned time",
	"planned.zone":   "the zone “{Value}” of the planned time is not known",
}

// Said is a reason in English, "" for none.
func Said(reason invalid.Field) string {
	if reason.Key == "" {
		return ""
	}
	return reason.Text(words{})
}

type words struct{}

// T implements [invalid.Printer].
func (words) T(key string, args ...any) string {
	text, known := english[strings.TrimPrefix(key, reasonKey)]
	if !known {
		return key
	}
	return Put(text, args)
}

// Put puts arguments, pairs of a name and a value, in the places of a text that name them in braces.
func Put(text string, args []any) string {
	pairs := make([]string, len(args))
	for i, arg := range args {
		if pairs[i] = fmt.Sprint(arg); i%2 == 0 {
			pairs[i] = "{" + pairs[i] + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// ReasonOf is why something went wrong. What the library says stays as it says it, in English and without the excerpt that it draws.
func ReasonOf(err error) invalid.Field {
	if w, ok := errors.AsType[*why](err); ok {
		return w.Field
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return because("planned."+string(f.Part), "Value", f.Text).Field
	}
	said := err.Error()
	if e, ok := errors.AsType[*file.Error](err); ok {
		said = e.Message
	}
	return because("library", "Detail", clean(said)).Field
}

// kindOf names what a value is.
func kindOf(v any) invalid.Field {
	kind := "other"
	switch v.(type) {
	case nil:
		kind = "nothing"
	case bool:
		kind = "truth"
	case string:
		kind = "text"
	case map[string]any:
		kind = "map"
	case json.Number:
		kind = "large"
	default:
		if _, ok := number(v); ok {
			kind = "number"
		} else if _, ok := listOf(v); ok {
			kind = "list"
		}
	}
	return invalid.Field{Key: kindKey + kind}
}
