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

// quickFields calls set with the members of the object that b is and that have one of some names, in their order, until it returns false.
func quickFields(b []byte, names []string, set func(at int, value []byte) bool) bool {
	q := &quick{b: b}
	var seen uint64
	q.space()
	ok := q.object(quickDepth, func(name, value []byte) bool {
		at, ok := oneOf(name, names)
		if !ok || at < 0 {
			return ok
		}
		if seen&(1<<at) != 0 {
			return false
		}
		seen |= 1 << at
		return set(at, value)
	})
	q.space()
	return ok && q.i == len(b)
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
	q.space()
	if q.take(end) {
		return true
	}
	for {
		q.space()
		if !item() {
			return false
		}
		q.space()
		if q.take(end) {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
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
	return isWhole(scalar) || len(scalar) <= 32 && json.Valid(scalar)
}

// isWhole says whether a value is a number of some digits, as most are.
func isWhole(value []byte) bool {
	if len(value) == 0 || len(value) > 18 || value[0] == '0' && len(value) > 1 {
		return false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
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
	if len(q.b)-q.i < 4 {
		return false
	}
	for range 4 {
		if !isHex(q.b[q.i]) {
			return false
		}
		q.i++
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
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

func quickBool(value []byte) (yes, ok bool) {
	yes = string(value) == "true"
	return yes, yes || string(value) == "false"
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

// oneOf says which of some names a name is; -1: none. It is not ok where encoding/json would say otherwise: that takes a name in other
// letters too.
func oneOf(name []byte, names []string) (at int, ok bool) {
	for i, n := range names {
		if string(name) == n {
			return i, true
		}
	}
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return 0, false
		}
	}
	for _, n := range names {
		if len(n) == len(name) && strings.EqualFold(string(name), n) {
			return 0, false
		}
	}
	return -1, true
}

var (
	answerNames   = []string{"code", "msg", "content", "data"}
	logNames      = []string{"fromLineNum", "toLineNum", "logContent", "isEnd", "remembers"}
	wishNames     = []string{"failedOnly", "bytes"}
	resultNames   = []string{"code", "msg"}
	callbackNames = []string{"logId", "logDateTim", "logDateTime", "handleCode", "handleMsg", "executeResult", "undone", "outputs", "outputPushed", "waitedMs"}
	runsNames     = []string{"runs"}
	runNames      = []string{"jobId", "executorHandler", "executorParams", "executorBlockStrategy", "executorTimeout", "logId", "logDateTime", "glueType", "glueSource",
		"glueUpdatetime", "broadcastIndex", "broadcastTotal", "environment", "masks", "plannedAt", "keepOutput", "node", "traceparent"}
)

// quickAnswer reads an answer as [decodeAnswer] does. Its value is a part of body.
func quickAnswer(body []byte) (a Answer, ok bool) {
	var content, data []byte
	coded := false
	ok = quickFields(body, answerNames, func(at int, value []byte) (ok bool) {
		switch ok = true; at {
		case 0:
			coded = true
			a.Code, ok = quickInt(value)
		case 1:
			a.Msg, ok = quickText(value)
		case 2:
			content = value
		case 3:
			data = value
		}
		return ok
	})
	if !ok || !coded {
		return Answer{}, false
	}
	if a.Data = data; isNull(a.Data) {
		a.Data = content
	}
	if isNull(a.Data) {
		a.Data = nil
	}
	return a, true
}

// quickLogResult reads the value of an answer to /log as encoding/json does.
func quickLogResult(value []byte) (r LogResult, ok bool) {
	ok = quickFields(value, logNames, func(at int, value []byte) (ok bool) {
		switch at {
		case 0:
			r.FromLineNum, ok = quickInt(value)
		case 1:
			r.ToLineNum, ok = quickInt(value)
		case 2:
			r.LogContent, ok = quickText(value)
		case 3:
			r.IsEnd, ok = quickBool(value)
		case 4:
			r.Remembers, ok = quickInt64(value)
		}
		return ok
	})
	return r, ok
}

// quickRun reads the body of /run as encoding/json does.
func quickRun(body []byte) (r RunRequest, ok bool) {
	var block, glue string
	ok = quickFields(body, runNames, func(at int, value []byte) (ok bool) {
		switch at {
		case 0:
			r.JobID, ok = quickInt64(value)
		case 1:
			r.ExecutorHandler, ok = quickText(value)
		case 2:
			r.ExecutorParams, ok = quickText(value)
		case 3:
			block, ok = quickText(value)
		case 4:
			r.TimeoutSeconds, ok = quickInt(value)
		case 5:
			r.LogID, ok = quickInt64(value)
		case 6:
			r.LogDateTime, ok = quickInt64(value)
		case 7:
			glue, ok = quickText(value)
		case 8:
			r.GlueSource, ok = quickText(value)
		case 9:
			r.GlueUpdateTime, ok = quickInt64(value)
		case 10:
			r.BroadcastIndex, ok = quickInt(value)
		case 11:
			r.BroadcastTotal, ok = quickInt(value)
		case 12:
			ok = json.Unmarshal(value, &r.Environment) == nil
		case 13:
			ok = json.Unmarshal(value, &r.Masks) == nil
		case 14:
			r.PlannedAt, ok = quickInt64(value)
		case 15:
			r.KeepOutput, ok = quickWish(value)
		case 16:
			r.Node, ok = quickInt64(value)
		case 17:
			r.TraceParent, ok = quickText(value)
		}
		return ok
	})
	if !ok {
		return RunRequest{}, false
	}
	r.BlockStrategy, r.GlueType = Block(block), Glue(glue)
	return r, true
}

func quickWish(value []byte) (w *OutputWish, ok bool) {
	w = new(OutputWish)
	ok = quickFields(value, wishNames, func(at int, value []byte) (ok bool) {
		if at == 0 {
			w.FailedOnly, ok = quickBool(value)
		} else {
			w.Bytes, ok = quickInt(value)
		}
		return ok
	})
	return w, ok
}

// quickRuns reads the body of /runs as encoding/json does.
func quickRuns(body []byte) (r RunsRequest, ok bool) {
	ok = quickFields(body, runsNames, func(_ int, value []byte) (ok bool) {
		r.Runs, ok = quickItems(value)
		return ok
	})
	if !ok {
		return RunsRequest{}, false
	}
	return r, true
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

// quickResult reports whether a result is one that encoding/json would read.
func quickResult(value []byte) bool {
	return quickFields(value, resultNames, func(at int, value []byte) (ok bool) {
		if at == 0 {
			_, ok = quickInt(value)
		} else {
			_, ok = quickText(value)
		}
		return ok
	})
}

func quickCallback(item []byte) (c Callback, ok bool) {
	var undone string
	ok = quickFields(item, callbackNames, func(at int, value []byte) (ok bool) {
		switch at {
		case 0:
			c.LogID, ok = quickInt64(value)
		case 1:
			c.LogDateTim, ok = quickInt64(value)
		case 2:
			c.LogDateTime, ok = quickInt64(value)
		case 3:
			c.HandleCode, ok = quickInt(value)
		case 4:
			c.HandleMsg, ok = quickText(value)
		case 5: // the same for admins of the eras before J2
			ok = quickResult(value)
		case 6:
			undone, ok = quickText(value)
		case 8:
			c.Pushed, ok = quickBool(value)
		case 9:
			c.Waited, ok = quickInt64(value)
		}
		return ok // and not of values for a flow
	})
	if !ok || c.HandleCode == 0 {
		return Callback{}, false
	}
	at := max(c.LogDateTim, c.LogDateTime)
	c.LogDateTim, c.LogDateTime, c.Undone, c.Waited = at, at, Undone(undone), min(max(c.Waited, 0), MaxWaited)
	return c, true
}
