//go:build go1.26

package executor

import (
	"math/rand/v2"
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
