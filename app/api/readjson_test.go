package api

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatIsThereTwiceIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"b":2}`:                              "",
		`{"a":1,"a":2}`:                              "a",
		`{"a":{"b":1},"c":{"b":1}}`:                  "",
		`{"a":[{"b":"b"},{"b":1,"c":[],"b":{}}]}`:    "a.1.b",
		`{"a":["a","a"],"b":"a","A":null}`:           "",
		`{"a":1,"\u0061":2}`:                         "a",
		`[[1,{"x":{"y":1}},{"x":{"y":1,"y":true}}]]`: "0.2.x.y",
		`{"":1,"b":{"":1,"":2}}`:                     "b.",
		`{"a":1,"a"`:                                 "a",
		`nothing`:                                    "",
		``:                                           "",
		`{"a":1}}`:                                   "",
	} {
		if got := twice([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	var v any
	for _, text := range []string{"{\"a\":\"\xff\"}", `{"a":1,"a":1}`, `{"a":1} {}`} {
		if err := readJSON([]byte(text), &v); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzTwice(f *testing.F) {
	for _, text := range []string{`{"a":[{"b":"b"},{"b":1,"c":[],"b":{}}]}`, `[{"a":1}]`, `{"a":1,"\u0061":2}`, `{`, `{"a":1}}`, `]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := twice(text)
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err == nil && path == "" {
			again, err := json.Marshal(object) // which has no name twice
			if err != nil || twice(again) != "" {
				t.Fatalf("%s: %s, %v", again, twice(again), err)
			}
		}
	})
}

// TestADeepBodyCostsLittle: what 200,000 brackets are read with is in proportion to them, also where nothing is wrong but their number.
func TestADeepBodyCostsLittle(t *testing.T) {
	for _, deep := range []string{strings.Repeat("[", 200_000), strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)} {
		result := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				twice([]byte(deep))
			}
		})
		if per := result.AllocedBytesPerOp(); per > 20<<20 {
			t.Errorf("%.10s…: %d bytes", deep, per)
		}
	}
}
