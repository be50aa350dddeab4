package executor

import (
	"bytes"
	"slices"
	"strings"
)

// masked stands in an output where a secret stood.
const masked = "***"

// masker takes secrets out of what a run says. An output comes in pieces, and a secret may be cut by them: what could become one is
// held back until it is known. A nil masker changes nothing.
type masker struct {
	words [][]byte      // the longest first: a whole goes before its parts
	by    [256][][]byte // the same, by their first byte
	// pairs has a bit for each two bytes that a word begins with. There may be hundreds of words, for a secret has many spellings, and nearly
	// no place of an output begins like one.
	pairs [1 << 16 / 64]uint64
	held  []byte
}

// minMask is the least length of what is masked: shorter words would tear others apart and tell more than they hide.
const minMask = 4

func newMasker(words []string) *masker {
	var long [][]byte
	for _, w := range words {
		if len(w) >= minMask {
			long = append(long, []byte(w))
		}
	}
	if len(long) == 0 { // as most runs have none
		return nil
	}
	m := &masker{words: long}
	slices.SortFunc(m.words, func(a, b []byte) int { return len(b) - len(a) })
	for _, w := range m.words {
		m.by[w[0]] = append(m.by[w[0]], w)
		pair := uint16(w[0])<<8 | uint16(w[1])
		m.pairs[pair/64] |= 1 << (pair % 64)
	}
	return m
}

// text is a whole text without secrets.
func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	for _, w := range m.words {
		s = strings.ReplaceAll(s, string(w), masked)
	}
	return s
}

// next is the part of an output that can be said after another piece has come. The result may share p.
func (m *masker) next(p []byte) []byte {
	if m == nil {
		return p
	}
	data := append(m.held, p...)
	m.held = nil
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		if plain := m.plain(data[i:]); plain > 0 {
			out, i = append(out, data[i:i+plain]...), i+plain
			continue
		}
		word, begun := m.at(data[i:])
		switch {
		case begun: // the longest that it may become counts, so nothing is decided yet
			m.held = bytes.Clone(data[i:])
			return out
		case word > 0:
			out, i = append(out, masked...), i+word
		default:
			out, i = append(out, data[i]), i+1
		}
	}
	return out
}

// plain is how many bytes a text begins with before one that may begin a secret.
func (m *masker) plain(text []byte) int {
	for i := range len(text) - 1 {
		if pair := uint16(text[i])<<8 | uint16(text[i+1]); m.pairs[pair/64]&(1<<(pair%64)) != 0 {
			return i
		}
	}
	if last := len(text) - 1; len(m.by[text[last]]) > 0 { // what comes behind it is not known
		return last
	}
	return len(text)
}

// at is the length of the secret that a text begins with, 0 for none; begun says that a longer one may have begun with all of the text.
func (m *masker) at(text []byte) (word int, begun bool) {
	for _, w := range m.by[text[0]] {
		if len(w) > len(text) && bytes.HasPrefix(w, text) {
			return 0, true
		}
		if bytes.HasPrefix(text, w) {
			return len(w), false
		}
	}
	return 0, false
}

// rest is what was held back when nothing comes any more.
func (m *masker) rest() []byte {
	if m == nil || len(m.held) == 0 {
		return nil
	}
	held := []byte(m.text(string(m.held)))
	m.held = nil
	return held
}
