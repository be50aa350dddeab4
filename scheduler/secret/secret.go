// Package secret is what a job may use without knowing it: named values that belong to an executor group, stored sealed. A job's
// parameter names one as ${{ secrets.NAME }}, and so does the environment of a script, in comment lines of its source:
//
//	# punctual:env DB_PASSWORD=${{ secrets.DB_PASSWORD }}
//
// Nothing is put in before the run is about to leave: its row, the job's versions, exports and the audit log have the names. [Fill] and
// [Environment] are pure; [Store] keeps the values.
package secret

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// MaxName and MaxValue are the characters of a name and the bytes of a value. MinValue is what can be told from other words when it is
// masked in an output.
const (
	MaxName  = 64
	MinValue = 4
	MaxValue = 16 << 10
)

var (
	nameRule  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reference = regexp.MustCompile(`\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
	variable  = regexp.MustCompile(`(?m)^\s*(?:#|//|--|;|REM\b)\s*punctual:env\s+([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*$`)
)

// IsName says whether a text can be the name of a secret. Names are compared without case.
func IsName(name string) bool { return len(name) <= MaxName && nameRule.MatchString(name) }

// key is a name as it is compared.
func key(name string) string { return strings.ToUpper(name) }

// Names are the secrets that texts name, each once, in capitals.
func Names(texts ...string) []string {
	var names []string
	for _, text := range texts {
		if !strings.Contains(text, "${{") {
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if name := key(m[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Fill puts values in the place of names. In a text that is JSON they are put in as JSON has them, so that no value ends a string.
func Fill(text string, values map[string]string) string {
	if !strings.Contains(text, "${{") {
		return text
	}
	form := func(value string) string { return value }
	if json.Valid([]byte(text)) {
		form = inJSON
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		value, ok := values[key(reference.FindStringSubmatch(found)[1])]
		if !ok {
			return found
		}
		return form(value)
	})
}

func inJSON(value string) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return "" // a text always encodes
	}
	return string(raw[1 : len(raw)-1])
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

// Environment is that of a script with its values.
func Environment(source string, values map[string]string) map[string]string {
	var env map[string]string
	for _, v := range Variables(source) {
		if env == nil {
			env = make(map[string]string)
		}
		env[v.Name] = Fill(v.Text, values)
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

// Masks are the texts that an output must not show: the values, and how they are written in JSON, in an address and line by line.
func Masks(values map[string]string) []string {
	var masks []string
	add := func(text string) {
		if len(text) >= MinValue && !slices.Contains(masks, text) {
			masks = append(masks, text)
		}
	}
	for _, value := range values {
		add(value)
		add(inJSON(value))
		add(url.QueryEscape(value))
		add(url.PathEscape(value))
		for line := range strings.Lines(value) {
			add(strings.TrimRight(line, "\r\n"))
		}
	}
	slices.SortFunc(masks, func(a, b string) int { return len(b) - len(a) }) // a whole before its parts
	return masks
}
