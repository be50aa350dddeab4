package api

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// TestATimeThatNobodyCanWriteIsTheLast, or a row into which somebody put microseconds would take the whole list with it.
func TestATimeThatNobodyCanWriteIsTheLast(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), math.MaxInt64} {
		got, err := json.Marshal(momentOf(ms))
		if want := `"9999-12-31T23:59:59.999Z"`; err != nil || string(got) != want {
			t.Errorf("%d is written as %s, %v; want %s", ms, got, err, want)
		}
	}
}

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
