package flow

import (
	"testing"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// TestAFaultOfARunIsSaidInWords: what a step keeps is read by people, and by XXL-JOB's pages.
func TestAFaultOfARunIsSaidInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Step: "a", Line: 7, Field: invalid.Field{Name: FieldIf, Key: CodeExpr + "value", Args: []any{"Expression", "steps.b.output.n > {Reason}", "Text", "", "Reason", "a text and a number have no order"}}},
			"if (line 7): the expression “steps.b.output.n > {Reason}” has no value: a text and a number have no order"},
		{Fault{Step: "a", Field: invalid.Field{Name: FieldItems, Key: CodeItems, Args: []any{"Count", 11, "Max", 10}}}, "items: the list has 11 items, and at most 10 are allowed"},
		{Fault{Step: "a", Line: 7, Field: invalid.Field{Name: FieldNeeds, Key: CodeNeeds, Args: []any{"Value", "b"}}}, "line 7: step a: needs: flow.error.needs [Value b]"},
	} {
		if got := tt.fault.Said(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
