package flow

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// unsayable are faults that a schema cannot name: what the parts of a definition mean to each other, and texts with a grammar of their own.
var unsayable = []string{CodeSameID, CodeNeeds, CodeNeedsTwice, CodeCycle, CodeJoin, CodeNotBefore, CodeNever, CodeMoment, CodeBackoff, CodeCharacters}

func isUnsayable(f Fault) bool {
	bytes := f.Key == CodeTooLong && f.Name == FieldParam // a schema counts characters
	return bytes || slices.Contains(unsayable, f.Key) || strings.HasPrefix(f.Key, CodePlanned) || strings.HasPrefix(f.Key, CodeExpr)
}

// Values of every kind and at every bound, for fields of every kind.
var (
	strange = []any{nil, true, "", "x", "1", -1, 0, 1.5, "null", []any{}, []any{1}, map[string]any{}, map[string]any{"x": 1}}
	numbers = []any{1, 2, MaxParallel, MaxParallel + 1, MaxRetries, MaxRetries + 1, MaxItems, MaxItems + 1, MaxSeconds, MaxSeconds + 1, MaxSteps, MaxSteps + 1, int64(1) << 40}
	texts   = []any{"all", "any", "stop", "continue", "reject", "approve", "a", "b", "2026-12-31 23:30:00", "60", 60, "${{ 1 }}", "[1]",
		strings.Repeat("x", MaxID), strings.Repeat("x", MaxID+1), strings.Repeat("天", MaxBackoff+1), strings.Repeat("天", MaxName), strings.Repeat("天", MaxName+1),
		strings.Repeat("天", MaxMessage), strings.Repeat("天", MaxMessage+1), strings.Repeat("x", MaxParam), strings.Repeat("x", MaxParam+1), strings.Repeat("天", MaxParam/2)}
	every = slices.Concat(strange, numbers, texts)
)

// mapping draws a mapping of some fields, each with a value that is likely to be good, or any.
func drawMapping(t *rapid.T, fields map[string][]any, needed ...string) map[string]any {
	m := make(map[string]any)
	for _, name := range slices.Sorted(mapsKeys(fields)) {
		if !slices.Contains(needed, name) && rapid.IntRange(0, 4).Draw(t, "has "+name) != 0 {
			continue
		}
		values := fields[name]
		if rapid.IntRange(0, 9).Draw(t, "any "+name) == 0 {
			values = every
		}
		m[name] = rapid.SampledFrom(values).Draw(t, name)
	}
	return m
}

func mapsKeys(m map[string][]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func drawStep(t *rapid.T, id string) map[string]any {
	ref := drawMapping(t, map[string][]any{fieldAppName: {"app"}, fieldDescription: {"job"}, FieldID: {1}}, fieldAppName, fieldDescription)
	kinds := map[Kind][]any{
		KindJob: {1, ref}, KindFlow: {1, ref},
		KindApprove: {drawMapping(t, map[string][]any{FieldMessage: texts, FieldTimeout: {0, 60}, FieldDefault: {"reject", "approve"}})},
		KindWait:    {drawMapping(t, map[string][]any{FieldSeconds: {1, 60}}, FieldSeconds), drawMapping(t, map[string][]any{FieldUntil: {"2026-12-31 23:30:00"}}, FieldUntil)},
	}
	s := drawMapping(t, map[string][]any{
		FieldID: {id}, FieldName: texts, FieldNeeds: {"a", []any{"a"}}, FieldJoin: {"all", "any", 1, "1"}, FieldIf: {"success()", true, "true"},
		FieldParam: {"x", 7, true, 1.5, ""}, FieldForeach: {drawMapping(t, map[string][]any{FieldItems: {"[1]"}, FieldParallel: {1, 0}, FieldMax: {1, 0}}, FieldItems)},
		FieldTimeout: {0, 60}, FieldRetries: {0, 3, "3"}, FieldBackoff: {"1m", 60}, FieldContinue: {true, false},
	}, FieldID)
	kind := rapid.SampledFrom(AllKinds).Draw(t, "kind")
	s[string(kind)] = rapid.SampledFrom(kinds[kind]).Draw(t, "what")
	if rapid.IntRange(0, 9).Draw(t, "two kinds") == 0 {
		s[string(rapid.SampledFrom(AllKinds).Draw(t, "other kind"))] = rapid.SampledFrom(every).Draw(t, "other")
	}
	return s
}

// TestTheSchemaAndTheValidatorAgree about whatever is written: an editor that goes by the schema marks nothing that can be saved, and lets
// nothing through that it could have known.
func TestTheSchemaAndTheValidatorAgree(t *testing.T) {
	t.Parallel()
	s := resolved(t)
	rapid.Check(t, func(t *rapid.T) {
		outputs := drawMapping(t, map[string][]any{"a": {"1", 7, true, "steps.a.code"}, "B_2": {"${{ 1 }}"}, "2b": {"1"}, "a-b": {"1"}, strings.Repeat("x", MaxID+1): {"1"}})
		def := drawMapping(t, map[string][]any{FieldOnFailure: {"stop", "continue"}, FieldOutputs: {outputs}})
		steps := []any{drawStep(t, "a")}
		if rapid.Bool().Draw(t, "two") {
			steps = append(steps, drawStep(t, "b"))
		}
		if def[FieldSteps] = steps; rapid.IntRange(0, 20).Draw(t, "no steps") == 0 {
			def[FieldSteps] = rapid.SampledFrom(every).Draw(t, "steps")
		}
		raw, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		bySchema := s.Validate(plain)
		read, err := Parse(raw)
		faults, _ := errors.AsType[Faults](err)
		if err == nil {
			_, faults = Compile(read)
		}
		sayable := slices.ContainsFunc(faults, func(f Fault) bool { return !isUnsayable(f) })
		switch {
		case bySchema != nil && len(faults) == 0:
			t.Fatalf("it can be saved, and the schema says %v:\n%.2000s", bySchema, raw)
		case bySchema == nil && sayable:
			t.Fatalf("the schema takes it, and it cannot be saved: %v\n%.2000s", faults, raw)
		}
	})
}
