package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MsgSuccess is the text of a success since 3.2.0; older clients ignore it.
const MsgSuccess = "Success"

// Answer is an answer as a client reads it: the value stays undecoded, because its kind depends on the call and on
// whether it succeeded.
type Answer struct {
	Code int
	Msg  string
	Data json.RawMessage // data or content, whichever was not null; nil if neither

	takesRuns bool // its head had [HeaderTakesRuns]
}

// OK says whether the peer did what it was asked.
func (a Answer) OK() bool { return a.Code == CodeSuccess }

// Repeated says that an executor refused a run because it has it already: the run was delivered by an earlier call.
// Releases until 3.4.0 misspell the text, and they only know runs that still wait.
func (a Answer) Repeated() bool {
	return a.Code == CodeFail && (strings.HasPrefix(a.Msg, "repeat trigger job") || strings.HasPrefix(a.Msg, "repeate trigger job"))
}

// leaving is the value of the answer of an executor of ours that shuts down.
const leaving = `"leaving"`

// Leaving is the value of an answer that refuses because the executor shuts down, as [AppendAnswer] takes it.
func Leaving() []byte { return []byte(leaving) }

// Leaves says that an executor refused because it shuts down: it has not begun what it was asked to. Ours alone say so.
func (a Answer) Leaves() bool { return a.Code == CodeFail && string(a.Data) == leaving }

// WrongToken says that an executor refused the call for its token.
func (a Answer) WrongToken() bool {
	return a.Code == CodeFail && (a.Msg == "The access token is wrong." || a.Msg == "invalid request, accessToken or appname invalid.")
}

// OtherDialect says that an executor of the other era was asked: it does not know the path, or it is a 3.5 one that got
// no app name. Nothing was run.
func (a Answer) OtherDialect() bool {
	if a.Code != CodeFail {
		return false
	}
	switch a.Msg {
	case "invalid request, uri-mapping(/run) not found.", "invalid request, uri-mapping(/trigger) not found.",
		"invalid request, accessToken or appname is empty.", "invalid request, accessToken or appname invalid.":
		return true
	}
	return false
}

// okBody is what most answers are; building it once keeps the hot path free of encoding.
var okBody = []byte(`{"code":200,"msg":"Success","content":null,"data":null}`)

// AppendAnswer appends an answer without a value, or with value (already JSON) in both members.
func AppendAnswer(dst []byte, code int, msg string, value []byte) []byte {
	if code == CodeSuccess && msg == MsgSuccess && value == nil {
		return append(dst, okBody...)
	}
	if value == nil {
		value = []byte("null")
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"msg":`...)
	dst = appendString(dst, msg)
	dst = append(dst, `,"content":`...)
	dst = append(dst, value...)
	dst = append(dst, `,"data":`...)
	dst = append(dst, value...)
	return append(dst, '}')
}

// appendString appends s as a JSON string without the HTML escapes of json.Marshal.
func appendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimRight(buf.Bytes(), "\n")...)
}

var errNoCode = errors.New("answer has no code")

// ErrTooOld is the answer of eras R0 to R2, which are not served (docs/decisions.md).
var ErrTooOld = errors.New("this executor is of XXL-JOB 2.1.2 or older and speaks another protocol; it must be upgraded to 2.2.0 or later")

// DecodeAnswer reads an answer of either shape. A body without a code is an error: it did not come from a peer that
// speaks the protocol (a proxy's page, another service on the port). Data may be a part of body.
func DecodeAnswer(body []byte) (Answer, error) {
	if bytes.Equal(body, okBody) {
		return Answer{Code: CodeSuccess, Msg: "Success"}, nil
	}
	if a, ok := quickAnswer(body); ok {
		return a, nil
	}
	return decodeAnswer(body)
}

// decodeAnswer reads an answer of whatever peer.
func decodeAnswer(body []byte) (Answer, error) {
	body = withoutMark(body)
	if refusal, ok := refusalAsCallback(body); ok {
		return refusal, nil
	}
	var raw struct {
		Code    *loose          `json:"code"`
		Msg     any             `json:"msg"`
		Content json.RawMessage `json:"content"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		if isHessian(body) {
			return Answer{}, ErrTooOld
		}
		return Answer{}, fmt.Errorf("decode answer: %w", err)
	}
	if raw.Code == nil {
		return Answer{}, fmt.Errorf("decode answer: %w", errNoCode)
	}
	a := Answer{Code: int(*raw.Code), Data: raw.Data}
	switch msg := raw.Msg.(type) {
	case nil:
	case string:
		a.Msg = msg
	default: // some community executors put an object here
		a.Msg = fmt.Sprint(msg)
	}
	if isNull(a.Data) {
		a.Data = raw.Content
	}
	if isNull(a.Data) {
		a.Data = nil
	}
	return a, nil
}

// withoutMark is a body without the byte order mark that libraries of some languages begin texts with: upstream's programs read past it.
func withoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// refusalAsCallback reads the answer of the community's Go executor to a run that it does not take: unlike all its other
// answers it has the form of a callback, a list of one.
func refusalAsCallback(body []byte) (Answer, bool) {
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '[' {
		return Answer{}, false
	}
	callbacks, err := DecodeCallbacks(body)
	if err != nil || len(callbacks) != 1 || callbacks[0].HandleCode == 0 || callbacks[0].HandleCode == CodeSuccess {
		return Answer{}, false
	}
	return Answer{Code: callbacks[0].HandleCode, Msg: callbacks[0].HandleMsg}, true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// loose is a whole number that a peer may also have written as text or with a fraction of zero.
type loose int64

// UnmarshalJSON implements [json.Unmarshaler]. Null and blank text are zero, as a Java peer reads them.
func (l *loose) UnmarshalJSON(b []byte) error {
	s := string(bytes.Trim(bytes.TrimSpace(b), `" `))
	if s == "" || s == "null" {
		*l = 0
		return nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*l = loose(n)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	// Beyond 2^53 a float no longer tells neighbouring ids apart, so it is refused instead of rounded.
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return fmt.Errorf("%s is not a whole number", b)
	}
	*l = loose(f)
	return nil
}

// looseText is text that a peer may also have written as a number or a boolean.
type looseText string

func (t *looseText) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0 || string(b) == "null":
		*t = ""
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(t))
	}
	*t = looseText(b) // a number, a boolean, or an object kept as its JSON
	return nil
}
