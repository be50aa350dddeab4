package pinyin

import "testing"

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
