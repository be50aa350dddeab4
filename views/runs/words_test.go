package runs

import (
	"testing"

	"github.com/punctual-job/punctual/views/ui"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"plain text stays", "plain 文本\tx", "plain 文本\tx"},
		{"colours go", "\x1b[1;32mok\x1b[0m done", "ok done"},
		{"cursor codes go", "\x1b[2K\x1b[?25lrow", "row"},
		{"a window title goes", "\x1b]0;title\x07text", "text"},
		{"a cut code does no harm", "text\x1b[", "text\x1b["},
		{"a progress line keeps its last state", "10%\r50%\r100%", "100%"},
		{"a line end of Windows goes", "text\r", "text"},
		{"nothing stays nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := printable(tt.line); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

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
