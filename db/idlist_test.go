package db_test

import (
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
)

func TestAListOfIDsIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for text, ids := range map[string][]int64{"": nil, "7": {7}, "3,1,3,-2": {3, 1, 3, -2}} {
		if got := db.IDList(ids); got != text {
			t.Errorf("%v is written %q, want %q", ids, got, text)
		}
		if got := db.ReadIDs(text); !slices.Equal(got, ids) {
			t.Errorf("%q is read as %v, want %v", text, got, ids)
		}
	}
	if got := db.ReadIDs("1,x,, 2,3"); !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("what is no number counts: %v", got)
	}
}
