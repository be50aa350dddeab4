// Package event is what happened to a run, as data: how it ended ([Outcome]) and the list of what led there ([Event]). The
// engine writes both in the transaction that makes them true; pages, mails and programs read them and put them into words.
// Nothing that decides reads words.
//
// A run's events are one text column, a line for each: a JSON array of the key, the time and the arguments that [Specs]
// names for the key. So events are added by appending, in the same statement as the change they tell of, and a list that has
// grown to [MaxList] grows no further. Times are milliseconds since the epoch, by the engine's clock.
package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxList is how many bytes of events a row takes: what comes after is not recorded. MaxWrite is how many one write adds at most,
// and MaxArg is how many an argument has.
const (
	MaxList  = 24_000
	MaxWrite = 32_000
	MaxArg   = 2_000
)

// Event is one thing that happened to a run.
type Event struct {
	Key  Key
	At   int64    // epoch ms
	Args []string // as Specs[Key].Args names them
}

// New makes an event. Arguments are texts, integers, times (stored as epoch ms), durations (as ms) and types of these. Empty
// ones at the end are left out.
func New(at time.Time, key Key, args ...any) Event {
	e := Event{Key: key, At: at.UnixMilli()}
	if len(args) > 0 {
		e.Args = make([]string, len(args))
	}
	for i, a := range args {
		e.Args[i] = argument(a)
	}
	for len(e.Args) > 0 && e.Args[len(e.Args)-1] == "" {
		e.Args = e.Args[:len(e.Args)-1]
	}
	return e
}

// Plain is [New] with arguments that are texts already, of which those from outside have gone through [Clip]. It is for the
// events that every run has.
func Plain(at time.Time, key Key, args ...string) Event {
	return Event{Key: key, At: at.UnixMilli(), Args: args}
}

// argument is a value as an event stores it.
func argument(a any) string {
	switch v := a.(type) {
	case string:
		return Clip(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "1"
		}
		return ""
	case time.Time:
		return strconv.FormatInt(v.UnixMilli(), 10)
	case time.Duration:
		return strconv.FormatInt(v.Milliseconds(), 10)
	case error:
		return Clip(v.Error())
	}
	return Clip(fmt.Sprint(a))
}

// Clip bounds an argument, between characters, and makes it valid UTF-8.
func Clip(s string) string {
	if len(s) > MaxArg {
		n := MaxArg - len("…")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Text is the i-th argument, "" where there is none: an older version may have written fewer.
func (e Event) Text(i int) string {
	if i < len(e.Args) {
		return e.Args[i]
	}
	return ""
}

// Number is the i-th argument as a number, 0 where it is none.
func (e Event) Number(i int) int64 {
	n, err := strconv.ParseInt(e.Text(i), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Time is the i-th argument as a moment.
func (e Event) Time(i int) time.Time { return time.UnixMilli(e.Number(i)) }

// Duration is the i-th argument as a length of time.
func (e Event) Duration(i int) time.Duration { return time.Duration(e.Number(i)) * time.Millisecond }

// List is what happened to a run, in the order in which it was written down.
type List []Event

// Encode is the list as the column holds it: a line for each event, each with its line end.
func (l List) Encode() string {
	if len(l) == 0 {
		return ""
	}
	size := 0
	for _, e := range l {
		size += len(e.Key) + 24
		for _, a := range e.Args {
			size += len(a) + 3
		}
	}
	var b strings.Builder
	b.Grow(size)
	for _, e := range l {
		e.write(&b)
	}
	return b.String()
}

// Stored is the list as one write adds it to a row: encoded, and of one that is too long the newest events.
func (l List) Stored() string {
	text := l.Encode()
	for len(text) > MaxWrite {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

func (e Event) write(b *strings.Builder) {
	var number [20]byte
	b.WriteByte('[')
	writeJSON(b, string(e.Key))
	b.WriteByte(',')
	b.Write(strconv.AppendInt(number[:0], e.At, 10))
	for _, a := range e.Args {
		b.WriteByte(',')
		writeJSON(b, a)
	}
	b.WriteString("]\n")
}

// writeJSON adds a text as JSON; the plain ones, which are nearly all, without the library's detours.
func writeJSON(b *strings.Builder, s string) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil { // cannot be: a text
				quoted = []byte(`""`)
			}
			b.Write(quoted)
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
}

// Parse reads what the column holds. Lines that are no events are left out.
func Parse(text string) List {
	var list List
	for line := range strings.SplitSeq(text, "\n") {
		if e, ok := parseLine(line); ok {
			list = append(list, e)
		}
	}
	return list
}

func parseLine(line string) (e Event, ok bool) {
	if line == "" {
		return e, false
	}
	var parts []any
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&parts); err != nil || len(parts) < 2 {
		return e, false
	}
	key, isText := parts[0].(string)
	at, isNumber := parts[1].(json.Number)
	if !isText || !isNumber || key == "" {
		return e, false
	}
	ms, err := at.Int64()
	if err != nil {
		return e, false
	}
	e = Event{Key: Key(key), At: ms}
	for _, p := range parts[2:] {
		a, isText := p.(string)
		if !isText {
			return Event{}, false
		}
		e.Args = append(e.Args, a)
	}
	return e, true
}

// Last is the newest event with one of some keys.
func (l List) Last(keys ...Key) (Event, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if slices.Contains(keys, l[i].Key) {
			return l[i], true
		}
	}
	return Event{}, false
}

// All are the events with a key, oldest first.
func (l List) All(key Key) List {
	var list List
	for _, e := range l {
		if e.Key == key {
			list = append(list, e)
		}
	}
	return list
}
