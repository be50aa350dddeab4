package client

import (
	"slices"
	"testing"
)

// TestEachGroupHasAFileOfItsOwn, whatever app names a database of XXL-JOB has: none leads out of the folder, is a device of Windows, or is that of
// another group, also where capitals do not count.
func TestEachGroupHasAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	var groups []ExportedGroup
	for i, app := range []string{"stock", "Stock", "stock-2", "../x", "group-4", "..", "com1", "LPT9.x", "orders", "com10", ".git", "a/b", `a\b`, "", "订单"} {
		groups = append(groups, ExportedGroup{int64(i + 1), app})
	}
	got := fileNames(groups)
	want := []string{"stock-1", "Stock-2-2", "stock-2", "group-4-4", "group-4", "group-6", "group-7", "group-8", "orders", "com10", "group-11", "group-12", "group-13", "group-14", "group-15"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
