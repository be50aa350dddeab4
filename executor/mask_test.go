package executor

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestASecretIsMaskedHoweverItsOutputIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,7}`), 1, 3).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc\n]{0,60}`).Draw(t, "output")
		whole := newMasker(words)
		want := string(whole.next([]byte(text))) + string(whole.rest())
		for _, w := range words {
			if strings.Contains(want, w) {
				t.Fatalf("%q shows %q", want, w)
			}
		}
		m := newMasker(words)
		var got strings.Builder
		for left := text; left != ""; {
			n := rapid.IntRange(1, len(left)).Draw(t, "piece")
			got.Write(m.next([]byte(left[:n])))
			left = left[n:]
		}
		got.Write(m.rest())
		if got.String() != want {
			t.Fatalf("cut: %q, whole: %q", got.String(), want)
		}
	})
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
