//go:build go1.26

package wire

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDecodeCallbacks(t *testing.T) {
	t.Parallel()
	done := Callback{LogID: 4321, LogDateTim: 99, LogDateTime: 99, HandleCode: 200, HandleMsg: "done"}
	for name, tc := range map[string]struct {
		body string
		want []Callback
	}{
		"J1 executeResult":                   {`[{"logId":4321,"logDateTim":99,"executeResult":{"code":200,"msg":"done"}}]`, []Callback{done}},
		"J2 array":                           {`[{"logId":4321,"logDateTim":99,"handleCode":200,"handleMsg":"done"}]`, []Callback{done}},
		"J4 object":                          {`{"callbackList":[{"logId":4321,"logDateTime":99,"handleCode":200,"handleMsg":"done"}]}`, []Callback{done}},
		"a result by itself":                 {` {"logId":4321,"logDateTim":99,"handleCode":200,"handleMsg":"done"}`, []Callback{done}},
		"of J1 by itself":                    {`{"logId":4321,"logDateTim":99,"executeResult":{"code":200,"msg":"done"}}`, []Callback{done}},
		"members of other eras, of any type": {`[{"logId":4321,"logDateTim":99,"logDateTime":"2026-01-01 00:00:00","handleCode":200,"handleMsg":"done","executeResult":"x","outputs":["a"],"waitedMs":{}}]`, []Callback{done}},
		"a time that is none":                {`[{"logId":4321,"logDateTim":"2026-01-01T00:00:00.000+08:00","logDateTime":99,"handleCode":200,"handleMsg":"done"}]`, []Callback{done}},
		"an empty list of J4":                {`{"callbackList":[]}`, []Callback{}},
		"numbers as text":                    {`[{"logId":"4321","logDateTim":"99","handleCode":"200","handleMsg":"done"}]`, []Callback{done}},
		"numbers with fraction":              {`[{"logId":4321.0,"logDateTim":99,"handleCode":2e2,"handleMsg":"done"}]`, []Callback{done}},
		"both result spellings":              {`[{"logId":4321,"logDateTim":99,"handleCode":200,"handleMsg":"done","executeResult":{"code":500,"msg":"x"}}]`, []Callback{done}},
		"raw control character": {"[{\"logId\":4321,\"logDateTim\":99,\"executeResult\":{\"code\":200,\"msg\":\"a\x01b\"}}]",
			[]Callback{{LogID: 4321, LogDateTim: 99, LogDateTime: 99, HandleCode: 200, HandleMsg: "a b"}}},
		"null members": {`[{"logId":1,"handleCode":null,"handleMsg":null,"executeResult":null}]`, []Callback{{LogID: 1}}},
		"how long it has waited": {`[{"logId":1,"waitedMs":12},{"logId":2,"waitedMs":"7"},{"logId":3,"waitedMs":-1,"endedAt":5},{"logId":4,"waitedMs":9223372036854775807}]`,
			[]Callback{{LogID: 1, Waited: 12}, {LogID: 2, Waited: 7}, {LogID: 3}, {LogID: 4, Waited: MaxWaited}}},
		"empty array": {`[]`, []Callback{}},
		"largest id":  {`[{"logId":9223372036854775807,"handleCode":200}]`, []Callback{{LogID: 9223372036854775807, HandleCode: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := DecodeCallbacks([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
	for _, body := range []string{``, `"x"`, `17`, `[{"logId":"abc"}]`, `[{"logId":1.5}]`, `[{]`, `[1]`, `null`, `{}`, `{"callbackList":null}`,
		`{"callbackList":{"logId":1}}`, `{"code":200}`, `{"handleCode":200}`, `{"logId":0}`, `[{"logId":1,"executeResult":"x"}]`} {
		if got, err := DecodeCallbacks([]byte(body)); err == nil {
			t.Errorf("DecodeCallbacks(%s) = %v, want an error", body, got)
		}
	}
}

// TestAByteOrderMarkIsReadPast, as upstream's programs do: libraries of .NET begin what they write with one.
func TestAByteOrderMarkIsReadPast(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	if a, err := DecodeAnswer([]byte(mark + `{"code":200,"msg":null}`)); err != nil || !a.OK() {
		t.Errorf("an answer: %+v, %v", a, err)
	}
	if a, err := DecodeAnswer([]byte(mark + ` [{"logId":1,"handleCode":500,"handleMsg":"no"}]`)); err != nil || a.Code != 500 {
		t.Errorf("a refusal in the form of a callback: %+v, %v", a, err)
	}
	for _, body := range []string{`[{"logId":1,"handleCode":200}]`, ` {"callbackList":[{"logId":1,"handleCode":200}]}`} {
		if c, err := DecodeCallbacks([]byte(mark + body)); err != nil || len(c) != 1 || c[0].LogID != 1 {
			t.Errorf("results: %+v, %v", c, err)
		}
	}
	if r, err := DecodeRegistry([]byte(mark + `{"registryGroup":"EXECUTOR","registryKey":"a","registryValue":"http://a:1/"}`)); err != nil || r.RegistryKey != "a" {
		t.Errorf("a registration: %+v, %v", r, err)
	}
	if r, err := DecodeRun([]byte(mark + `{"jobId":7,"logId":1}`)); err != nil || r.JobID != 7 {
		t.Errorf("a run: %+v, %v", r, err)
	}
	if r, err := DecodeKill([]byte(mark + `{"jobId":7}`)); err != nil || r.JobID != 7 {
		t.Errorf("a kill: %+v, %v", r, err)
	}
	if r, err := DecodeLog([]byte(mark + `{"logId":7}`)); err != nil || r.LogID != 7 {
		t.Errorf("a question for a log: %+v, %v", r, err)
	}
}

func TestDecodeRunReadsLooseNumbers(t *testing.T) {
	t.Parallel()
	want := RunRequest{JobID: 7, ExecutorHandler: "h", ExecutorParams: "5", BlockStrategy: BlockSerial, TimeoutSeconds: 3,
		LogID: 4321, LogDateTime: 99, GlueType: GlueBean, BroadcastIndex: 1, BroadcastTotal: 2}
	got, err := DecodeRun([]byte(`{"jobId":"7","executorHandler":"h","executorParams":5,"executorBlockStrategy":"SERIAL_EXECUTION",
		"executorTimeout":"3","logId":"4321","logDateTime":99,"glueType":"BEAN","glueSource":null,"broadcastIndex":1,"broadcastTotal":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnswersSurviveTheRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []Answer{
		{Code: 200, Msg: "Success"},
		{Code: 500, Msg: "quotes \" and <tags> and 中文\n"},
		{Code: 200, Msg: "Success", Data: json.RawMessage(`{"a":1}`)},
	} {
		body := AppendAnswer(nil, want.Code, want.Msg, want.Data)
		got, err := DecodeAnswer(body)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", body, got, want)
		}
		var both struct{ Content, Data *json.RawMessage } // of one era each
		if err := json.Unmarshal(body, &both); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(both.Content, both.Data) || (both.Data != nil) != (want.Data != nil) {
			t.Errorf("%s carries its value in one member only", body)
		}
	}
	for _, body := range []string{``, `<html>`, `{}`, `[]`, `{"code":"x"}`, `null`} {
		if got, err := DecodeAnswer([]byte(body)); err == nil {
			t.Errorf("DecodeAnswer(%s) = %+v, want an error", body, got)
		}
	}
}

// The fuzz targets check that no body brings a decoder down, and that what was understood once is understood the same
// way after being written again.

func FuzzDecodeCallbacks(f *testing.F) {
	for _, requests := range loadCaptures(f).ExecutorToAdmin {
		for _, r := range requests {
			f.Add([]byte(r.Body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeCallbacks(body)
		if err != nil {
			return
		}
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeCallbacks(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if !reflect.DeepEqual(got, back) {
			t.Errorf("%s: %+v became %+v", again, got, back)
		}
	})
}

func FuzzDecodeRun(f *testing.F) {
	for _, requests := range loadCaptures(f).AdminToExecutor {
		for _, r := range requests {
			f.Add([]byte(r.Body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeRun(body)
		if err != nil {
			return
		}
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRun(again)
		if err != nil || !maps.Equal(back.Environment, got.Environment) || !slices.Equal(back.Masks, got.Masks) { // empty and none are the same
			t.Fatalf("%s: %+v became %+v, %v", again, got, back, err)
		}
		back.Environment, back.Masks = got.Environment, got.Masks
		if !reflect.DeepEqual(back, got) {
			t.Errorf("%s: %+v became %+v, %v", again, got, back, err)
		}
	})
}

func FuzzDecodeLog(f *testing.F) {
	f.Add([]byte(`{"logDateTim":1767225600000,"logId":4321,"fromLineNum":1}`))
	f.Add([]byte(`{"logDateTime":"1767225600000","logId":"4321","fromLineNum":-1e9}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeLog(body)
		if err != nil {
			return
		}
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeLog(again); err != nil || back != got {
			t.Errorf("%s: %+v became %+v, %v", again, got, back, err)
		}
	})
}

// What is read of an answer to /log is the same whether its members have the types they should have or not.
func TestLooseLogResults(t *testing.T) {
	t.Parallel()
	want := LogResult{FromLineNum: 1, ToLineNum: 2, LogContent: "a\nb\n", IsEnd: true}
	for _, value := range []string{
		`{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb\n","isEnd":true}`,
		`{"fromLineNum":"1","toLineNum":2.0,"logContent":"a\nb\n","isEnd":true,"remembers":""}`,
		`{"fromLineNum":1,"logContent":"a\nb\n","isEnd":true,"toLineNum":"2"}`,
	} {
		if got, err := decodeLogResult([]byte(value)); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", value, got, err)
		}
	}
	if got, err := decodeLogResult([]byte(`{"toLineNum":7,"logContent":12}`)); err != nil || got != (LogResult{ToLineNum: 7, LogContent: "12"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, value := range []string{`[]`, `{"isEnd":"yes"}`, `{"toLineNum":1.5}`, `{"logContent":"a"`} {
		if got, err := decodeLogResult([]byte(value)); err == nil {
			t.Errorf("%s is read as %+v", value, got)
		}
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, answers := range loadCaptures(f).ExecutorAnswers {
		for _, a := range answers {
			f.Add([]byte(a.Body))
		}
	}
	for _, value := range []string{`{"fromLineNum":1,"toLineNum":2,"logContent":"a\n\"b\"","isEnd":true}`, `1`, ` 1 `, `null`, `nul`, `1},{"a"`, `1,"data":1`, `"\ud800"`} {
		body := AppendAnswer(nil, CodeSuccess, MsgSuccess, []byte(value))
		f.Add(body)
		f.Add(append(body, '\n'))
		f.Add(append(body, `,"code":500}`...))
		f.Add(append(body[:len(body)-1], `,"code":500}`...))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeAnswer(body)
		if slowly, slow := decodeAnswer(body); (err == nil) != (slow == nil) || !reflect.DeepEqual(got, slowly) {
			t.Errorf("%s is read as %+v, %v, and slowly as %+v, %v", body, got, err, slowly, slow)
		}
		if r, ok := quickLogResult(got.Data); ok {
			var slowly LogResult
			if err := json.Unmarshal(got.Data, &slowly); err != nil || r != slowly {
				t.Errorf("%s is read as %+v, and slowly as %+v, %v", got.Data, r, slowly, err)
			}
		}
		if err != nil {
			return
		}
		again := AppendAnswer(nil, got.Code, got.Msg, got.Data)
		if back, err := DecodeAnswer(again); err != nil || back.Code != got.Code || back.Msg != got.Msg {
			t.Errorf("%s: %+v became %+v, %v", again, got, back, err)
		}
	})
}

// The community's Go executor refuses runs with what it would send as a callback.
func TestARefusalInTheFormOfACallback(t *testing.T) {
	t.Parallel()
	const refusal = `[{"logId":7,"logDateTim":1,"executeResult":{"code":500,"msg":"Task not registered"},"handleCode":500,"handleMsg":"Task not registered"}]`
	if got, err := DecodeAnswer([]byte(refusal)); err != nil || got.Code != CodeFail || got.Msg != "Task not registered" || got.OK() {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{`[]`, `[{"logId":7}]`, `[{"logId":7,"handleCode":200}]`, `[{"handleCode":500},{"handleCode":500}]`, `[1]`} {
		if got, err := DecodeAnswer([]byte(body)); err == nil {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
}

func TestAnExecutorOfAnOldEraIsNamed(t *testing.T) {
	t.Parallel()
	// How an answer of eras R0 to R2 begins: the definition of a class.
	_, err := DecodeAnswer([]byte("C0.com.xxl.rpc.remoting.net.params.XxlRpcResponse\x93\trequestId\x08errorMsg\x06result`"))
	if err == nil || !strings.Contains(err.Error(), "2.1.2 or older") {
		t.Errorf("%v", err)
	}
}

func TestAnswersThatMeanSomething(t *testing.T) {
	t.Parallel()
	for _, answers := range loadCaptures(t).ExecutorAnswers {
		for _, x := range answers {
			a, err := DecodeAnswer([]byte(x.Body))
			if err != nil {
				t.Fatal(err)
			}
			if want := x.Name == "run same log id again"; a.Repeated() != want {
				t.Errorf("%s: Repeated() = %v of %+v", x.Name, a.Repeated(), a)
			}
			want := x.Name == "other run path" || strings.Contains(a.Msg, "appname")
			if a.OtherDialect() != want {
				t.Errorf("%s: OtherDialect() = %v of %+v", x.Name, a.OtherDialect(), a)
			}
		}
	}
}
