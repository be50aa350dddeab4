package event

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// A cause is an argument that is told in words of its own: another event, or what is wrong with something that somebody wrote.

// CauseOf is an event as an argument of another.
func CauseOf(e Event) string {
	return fitting(func(most int) string {
		short := Event{Key: e.Key, At: e.At, Args: make([]string, len(e.Args))}
		for i, a := range e.Args {
			short.Args[i] = shorten(a, most)
		}
		return strings.TrimSuffix(List{short}.Encode(), "\n")
	})
}

// storedField is a field as an argument, and what logs and XXL-JOB's columns say in its place.
type storedField struct {
	invalid.Stored
	Said string `json:"said,omitempty"`
}

// CauseOfField is what is wrong with a value as an argument of an event; said is that in English.
func CauseOfField(f invalid.Field, said string) string {
	return fitting(func(most int) string {
		raw, err := json.Marshal(storedField{shortField(f, most).Stored(), shorten(said, most)})
		if err != nil { // cannot be: texts and numbers
			return f.Key
		}
		return string(raw)
	})
}

// fitting is a text of arguments that are as long as an argument of an event may be for it.
func fitting(encode func(most int) string) string {
	for most := MaxArg; most > 0; most /= 2 {
		if text := encode(most); len(text) <= MaxArg {
			return text
		}
	}
	return encode(0)
}

func shortField(f invalid.Field, most int) invalid.Field {
	short := invalid.Field{Name: f.Name, Key: f.Key, Noun: f.Noun, Args: make([]any, len(f.Args))}
	for i, arg := range f.Args {
		switch v := arg.(type) {
		case string:
			if i%2 == 1 {
				arg = shorten(v, most)
			}
		case invalid.Field:
			arg = shortField(v, most)
		}
		short.Args[i] = arg
	}
	return short
}

func shorten(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// cause reads an argument that is a cause: an event, or a field with a key and what that is in English, or neither.
func cause(value string) (e Event, f invalid.Field, said string) {
	if e, ok := parseLine(value); ok && strings.HasPrefix(value, "[") {
		return e, f, ""
	}
	var stored storedField
	if strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &stored) == nil {
		if f, ok := stored.Field(); ok {
			return Event{}, f, stored.Said
		}
	}
	return Event{}, invalid.Field{}, ""
}

// IsCause reads an argument that is another event; ok is false of anything else.
func IsCause(value string) (Event, bool) {
	e, _, _ := cause(value)
	return e, e.Key != ""
}

// PlainArgs are the arguments of an event for programs: a cause is said in English, as its parts are for those who tell it.
func (e Event) PlainArgs() []string {
	args := append([]string{}, e.Args...)
	for i, a := range Specs[e.Key].Args {
		if a.Kind == Cause && i < len(args) {
			args[i] = causeInEnglish(args[i], time.UTC)
		}
	}
	return args
}

// causeInEnglish is a cause for logs and XXL-JOB's columns.
func causeInEnglish(value string, zone *time.Location) string {
	switch e, f, said := cause(value); {
	case e.Key != "":
		return e.In(zone)
	case f.Key != "":
		return cmp.Or(said, f.Key)
	}
	return value
}

// cause is a cause in words.
func (t Teller) cause(value string) string {
	switch e, f, _ := cause(value); {
	case e.Key != "":
		t.Book, t.Family = nil, ""
		return t.Tell(e)
	case f.Key != "":
		return f.Text(t.Printer)
	}
	return value
}
