package ui

import (
	"testing"

	"github.com/punctual-job/punctual/views/format"
)

func TestFewBarsSayUnderThemSinceWhenTheyAre(t *testing.T) {
	t.Parallel()
	at := func(text string) RunBar { return RunBar{At: format.Time{Relative: text}} }
	all := make([]RunBar, MaxBars)
	all[0], all[MaxBars-1] = at("2 h ago"), at("now")
	for _, tt := range []struct {
		bars []RunBar
		want [2]string
	}{
		{all, [2]string{"2 h ago", "now"}},
		{[]RunBar{at("2 h ago"), at("1 h ago"), at("now")}, [2]string{"", "2 h ago – now"}},
		{[]RunBar{at("now")}, [2]string{"", "now"}},
	} {
		if got := (RunBars{Bars: tt.bars}).ends(); got != tt.want {
			t.Errorf("%d bars: %q, want %q", len(tt.bars), got, tt.want)
		}
	}
}
