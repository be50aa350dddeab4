// Package expr reads what is put into texts: ${{ … }}. What stands between the braces is one of three:
//
//	${{ secrets.NAME }}                        a secret, put in when a run leaves: package secret
//	${{ planned | format, offset, zone }}      the time that a run is for: [Planned]
//	${{ steps.extract.output.rows > 0 }}       in a flow, an expression: [Program]; and texts with such: [Template]
//
// In the parameter of a job the first two are known, and all else is text, as it is to an XXL-JOB admin. In a flow all three are, and
// nothing else is text.
//
// # Expressions
//
// The language is that of github.com/expr-lang/expr, with fewer functions. What the library leaves without bounds (joining texts,
// comparing lists that contain themselves, looking for patterns, conditions inside of conditions) is done by functions of ours that count
// what they do ([effort]); they are put into the tree between reading and compiling it. Bounds are steps and bytes, never time: two
// admins that decide the same come to the same.
package expr

import (
	"encoding/json"
	"strings"
)

const (
	open   = "${{"
	closer = "}}"
	blank  = "\t\n\f\r " // what may stand between the braces and what is in them
)

// Each calls use with what stands in each pair of braces, without the blanks around it.
func Each(text string, use func(inside string)) {
	replace(text, func(_, inside string) (string, bool) {
		use(inside)
		return "", false
	})
}

// Fill puts values in the place of expressions, all in one go: what a value looks like is never read again. An expression without a
// value stays as it is. In a text that is JSON, or is once its expressions are values, values are put in as JSON has them, so that none ends a
// string, and none becomes more than one value.
func Fill(text string, value func(inside string) (string, bool)) string {
	return fill(text, func(inside string, at place) (string, bool) {
		v, ok := value(inside)
		return at.write(v), ok
	})
}

// place is where an expression stands.
type place int

const (
	inText   place = iota // of a text that is no JSON
	inString              // of JSON
	asValue               // of JSON: in the place of one
)

// write is a text as it stands in a place. As a value it is itself where it is one, as what [effort.json] writes or the number that a script gave,
// and otherwise a string.
func (p place) write(v string) string {
	switch p {
	case inString:
		return InJSON(v)
	case asValue:
		if !json.Valid([]byte(v)) {
			return `"` + InJSON(v) + `"`
		}
	case inText:
	}
	return v
}

// fill is [Fill] where the value of an expression hangs on its place.
func fill(text string, value func(inside string, at place) (string, bool)) string {
	if !strings.Contains(text, open) {
		return text
	}
	in := func(at place) string {
		return replace(text, func(_, inside string) (string, bool) { return value(inside, at) })
	}
	if json.Valid([]byte(text)) {
		return in(inString)
	}
	bare := strings.TrimLeft(text, blank)
	if bare[0] != '{' && bare[0] != '[' || !json.Valid([]byte(replace(text, func(string, string) (string, bool) { return "[]", true }))) {
		return in(inText)
	}
	quoted := false
	return replace(text, func(before, inside string) (string, bool) {
		if quoted = quoted != endsQuoted(before); quoted {
			return value(inside, inString)
		}
		return value(inside, asValue)
	})
}

// endsQuoted says whether a part of a JSON text that begins outside of a string ends in one, and the other way round.
func endsQuoted(part string) (quoted bool) {
	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '\\': // only in a string
			i++
		case '"':
			quoted = !quoted
		}
	}
	return quoted
}

// InJSON is a text as it stands between the quotes of a JSON string.
func InJSON(value string) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return "" // a text always encodes
	}
	return string(raw[1 : len(raw)-1])
}

// replace walks over a text once. The value of an expression may hang on what stands between it and the one before. Of braces that open one after
// the other the last belong to those that close.
func replace(text string, value func(before, inside string) (string, bool)) string {
	if !strings.Contains(text, open) {
		return text
	}
	var b strings.Builder
	from := 0 // of what stands before the next expression
	for at := 0; ; {
		end := strings.Index(text[at:], closer)
		if end < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		end += at
		whole := text[at : end+len(closer)]
		if begin := strings.LastIndex(text[at:end], open); begin >= 0 {
			begin += at
			if v, ok := value(text[from:begin], strings.Trim(text[begin+len(open):end], blank)); ok {
				whole = text[at:begin] + v
			}
			from = end + len(closer)
		}
		b.WriteString(whole)
		at = end + len(closer)
	}
}
