package scheduler

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/executor/wire"
)

// suspect has an address passed over: nobody listened there. A beat of the executor ends that, or an answer to
// [Engine.sweepBeats], so that no run is spent on finding out.
func (d *directory) suspect(groupID int64, address string) {
	at := d.place(groupID, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.suspects[at]; !known {
		d.suspects[at] = suspicion{group: groupID, address: address, since: d.e.now()}
	}
}

// suspicion is against an executor at whose address nobody listened.
type suspicion struct {
	group   int64
	address string
	since   time.Time // when that was found
}

// reach splits the machines of a group, at one moment: the addresses that runs are sent to, and those that are known to be
// dead, with the time since when. Dead are suspects that are left out, and executors that stopped beating without a farewell
// within the last [goneFor]. One that has taken its leave is no machine of the group any more, nor is one that an operator has
// taken out of rotation.
func (d *directory) reach(g *group) (addresses []string, dead map[string]time.Time) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	addresses = d.usableLocked(g, g.addresses)
	if len(addresses) == len(g.addresses) && (g.manual || len(g.gone) == 0) {
		return addresses, nil
	}
	dead = make(map[string]time.Time)
	if !g.manual { // addresses that somebody typed go on to get runs
		for a, beat := range g.gone {
			if !g.disabled[a] {
				dead[a] = beat
			}
		}
	}
	for _, a := range g.addresses {
		if slices.Contains(addresses, a) {
			continue
		}
		if s, suspected := d.suspects[g.place(a)]; suspected {
			dead[a] = s.since
		} else {
			dead[a] = d.away[a]
		}
	}
	return addresses, dead
}

// trust ends a suspicion: the executor has given a sign of life.
func (d *directory) trust(at place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.suspects, at)
}

// suspected reports whether nobody listened there a moment ago.
func (d *directory) suspected(at place) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, is := d.suspects[at]
	return is
}

// usable leaves the suspects and whoever is away out of a list of a group's, unless nobody would be left: then the list is as good as any.
func (d *directory) usable(g *group, addresses []string) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.usableLocked(g, addresses)
}

func (d *directory) usableLocked(g *group, addresses []string) []string {
	if len(d.suspects) == 0 && len(d.away) == 0 {
		return addresses
	}
	good := make([]string, 0, len(addresses))
	for _, a := range addresses {
		_, suspected := d.suspects[g.place(a)]
		if _, away := d.away[a]; !suspected && !away {
			good = append(good, a)
		}
	}
	if len(good) == 0 {
		return addresses
	}
	return good
}

// toAsk gives the addresses to ask whether they live: those that have not been heard of for so long, and the suspects.
// Suspects that no group has any more are forgotten.
func (d *directory) toAsk(after time.Duration) map[question]struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.e.now()
	toAsk := make(map[question]struct{})
	listed := make(map[place]bool)
	for _, g := range d.groups {
		for a, beat := range g.beats {
			if now.Sub(beat) > after {
				toAsk[question{group: g.id, address: a}] = struct{}{}
			}
		}
		if len(d.suspects) > 0 {
			for _, a := range g.listed {
				listed[g.place(a)] = true
			}
		}
	}
	for at, s := range d.suspects {
		if !listed[at] {
			delete(d.suspects, at)
			continue
		}
		toAsk[question{group: s.group, address: s.address}] = struct{}{}
	}
	return toAsk
}

// sweepBeats asks executors that have missed a beat whether they live, long before their registration is dead by its age,
// and has those where nobody answers passed over; and those that are passed over, whether they are back.
func (e *Engine) sweepBeats(ctx context.Context) {
	var calls errgroup.Group
	calls.SetLimit(asksAtOnce)
	for q := range e.directory.toAsk(e.cfg.MissedAfter) {
		calls.Go(func() error {
			call, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
			defer cancel()
			to := e.target(q.group, q.address)
			answer, err := e.cfg.Executors.Beat(call, to)
			if err == nil && answer.OK() && to.Dialect == wire.DialectTooOld { // it has been upgraded
				e.noteDialect(ctx, to.AppName, q.address, wire.DialectRun)
			}
			switch {
			case ctx.Err() != nil, e.shortage.own(err):
			case err == nil || wire.Delivered(err) && call.Err() == nil: // whatever it answers, it is there
				e.directory.trust(placeOf(to.AppName, q.address))
			default:
				e.directory.suspect(q.group, q.address)
			}
			return nil
		})
	}
	_ = calls.Wait() // the functions return no error
}
