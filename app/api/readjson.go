package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
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

// twice is the path of the first member whose name was there before in its object, or "". What is no JSON has none.
func twice(text []byte) string {
	type level struct {
		path    string
		names   map[string]bool // of an object
		name    string          // of the member whose value comes
		inValue bool
		n       int // of an array
	}
	var levels []level
	at := func() string { // the path of the value that comes
		if len(levels) == 0 {
			return ""
		}
		l := &levels[len(levels)-1]
		part := l.name
		if l.names == nil {
			part = strconv.Itoa(l.n)
		}
		if l.path == "" {
			return part
		}
		return l.path + "." + part
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
			switch t {
			case '{':
				levels = append(levels, level{path: at(), names: make(map[string]bool)})
			case '[':
				levels = append(levels, level{path: at()})
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
