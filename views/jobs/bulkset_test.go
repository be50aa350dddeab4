package jobs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzSets reads what a form says of many jobs: what is taken comes back as it was written.
func FuzzSets(f *testing.F) {
	f.Add("7:YQ,8:,", "7:Z29vZA:YQ:YWJj,9:YmFk::,")
	f.Add("", "")
	f.Add("0:,-1:,x", "7:eA::")
	f.Fuzz(func(t *testing.T, set, told string) {
		if marked, ok := ReadSet(set); ok {
			again, ok := ReadSet(writeSet(marked))
			if diff := cmp.Diff(marked, again); !ok || diff != "" {
				t.Errorf("%q: %s", set, diff)
			}
		}
		if all, ok := ReadTold(told); ok {
			again, ok := ReadTold(writeTold(all))
			if diff := cmp.Diff(all, again); !ok || diff != "" {
				t.Errorf("%q: %s", told, diff)
			}
		}
	})
}

func TestSetsAreRead(t *testing.T) {
	t.Parallel()
	set := []Marked{{ID: 7, Mark: "a,b:c"}, {ID: 8}}
	if got, ok := ReadSet(writeSet(set)); !ok || !cmp.Equal(got, set) {
		t.Errorf("read %v, %v", got, ok)
	}
	told := []BulkTold{{ID: 7, Outcome: "good", Text: "夜,钱", Name: "对账: 1"}, {ID: 8, Outcome: "bad", Text: "x"}}
	if got, ok := ReadTold(writeTold(told)); !ok || !cmp.Equal(got, told) {
		t.Errorf("read %v, %v", got, ok)
	}
	for _, bad := range []string{"x", "0:", "-1:", "7", "7:!", "7:YQ:YQ"} {
		if _, ok := ReadSet(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}
