package curl

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/secret"
)

// secrets are what was taken out of a command.
type secrets struct {
	prefix string // the host
	byName map[string]string
	notes  []Note
}

// named is how a parameter names a secret.
func named(name string) string { return "${{ secrets." + name + " }}" }

var expression = regexp.MustCompile(`\$\{\{.*?\}\}`)

func withoutExpressions(text string) string { return expression.ReplaceAllString(text, "x") }

// add answers with what stands for a value. One that names a secret already stays.
func (s *secrets) add(kind Kind, of, suffix, value string) string {
	if kind != Basic && strings.Contains(value, "${{ secrets.") {
		return value
	}
	if s.byName == nil {
		s.byName = make(map[string]string)
	}
	stem := name(s.prefix + "_" + suffix)
	stem = strings.TrimRight(stem[:min(len(stem), secret.MaxName-3)], "_")
	for i := 1; ; i++ {
		n := stem
		if i > 1 {
			n = fmt.Sprintf("%s_%d", stem, i)
		}
		if there, taken := s.byName[n]; taken && there == value {
			return named(n)
		} else if !taken && i < 100 {
			s.byName[n] = value
			s.notes = append(s.notes, Note{Kind: kind, Text: firstLine(of), Name: n})
			return named(n)
		} else if i == 100 { // nobody has so many; none of them is shown all the same
			return named(n)
		}
	}
}

var noName = regexp.MustCompile(`[^A-Z0-9]+`)

// name makes the name of a secret of a text.
func name(text string) string {
	n := strings.Trim(noName.ReplaceAllString(strings.ToUpper(text), "_"), "_")
	if n == "" || n[0] <= '9' {
		n = "S_" + n
	}
	return n
}

// telling are the parts of names of what nobody should read.
var telling = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "authkey", "appkey", "credential", "signature", "session",
	"jwt", "cookie", "authorization", "subscriptionkey",
}

// sounds says whether a name is that of something secret.
func sounds(name string) bool {
	n := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", "%5b", "", "%5d", "", "[", "", "]", "").Replace(name))
	for _, part := range telling {
		if strings.Contains(n, part) {
			return true
		}
	}
	return slices.Contains([]string{"key", "auth", "xauth", "sig", "pass", "pin"}, n)
}

// pairs replaces the values of a=b&c=d whose names sound secret.
func (s *secrets) pairs(text string) string {
	parts := strings.Split(text, "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if ok && value != "" && !strings.ContainsAny(name, " \n\"<{") && sounds(name) {
			parts[i] = name + "=" + s.add(Secret, name, name, value)
		}
	}
	return strings.Join(parts, "&")
}

func (s *secrets) inURL(text string) string {
	before, fragment, hasFragment := strings.Cut(text, "#")
	address, query, ok := strings.Cut(before, "?")
	if !ok {
		return text
	}
	text = address + "?" + s.pairs(query)
	if hasFragment {
		text += "#" + fragment
	}
	return text
}

var member = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`)

// inBody replaces the values in a form and the texts in JSON whose names sound secret.
func (s *secrets) inBody(body string) string {
	if !json.Valid([]byte(body)) {
		return s.pairs(body)
	}
	return member.ReplaceAllStringFunc(body, func(pair string) string {
		m := member.FindStringSubmatch(pair)
		if m[3] == "" || !sounds(m[1]) {
			return pair
		}
		return `"` + m[1] + `"` + m[2] + `"` + s.add(Secret, m[1], m[1], m[3]) + `"`
	})
}
