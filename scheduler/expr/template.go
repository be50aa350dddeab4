package expr

import (
	"errors"
	"slices"
)

// Template is a text with expressions that was read. Planned times and expressions are filled in; what is kept, as the names of secrets,
// stays for whoever comes later.
type Template struct {
	text     string
	keep     func(inside string) bool
	programs map[string]*Program
	kept     []string
	reads    []string
}

// ParseTemplate reads a text. The error is an [*Error], or the [*Fault] of a planned time.
func ParseTemplate(text string, scope Scope, keep func(inside string) bool) (*Template, error) {
	t := &Template{text: text, keep: keep, programs: make(map[string]*Program)}
	var wrong error
	Each(text, func(inside string) {
		switch {
		case wrong != nil || t.programs[inside] != nil:
		case keep(inside):
			t.kept = append(t.kept, inside)
		case isPlanned(inside):
			if _, fault := parsePlanned(inside); fault != nil {
				wrong = fault
			}
		default:
			p, err := Compile(inside, scope)
			if err != nil {
				wrong = err
				return
			}
			t.programs[inside] = p
			for _, id := range p.Reads() {
				if !slices.Contains(t.reads, id) {
					t.reads = append(t.reads, id)
				}
			}
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	return t, nil
}

// Reads are the steps whose results it reads.
func (t *Template) Reads() []string { return t.reads }

// Plain says whether there is nothing to fill in.
func (t *Template) Plain() bool { return len(t.programs) == 0 && !HasPlanned(t.text) }

// Text is the text as it was written.
func (t *Template) Text() string { return t.text }

// Fill is the text with values in the place of its expressions. A value that looks like an expression, or becomes one with what stands
// beside it, is refused: it would be filled in when the run leaves, and that is how a result could ask for a secret. The error is an [*Error].
func (t *Template) Fill(v *Values) (string, error) {
	var wrong error
	size := len(t.text)
	filled := fill(t.text, func(inside string, at place) (string, bool) {
		if wrong != nil || t.keep(inside) {
			return "", false
		}
		if isPlanned(inside) {
			text, ok := PlannedValue(inside, v.Planned, zoneOr(v.Zone))
			return at.write(text), ok
		}
		p, known := t.programs[inside]
		if !known {
			return "", false // it is not an expression of this text
		}
		value, err := p.Eval(v)
		if err != nil {
			wrong = err
			return "", false
		}
		if value == nil && at == asValue {
			return "null", true
		}
		text, err := textOf(value)
		if size += len(text); err == nil && size > MaxResult {
			err = errEffort
		}
		if err != nil {
			wrong = valueError(inside, err)
			return "", false
		}
		return at.write(text), true
	})
	if wrong != nil {
		return "", wrong
	}
	var now []string
	Each(filled, func(inside string) { now = append(now, inside) })
	if !slices.Equal(now, t.kept) {
		return "", &Error{Kind: KindBraces, Expression: t.text}
	}
	return filled, nil
}

// valueError is why a value cannot be written.
func valueError(expression string, err error) *Error {
	if errors.Is(err, errEffort) {
		return &Error{Kind: KindEffort, Expression: expression}
	}
	return &Error{Kind: KindValue, Expression: expression, Reason: ReasonOf(err)}
}

// textOf is a value as it stands in a text: a text as it is, nothing as nothing, lists and maps as JSON.
func textOf(value any) (string, error) { return new(effort).text(value) }
