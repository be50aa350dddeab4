package console

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/views/glue"
)

// drawn writes a difference in one line each: kind, left, right.
func drawn(lines []glue.Line) []string {
	var text []string
	for _, l := range lines {
		mark := map[glue.LineKind]string{glue.LineSame: "=", glue.LineChanged: "~", glue.LineRemoved: "-", glue.LineAdded: "+", glue.LineGap: "…"}[l.Kind]
		text = append(text, mark+" "+l.Left+"|"+l.Right)
	}
	return text
}

func TestLinesAreCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, left, right string
		want              []string
	}{
		{"the same", "a\nb", "a\nb", []string{"… |"}},
		{"a line more", "a\nc", "a\nb\nc", []string{"= a|a", "+ |b", "= c|c"}},
		{"a line less", "a\nb\nc", "a\nc", []string{"= a|a", "- b|", "= c|c"}},
		{"a line changed", "a\nb\nc", "a\nB\nc", []string{"= a|a", "~ b|B", "= c|c"}},
		{"one becomes two", "a\nb\nc", "a\nx\ny\nc", []string{"= a|a", "~ b|x", "+ |y", "= c|c"}},
		{"from nothing", "", "a", []string{"~ |a"}},
		{"far lines are left out", "1\n2\n3\n4\nx\n6\n7\n8\n9", "1\n2\n3\n4\ny\n6\n7\n8\n9", []string{"… |", "= 4|4", "~ x|y", "= 6|6", "… |"}},
	} {
		if diff := cmp.Diff(tt.want, drawn(lineDifference(tt.left, tt.right, 1))); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// Whatever the texts, each side read for itself is the text again.
func TestDifferencesLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 1, 30)
		left, right := texts.Draw(t, "left"), texts.Draw(t, "right")
		var a, b []string
		for _, l := range lineDifference(strings.Join(left, "\n"), strings.Join(right, "\n"), 100) {
			if l.Kind == glue.LineGap {
				a, b = append(a, left[len(a):len(a)+l.Skipped]...), append(b, right[len(b):len(b)+l.Skipped]...)
				continue
			}
			if l.LeftNumber > 0 {
				a = append(a, l.Left)
			}
			if l.RightNumber > 0 {
				b = append(b, l.Right)
			}
			if l.LeftNumber > 0 && l.LeftNumber != len(a) || l.RightNumber > 0 && l.RightNumber != len(b) {
				t.Fatalf("numbers %d, %d after %d, %d lines", l.LeftNumber, l.RightNumber, len(a), len(b))
			}
		}
		if diff := cmp.Diff([][]string{left, right}, [][]string{a, b}); diff != "" {
			t.Fatal(diff)
		}
	})
	// Texts too long to compare line by line are replaced whole, quickly.
	long := strings.Repeat("x\n", 5000)
	if n := len(lineDifference("a\n"+long+"b", "c\n"+strings.ReplaceAll(long, "x", "y")+"d", 3)); n != 5002 {
		t.Errorf("%d lines", n)
	}
}

// TestAComparisonTakesLittleMemory compares scripts that have not a line in common: a table of each line with each took 16 MB.
func TestAComparisonTakesLittleMemory(t *testing.T) {
	left, right := strings.Repeat("x\n", 1900), strings.Repeat("y\n", 1900)
	const most = 4 << 20
	if got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lineDifference(left, right, differenceContext)
		}
	}).AllocedBytesPerOp(); got > most {
		t.Errorf("%d bytes", got)
	}
}
