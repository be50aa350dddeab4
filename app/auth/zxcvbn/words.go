package zxcvbn

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"weak"
)

// packed are common passwords, English words and names: a line for each rank in the lists of the library, with the words that have it.
//
//go:embed words.gz
var packed []byte

// wordCount is about how many words there are.
const wordCount = 90_000

// kept are the words that were read last, for as long as the collector leaves them: nobody keeps them, and whoever makes many users at a time
// has them read once.
var kept struct {
	sync.Mutex
	words weak.Pointer[map[string]int]
}

// known are all words with their ranks. They are not to be changed.
func known() map[string]int {
	kept.Lock()
	defer kept.Unlock()
	words := kept.words.Value()
	if words == nil {
		read := unpacked()
		words = &read
		kept.words = weak.Make(words)
	}
	return *words
}

// unpacked reads the words.
func unpacked() map[string]int {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // they are a part of the program
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	rank := make(map[string]int, wordCount)
	at := 0
	for line := range strings.Lines(string(text)) {
		at++
		for word := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
			rank[word] = at
		}
	}
	return rank
}
