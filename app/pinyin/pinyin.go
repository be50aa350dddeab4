// Package pinyin finds Chinese names by how they are typed without Chinese characters: by the first letters of their syllables (mrdz for
// 每日对账), or by the syllables.
package pinyin

import (
	"strings"
	"sync"
	"unicode"

	gopinyin "github.com/mozillazg/go-pinyin"
)

// Name is a name as it can be typed. The zero value is one that has no Chinese characters, which is found by itself.
type Name struct{ initials, syllables string }

// plain are syllables without tones; ü is written v, as keyboards do.
var plain = gopinyin.Args{Style: gopinyin.Normal}

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

// spelled are the syllables of the characters that were asked for, because the library takes the tones off anew each time.
var spelled sync.Map

func syllable(r rune) string {
	if s, ok := spelled.Load(r); ok {
		return s.(string)
	}
	s := strings.Join(gopinyin.SinglePinyin(r, plain), "")
	spelled.Store(r, s)
	return s
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
