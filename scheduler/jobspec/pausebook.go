package jobspec

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// PauseBook is pauses by what they are about. Whoever asks which pauses concern a job asks it: the engine, the console and the API alike.
// The zero value has none. It is never changed, only replaced.
type PauseBook struct {
	jobs   map[int64]Pauses
	groups map[int64]Pauses
	tags   map[string]Pauses
	all    Pauses
}

func NewPauseBook(list Pauses) PauseBook {
	b := PauseBook{jobs: make(map[int64]Pauses), groups: make(map[int64]Pauses), tags: make(map[string]Pauses)}
	for _, p := range list {
		switch p.Scope {
		case PauseJob:
			b.jobs[p.Target] = append(b.jobs[p.Target], p)
		case PauseGroup:
			b.groups[p.Target] = append(b.groups[p.Target], p)
		case PauseTag:
			b.tags[p.Tag] = append(b.tags[p.Tag], p)
		case PauseAll:
			b.all = append(b.all, p)
		}
	}
	return b
}

// Of are the pauses that may concern a job; its tags stand between commas.
func (b *PauseBook) Of(job, group int64, tags string) Pauses {
	found := b.all
	for _, more := range []Pauses{b.jobs[job], b.groups[group]} {
		if len(more) > 0 {
			found = append(found[:len(found):len(found)], more...)
		}
	}
	if len(b.tags) > 0 && tags != "" {
		for tag := range strings.SplitSeq(tags, ",") {
			found = append(found[:len(found):len(found)], b.tags[tag]...)
		}
	}
	return found
}

// Holding is the stretch that holds a job's schedule at a moment; false: none does.
func (b *PauseBook) Holding(job, group int64, tags string, at time.Time) (Stretch, bool) {
	return b.Of(job, group, tags).At(at)
}

// Active are the pauses that a moment lies in.
func (b *PauseBook) Active(at time.Time) Pauses {
	var found Pauses
	add := func(list Pauses) {
		for _, p := range list {
			if _, active := p.Active(at); active {
				found = append(found, p)
			}
		}
	}
	add(b.all)
	for _, list := range b.groups {
		add(list)
	}
	for _, list := range b.tags {
		add(list)
	}
	for _, list := range b.jobs {
		add(list)
	}
	slices.SortFunc(found, func(x, y *Pause) int { return cmp.Compare(x.ID, y.ID) })
	return found
}
