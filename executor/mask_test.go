//go:build go1.26

package executor

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// draw makes a text of up to longest of these letters, and at least shortest.
func draw(random *rand.Rand, letters string, shortest, longest int) string {
	text := make([]byte, shortest+random.IntN(longest-shortest+1))
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func TestASecretIsMaskedHoweverItsOutputIsCut(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var words []string
		for range 1 + random.IntN(3) {
			words = append(words, draw(random, "ab", 4, 7))
		}
		text := draw(random, "abc\n", 0, 60)
		whole := newMasker(words)
		want := string(whole.next([]byte(text))) + string(whole.rest())
		for _, w := range words {
			if strings.Contains(want, w) {
				t.Fatalf("seed %d: %q shows %q", seed, want, w)
			}
		}
		m := newMasker(words)
		var got strings.Builder
		for left := text; left != ""; {
			n := 1 + random.IntN(len(left))
			got.Write(m.next([]byte(left[:n])))
			left = left[n:]
		}
		got.Write(m.rest())
		if got.String() != want {
			t.Fatalf("seed %d, secrets %q: cut %q, whole %q", seed, words, got.String(), want)
		}
	}
}

func TestAMaskerHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	m := newMasker([]string{"hunter22", "abc"}) // the second is too short to be told from other words
	if got := string(m.next([]byte("password: hunter2"))); got != "password: " {
		t.Errorf("said %q", got)
	}
	if got := string(m.next([]byte("2\nabc hunt"))); got != "***\nabc " {
		t.Errorf("said %q", got)
	}
	if got := string(m.rest()); got != "hunt" {
		t.Errorf("left %q", got)
	}
	var none *masker
	if got := string(none.next([]byte("x"))) + none.text("y") + string(none.rest()); got != "xy" {
		t.Errorf("without secrets: %q", got)
	}
}

// FuzzMask compares what a masker says of an output in pieces with the whole, in which no secret stands that does not overlap another one.
func FuzzMask(f *testing.F) {
	f.Add("hunter22", "hunter23hunter", "the password hunter22\nand hunter23hunter22", uint8(3))
	f.Add("aaaa", "aaaab", "aaaaaaaab", uint8(1))
	f.Fuzz(func(t *testing.T, a, b, text string, size uint8) {
		words := []string{a, b}
		whole := newMasker(words)
		want := string(whole.next([]byte(text))) + string(whole.rest())
		m := newMasker(words)
		var got strings.Builder
		for piece := range slices.Chunk([]byte(text), int(size)+1) {
			got.Write(m.next(piece))
		}
		if got.Write(m.rest()); got.String() != want {
			t.Fatalf("secrets %q: cut %q, whole %q", words, got.String(), want)
		}
		for _, w := range words {
			// What stands between two masks may become a secret with their stars.
			if len(w) >= minMask && !strings.Contains(w, "*") && strings.Contains(want, w) {
				t.Fatalf("%q shows %q", want, w)
			}
		}
	})
}

// BenchmarkMask is 10 MB of log lines, of which one in a thousand has a secret, in pieces as a program writes them.
func BenchmarkMask(b *testing.B) {
	for _, words := range []int{1, 60, 600} {
		b.Run(strconv.Itoa(words), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 0))
			secrets := make([]string, words)
			for i := range secrets { // as they begin that programs draw, and their base64
				secrets[i] = draw(random, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/%\\", 16, 60)
			}
			var text strings.Builder
			for i := 0; text.Len() < 10<<20; i++ {
				text.WriteString("2026-11-27 10:00:00.123 [main] INFO  com.example.orders.NightlyJob - order 4711 of customer 0815 is settled, 3 items\n")
				if i%1000 == 0 {
					text.WriteString(secrets[i/1000%words])
				}
			}
			out := []byte(text.String())
			b.SetBytes(int64(len(out)))
			b.ReportAllocs()
			for b.Loop() {
				m := newMasker(secrets)
				for piece := range slices.Chunk(out, 4<<10) {
					m.next(piece)
				}
				m.rest()
			}
		})
	}
}
