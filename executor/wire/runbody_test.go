//go:build go1.26

package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fullRun is a request of which no member is left out.
func fullRun(t testing.TB) RunRequest {
	r := RunRequest{
		JobID: 1, ExecutorHandler: "h", ExecutorParams: "p", BlockStrategy: BlockSerial, TimeoutSeconds: 2, LogID: 3, LogDateTime: 4, GlueType: GlueBean, GlueSource: "s",
		GlueUpdateTime: 5, BroadcastIndex: 6, BroadcastTotal: 7, Environment: map[string]string{"A": "<1>", "B": "二"}, Masks: []string{"m"}, PlannedAt: 8,
		KeepOutput: &OutputWish{FailedOnly: true, Bytes: 9}, Node: 10, TraceParent: "t",
	}
	for _, v := range []reflect.Value{reflect.ValueOf(r), reflect.ValueOf(*r.KeepOutput)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("%s is not in the request of this test", v.Type().Field(i).Name)
			}
		}
	}
	return r
}

func TestTheBodyOfARunIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	full, long := fullRun(t), strings.Repeat("long ", 500)
	for _, r := range []RunRequest{{}, full, {KeepOutput: &OutputWish{Bytes: -1}}, {ExecutorHandler: long}, {ExecutorParams: long}, {GlueSource: long}} {
		sameBody(t, &r)
		if got, ok := quickRun(encodeRun(&r)); !ok || !reflect.DeepEqual(got, r) {
			t.Errorf("%s is read as %+v, %v", encodeRun(&r), got, ok)
		}
	}
	for i := range reflect.ValueOf(full).NumField() { // each by itself
		var r RunRequest
		reflect.ValueOf(&r).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		sameBody(t, &r)
	}
}

func sameBody(t *testing.T, r *RunRequest) {
	t.Helper()
	want, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := encodeRun(r); !bytes.Equal(got, want) {
		t.Errorf("written %s\nwant    %s", got, want)
	}
}

func FuzzEncodeRun(f *testing.F) {
	for _, text := range []string{"", "plain", `"`, `\`, `"quoted\`, "\x01", "\x00\x1f\x7f", "\u2028", "\u2029", "二\u2028\u2029", "\xff\ufffd", "<&>", strings.Repeat("long ", 500)} {
		f.Add(text, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		sameBody(t, &RunRequest{JobID: n, ExecutorHandler: text, ExecutorParams: text, BlockStrategy: Block(text), TimeoutSeconds: int(n), LogID: -n, LogDateTime: n, GlueType: Glue(text),
			GlueSource: text, GlueUpdateTime: n, BroadcastIndex: int(n), BroadcastTotal: int(n), Masks: []string{text}, PlannedAt: n, Node: n, TraceParent: text})
	})
}

// What is read quickly is what is read slowly. Whatever that takes, encoding/json has to take too.

func FuzzQuickRun(f *testing.F) {
	full := fullRun(f)
	f.Add(encodeRun(&full))
	for _, requests := range loadCaptures(f).AdminToExecutor {
		for _, r := range requests {
			f.Add([]byte(r.Body))
		}
	}
	for _, body := range []string{`{"jobId":null}`, `{"jobId":1,"jobId":2}`, `{"JobID":1}`, `{"logId":1.0}`, `{"glueType":null}`, `{"masks":null}`, `{"environment":{"a":1}}`, `{"keepOutput":null}`, `{"keepOutput":{"bytes":1.5}}`, `{"keepOutput":{"x":1}}`, `null`, `{} `} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := quickRun(body)
		if !ok {
			return
		}
		if want, err := decodeRun(body); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	})
}

func FuzzQuickRuns(f *testing.F) {
	f.Add([]byte(`{"runs":[{"jobId":1},{}, null,"x" ]}`))
	f.Add([]byte(`{"runs":[],"more":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := quickRuns(body)
		if !ok {
			return
		}
		var want RunsRequest
		if err := json.Unmarshal(body, &want); err != nil || len(got.Runs) != len(want.Runs) {
			t.Fatalf("%q: %d runs, want %d, %v", body, len(got.Runs), len(want.Runs), err)
		}
		for i := range want.Runs {
			if !bytes.Equal(got.Runs[i], want.Runs[i]) {
				t.Errorf("%q: run %d is %q, want %q", body, i, got.Runs[i], want.Runs[i])
			}
		}
	})
}

func FuzzQuickCallbacks(f *testing.F) {
	for _, requests := range loadCaptures(f).ExecutorToAdmin {
		for _, r := range requests {
			f.Add([]byte(r.Body))
		}
	}
	f.Add([]byte(`[{"logId":1,"logDateTim":2,"logDateTime":3,"handleCode":200,"handleMsg":"a\nb","undone":"WAITING","outputPushed":true,"waitedMs":-4}]`))
	f.Add([]byte(`[{"logId":null,"handleCode":"200"},{"handleCode":200,"executeResult":{"code":500}}]`))
	f.Add([]byte(`[{"handleCode":200,"executeResult":{"code":"500","msg":7}},{"handleCode":200,"executeResult":null},{"handleCode":200,"executeResult":[]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := quickCallbacks(body)
		if !ok {
			return
		}
		if want, err := decodeCallbacks(body); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	})
}

func TestOrdinaryBodiesAreReadQuickly(t *testing.T) {
	t.Parallel()
	own := `[{"logId":1,"logDateTim":2,"logDateTime":2,"handleCode":200,"handleMsg":"done","executeResult":{"code":200,"msg":"done"},"waitedMs":3}]`
	if got, ok := quickCallbacks([]byte(own)); !ok || len(got) != 1 || got[0].HandleMsg != "done" || got[0].Waited != 3 {
		t.Errorf("what our executors say is read as %+v, %v", got, ok)
	}
	captures := loadCaptures(t)
	runs, callbacks := 0, 0
	for _, requests := range captures.AdminToExecutor {
		for _, r := range requests {
			if _, ok := quickRun([]byte(r.Body)); ok {
				runs++
			}
		}
	}
	for _, requests := range captures.ExecutorToAdmin {
		for _, r := range requests {
			if _, ok := quickCallbacks([]byte(r.Body)); ok {
				callbacks++
			}
		}
	}
	if runs == 0 || callbacks == 0 {
		t.Errorf("of the recorded requests %d for runs and %d with results are read quickly", runs, callbacks)
	}
}
