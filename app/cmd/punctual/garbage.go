package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// settled is when a start is over and what it needed is given back: reading files and hashing a password take several times what the program
	// needs from then on.
	settled = 5 * time.Second
	// paceEvery is how often it is looked at how much garbage there is.
	paceEvery = 2 * time.Second
	// busyCycles are how many collections in that time are many. Memory counts more again after calmFor in which there would have been at most
	// calmCycles by the usual setting.
	busyCycles = 3
	calmFor    = time.Minute
	calmCycles = 20
	// restCycles is the same for a heap that is kept small, because next to nothing is to be done: by thousands of executors that wait, say.
	restCycles = 5
	// usualPercent is the runtime's own setting, restPercent the lowest and mostPercent the highest that is used.
	restPercent, usualPercent, mostPercent = 25, 100, 400
	// spareMemory is how much garbage may lie about while there is much to do, bytes.
	spareMemory = 192 << 20
)

// paceGarbage lets the heap grow further between two collections while there is much to do, until ctx ends. At 12,000 runs a second the
// runtime's own setting costs a sixth of the processor time; at rest the memory counts more, and less garbage lies about than by that setting. GOGC in the environment stands.
func paceGarbage(ctx context.Context) {
	start, tick := time.NewTimer(settled), time.NewTicker(paceEvery)
	defer start.Stop()
	defer tick.Stop()
	own := os.Getenv("GOGC") == ""
	if own {
		defer debug.SetGCPercent(usualPercent)
	} else {
		tick.Stop()
	}
	p := pace{percent: usualPercent}
	p.cycles, _ = garbage()
	for {
		select {
		case <-ctx.Done():
			return
		case <-start.C:
			if own {
				debug.SetGCPercent(p.settle())
			}
			giveBack()
			continue
		case <-tick.C:
		}
		cycles, live := garbage()
		if percent := p.next(cycles, live, paceEvery); percent != p.percent {
			less := percent < p.percent
			p.percent = percent
			debug.SetGCPercent(percent)
			if less && percent <= usualPercent {
				giveBack()
			}
		}
	}
}

// giveBack returns memory that is not needed, which the runtime by itself would do within many minutes, and the system when it has no other.
func giveBack() {
	debug.FreeOSMemory()
	_ = forgetStart() // what it would have given stays
}

// pace is what it has come to.
type pace struct {
	cycles  uint64
	calm    time.Duration // for how long there has been little to collect
	few     int           // the collections in that time, each as its percentage: by the usual setting there would be a hundredth of it
	percent int
}

// settle is the percentage when a start is over: that of rest, which ends within a tick where there is much to do, unless there is already.
func (p *pace) settle() int {
	if p.percent == usualPercent {
		p.percent, p.calm, p.few = restPercent, 0, 0
	}
	return p.percent
}

// next is the percentage from the collections since the start and the bytes that the last one left.
func (p *pace) next(cycles, live uint64, passed time.Duration) int {
	ran := cycles - p.cycles
	p.cycles = cycles
	most := usualPercent
	if live > 0 {
		most = int(min(mostPercent, max(usualPercent, spareMemory*100/live)))
	}
	if ran >= busyCycles {
		p.calm, p.few = 0, 0
		return most
	}
	allowed := calmCycles
	if p.percent <= usualPercent {
		allowed = restCycles
	}
	p.calm, p.few = p.calm+passed, p.few+int(ran)*p.percent
	switch {
	case p.few > allowed*usualPercent:
		p.calm, p.few = 0, 0
		if p.percent == restPercent {
			return usualPercent
		}
	case p.calm >= calmFor:
		p.calm, p.few = 0, 0
		if p.percent <= usualPercent {
			return restPercent
		}
		return usualPercent
	}
	if p.percent <= usualPercent {
		return p.percent
	}
	return min(p.percent, most)
}

// garbage is how many collections there were and how many bytes the last one left.
func garbage() (cycles, live uint64) {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
