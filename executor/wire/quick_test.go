//go:build go1.26

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// What is skipped is JSON where encoding/json says so, and nowhere else.
func TestWhatIsSkippedIsJSON(t *testing.T) {
	t.Parallel()
	scalars := []string{"0", "1", "-1", "12345678901234567890123456789012345678901234567890", "1.5", "1e9", "true", "false", "null",
		"", "00", "01", "+1", "1.", "-", "1 2", "1a", "a1", "/", ":", "tru", "truer", "nul", "NaN"}
	texts := []string{`""`, `"`, `"a`, `"a"b`, `"\"`, `"\\"`, `"\`, `"\u`, `"\u"`, `"\u004"`, `"\u0041"`, `"\u004a\u004A"`, `"\u004g"`, `"\u+041"`, `"\u0_41"`, `"\u 041"`, `"\uD800"`, `"a\u00e9b\nc"`}
	for c := range 256 {
		texts = append(texts, `"`+string([]byte{byte(c)})+`"`, `"\`+string([]byte{byte(c)})+`"`, string([]byte{byte(c)}))
	}
	values := append(scalars, texts...)
	for _, inside := range []string{`1`, `"a"`, `{}`, `[]`, `tru`, ``} {
		values = append(values, `[`+inside+`]`, `[1,`+inside+`]`, `[`+inside+`,]`, `[,`+inside+`]`, `[`+inside+` 1]`, `[`+inside, `[`+inside+`}`,
			`{"a":`+inside+`}`, `{"a":1,"b":`+inside+`}`, `{"a":`+inside+`,}`, `{,"a":`+inside+`}`, `{"a"`+inside+`}`, `{"a" 1,"b":`+inside+`}`, `{a:`+inside+`}`, `{"a":`+inside, `{"a":`+inside+`]`)
	}
	for _, value := range values {
		for _, body := range []string{`{"x":%s}`, " \t\r\n{ \t\r\n\"x\" \t\r\n: \t\r\n%s \t\r\n, \t\r\n\"y\":[ \t\r\n%[1]s \t\r\n, \t\r\n1 \t\r\n]} \t\r\n"} {
			body := fmt.Sprintf(body, value)
			if got, want := quickFields([]byte(body)), json.Valid([]byte(body)); got != want {
				t.Errorf("%q is skipped: %v, and is JSON: %v", body, got, want)
			}
		}
	}
	for _, body := range []string{``, ` `, `{`, `}`, `[]`, `1`, `{}{}`, `{} 1`, `{"a"`, `{"a":`} {
		if quickFields([]byte(body)) {
			t.Errorf("%q is taken for an object", body)
		}
	}
}

// A body that nests without end would take the stack of its reader.
func TestWhatIsNestedDeepIsLeftToEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`[`, `{"a":`} {
		for depth, want := range map[int]bool{8: true, 32: false, 100_000: false} {
			value := strings.Repeat(part, depth) + "1" + strings.Repeat(map[string]string{`[`: `]`, `{"a":`: `}`}[part], depth)
			if got := quickFields([]byte(`{"x":` + value + `}`)); got != want {
				t.Errorf("%d times %s is skipped: %v", depth, part, got)
			}
		}
	}
}

// encoding/json takes a name in other letters, too, and of two values the last. Who reads quickly leaves both to it.
func TestNamesThatAreReadOtherwiseAreLeftToEncodingJSON(t *testing.T) {
	t.Parallel()
	var a, b int
	read := func(body string) bool {
		return quickFields([]byte(body), member{"ask", &a}, member{"kiss", &b})
	}
	for _, body := range []string{`{"ask":1,"kiss":2}`, `{"kiss":2, "more":[3], "asks":4, "as":5, "kisz":6, "":7, "ask":1}`} {
		a, b = 0, 0
		if !read(body) || a != 1 || b != 2 {
			t.Errorf("%s is read as %d and %d", body, a, b)
		}
	}
	for _, body := range []string{`{"ask":1,"ask":2}`, `{"kiss":1,"ask":2,"kiss":1}`, `{"Ask":1}`, `{"KISS":1}`, `{"a\u0073k":1}`, `{"\u0061sk":1}`, `{"aſk":1}`, `{"as\u212a":1}`, `{"kiſs":1}`, "{\"as\u212a\":1}", "{\"as\x80\":1}"} {
		if read(body) {
			t.Errorf("%s is read quickly", body)
		}
	}
}

// reading is a body that a peer may send, read both ways.
type reading struct {
	quickly func([]byte) (any, bool)
	slowly  func([]byte) (any, error)
}

func readings[T any](quickly func([]byte) (T, bool), slowly func([]byte) (T, error)) reading {
	return reading{func(b []byte) (any, bool) { return quickly(b) }, func(b []byte) (any, error) { return slowly(b) }}
}

func unmarshal[T any](body []byte) (v T, err error) { return v, json.Unmarshal(body, &v) }

// Bodies of which every member has a value, each member in turn without one, and spread over lines: all are read quickly, and as they are read slowly.
func TestEveryMemberIsReadQuicklyAsItIsReadSlowly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body string
		reading
	}{
		{`{"code":200,"msg":"a \"b\"","content":{"x":[1]},"data":{"y":2}}`, readings(quickAnswer, decodeAnswer)},
		{`{"code":500,"msg":null,"content":"x","data":null}`, readings(quickAnswer, decodeAnswer)},
		{`{"code":500,"msg":"\u003c\u00E9\u4e8c\\\/\b\f\n\r\t 二","data":null}`, readings(quickAnswer, decodeAnswer)},
		{`{"code":-1,"msg":"\ud7ff\ue000"}`, readings(quickAnswer, decodeAnswer)},
		{`{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb","isEnd":true,"remembers":-3}`, readings(quickLogResult, unmarshal[LogResult])},
		{`{"fromLineNum":1,"isEnd":false,"more":{}}`, readings(quickLogResult, unmarshal[LogResult])},
		{`{"logId":1,"head":2,"tail":3,"leftLines":4,"leftFaults":5}`, readings(quickPushHead, unmarshal[pushHead])},
		{string(encodeRun(new(fullRun(t)))), readings(quickRun, decodeRun)},
		{`[{"logId":1,"logDateTim":2,"logDateTime":3,"handleCode":200,"handleMsg":"a\nb","executeResult":{"code":200,"msg":"a"},"undone":"RUNNING","outputPushed":true,"waitedMs":4}]`, readings(quickCallbacks, decodeCallbacks)},
		{`[{"logId":1,"logDateTim":3,"logDateTime":2,"handleCode":500,"handleMsg":null,"executeResult":{},"undone":"WAITING","outputPushed":false,"waitedMs":-4},{"logId":2,"handleCode":200,"waitedMs":9999999999999}]`, readings(quickCallbacks, decodeCallbacks)},
		{`[]`, readings(quickCallbacks, decodeCallbacks)},
		{`{"runs":[{"jobId":1},{}, null,"x" ]}`, readings(quickRuns, unmarshal[RunsRequest])},
	}
	for _, tt := range tests {
		var lines bytes.Buffer
		if err := json.Indent(&lines, []byte(tt.body), "\r\n", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, body := range append(without([]byte(tt.body)), []byte(tt.body), []byte(" \n"+lines.String()+"\n ")) {
			got, ok := tt.quickly(body)
			want, err := tt.slowly(body)
			if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nis read quickly as %+v, %v\nand slowly as     %+v, %v", body, got, ok, want, err)
			}
		}
		for n := range tt.body { // a part of it is nothing
			if got, ok := tt.quickly([]byte(tt.body)[:n]); ok {
				t.Errorf("%s is read as %+v", tt.body[:n], got)
			}
		}
	}
}

// without is an object without each of its members.
func without(body []byte) (bodies [][]byte) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil // it is a list
	}
	for name := range members {
		part := make(map[string]json.RawMessage)
		for other, value := range members {
			if other != name {
				part[other] = value
			}
		}
		b, _ := encode(part)
		bodies = append(bodies, b)
	}
	return bodies
}

// These have a value that the quick reader does not know; whether they are read at all is for the other to say.
func TestOtherValuesAreLeftToTheSlowReader(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"code":"200"}`, `{"code":1.0}`, `{"code":null}`, `{"msg":"a"}`, `{"code":1,"msg":2}`, `{"code":1,"msg":"\ud800"}`, `{"code":1,"msg":"\uDFFF"}`, "{\"code\":1,\"msg\":\"\xff\"}"} {
		if got, ok := quickAnswer([]byte(body)); ok {
			t.Errorf("%q is read as %+v", body, got)
		}
	}
	for _, body := range []string{`{"isEnd":1}`, `{"isEnd":"true"}`, `{"isEnd":null}`, `{"remembers":9223372036854775808}`} {
		if got, ok := quickLogResult([]byte(body)); ok {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
	for _, body := range []string{`{"logId":1}`, `[{"logId":1}]`, `[{"handleCode":0}]`, `[{"handleCode":200,"outputs":{}}]`, `[{"handleCode":200,"executeResult":1}]`, `[1]`} {
		if got, ok := quickCallbacks([]byte(body)); ok {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
	for _, body := range []string{`{"runs":{}}`, `{"runs":1}`, `{"runs":[}`, `[]`} {
		if got, ok := quickRuns([]byte(body)); ok {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
}
