package client

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"go.yaml.in/yaml/v3"
)

// TestTextsStayReadableInYAML, and say what they said.
func TestTextsStayReadableInYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"对账 😀":                 "a: 对账 😀\n",
		"echo 🚀\nexit 0\n":     "a: |\n  echo 🚀\n  exit 0\n",
		`\U0001F600 𠮷`:         `a: \U0001F600 𠮷` + "\n",
		"\ue000 \ue001😀\ue002": "a: \ue000 \ue001😀\ue002\n",
		"\U000e0067":           `a: "\U000E0067"` + "\n", // which is not seen
	} {
		raw, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (printer{&out, "yaml"}).whole(raw); err != nil || out.String() != want {
			t.Errorf("%q is printed %v as\n%q, not\n%q", text, err, out.String(), want)
		}
		var back struct{ A string }
		if err := yaml.Unmarshal(out.Bytes(), &back); err != nil || back.A != text {
			t.Errorf("%q reads %v as %q", text, err, back.A)
		}
	}
}

// TestTablesStandStraight in whatever language the terminal is: a Chinese character and an emoji take two cells, a mark on a letter none.
func TestTablesStandStraight(t *testing.T) {
	was := runewidth.DefaultCondition.EastAsianWidth
	runewidth.DefaultCondition.EastAsianWidth = true // as with LANG=zh_CN.UTF-8
	t.Cleanup(func() { runewidth.DefaultCondition.EastAsianWidth = was })
	var out strings.Builder
	items := []item{{"a": "Go · greet…", "b": "x"}, {"a": "日终", "b": "x"}, {"a": "e\u0301te\u0301", "b": "x"}, {"a": "🌒 ±×", "b": "x"}, {"a": "", "b": "x"}}
	if err := (printer{out: &out, format: "table"}).table(items, []column{field("NAME", "a"), field("B", "b")}); err != nil {
		t.Fatal(err)
	}
	want := "NAME         B\nGo · greet…  x\n日终         x\ne\u0301te\u0301          x\n🌒 ±×        x\n-            x\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
