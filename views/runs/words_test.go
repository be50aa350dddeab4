package runs

import (
	"testing"

	"github.com/punctual-job/punctual/views/ui"
)

func TestShortAddress(t *testing.T) {
	t.Parallel()
	tests := []struct{ address, want string }{
		{"", "–"}, {"http://10.0.0.1:9999/", "10.0.0.1:9999"}, {"https://a.internal/xxl", "a.internal"}, {"10.0.0.1:9999", "10.0.0.1:9999"}, {"%zz", "%zz"},
	}
	for _, tt := range tests {
		if got := ShortAddress(tt.address); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.address, got, tt.want)
		}
	}
}

func TestJobOptionsKeepTheChosenJob(t *testing.T) {
	t.Parallel()
	var p ListPage
	if got := p.jobOptions(); len(got) != 0 {
		t.Errorf("got %v without a choice", got)
	}
	p.Filter.Job = 7
	if got := p.jobOptions(); len(got) != 1 || got[0].Value != "7" || !got[0].Selected {
		t.Errorf("got %v, want job 7", got)
	}
	p.Jobs = []ui.Option{{Value: "7", Label: "seven", Selected: true}, {Value: "8", Label: "eight"}}
	if got := p.jobOptions(); len(got) != 2 {
		t.Errorf("got %v, want the group's own", got)
	}
}
