//go:build go1.26

package executortest

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestNothingIsLateByAStall has ticks come late, as on a machine that stood still, the last one behind the question.
func TestNothingIsLateByAStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NoteStalls()
		began := time.Now()
		time.Sleep(time.Second)
		if took := s.Between(began, time.Now()); took != 0 {
			t.Errorf("on a machine that goes on: %v", took)
		}
		s.End()
		synctest.Wait()
		stood := time.Now()
		time.Sleep(3 * time.Second) // nothing ticks
		if took, want := s.Between(began, time.Now()), 3*time.Second-2*stallTick; took != want {
			t.Errorf("in all: %v, want %v", took, want)
		}
		if took := s.Between(stood.Add(time.Second), stood.Add(2*time.Second)); took != time.Second {
			t.Errorf("in the middle: %v", took)
		}
		if took := s.Between(began, stood); took != 0 {
			t.Errorf("before it: %v", took)
		}
	})
}
