package zxcvbn

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// keyboard is where keys are: rows of keys, each of which is what it writes without and with shift.
type keyboard struct {
	rows []string
	wide int // how many signs stand for a key
	// around are the neighbours of a key, in the order in which directions are told apart; keys and degree are how many keys one may begin with
	// and how many neighbours one has on average, as the library counts both.
	around       [][2]int
	keys, degree float64
}

var (
	// slanted are rows of which each begins further to the right, aligned are those of a block of digits: steps to the right and down.
	slanted = [][2]int{{-1, 0}, {0, -1}, {1, -1}, {1, 0}, {0, 1}, {-1, 1}}
	aligned = [][2]int{{-1, 0}, {-1, -1}, {0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}}
)

const (
	letterKeys, letterDegree = 94, 864.0 / 564
	digitKeys, digitDegree   = 15, 76.0 / 120
)

var keyboards = []keyboard{
	{[]string{"`~1!2@3#4$5%6^7&8*9(0)-_=+", "  qQwWeErRtTyYuUiIoOpP[{]}\\|", "  aAsSdDfFgGhHjJkKlL;:'\"", "  zZxXcCvVbBnNmM,<.>/?"}, 2, slanted, letterKeys, letterDegree},
	{[]string{"`~1!2@3#4$5%6^7&8*9(0)[{]}", "  '\",<.>pPyYfFgGcCrRlL/?=+\\|", "  aAoOeEuUiIdDhHtTnNsS-_", "  ;:qQjJkKxXbBmMwWvVzZ"}, 2, slanted, letterKeys, letterDegree},
	{[]string{" /*-", "789+", "456 ", "123 ", " 0. "}, 1, aligned, digitKeys, digitDegree},
	{[]string{" =/*", "789-", "456+", "123 ", " 0. "}, 1, aligned, digitKeys, digitDegree},
}

// place is where a key is, and whether it is held with shift.
func (k keyboard) place(key byte) (column, row int, shift, ok bool) {
	for row, keys := range k.rows {
		if at := strings.IndexByte(keys, key); at >= 0 && key != ' ' {
			return at / k.wide, row, at%k.wide == 1, true
		}
	}
	return 0, 0, false, false
}

// step is the direction from a key to one beside it.
func (k keyboard) step(from, to byte) (direction int, shift, ok bool) {
	x, y, _, ok := k.place(from)
	if !ok {
		return 0, false, false
	}
	x2, y2, shift, ok := k.place(to)
	direction = slices.Index(k.around, [2]int{x2 - x, y2 - y})
	return direction, shift, ok && direction >= 0
}

// spatial adds paths over a keyboard.
func spatial(matches []match, password string) []match {
	for _, k := range keyboards {
		for i := 0; i < len(password)-1; {
			j, last, turns, shifted := i+1, -1, 0, 0
			for ; j < len(password); j++ {
				direction, shift, ok := k.step(password[j-1], password[j])
				if !ok {
					break
				}
				if shift {
					shifted++
				}
				if direction != last {
					turns, last = turns+1, direction
				}
			}
			if j-i > 2 {
				matches = append(matches, match{i, j - 1, k.bits(float64(j-i), float64(turns), float64(shifted))})
			}
			i = j
		}
	}
	return matches
}

// bits of a path.
func (k keyboard) bits(length, turns, shifted float64) float64 {
	var ways float64
	for i := 2.0; i <= length+1; i++ {
		for j := 1.0; j <= min(turns, i-1)+1; j++ {
			ways += choose(i-1, j-1) * k.keys * math.Pow(k.degree, j)
		}
	}
	bits := math.Log2(ways)
	if shifted > 0 {
		ways = 0
		for i := 0.0; i < min(shifted, length-shifted)+1; i++ {
			ways += choose(length, i)
		}
		bits += math.Log2(ways)
	}
	return bits
}

// repeats adds three and more times the same character. Places are counted in bytes, lengths in characters, as in the library.
func repeats(matches []match, password string) []match {
	add := func(first, last int) {
		token := password[first : last+1]
		matches = append(matches, match{first, last, math.Log2(cardinality(token) * float64(len(token)))})
	}
	streak, before, at := 1, "", 0
	for i, r := range password {
		at = i
		switch {
		case i == 0:
		case strings.EqualFold(string(r), before):
			streak++
		default:
			if streak > 2 {
				add(i-streak, i-1)
			}
			streak = 1
		}
		before = string(r)
	}
	if streak > 2 {
		add(at-streak+1, at)
	}
	return matches
}

// sequences adds three and more neighbours of the alphabet or of the digits. As in the library what follows the first letter backwards belongs to them.
func sequences(matches []match, password string) []match {
	for i := 0; i < len(password); {
		j := i + 1
		for _, all := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"} {
			place := func(at int) int { return strings.IndexByte(all, password[at]) }
			if j == len(password) || place(i) < 0 || place(j) < 0 {
				continue
			}
			step := place(j) - place(i)
			if step != 1 && step != -1 {
				continue
			}
			for j < len(password) && place(j)-place(j-1) == step {
				j++
			}
			if j-i > 2 {
				matches = append(matches, match{i, j - 1, sequenceBits(password[i], len(all), step) + math.Log2(float64(j-i))})
			}
			break
		}
		i = j
	}
	return matches
}

// sequenceBits is what begin and direction of a sequence are worth.
func sequenceBits(begin byte, of, step int) (bits float64) {
	if begin != 'a' && begin != '1' {
		bits = math.Log2(float64(of))
		if unicode.IsUpper(rune(begin)) {
			bits++
		}
	}
	if step < 0 {
		bits++
	}
	return bits
}

// leet are signs that stand for letters.
var leet = [...]struct{ letter, signs string }{
	{"a", "4@"}, {"b", "8"}, {"c", "({[<"}, {"e", "3"}, {"g", "69"}, {"i", "1!|"}, {"l", "1|7"}, {"o", "0"}, {"s", "$5"}, {"t", "+7"}, {"x", "%"}, {"z", "2"},
}

// twice are the signs that stand for more than one letter.
const twice = "1|7"

// withoutLeet are the texts that a password may stand for. In each of them a sign stands for one letter, and a letter has one of its signs.
func withoutLeet(password string) []string {
	var present [len(leet)]string // the signs by the place of their letter
	found := false
	for i, l := range leet {
		for _, sign := range l.signs {
			if strings.ContainsRune(password, sign) {
				present[i] += string(sign)
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	choices := [][len(leet)]string{present}
	for _, sign := range twice {
		if !strings.ContainsRune(password, sign) {
			continue
		}
		var next [][len(leet)]string
		for _, choice := range choices {
			for owner := range leet {
				if !strings.ContainsRune(choice[owner], sign) {
					continue
				}
				one := choice
				for other := range one {
					if other != owner {
						one[other] = strings.ReplaceAll(one[other], string(sign), "")
					}
				}
				next = append(next, one)
			}
		}
		choices = next
	}
	texts := make(map[string]bool)
	for _, choice := range choices {
		list := []string{password}
		for i, signs := range choice {
			if signs == "" {
				continue
			}
			var next []string
			for _, text := range list {
				for _, sign := range signs {
					next = append(next, strings.ReplaceAll(text, string(sign), leet[i].letter))
				}
			}
			list = next
		}
		for _, text := range list {
			texts[text] = true
		}
	}
	return slices.Collect(maps.Keys(texts))
}

const (
	yearLast  = `((\d{1,2})(\s|-|\/|\\|_|\.)(\d{1,2})(\s|-|\/|\\|_|\.)(19\d{2}|200\d|201\d|\d{2}))`
	yearFirst = `((19\d{2}|200\d|201\d|\d{2})(\s|-|/|\\|_|\.)(\d{1,2})(\s|-|/|\\|_|\.)(\d{1,2}))`
	together  = `\d{4,8}`
)

// dates adds days. As in the library they end one character late, where another follows.
func dates(matches []match, password string) []match {
	add := func(text string, day, month, year string, apart float64) {
		d, _ := strconv.Atoi(day)
		m, _ := strconv.Atoi(month)
		y, _ := strconv.Atoi(year)
		if m >= 12 && m <= 31 && d <= 12 {
			d, m = m, d
		}
		if d > 31 || m > 12 || y > 99 && y < 1900 || y > 2025 {
			return
		}
		years := 119.0
		if y < 100 {
			years = 100
		}
		first := strings.Index(password, text)
		matches = append(matches, match{first, first + len(text), math.Log2(31*12*years) + apart})
	}
	suffix, prefix := regexp.MustCompile(yearLast), regexp.MustCompile(yearFirst)
	for _, found := range suffix.FindAllString(password, -1) {
		p := suffix.FindStringSubmatch(found)
		add(found, p[4], p[2], p[6], 2)
	}
	for _, found := range prefix.FindAllString(password, -1) {
		p := prefix.FindStringSubmatch(found)
		add(found, p[4], p[6], p[2], 2)
	}
	for _, found := range regexp.MustCompile(together).FindAllString(password, -1) {
		switch len(found) {
		case 6:
			add(found, found[2:4], found[4:], found[:2], 0)
		case 8:
			add(found, found[4:6], found[6:], found[:4], 0)
			add(found, found[:2], found[2:4], found[4:], 0)
		}
	}
	return matches
}
