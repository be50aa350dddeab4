package zxcvbn

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	library "github.com/ccojocar/zxcvbn-go"
	"github.com/ccojocar/zxcvbn-go/frequency"

	"github.com/punctual-job/punctual/executor/executortest"
)

// libraryWords are the words of all lists of the library, with the best rank of each.
func libraryWords() map[string]int {
	words := make(map[string]int)
	for _, list := range frequency.Lists {
		for word, rank := range ranked(list.List) {
			if have, ok := words[word]; !ok || rank < have {
				words[word] = rank
			}
		}
	}
	return words
}

// TestTheWordsAreTheLibrarys writes them anew when UPDATE is set.
func TestTheWordsAreTheLibrarys(t *testing.T) {
	want := libraryWords()
	if os.Getenv("UPDATE") != "" {
		lines := make([][]string, slices.Max(slices.Collect(maps.Values(want))))
		for word, rank := range want {
			lines[rank-1] = append(lines[rank-1], word)
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		for _, line := range lines {
			slices.Sort(line)
			fmt.Fprintln(w, strings.Join(line, "\t"))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("words.gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		packed = b.Bytes()
	}
	got := unpacked()
	delete(got, "") // the line of a rank that none has
	delete(want, "")
	if !maps.Equal(got, want) {
		t.Errorf("%d words, want %d: UPDATE=1 go test ./app/auth/zxcvbn writes them anew", len(got), len(want))
	}
	if len(got) > wordCount || len(got) < wordCount*9/10 {
		t.Errorf("%d words; room is made for %d", len(got), wordCount)
	}
}

// TestTheWordsAreReadOnceForMany, and kept by nobody.
func TestTheWordsAreReadOnceForMany(t *testing.T) {
	t.Parallel()
	executortest.Eventually(t, "one reading for two", func() error { // unless the collector comes in between
		first := known()
		if second := known(); reflect.ValueOf(first).Pointer() != reflect.ValueOf(second).Pointer() {
			return executortest.ErrNotYet
		}
		return nil
	})
	executortest.Eventually(t, "words that were let go", func() error {
		runtime.GC()
		kept.Lock()
		defer kept.Unlock()
		if kept.words.Value() != nil {
			return executortest.ErrNotYet
		}
		return nil
	})
}

// compare holds a judgement against the library's.
func compare(t *testing.T, words map[string]int, password string, about []string) {
	t.Helper()
	want := library.PasswordStrength(password, about)
	got := bits(password, about, words)
	if round(got) != want.Entropy || score(got) != want.Score {
		t.Errorf("%q: %v bits, %d; want %v, %d", password, got, score(got), want.Entropy, want.Score)
	}
}

func TestPasswordsAreJudgedAsByTheLibrary(t *testing.T) {
	words := known()
	about := []string{"Wolfeschlegel", "punctual", "xxl", "job"}
	for _, password := range []string{
		"", "a", "password", "P@ssw0rd2024", "1qaz2wsx", "Huawei@123", "woaini1314", "aaaaaaaaaaaa", "xxl-job-2024", "WolfeSchlegel1", "kd83hf7s", "correct horse battery", "北京欢迎你2008",
		"zyxwvu-cba!", "ABCDEFG", "fedcba", "9876543210", "13.5.1999", "1999/12/31x", "31121999!", "991231zz", "20241231", "12345678901234567", "PASSwORD", "PASSWORD", "passworD", "ÄÖÜäöü", "ÉÉÉÉéé", "éééé!!!!",
		"QwErTy", "!@#$%^&*()", "poiuytrewq", "aoeuidhtns", "789456123", "147/*-", "h3||0 w0r1d", "4@8({[<369!1|0$5+7%2", "7171||77", "İstanbul123", "nnnNNN", "\u2028\n\t -", "a\x00b",
	} {
		compare(t, words, password, about)
	}
}

// TestAnyPasswordIsJudgedAsByTheLibrary makes passwords of what people put together.
func TestAnyPasswordIsJudgedAsByTheLibrary(t *testing.T) {
	known := known()
	words := slices.Sorted(maps.Keys(known))
	r := rand.New(rand.NewPCG(15, 6))
	parts := []func() string{
		func() string { return words[r.IntN(len(words))] },
		func() string { return strings.ToUpper(words[r.IntN(len(words))]) },
		func() string {
			word := words[r.IntN(len(words))]
			return strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
		},
		func() string {
			return strings.NewReplacer("a", "@", "o", "0", "e", "3", "i", "1", "s", "$", "t", "7", "l", "|").Replace(words[r.IntN(len(words))])
		},
		func() string { return fmt.Sprint(r.IntN(100_000_000)) },
		func() string {
			return fmt.Sprintf("%d%c%d%[2]c%[4]d", r.IntN(40), "-/._ "[r.IntN(5)], r.IntN(40), 1880+r.IntN(160))
		},
		func() string { return strings.Repeat(string(rune(33+r.IntN(400))), r.IntN(6)) },
		func() string { return "zyxwvutsrqponmlkjihgfedcba"[r.IntN(20):][:6] },
		func() string { return "qwertyuiopasdfghjklzxcvbnm1234567890-="[r.IntN(30):][:r.IntN(8)] },
		func() string {
			return string([]rune{rune(32 + r.IntN(95)), rune(32 + r.IntN(95)), rune(0x4e00 + r.IntN(99)), rune(32 + r.IntN(95))})
		},
	}
	for range 300 {
		var password string
		for range 1 + r.IntN(3) {
			password += parts[r.IntN(len(parts))]()
		}
		compare(t, known, password[:min(len(password), 24)], nil)
	}
}

func FuzzJudgedAsByTheLibrary(f *testing.F) {
	for _, password := range []string{"P@ssw0rd2024", "zyxwvu-cba!", "1999/12/31x", "éééé!!!!", "7171||77", "h3||0 w0r1d"} {
		f.Add(password)
	}
	words := known()
	f.Fuzz(func(t *testing.T, password string) {
		if utf8.ValidString(password) && len(password) <= 60 {
			compare(t, words, password, []string{"Punctual"})
		}
	})
}
