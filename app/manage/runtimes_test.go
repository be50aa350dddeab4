package manage

import "testing"

func TestTheNamesOfChangedFields(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]int{
		"": 0, "nonsense": 0, "[1]": 0, "{}": 0, `{"a":"b","n":3,"f":false}`: 3, `{"a":"b","glue_source":"#!/bin/ba`: 2, `{"a":"b","glu`: 1,
	} {
		if got := fieldNames(part); len(got) != want {
			t.Errorf("%s: %q", part, got)
		}
	}
}
