package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// twicePrefix begins what [readJSON] says of a member that is there twice; its path follows.
const twicePrefix = "twice: "

// readJSON reads a body. Two members of one name are a fault, and not a choice between them that others may make otherwise (RFC 8259 §4);
// so are bytes that are no text, for which encoding/json would put in something else.
func readJSON(text []byte, v any) error {
	if _, first := v.(*any); first { // huma reads it twice, the first time into this
		if !utf8.Valid(text) {
			return errors.New("not UTF-8")
		}
		if path := twice(text); path != "" {
			return errors.New(twicePrefix + path)
		}
	}
	return json.Unmarshal(text, v)
}

// deepest is how deep encoding/json reads.
const deepest = 10_000

// twice is the path of the first member whose name was there before in its object, or "". What is no JSON has none, and what is nested deeper
// than encoding/json reads is none. The path is made when it is asked for: those of all levels would fill the memory.
func twice(text []byte) string {
	type level struct {
		names   map[string]bool // of an object
		name    string          // of the member whose value comes
		inValue bool
		n       int // of an array
	}
	var levels []level
	at := func() string { // the path of the value that comes
		parts := make([]string, len(levels))
		for i, l := range levels {
			parts[i] = l.name
			if l.names == nil {
				parts[i] = strconv.Itoa(l.n)
			}
		}
		return strings.Join(parts, ".")
	}
	done := func() { // a value has ended
		if len(levels) > 0 {
			l := &levels[len(levels)-1]
			l.n++
			l.inValue = false
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case json.Delim:
			switch {
			case len(levels) > deepest:
				return ""
			case t == '{':
				levels = append(levels, level{names: make(map[string]bool)})
			case t == '[':
				levels = append(levels, level{})
			default:
				levels = levels[:len(levels)-1]
				done()
			}
			continue
		case string:
			if l := len(levels) - 1; l >= 0 && levels[l].names != nil && !levels[l].inValue {
				levels[l].name, levels[l].inValue = t, true
				if levels[l].names[t] {
					return at()
				}
				levels[l].names[t] = true
				continue
			}
		}
		done()
	}
}
