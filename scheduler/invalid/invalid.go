// Package invalid is what is wrong with a value that somebody gave, whoever it was: a form, a file of jobs, a program.
package invalid

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field is what is wrong with one field.
type Field struct {
	Name string // what whoever refuses it calls the field
	Key  string // of the message
	Args []any  // pairs of a name and its value, for the message; a value may be a field whose text is put in
	Noun string // key of the word that the message calls Field; empty for none
}

// Printer gives the messages of a language.
type Printer interface {
	T(key string, args ...any) string
}

// Text is what is wrong, in a language.
func (f Field) Text(p Printer) string {
	args := f.Args
	for i, a := range args {
		if inner, is := a.(Field); is {
			args = slices.Clone(args)
			args[i] = inner.Text(p)
		}
	}
	if f.Noun != "" {
		args = append(slices.Clone(args), "Field", p.T(f.Noun))
	}
	return p.T(f.Key, args...)
}

// Fields is the error of values that were refused.
type Fields []Field

// Error implements error, for logs.
func (f Fields) Error() string {
	parts := make([]string, len(f))
	for i, field := range f {
		parts[i] = field.Name + ": " + field.Key
	}
	return "invalid: " + strings.Join(parts, ", ")
}

// IsLine says whether a name has only characters that are seen.
func IsLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\ufffd' || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff'
	})
}
