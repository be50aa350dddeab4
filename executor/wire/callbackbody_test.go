//go:build go1.26

package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// fullCallback is a result of which no member is left out.
func fullCallback(t testing.TB) Callback {
	c := Callback{LogID: 1, LogDateTim: 2, LogDateTime: 3, HandleCode: 200, HandleMsg: "done", Undone: UndoneRunning, Outputs: map[string]string{"a": "<1>", "b": "二"},
		Pushed: true, Waited: 4, Ended: 5, Node: 6}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("%s is not in the result of this test", v.Type().Field(i).Name)
		}
	}
	return c
}

func TestTheBodyOfResultsIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	full := fullCallback(t)
	sameResults(t)
	sameResults(t, Callback{})
	sameResults(t, full, Callback{LogID: -1}, full)
	for i := range reflect.ValueOf(full).NumField() { // each by itself
		var c Callback
		reflect.ValueOf(&c).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		sameResults(t, c)
	}
}

func sameResults(t *testing.T, callbacks ...Callback) {
	t.Helper()
	type ofAllEras struct {
		Callback
		ExecuteResult struct {
			Code int    `json:"code"`
			Msg  string `json:"msg,omitempty"`
		} `json:"executeResult"`
	}
	array, object := make([]ofAllEras, len(callbacks)), map[string]any{"callbackList": append([]Callback{}, callbacks...)}
	for i, c := range callbacks {
		array[i].Callback, array[i].ExecuteResult.Code, array[i].ExecuteResult.Msg = c, c.HandleCode, c.HandleMsg
	}
	for _, is := range []struct {
		want any
		got  []byte
	}{{array, encodeCallbacks(callbacks)}, {object, encodeCallbackList(callbacks)}} {
		want, err := encode(is.want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(is.got, want) {
			t.Errorf("written %s\nwant    %s", is.got, want)
		}
	}
}

func FuzzEncodeCallbacks(f *testing.F) {
	for _, text := range []string{"", "plain", `"quoted\`, "\x00\x1f\x7f", "二\u2028\u2029", "\xff\ufffd", "<&>"} {
		f.Add(text, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		c := Callback{LogID: n, LogDateTim: -n, LogDateTime: n, HandleCode: int(n), HandleMsg: text, Undone: Undone(text), Outputs: map[string]string{text: text}, Waited: n, Ended: n}
		sameResults(t, c)
		if !json.Valid(AppendCallback(nil, &c)) {
			t.Errorf("%s", AppendCallback(nil, &c))
		}
	})
}
