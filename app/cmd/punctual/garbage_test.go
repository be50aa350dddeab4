package main

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestTheHeapGrowsFurtherWhileThereIsMuchToDo(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	p := pace{percent: usualPercent}
	cycles := uint64(0)
	look := func(ran, live uint64) int {
		cycles += ran
		p.percent = p.next(cycles, live, paceEvery)
		return p.percent
	}
	for _, step := range []struct {
		name      string
		ran, live uint64
		times     int
		want      int
	}{
		{"at the start", 0, 15 * mb, int(calmFor/paceEvery) - 1, usualPercent},
		{"at rest", 0, 15 * mb, 1, restPercent},
		{"for long", 0, 15 * mb, 100, restPercent},
		{"a collection now and then", 1, 15 * mb, 4 * restCycles, restPercent},
		{"more of them", 2, 15 * mb, 4 * restCycles, usualPercent},
		{"for long", 1, 15 * mb, 100, usualPercent},
		{"seldom", 0, 15 * mb, 2*int(calmFor/paceEvery) - 1, restPercent},
		{"much to do", 12, 40 * mb, 1, mostPercent},
		{"less often for it", 3, 40 * mb, 10, mostPercent},
		{"more is held", 3, 96 * mb, 1, 200},
		{"more than is to spare", 3, 500 * mb, 1, usualPercent},
		{"less again", 3, 96 * mb, 1, 200},
		{"calm, but not for long", 0, 96 * mb, int(calmFor/paceEvery) - 1, 200},
		{"many again", 3, 96 * mb, 1, 200},
		{"not so few", 1, 96 * mb, calmCycles/2 + 1, 200},
		{"calm, but not for long", 0, 96 * mb, int(calmFor/paceEvery) - 10, 200},
		{"few", 1, 96 * mb, 4, 200},
		{"calm for a while", 0, 96 * mb, 6, usualPercent},
		{"calm for longer", 0, 96 * mb, int(calmFor / paceEvery), restPercent},
		{"nothing is known of what is held", 9, 0, 1, usualPercent},
	} {
		got := 0
		for range step.times {
			got = look(step.ran, step.live)
		}
		if got != step.want {
			t.Errorf("%s: %d %%, want %d", step.name, got, step.want)
		}
	}
	if got := (&pace{percent: usualPercent}).next(9, math.MaxUint64, time.Second); got != usualPercent {
		t.Errorf("a heap beyond all measure: %d %%", got)
	}
}

// TestAStartEndsAtRest unless there is much to do by then.
func TestAStartEndsAtRest(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	p := pace{percent: usualPercent, calm: paceEvery, few: 2}
	if got := p.settle(); got != restPercent || p.calm != 0 || p.few != 0 {
		t.Errorf("after a start: %d %%, %+v", got, p)
	}
	if p.percent = p.next(busyCycles, 40*mb, paceEvery); p.percent != mostPercent {
		t.Errorf("a tick with much to do later: %d %%", p.percent)
	}
	if got := p.settle(); got != mostPercent {
		t.Errorf("a start that ends busy: %d %%", got)
	}
}

func TestCollectionsAreCounted(t *testing.T) {
	t.Parallel()
	before, _ := garbage()
	runtime.GC()
	if after, live := garbage(); after <= before || live == 0 {
		t.Errorf("%d collections, then %d; %d bytes are held", before, after, live)
	}
}
