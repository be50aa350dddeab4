package api

import (
	"encoding/json"
	"testing"
)

// TestAGroupIsNamedByAnyWholeNumber that the schema takes: one that is not understood would leave the job where it is.
func TestAGroupIsNamedByAnyWholeNumber(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{`{"group_id":7}`: 7, `{"group_id":7.0}`: 7, `{"group_id":70e-1}`: 7, `{"group_id":null}`: 3, `{}`: 3} {
		var b jobBody
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			t.Fatal(err)
		}
		if got := b.group(3); got != want {
			t.Errorf("%s is group %d, want %d", raw, got, want)
		}
	}
}
