package link

import (
	"iter"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// A filter is a struct whose fields are parts of a query, named by their `q` tags. A text is trimmed and cut; one that is tagged as a word is
// not, since it has to be one of a few, and one that is tagged as a moment is a time or nothing. What says nothing is not written.

// parts are the fields of a filter with their tags, those of what it embeds included.
func parts(filter reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for field, v := range filter.Fields() {
			if !field.Anonymous {
				if !yield(field.Tag.Get("q"), v) {
					return
				}
				continue
			}
			for tag, v := range parts(v) {
				if !yield(tag, v) {
					return
				}
			}
		}
	}
}

// read reads a filter from a query. A value it cannot read counts as absent.
func read[T any](q url.Values) (filter T) {
	for tag, v := range parts(reflect.ValueOf(&filter).Elem()) {
		name, kind, _ := strings.Cut(tag, ",")
		switch field := v.Addr().Interface().(type) {
		case *int64:
			*field = Number(q, name)
		case *int:
			*field = int(min(Number(q, name), maxPage))
		case *bool:
			*field = Number(q, name) == 1
		case *string:
			switch kind {
			case "word":
				*field = q.Get(name)
			case "moment":
				*field = moment(q, name)
			default:
				*field = text(q, name)
			}
		}
	}
	return filter
}

// values is a filter as a query.
func values(filter any) url.Values {
	q := url.Values{}
	for tag, v := range parts(reflect.ValueOf(filter)) {
		name, _, _ := strings.Cut(tag, ",")
		switch field := v.Interface().(type) {
		case int64:
			setNumber(q, name, field)
		case int:
			if field > 1 { // a page
				setNumber(q, name, int64(field))
			}
		case bool:
			if field {
				q.Set(name, "1")
			}
		case string:
			setText(q, name, field)
		}
	}
	return q
}

// only leaves a word out that is none of those that a filter knows.
func only(word *string, known ...string) {
	if !slices.Contains(known, *word) {
		*word = ""
	}
}

// ranged leaves out of a filter's time what is no range, or the usual one, and times of another than the custom one: a form without
// JavaScript sends them along with any.
func ranged(named, from, to *string, usual string, known ...string) {
	if only(named, known...); *named == usual {
		*named = ""
	}
	if *named != RangeCustom {
		*from, *to = "", ""
	}
}
