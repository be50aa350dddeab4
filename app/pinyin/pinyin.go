// Package pinyin finds Chinese names by how they are typed without Chinese characters: by the first letters of their syllables (mrdz for
// 每日对账), or by the syllables.
package pinyin

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

// Name is a name as it can be typed. The zero value is one that has no Chinese characters, which is found by itself.
type Name struct{ initials, syllables string }

// Of spells a name. Of a character with several readings the most frequent one counts.
func Of(name string) Name {
	if strings.IndexFunc(name, han) < 0 {
		return Name{}
	}
	var initials, syllables strings.Builder
	for _, r := range strings.ToLower(name) {
		if !han(r) {
			initials.WriteRune(r)
			syllables.WriteRune(r)
			continue
		}
		if s := syllable(r); s != "" {
			initials.WriteByte(s[0])
			syllables.WriteString(s)
		}
	}
	return Name{initials.String(), syllables.String()}
}

// table has a line for each syllable, without its tone, with a blank and the characters whose most frequent reading it is; ü is written v, as
// keyboards do. It is what github.com/mozillazg/go-pinyin says (LICENSE.txt), which makes a map of it in each program that begins: 1.7 MB. The first name that is spelled costs 60 kB.
//
//go:embed syllables.txt
var table string

const first, last = '㐀', '鿿' // of the characters that names are made of; the rarer ones are looked for in the table

// spelled are the syllables and which of them, counted from one, each character from first on has.
var spelled = sync.OnceValues(func() (syllables []string, of []uint16) {
	of = make([]uint16, last-first+1)
	for line := range strings.Lines(table) {
		s, characters, _ := strings.Cut(line, " ")
		syllables = append(syllables, s)
		for _, r := range characters {
			if r >= first && r <= last {
				of[r-first] = uint16(len(syllables))
			}
		}
	}
	return syllables, of
})

func syllable(r rune) string {
	if r >= first && r <= last {
		syllables, of := spelled()
		if at := of[r-first]; at > 0 {
			return syllables[at-1]
		}
		return ""
	}
	at := strings.IndexRune(table, r)
	if at < 0 {
		return ""
	}
	line := strings.LastIndexByte(table[:at], '\n') + 1
	return table[line : line+strings.IndexByte(table[line:], ' ')]
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

// Chinese says whether the name has Chinese characters.
func (n Name) Chinese() bool { return n.initials != "" }

// Has says whether a text is part of how the name is typed. One letter is in nearly all of them, so it is in none.
func (n Name) Has(text string) bool {
	text = strings.ToLower(text)
	return n.Chinese() && Typed(text) && (strings.Contains(n.initials, text) || strings.Contains(n.syllables, strings.ReplaceAll(text, " ", "")))
}

// Is says whether a text is the whole of how the name is typed.
func (n Name) Is(text string) bool {
	text = strings.ToLower(text)
	return n.Chinese() && (text == n.initials || text == n.syllables)
}

// Typed says whether a text may be one that was typed for a Chinese name: letters, and two of them at least.
func Typed(text string) bool {
	letters := 0
	for _, r := range text {
		switch {
		case r > unicode.MaxASCII:
			return false
		case unicode.IsLetter(r):
			letters++
		}
	}
	return letters > 1
}
