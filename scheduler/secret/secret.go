// Package secret is what a job may use without knowing it: named values that belong to an executor group, stored sealed. A job's
// parameter names one as ${{ secrets.NAME }}, and so does the environment of a script, in comment lines of its source:
//
//	# punctual:env DB_PASSWORD=${{ secrets.DB_PASSWORD }}
//
// Nothing is put in before the run is about to leave: its row, the job's versions, exports and the audit log have the names. [Value] and
// [Environment] are pure; [Store] keeps the values. Package expr reads the expressions.
package secret

import (
	"regexp"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/expr"
)

// MaxName and MaxValue are the characters of a name and the bytes of a value. MinValue is what can be told from other words when it is
// masked in an output.
const (
	MaxName  = 64
	MinValue = 4
	MaxValue = 16 << 10
)

var (
	nameRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variable = regexp.MustCompile(`(?m)^\s*(?:#|//|--|;|REM\b)\s*punctual:env\s+([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*$`)
)

// IsName says whether a text can be the name of a secret. Names are compared without case.
func IsName(name string) bool { return len(name) <= MaxName && nameRule.MatchString(name) }

// key is a name as it is compared.
func key(name string) string { return strings.ToUpper(name) }

// named is the name of the secret that an expression stands for, in capitals.
func named(inside string) (name string, ok bool) {
	name, ok = strings.CutPrefix(inside, "secrets.")
	return key(name), ok && nameRule.MatchString(name)
}

// Names are the secrets that texts name, each once, in capitals.
func Names(texts ...string) []string {
	var names []string
	for _, text := range texts {
		expr.Each(text, func(inside string) {
			if name, ok := named(inside); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
	}
	return names
}

// Value is what stands for an expression that names one of the values.
func Value(inside string, values map[string]string) (string, bool) {
	name, ok := named(inside)
	if !ok {
		return "", false
	}
	value, ok := values[name]
	return value, ok
}

// Variable is a line of a script's environment.
type Variable struct{ Name, Text string }

// Variables are the lines "punctual:env NAME=text" in the comments of a script.
func Variables(source string) []Variable {
	if !strings.Contains(source, "punctual:env") {
		return nil
	}
	var list []Variable
	for _, m := range variable.FindAllStringSubmatch(source, -1) {
		list = append(list, Variable{Name: m[1], Text: m[2]})
	}
	return list
}

// Environment is that of a script with what stands for its expressions.
func Environment(source string, value func(inside string) (string, bool)) map[string]string {
	var env map[string]string
	for _, v := range Variables(source) {
		if env == nil {
			env = make(map[string]string)
		}
		env[v.Name] = expr.Fill(v.Text, value)
	}
	return env
}

// InSource are the secrets that the environment of a script names. Anywhere else in it a name is only text.
func InSource(source string) []string {
	var texts []string
	for _, v := range Variables(source) {
		texts = append(texts, v.Text)
	}
	return Names(texts...)
}

// Masks are the texts that an output must not show: the values, and how programs write them in JSON, in XML, in an address, in base64, in
// hexadecimals and line by line.
func Masks(values map[string]string) []string {
	var masks []string
	has := make(map[string]bool) // a key of many lines has thousands
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= MinValue && !has[text] {
				has[text], masks = true, append(masks, text)
			}
		}
	}
	for _, value := range values {
		for _, text := range inJSON(value) {
			add(inJSON(text)...) // a parameter in JSON is often a text in other JSON
		}
		for _, text := range []string{value, plainJSON(value), expr.InJSON(value)} { // as it stands in a parameter
			add(inBase64(text)...)
		}
		add(inBase64Lines(value)...)
		add(hexadecimals(value)...)
		add(inXML(value)...)
		add(inAddress(value)...)
		add(inAddress(expr.InJSON(value))...) // as it stands in a parameter
		for line := range strings.Lines(value) {
			for _, text := range inJSON(strings.TrimRight(line, "\r\n")) {
				add(inJSON(text)...)
			}
		}
	}
	slices.SortFunc(masks, func(a, b string) int { return len(b) - len(a) }) // a whole before its parts
	return masks
}
