package expr

import (
	"errors"
	"testing"
)

// TestReasonsAreSaidInEnglish as what is kept of runs says them; pages say them in their reader's language.
func TestReasonsAreSaidInEnglish(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"len(1)":                         "a number has no length",
		"int('x')":                       "the text is no whole number",
		"float('x')":                     "the text is no number",
		"join(1, '')":                    "a number is no list",
		"fromJSON('{')":                  "the text is no JSON",
		"keys([])":                       "a list has no keys",
		"fromJSON('{}') - 1":             "a map and a number cannot be subtracted",
		"fromJSON('true') * 2":           "a truth value and a number cannot be multiplied",
		"fromJSON('null') + 1":           "nothing and a number cannot be added",
		"1 in fromJSON('2')":             "nothing is in a number",
		"fromJSON('1')[1:]":              "a number has no parts",
		"[1][fromJSON('\"a\"'):]":        "a text is no place in a list",
		"fromJSON('[]') < 1":             "a list and a number have no order",
		"9223372036854775807 + int('1')": "the number is too large",
		"planned('QQ')":                  "a planned time has no format “QQ”",
		"steps.a.output.none.more":       "cannot fetch more from <nil>",
		"any(1)":                         "any() takes nothing between its brackets",
		"let x = 1; x":                   "variables and several expressions in one are not offered",
	} {
		p, err := Compile(text, testScope)
		if err == nil {
			_, err = p.Eval(testValues())
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || Said(e.Reason) != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	p, err := Compile("flow.param", testScope)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Holds(testValues())
	if e, ok := errors.AsType[*Error](err); !ok || Said(e.Reason) != "it is neither true nor false, but a text" {
		t.Errorf("of a condition: %v", err)
	}
	_, _, err = p.List(testValues())
	if e, ok := errors.AsType[*Error](err); !ok || Said(e.Reason) != "it is no list, but a text" {
		t.Errorf("of a list: %v", err)
	}
}
