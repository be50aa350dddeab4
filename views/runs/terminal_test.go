package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPieces(t *testing.T) {
	t.Parallel()
	plain := func(text string) []piece { return []piece{{text: text}} }
	tests := []struct {
		name, line string
		want       []piece
	}{
		{"plain text stays", "plain 文本\tx", plain("plain 文本\tx")},
		{"nothing stays nothing", "", plain("")},
		{"colours become looks", "\x1b[1;32mok\x1b[0m done", []piece{{class: "bold green", text: "ok"}, {text: " done"}}},
		{"a bright colour is the plain one", "\x1b[91mbad\x1b[39m.", []piece{{class: "red", text: "bad"}, {text: "."}}},
		{"white is the text's own colour, and grounds are left out", "\x1b[37;41mtext\x1b[m", plain("text")},
		{"one of 256 has its own class beside the nearest of eight", "\x1b[38;5;208morange\x1b[38;5;244mgray\x1b[38;5;255mwhite", []piece{{class: "red c208", text: "orange"}, {class: "gray c244", text: "gray"}, {class: "c255", text: "white"}}},
		{"of 256 the first sixteen are the eight", "\x1b[38;5;9mred\x1b[38;5;15mwhite\x1b[38;5;300mnone", []piece{{class: "red", text: "red"}, {text: "whitenone"}}},
		{"a true colour becomes the nearest of 256", "\x1b[38;2;20;200;190mteal\x1b[48;2;255;0;0m!\x1b[38;2;999;0;0m.", []piece{{class: "cyan c43", text: "teal!"}, {class: "red c196", text: "."}}},
		{"nonsense numbers do no harm", "\x1b[38;5mtext\x1b[99999999999999999999mmore", plain("textmore")},
		{"cursor codes go", "\x1b[2K\x1b[?25lrow", plain("row")},
		{"a window title goes", "\x1b]0;title\x07text", plain("text")},
		{"a cut code does no harm", "text\x1b[", plain("text␛[")},
		{"a progress line keeps its last state", "10%\r50%\r100%", plain("100%")},
		{"a line end of Windows goes", "text\r", plain("text")},
		{"control characters are seen", "a\bb\x07\x00\x7f", plain("a␈b␇␀␡")},
		{"text is not turned around", "safe \u202eevil", plain("safe \ufffdevil")},
		{"the frame of a run has line breaks", "08:00:00 [JobThread] <br>----------- xxl-job job execute start -----------<br>----------- Param:a=1",
			plain("08:00:00 [JobThread] \n----------- xxl-job job execute start -----------\n----------- Param:a=1")},
		{"markup of a program's own stays", "<p>one<br>two</p>", plain("<p>one<br>two</p>")},
		{"addresses of the web become links, without what ends the sentence", "see https://wiki.example.com/a_(b)?c=1&d=2#e, (http://x.example/).",
			[]piece{{text: "see "}, {text: "https://wiki.example.com/a_(b)?c=1&d=2#e", link: true}, {text: ", ("}, {text: "http://x.example/", link: true}, {text: ")."}}},
		{"also coloured ones", "\x1b[31mhttp://x.example\x1b[0m!", []piece{{class: "red", text: "http://x.example", link: true}, {text: "!"}}},
		{"nothing else does", `javascript://x data:text/html,a ftp://h/ http:// //h https://"x`, plain(`javascript://x data:text/html,a ftp://h/ http:// //h https://"x`)},
		{"a break of the line or a turned text ends one", "http://a.example/\u202ex<b>", []piece{{text: "http://a.example/", link: true}, {text: "\ufffdx<b>"}}},
		{"bytes that are no text do no harm", "\xff\xfe", plain("\ufffd\ufffd")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, pieces(tt.line), cmp.AllowUnexported(piece{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Not a blank may come in between: it would be read as part of the output.
func TestLinesAreDrawnAsTheyWerePrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := Log{First: 7, Lines: []string{"  <b> \x1b[31mred\x1b[0m\x1b[1mbold\x1b[0m  end ", "WARN http://x.example/?a&b", ""}}
	if err := lines(log).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `<li id="L7" value="7"><span>  &lt;b&gt; <span class="red">red</span><span class="bold">bold</span>  end </span></li>` +
		`<li id="L8" value="8" class="w"><span>WARN <a class="link" href="http://x.example/?a&amp;b" target="_blank" rel="noopener noreferrer nofollow" dir="ltr">http://x.example/?a&amp;b</a></span></li><li id="L9" value="9"><span></span></li>`
	if got := out.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLinesBehindAGapHaveTheirNumbers also where something leads to one of them.
func TestLinesBehindAGapHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := Log{First: 7, JumpAt: 1, Jump: 92, Lines: []string{"a", "ERROR b"}}
	if err := lines(log).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, `<li id="L7" value="7">`) || !strings.Contains(got, `<li id="L100" value="100"`) {
		t.Errorf("got %s", got)
	}
	if got := log.Cause(); got.Line != 100 {
		t.Errorf("the cause is in line %d", got.Line)
	}
	log.Lines = log.Lines[:1]
	if got := log.Cause(); got.Line != 0 {
		t.Errorf("a cause is found: %+v", got)
	}
}
