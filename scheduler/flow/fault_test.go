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

// TestAFaultOfARunIsKept so that it can be said in any language: it comes back as it was, but that numbers may be of another type.
func TestAFaultOfARunIsKept(t *testing.T) {
	t.Parallel()
	kind := invalid.Field{Key: "flow.reason.kind.text"}
	for _, want := range []Fault{
		{Step: "a", Line: 7, Field: invalid.Field{Name: FieldIf, Key: CodeExpr + "value", Args: []any{
			"Expression", "steps.b.message < 1", "Text", "", "Reason", invalid.Field{Key: "flow.reason.order", Args: []any{"Kind", kind, "Other", invalid.Field{Key: "flow.reason.kind.number"}}},
		}}},
		{Step: "a", Field: invalid.Field{Name: FieldItems, Key: CodeItems, Args: []any{"Count", 11_000_000, "Max", 10_000}}},
	} {
		got, ok := FaultOf("a", want.Stored())
		if !ok || got.Said() != want.Said() || got.Line != want.Line || got.Step != want.Step || got.Name != want.Name {
			t.Errorf("%s comes back as %v, %v", want.Stored(), got, ok)
		}
	}
	for _, other := range []string{"", "{}", `{"values":{"fault":"no"}}`, `{"fault":null}`, `{"fault":{"key":"","args":[]}}`, `{"fault":{"key":"a","args":[1]}}`, `{"fault":7}`, `{"fault":{"key":"a","args":["Reason",{"key":""}]}}`} {
		if f, ok := FaultOf("a", other); ok {
			t.Errorf("%s is taken for %v", other, f)
		}
	}
}
