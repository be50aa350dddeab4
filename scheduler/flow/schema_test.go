package flow

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// valueOf is a text in YAML or JSON as a validator takes it.
func valueOf(t *testing.T, text string) any {
	t.Helper()
	var value, plain any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestTheSchemaSaysWhatIsRead compares it with what Parse and Compile say about definitions whose shape is good, and about some whose is not.
func TestTheSchemaSaysWhatIsRead(t *testing.T) {
	t.Parallel()
	s := resolved(t)
	manual, err := os.ReadFile("../../docs/flows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(manual), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	written := func(text string) string {
		def, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, text := range map[string]string{
		"the example of the manual": example, "as it is stored": written(example), "one of everything": whole, "as that is stored": written(whole),
		"plain values": "steps:\n  - id: a\n    if: true\n    job: 1\n    parameter: 7\n  - {id: b, needs: a, approve: {}, continue_on_error: true}\n  - {id: c, job: 1, retry_backoff: 60}\n",
	} {
		def, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, faults := Compile(def); faults != nil {
			t.Errorf("%s: %v", name, faults)
		}
		if err := s.Validate(valueOf(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const a = "steps:\n  - id: a\n"
	for _, text := range []string{
		"[]", "steps: []", "outputs: [a]\nsteps: [{id: a, job: 1}]", "outputs: {a-b: 1}\nsteps: [{id: a, job: 1}]", "outputs: {a: ' '}\nsteps: [{id: a, job: 1}]", "outputs: {a:}\nsteps: [{id: a, job: 1}]", "on_failure: retry\nsteps: [{id: a, job: 1}]", "colour: red\nsteps: [{id: a, job: 1}]", "steps: [{job: 1}]", a, a + "    job: 1\n    wait: {seconds: 1}\n",
		"steps: [{id: a-b, job: 1}]", a + "    job: 1\n    join: some\n", a + "    job: 1\n    join: 0\n", a + "    job: 1\n    retries: -1\n", a + "    job: 1\n    colour: red\n",
		a + "    job: {}\n", a + "    job: {description: x}\n", a + "    job: x\n", a + "    wait: {}\n", a + "    wait: {seconds: 1, until: x}\n", a + "    wait: {seconds: 31536001}\n",
		a + "    approve: {default: maybe}\n", a + "    job: 1\n    foreach: {parallel: 2}\n", a + "    job: 1\n    foreach: {items: '[1]', parallel: 1001}\n",
		a + "    job: 1\n    foreach: {items: '[1]', max: 10001}\n", a + "    job: 1\n    continue_on_error: sometimes\n", a + "    job: 1\n    retry_backoff: [1m]\n", a + "    job: 1\n    timeout_seconds: 1.5\n", a + "    job: 1\n    needs: [x, x]\n",
	} {
		if err := s.Validate(valueOf(t, text)); err == nil {
			t.Errorf("the schema takes %s", text)
		}
		def, err := Parse([]byte(text))
		if err == nil {
			if _, faults := Compile(def); faults == nil {
				t.Errorf("it is a flow: %s", text)
			}
		}
	}
	if strings.Contains(string(Schema()), ": null") {
		t.Error("a field is not described")
	}
}
