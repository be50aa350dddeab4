package document

import "testing"

// TestFaultsThatAreNotToldAreCounted: a list that was cut short looks like all that is wrong.
func TestFaultsThatAreNotToldAreCounted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, maxFaults, maxFaults + 1, maxFaults + 3} {
		var all Faults
		for i := range n {
			all = append(all, *FaultAt(n-i, CodeMissing, "Field", "x"))
		}
		told := all.Sorted()
		if n <= maxFaults {
			if len(told) != n {
				t.Errorf("of %d %d are told", n, len(told))
			}
			continue
		}
		more := told[maxFaults]
		if len(told) != maxFaults+1 || told[maxFaults-1].Line != maxFaults || more.Line != maxFaults+1 || more.Key != CodeMore || more.Args[1] != n-maxFaults {
			t.Errorf("of %d: %d are told, and at last %v", n, len(told), more)
		}
	}
}
