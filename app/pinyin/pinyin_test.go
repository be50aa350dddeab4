package pinyin

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gopinyin "github.com/mozillazg/go-pinyin"
)

// TestTheTableIsTheLibrarys writes it anew when UPDATE is set.
func TestTheTableIsTheLibrarys(t *testing.T) {
	characters := make(map[string][]rune)
	for character := range gopinyin.PinyinDict {
		if r := rune(character); han(r) {
			s := strings.Join(gopinyin.SinglePinyin(r, gopinyin.Args{Style: gopinyin.Normal}), "")
			characters[s] = append(characters[s], r)
		}
	}
	var want strings.Builder
	for _, s := range slices.Sorted(maps.Keys(characters)) {
		slices.Sort(characters[s])
		fmt.Fprintf(&want, "%s %s\n", s, string(characters[s]))
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("syllables.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		table = want.String()
	}
	if table != want.String() {
		t.Error("stale: UPDATE=1 go test ./app/pinyin writes it anew")
	}
	// Beyond the table: the first and the last of what is kept, one that has no reading, and rare ones.
	for _, r := range "一龥㐀鿿每日对账〇兙𠀀𪛖" {
		if want := strings.Join(gopinyin.SinglePinyin(r, gopinyin.Args{Style: gopinyin.Normal}), ""); syllable(r) != want {
			t.Errorf("%c: %q, want %q", r, syllable(r), want)
		}
	}
}

func TestNamesAreFoundAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"每日对账", "mrdz", true}, {"每日对账", "DZ", true}, {"每日对账", "meiri", true}, {"每日对账", "mei ri", true}, {"每日对账", "riduizhang", true}, {"每日对账", "mz", false},
		{"每日對帳", "mrdz", true}, {"绿色 job 7", "lvse", true}, {"绿色 job 7", "ls job", true}, {"每日对账", "m", false}, {"每日对账", "每日", false},
		{"daily", "da", false}, {"", "mr", false}, {"每日对账", "", false}, {"对账 v2", "v2", false}, {"对账 v2", "dz v2", true},
	} {
		if got := Of(c.name).Has(c.text); got != c.want {
			t.Errorf("%s, typed %q: %v", c.name, c.text, got)
		}
	}
}

func TestAWholeNameIsTyped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"zx": true, "ZhiXing": true, "z": false, "zhi": false, "执行": false, "": false} {
		if got := Of("执行").Is(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if Of("run").Is("run") || Of("").Is("") {
		t.Error("what is not Chinese is not spelled")
	}
}

func BenchmarkOf(b *testing.B) {
	for b.Loop() {
		Of("每日对账与结算 daily 0230")
	}
}
