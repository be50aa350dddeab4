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
	replace(text, func(inside string) (string, bool) {
		use(inside)
		return "", false
	})
}

// Fill puts values in the place of expressions, all in one go: what a value looks like is never read again. An expression without a
// value stays as it is. In a text that is JSON values are put in as JSON has them, so that none ends a string.
func Fill(text string, value func(inside string) (string, bool)) string {
	if !strings.Contains(text, open) {
		return text
	}
	if !json.Valid([]byte(text)) {
		return replace(text, value)
	}
	return replace(text, func(inside string) (string, bool) {
		v, ok := value(inside)
		return InJSON(v), ok
	})
}

// InJSON is a text as it stands between the quotes of a JSON string.
func InJSON(value string) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return "" // a text always encodes
	}
	return string(raw[1 : len(raw)-1])
}

// replace walks over a text once. Of braces that open one after the other the last belong to those that close.
func replace(text string, value func(inside string) (string, bool)) string {
	if !strings.Contains(text, open) {
		return text
	}
	var b strings.Builder
	for {
		end := strings.Index(text, closer)
		if end < 0 {
			b.WriteString(text)
			return b.String()
		}
		whole := text[:end+len(closer)]
		if begin := strings.LastIndex(text[:end], open); begin >= 0 {
			if v, ok := value(strings.Trim(text[begin+len(open):end], blank)); ok {
				whole = text[:begin] + v
			}
		}
		b.WriteString(whole)
		text = text[end+len(closer):]
	}
}
