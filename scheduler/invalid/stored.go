package invalid

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Stored is a field as text keeps it, to be said later in any language: arguments are texts, numbers, or fields again.
type Stored struct {
	Name string            `json:"name,omitempty"`
	Key  string            `json:"key"`
	Args []json.RawMessage `json:"args,omitempty"`
	Noun string            `json:"noun,omitempty"`
}

// Stored is the field as text keeps it.
func (f Field) Stored() Stored {
	stored := Stored{Name: f.Name, Key: f.Key, Noun: f.Noun}
	for _, arg := range f.Args {
		if inner, is := arg.(Field); is {
			arg = inner.Stored()
		}
		raw, err := json.Marshal(arg)
		if err != nil {
			raw = []byte(`""`) // arguments are texts and numbers
		}
		stored.Args = append(stored.Args, raw)
	}
	return stored
}

// Field is what was stored; ok is false of anything else.
func (s Stored) Field() (f Field, ok bool) {
	f = Field{Name: s.Name, Key: s.Key, Noun: s.Noun}
	for _, raw := range s.Args {
		var arg any
		var inner Stored
		switch {
		case json.Unmarshal(raw, &inner) == nil:
			if arg, ok = inner.Field(); !ok {
				return f, false
			}
		default:
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.UseNumber()
			if decoder.Decode(&arg) != nil {
				return f, false
			}
			if n, is := arg.(json.Number); is { // messages count with them
				if whole, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
					arg = whole
				}
			}
		}
		f.Args = append(f.Args, arg)
	}
	return f, s.Key != "" && len(f.Args)%2 == 0
}
