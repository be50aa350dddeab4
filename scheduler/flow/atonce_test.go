package flow

import (
	"errors"
	"slices"
	"testing"
)

// TestAllFaultsAreSaidAtOnce: what is wrong with an expression, also beside steps that need each other and beside what cannot be read (whose faults name no field).
func TestAllFaultsAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a circle", "steps:\n  - {id: a, job: {id: 1}, needs: [b], if: 'x +'}\n  - {id: b, job: {id: 1}, needs: [a], parameter: '${{ steps.c.output }}'}\n", []string{"a " + FieldNeeds, "a " + FieldIf, "b " + FieldParam}},
		{"a field that there is not", "steps:\n  - {id: a, job: {id: 1}, iff: x}\n  - {id: b, job: {id: 1}, needs: [a], if: 'x +'}\n", []string{"a ", "b " + FieldIf}},
		{"a field that cannot be read, which is not missed as well", "steps:\n  - {id: a, job: [1]}\n  - {id: b, wait: {until: soon}, needs: {a: 1}}\n", []string{"a ", "b ", "b " + FieldUntil}},
		{"a step that never starts, beside others", "steps:\n  - {id: a, job: {id: 1}, if: '1 > 2'}\n  - {id: b, job: {id: 1}, needs: [a], parameter: '${{ x + }}'}\n  - {id: c, job: {id: 1}, retries: -1}\n", []string{"a " + FieldIf, "b " + FieldNeeds, "b " + FieldParam, "c " + FieldRetries}},
		{"nobody knows whether a step starts whose condition or needs are wrong", "steps:\n  - {id: a, job: {id: 1}, if: 1 > 2}\n  - {id: b, job: {id: 1}, needs: [a, x]}\n  - {id: c, job: {id: 1}, needs: [a], if: 'failure( &&'}\n  - {id: d, job: {id: 1}, needs: [b, c]}\n", []string{"a " + FieldIf, "b " + FieldNeeds, "c " + FieldIf}},
		{"a condition that never holds, beside a field that cannot be read", "steps:\n  - {id: a, job: {id: 1}, if: 1 > 2}\n  - {id: b, job: [1], needs: [a]}\n", []string{"a " + FieldIf, "b "}},
		{"an id that cannot be read: who reads its step is right", "steps:\n  - {id: [a], job: {id: 1}}\n  - {id: b, job: {id: 1}, if: 'steps.a.output == 1 &&'}\n", []string{" "}},
	} {
		def, err := Parse([]byte(tt.text))
		faults, is := errors.AsType[Faults](err)
		if !is {
			_, faults = Compile(def)
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.Step+" "+f.Name)
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q: %v", tt.name, got, tt.want, faults)
		}
	}
}
