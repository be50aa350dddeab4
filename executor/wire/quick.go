package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Answers with a run's output are read as often as runs end, and encoding/json goes over each of their bytes four times. What follows reads
// the answers that peers send, once. It reads nothing that encoding/json would not, and what it does not know (another type, a name in
// other letters or twice, a surrogate) is left to that.

// quickDepth is how deep it looks into what it skips.
const quickDepth = 16

// quick is where a reader is.
type quick struct {
	b []byte
	i int
}

// member is a member of an object, and where its value goes.
type member struct {
	name string
	into any // *int, *int64, *string, *bool, *[]byte for the value as it stands, or a func([]byte) bool that reads it
}

// quickFields reads those members of the object that b is that have a name of these. Their values are parts of b.
func quickFields(b []byte, members ...member) bool {
	q := &quick{b: b}
	var seen uint64
	q.space()
	ok := q.object(quickDepth, func(name, value []byte) bool {
		at, ok := oneOf(name, members)
		if !ok || at < 0 {
			return ok
		}
		if seen&(1<<at) != 0 {
			return false
		}
		seen |= 1 << at
		return members[at].read(value)
	})
	q.space()
	return ok && q.i == len(b)
}

func (m member) read(value []byte) (ok bool) {
	switch into := m.into.(type) {
	case *int:
		*into, ok = quickInt(value)
	case *int64:
		*into, ok = quickInt64(value)
	case *string:
		*into, ok = quickText(value)
	case *bool:
		*into = string(value) == "true"
		ok = *into || string(value) == "false"
	case *[]byte:
		*into, ok = value, true
	case func([]byte) bool:
		ok = into(value)
	}
	return ok
}

// quickItems is what stands in the list that b is. Its parts are parts of b.
func quickItems(b []byte) (items []json.RawMessage, ok bool) {
	q := &quick{b: b}
	q.space()
	ok = q.list('[', ']', func() bool {
		from := q.i
		if !q.value(quickDepth) {
			return false
		}
		items = append(items, q.b[from:q.i:q.i])
		return true
	})
	q.space()
	return items, ok && q.i == len(b)
}

func (q *quick) space() {
	for q.i < len(q.b) {
		switch q.b[q.i] {
		case ' ', '\t', '\n', '\r':
			q.i++
		default:
			return
		}
	}
}

// take goes past a character, if it is the next.
func (q *quick) take(c byte) bool {
	if q.i < len(q.b) && q.b[q.i] == c {
		q.i++
		return true
	}
	return false
}

// object goes past an object; each may be nil.
func (q *quick) object(depth int, each func(name, value []byte) bool) bool {
	return q.list('{', '}', func() bool {
		from := q.i
		if !q.text() {
			return false
		}
		name := q.b[from+1 : q.i-1]
		q.space()
		if !q.take(':') {
			return false
		}
		q.space()
		from = q.i
		if !q.value(depth - 1) {
			return false
		}
		return each == nil || bytes.IndexByte(name, '\\') < 0 && each(name, q.b[from:q.i])
	})
}

// list goes past what stands between two brackets, with commas between.
func (q *quick) list(open, end byte, item func() bool) bool {
	if !q.take(open) {
		return false
	}
	if q.space(); q.take(end) {
		return true
	}
	for item() {
		if q.space(); q.take(end) {
			return true
		}
		if !q.take(',') {
			return false
		}
		q.space()
	}
	return false
}

// value goes past any value.
func (q *quick) value(depth int) bool {
	if q.i == len(q.b) || depth == 0 {
		return false
	}
	switch q.b[q.i] {
	case '"':
		return q.text()
	case '{':
		return q.object(depth, nil)
	case '[':
		return q.list('[', ']', func() bool { return q.value(depth - 1) })
	}
	from := q.i
	for q.i < len(q.b) && strings.IndexByte(",]} \t\r\n", q.b[q.i]) < 0 {
		q.i++
	}
	scalar := q.b[from:q.i] // a number, true, false or null
	return isWhole(scalar) || json.Valid(scalar)
}

// isWhole says whether a value is a number of digits alone, as most are. [json.Valid] takes longer to say so.
func isWhole(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0 && value[0] != '0'
}

// text goes past a string.
func (q *quick) text() bool {
	if !q.take('"') {
		return false
	}
	for {
		rest := q.b[q.i:]
		n := 0
		for n < len(rest) && rest[n] >= ' ' && rest[n] != '"' && rest[n] != '\\' { // nearly all of an output
			n++
		}
		if n == len(rest) {
			return false
		}
		q.i += n + 1
		switch c := rest[n]; {
		case c == '"':
			return true
		case c != '\\' || !q.escape():
			return false
		}
	}
}

// escape goes past what follows a backslash.
func (q *quick) escape() bool {
	if q.i == len(q.b) {
		return false
	}
	c := q.b[q.i]
	q.i++
	if c != 'u' {
		return strings.IndexByte(`"\/bfnrt`, c) >= 0
	}
	digits := q.b[q.i:min(q.i+4, len(q.b))] // gone past as other letters are
	_, err := strconv.ParseUint(string(digits), 16, 64)
	return err == nil && len(digits) == 4
}

// quickInt is a whole number that is written as one.
func quickInt(value []byte) (n int, ok bool) {
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}

func quickInt64(value []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// escapes are what the letters after a backslash stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// quickText is what a string that was gone past says, or null.
func quickText(value []byte) (text string, ok bool) {
	if string(value) == "null" {
		return "", true
	}
	if value[0] != '"' || !utf8.Valid(value) {
		return "", false
	}
	value = value[1 : len(value)-1]
	at := bytes.IndexByte(value, '\\')
	if at < 0 {
		return string(value), true
	}
	out := make([]byte, 0, len(value))
	for ; at >= 0; at = bytes.IndexByte(value, '\\') {
		out = append(out, value[:at]...)
		letter := value[at+1]
		value = value[at+2:]
		if letter != 'u' {
			out = append(out, escapes[letter])
			continue
		}
		r, err := strconv.ParseUint(string(value[:4]), 16, 32)
		if err != nil || 0xd800 <= r && r < 0xe000 {
			return "", false
		}
		out = utf8.AppendRune(out, rune(r))
		value = value[4:]
	}
	return string(append(out, value...)), true
}

// oneOf says which of some members has a name; -1: none. It is not ok where encoding/json would say otherwise: that takes a name in other
// letters too.
func oneOf(name []byte, members []member) (at int, ok bool) {
	for i, m := range members {
		if string(name) == m.name {
			return i, true
		}
	}
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return 0, false
		}
	}
	for _, m := range members {
		if strings.EqualFold(string(name), m.name) {
			return 0, false
		}
	}
	return -1, true
}

// quickAnswer reads an answer as [decodeAnswer] does. Its value is a part of body.
func quickAnswer(body []byte) (a Answer, ok bool) {
	var code, content, data []byte
	if !quickFields(body, member{"code", &code}, member{"msg", &a.Msg}, member{"content", &content}, member{"data", &data}) {
		return Answer{}, false
	}
	if a.Data = data; isNull(a.Data) {
		a.Data = content
	}
	if isNull(a.Data) {
		a.Data = nil
	}
	a.Code, ok = quickInt(code)
	return a, ok
}

// quickLogResult reads the value of an answer to /log as encoding/json does.
func quickLogResult(value []byte) (r LogResult, ok bool) {
	ok = quickFields(value, member{"fromLineNum", &r.FromLineNum}, member{"toLineNum", &r.ToLineNum}, member{"logContent", &r.LogContent},
		member{"isEnd", &r.IsEnd}, member{"remembers", &r.Remembers})
	return r, ok
}

// quickRun reads the body of /run as encoding/json does.
func quickRun(body []byte) (r RunRequest, ok bool) {
	ok = quickFields(body,
		member{"jobId", &r.JobID}, member{"executorHandler", &r.ExecutorHandler}, member{"executorParams", &r.ExecutorParams},
		member{"executorBlockStrategy", (*string)(&r.BlockStrategy)}, member{"executorTimeout", &r.TimeoutSeconds},
		member{"logId", &r.LogID}, member{"logDateTime", &r.LogDateTime},
		member{"glueType", (*string)(&r.GlueType)}, member{"glueSource", &r.GlueSource}, member{"glueUpdatetime", &r.GlueUpdateTime},
		member{"broadcastIndex", &r.BroadcastIndex}, member{"broadcastTotal", &r.BroadcastTotal},
		member{"environment", func(value []byte) bool { return json.Unmarshal(value, &r.Environment) == nil }},
		member{"masks", func(value []byte) bool { return json.Unmarshal(value, &r.Masks) == nil }},
		member{"plannedAt", &r.PlannedAt}, member{"node", &r.Node}, member{"traceparent", &r.TraceParent},
		member{"keepOutput", func(value []byte) bool {
			r.KeepOutput = new(OutputWish)
			return quickFields(value, member{"failedOnly", &r.KeepOutput.FailedOnly}, member{"bytes", &r.KeepOutput.Bytes})
		}})
	return r, ok
}

// quickRuns reads the body of /runs as encoding/json does.
func quickRuns(body []byte) (r RunsRequest, ok bool) {
	ok = quickFields(body, member{"runs", func(value []byte) (ok bool) {
		r.Runs, ok = quickItems(value)
		return ok
	}})
	return r, ok
}

// quickCallbacks reads the body of /api/callback, a list, as [DecodeCallbacks] does.
func quickCallbacks(body []byte) (callbacks []Callback, ok bool) {
	items, ok := quickItems(body)
	if !ok {
		return nil, false
	}
	callbacks = make([]Callback, len(items))
	for i, item := range items {
		if callbacks[i], ok = quickCallback(item); !ok {
			return nil, false
		}
	}
	return callbacks, true
}

func quickCallback(item []byte) (c Callback, ok bool) {
	ok = quickFields(item, member{"logId", &c.LogID}, member{"logDateTim", &c.LogDateTim}, member{"logDateTime", &c.LogDateTime},
		member{"handleCode", &c.HandleCode}, member{"handleMsg", &c.HandleMsg}, member{"executeResult", quickResult},
		member{"undone", (*string)(&c.Undone)}, member{"outputPushed", &c.Pushed}, member{"waitedMs", &c.Waited},
		member{"outputs", nil}) // values for a flow are left to encoding/json
	if !ok || c.HandleCode == 0 {
		return Callback{}, false
	}
	at := max(c.LogDateTim, c.LogDateTime)
	c.LogDateTim, c.LogDateTime, c.Waited = at, at, min(max(c.Waited, 0), MaxWaited)
	return c, true
}

// quickResult reports whether a result, which is said twice for admins of the eras before J2, is one that encoding/json would read.
func quickResult(value []byte) bool {
	var code int
	var msg string
	return quickFields(value, member{"code", &code}, member{"msg", &msg})
}
