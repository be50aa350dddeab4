package legacy

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/problem"
)

// form reads parameters and gathers what is wrong with them. Like upstream's it takes them from the body and from the query.
type form struct {
	values url.Values
	faults []problem.Field
}

// text is a parameter as it was sent, with the line ends of a script.
func (f *form) text(name string) string {
	return strings.ReplaceAll(f.values.Get(name), "\r\n", "\n")
}

// has says whether a parameter was sent at all: one that was not leaves things as they are.
func (f *form) has(name string) bool { return f.values.Has(name) }

// orName is the name under which a parameter was sent: 3.5 calls some of them "name".
func (f *form) orName(name string) string {
	if !f.has(name) && f.has("name") {
		return "name"
	}
	return name
}

// number is a whole number; an empty one, or none, is otherwise.
func (f *form) number(name string, otherwise int64) int64 {
	text := strings.TrimSpace(f.values.Get(name))
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f.fault(name, "legacy.error.number", "Value", text)
		return otherwise
	}
	return n
}

// oneOf is a number among a few.
func (f *form) oneOf(name string, otherwise int64, known ...int64) int64 {
	n := f.number(name, otherwise)
	known = append(known, otherwise)
	if slices.Contains(known, n) {
		return n
	}
	slices.Sort(known)
	f.fault(name, "job.error.unknown", "Value", n, "Values", strings.Trim(fmt.Sprint(slices.Compact(known)), "[]"))
	return otherwise
}

// id is the row that a request is about: id, or the only one of ids[].
func (f *form) id() int64 {
	name := "id"
	for _, many := range []string{"ids[]", "ids"} {
		if f.has(many) {
			name = many
		}
	}
	var texts []string
	for _, value := range f.values[name] {
		texts = append(texts, list(value)...)
	}
	if len(texts) != 1 {
		f.fault(name, "legacy.error.one")
		return 0
	}
	n, err := strconv.ParseInt(texts[0], 10, 64)
	if err != nil || n < 1 {
		f.fault(name, "legacy.error.number", "Value", texts[0])
	}
	return n
}

// list cuts a text at its commas and leaves out what is empty.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '，' })
}

func (f *form) fault(name, key string, args ...any) {
	f.faults = append(f.faults, problem.Field{Name: name, Key: key, Args: args})
}

// err is what is wrong so far.
func (f *form) err() error {
	if len(f.faults) == 0 {
		return nil
	}
	return problem.InvalidFields(f.faults...)
}
