package client

import (
	"bytes"
	"encoding/json"
	"testing"

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
