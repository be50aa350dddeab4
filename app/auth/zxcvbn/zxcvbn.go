// Package zxcvbn judges passwords as github.com/ccojocar/zxcvbn-go does, of which it is made (LICENSE.txt): the words are its words, and a
// test holds each judgement against the library's.
//
// The library unpacks its words when a program starts and keeps them: 18 MB to allocate, 6.4 MB to keep and 45 ms, in every command, for
// what is asked a few times a year. Here a question reads them, and leaves nothing.
package zxcvbn

import (
	"math"
	"strings"
	"unicode"
)

// match is a part of a password that somebody who guesses would try before all texts of its length.
type match struct {
	first, last int
	bits        float64
}

// Score is from 0, too easy to guess, to 4, very hard to guess. about are words that are easy to guess for this password.
func Score(password string, about []string) int {
	return score(bits(password, about, known()))
}

func score(bits float64) int {
	switch seconds := round(0.5 * math.Pow(2, bits) * secondsPerGuess); {
	case seconds < 1e2:
		return 0
	case seconds < 1e4:
		return 1
	case seconds < 1e6:
		return 2
	case seconds < 1e8:
		return 3
	}
	return 4
}

// secondsPerGuess of a hundred cores, each of which takes 10 ms.
const secondsPerGuess = 0.010 / 100

// round keeps three digits after the point.
func round(value float64) float64 {
	whole, part := math.Modf(value * 1000)
	if part >= 0.5 {
		whole++
	}
	return whole / 1000
}

// bits is how much of a password remains to be guessed when its parts are told apart in the best way.
func bits(password string, about []string, words map[string]int) float64 {
	if password == "" {
		return 0
	}
	matches := dictionary(nil, password, ranked(about))
	matches = dictionary(matches, password, words)
	matches = spatial(matches, password)
	matches = repeats(matches, password)
	matches = sequences(matches, password)
	for _, plain := range withoutLeet(password) {
		matches = dictionary(matches, plain, words)
	}
	matches = dates(matches, password)
	byLast := make([][]match, len(password))
	for _, m := range matches {
		if m.last < len(password) {
			byLast[m.last] = append(byLast[m.last], m)
		}
	}
	each := math.Log2(cardinality(password))
	least := make([]float64, len(password)+1) // up to before the byte
	for k := range len(password) {
		least[k+1] = least[k] + each
		for _, m := range byLast[k] {
			least[k+1] = min(least[k+1], least[m.first]+m.bits)
		}
	}
	return least[len(password)]
}

// cardinality is how many characters somebody tries who knows of which kinds there are.
func cardinality(text string) float64 {
	var lower, upper, digits, others float64
	for _, r := range text {
		switch {
		case unicode.IsLower(r):
			lower = 26
		case unicode.IsDigit(r):
			digits = 10
		case unicode.IsUpper(r):
			upper = 26
		default:
			others = 33
		}
	}
	return lower + upper + digits + others
}

// choose is in how many ways k of n can be chosen.
func choose(n, k float64) float64 {
	if k > n {
		return 0
	}
	ways := 1.0
	for d := 1.0; d <= k; d++ {
		ways = ways * n / d
		n--
	}
	return ways
}

// dictionary adds every part that is a word. Places are counted in characters.
func dictionary(matches []match, password string, rank map[string]int) []match {
	characters := []rune(password)
	lower := strings.ToLower(password)
	var starts []int
	for at := range lower {
		starts = append(starts, at)
	}
	starts = append(starts, len(lower))
	for i := range characters {
		for j := i; j < len(characters); j++ {
			if at, ok := rank[lower[starts[i]:starts[j+1]]]; ok {
				matches = append(matches, match{i, j, math.Log2(float64(at)) + capitals(characters[i:j+1])})
			}
		}
	}
	return matches
}

// ranked gives each word its place in a list.
func ranked(list []string) map[string]int {
	rank := make(map[string]int, len(list))
	for i, word := range list {
		rank[strings.ToLower(word)] = i + 1
	}
	return rank
}

// capitals is what capital letters add to a word: one bit where the first is one or all are, else in how many ways so many can be.
func capitals(word []rune) float64 {
	var upper, lower float64
	ascii := 0
	for _, r := range word {
		if unicode.IsUpper(r) {
			upper++
		} else if unicode.IsLower(r) {
			lower++
		}
		if 'A' <= r && r <= 'Z' {
			ascii++
		}
	}
	if upper == 0 {
		return 0
	}
	if first := 'A' <= word[0] && word[0] <= 'Z'; ascii == len(word) || first && ascii == 1 {
		return 1
	}
	var ways float64
	for i := 0.0; i <= min(upper, lower); i++ {
		ways += choose(lower+upper, i)
	}
	return math.Log2(ways)
}
