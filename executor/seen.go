package executor

import (
	"sync"
	"time"
)

// seen remembers which runs were accepted, so that one sent twice is not run twice. Log ids rise, so they are kept as
// bits in blocks of neighbours: millions of ids take a few hundred kilobytes, and the oldest blocks are dropped.
//
// An id alone is not enough: an admin whose database was made anew counts from 1 again. A block therefore knows the
// latest trigger time among its ids; a run triggered clearly after that belongs to a new count and starts the block afresh.
type seen struct {
	mu     sync.Mutex
	blocks map[int64]*seenBlock
	order  []int64 // keys of blocks, oldest first
	limit  int
	since  time.Time // every run that was accepted after it is remembered
}

type seenBlock struct {
	latest int64     // latest trigger time, epoch milliseconds
	added  time.Time // when an id was added last, as far as this process knows
	bits   [seenBlockIDs / 64]uint64
}

const (
	seenBlockIDs = 4096
	seenBlocks   = 16 << 10 // at most 9 MB
	// seenSlack covers a resend whose time was rounded to the second by the admin's database.
	seenSlack = 2000
)

func newSeen(limit int) *seen {
	return &seen{blocks: make(map[int64]*seenBlock), limit: limit}
}

// add remembers the run and says whether it is new.
func (s *seen) add(logID, triggered int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, word, bit := s.place(logID)
	if b == nil {
		b = s.insert(blockOf(logID))
	}
	if b.bits[word]&bit != 0 {
		if triggered <= b.latest+seenSlack {
			return false
		}
		*b = seenBlock{}
	}
	b.bits[word] |= bit
	b.latest, b.added = max(b.latest, triggered), time.Now()
	return true
}

// repeats says whether add would refuse the run.
func (s *seen) repeats(logID, triggered int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, word, bit := s.place(logID)
	return b != nil && b.bits[word]&bit != 0 && triggered <= b.latest+seenSlack
}

// reach is for how long everything that was accepted is remembered.
func (s *seen) reach() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.since)
}

// reaches says that all that was accepted in a time before this is known too.
func (s *seen) reaches(back time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = s.since.Add(-back)
}

// begins says that nothing is known of what was accepted before a moment.
func (s *seen) begins(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets(at)
}

// forgets is begins. The caller holds mu.
func (s *seen) forgets(at time.Time) {
	if at.After(s.since) {
		s.since = at
	}
}

// has says whether the id was seen, whatever its time.
func (s *seen) has(logID int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, word, bit := s.place(logID)
	return b != nil && b.bits[word]&bit != 0
}

// remove forgets a run that was refused after all.
func (s *seen) remove(logID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, word, bit := s.place(logID); b != nil {
		b.bits[word] &^= bit
	}
}

func (s *seen) place(logID int64) (b *seenBlock, word int, bit uint64) {
	at := uint64(logID) % seenBlockIDs
	return s.blocks[blockOf(logID)], int(at / 64), 1 << (at % 64)
}

// insert makes room if needed; the block made first goes first.
func (s *seen) insert(key int64) *seenBlock {
	if len(s.order) >= s.limit {
		s.forgets(s.blocks[s.order[0]].added)
		delete(s.blocks, s.order[0])
		s.order = s.order[1:]
	}
	b := new(seenBlock)
	s.blocks[key] = b
	s.order = append(s.order, key)
	return b
}

// each calls f for every block, oldest first, for the journal's snapshot.
func (s *seen) each(f func(key int64, b *seenBlock)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.order {
		f(key, s.blocks[key])
	}
}

// restore puts a block of a snapshot back.
func (s *seen) restore(key int64, b *seenBlock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks[key] == nil {
		s.insert(key)
	}
	b.added = time.Now() // when it was is not known any more
	s.blocks[key] = b
}

// blockOf is the number of the block that holds logID; a shift rounds down for negative ids too.
func blockOf(logID int64) int64 { return logID >> 12 }
