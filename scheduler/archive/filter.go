package archive

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"

	"github.com/punctual-job/punctual/db"
)

// A filter is a set of hashes of all pieces of gramSize bytes that stand in the lines of an object, with small letters. A text with a
// piece that is not in the set is nowhere in the object. A hash is one bit, so that a piece may seem to be there that is not; of a text of
// many pieces that hardly happens. Pieces are longer than the usual three letters because people often look for a number, and among
// thousands of numbers there are all of three digits.
type filter []byte

const (
	gramSize   = 6 // two letters of Chinese
	gramMask   = 1<<(8*gramSize) - 1
	gramFactor = 0x9E3779B97F4A7C15
	// The size of a filter is a power of two, of at most a byte for filterShare of text.
	filterShare = 32
	minFilter   = 256
	maxFilter   = 128 << 10
	// filterRoom: a filter with fewer than one of so many bits set is halved.
	filterRoom = 6
)

func newFilter(texts [][]byte) filter {
	f, size := make(filter, maxFilter), 0
	for _, t := range texts {
		f.add(t)
		size += len(t)
	}
	for len(f) > minFilter && (len(f) > size/filterShare || f.ones() < 8*len(f)/filterRoom) {
		f = f.half()
	}
	return bytes.Clone(f)
}

// add takes in what stands in the lines of a text.
func (f filter) add(text []byte) {
	shift := f.shift()
	gram, have := uint64(0), 0
	for _, c := range text {
		if c == '\n' {
			have = 0
			continue
		}
		gram = gram<<8 | uint64(small(c))
		if have++; have >= gramSize {
			h := hash(gram) >> shift
			f[h>>3] |= 1 << (h & 7)
		}
	}
}

func hash(gram uint64) uint64 { return gram & gramMask * gramFactor }

// shift leaves as many bits of a hash as number the bits of the filter.
func (f filter) shift() int { return 64 - (bits.Len(uint(len(f))) - 1 + 3) }

// half makes of each two neighbouring bits one, which is where a hash that is one bit shorter points.
func (f filter) half() filter {
	for i := range len(f) / 2 {
		f[i] = pairs[f[2*i]] | pairs[f[2*i+1]]<<4
	}
	return f[:len(f)/2]
}

// pairs has four bits for eight, each set if one of two is.
var pairs = func() (table [256]byte) {
	for i := range table {
		for bit := range 4 {
			if i>>(2*bit)&3 != 0 {
				table[i] |= 1 << bit
			}
		}
	}
	return table
}()

func (f filter) ones() (n int) {
	for _, b := range f {
		n += bits.OnesCount8(b)
	}
	return n
}

// may says whether a text, with small letters and of one line, may be in the object. One that is shorter than a piece may be anywhere, and
// what is no filter says nothing.
func (f filter) may(text []byte) bool {
	if n := len(f); n < minFilter || n > maxFilter || n&(n-1) != 0 {
		return true
	}
	shift := f.shift()
	gram := uint64(0)
	for i, c := range text {
		gram = gram<<8 | uint64(c)
		if h := hash(gram) >> shift; i+1 >= gramSize && f[h>>3]&(1<<(h&7)) == 0 {
			return false
		}
	}
	return true
}

// filterPurpose binds a sealed filter to its object.
func filterPurpose(object int64) string { return fmt.Sprintf("output filter %d", object) }

// noteFilter writes down the filter of an object, in the place of one that an object with the same number left behind: releases without
// filters delete none. It tells of what the object holds, and is sealed as that is.
func (s *Service) noteFilter(ctx context.Context, tx db.DBTX, object int64, f filter) error {
	packed := append([]byte{blockPlain}, f...)
	if s.cfg.Seal != nil {
		packed = append([]byte{blockSealed}, s.cfg.Seal.CloseBytes(f, filterPurpose(object))...)
	}
	if err := s.queries.DeleteOutputFilter(ctx, tx, object); err != nil {
		return err
	}
	return s.queries.InsertOutputFilter(ctx, tx, db.InsertOutputFilterParams{ObjectID: object, Bits: packed})
}

// openFilter opens what noteFilter wrote; nil for what cannot be opened.
func (s *Service) openFilter(row db.OutputFilter) filter {
	if len(row.Bits) == 0 {
		return nil
	}
	switch kind, packed := row.Bits[0], row.Bits[1:]; {
	case kind == blockPlain:
		return packed
	case kind == blockSealed && s.cfg.Seal != nil:
		if f, err := s.cfg.Seal.OpenBytes(packed, filterPurpose(row.ObjectID)); err == nil {
			return f
		}
	}
	return nil
}
