package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// linesOfExcerpt are the lines that are kept, by their numbers.
func linesOfExcerpt(x *Excerpt) map[int]string {
	x.End()
	kept := make(map[int]string)
	for i, line := range strings.Split(strings.TrimSuffix(string(x.Head), "\n"), "\n") {
		if x.HeadLines > 0 {
			kept[i+1] = line
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(x.Tail), "\n"), "\n") {
		if x.TailLines > 0 {
			kept[x.Lines-x.TailLines+i+1] = line
		}
	}
	return kept
}

// TestWhatFitsIsKeptWhole up to the last byte, however long its lines are, and of what is one byte longer only what fits.
func TestWhatFitsIsKeptWhole(t *testing.T) {
	t.Parallel()
	const budget = 4096
	draw := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		longest := 1 + draw.IntN(budget/4-1)
		for _, size := range []int{budget - 1, budget, budget + 1} {
			x := &Excerpt{Budget: budget}
			var lines []string
			for left := size; left > 0; {
				length := min(left, 2+draw.IntN(longest))
				if left -= length; left == 1 { // no line has one byte, which an empty one had
					length, left = length-1, 2
				}
				lines = append(lines, strings.Repeat("x", length-1))
				x.Add([]byte(lines[len(lines)-1]))
			}
			text := x.Text()
			if whole := strings.Join(lines, "\n") + "\n"; size <= budget && (string(text) != whole || x.Left() != 0) {
				t.Fatalf("%d: of %d bytes in %d lines %d bytes are kept, and %d lines are left out", n, size, len(lines), len(text), x.Left())
			}
			if len(text) > budget || size > budget && x.Left() == 0 {
				t.Fatalf("%d: of %d bytes %d are kept, and %d lines are left out", n, size, len(text), x.Left())
			}
		}
	}
}

// TestAKeptLineHasItsNumber, also where an output was pushed with a larger budget than there is by then.
func TestAKeptLineHasItsNumber(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		budget := 1024 + draw.IntN(4096)
		x := &Excerpt{Budget: budget}
		var lines []string
		for i := range 10 + draw.IntN(200) {
			line := fmt.Sprintf("%d %s", i+1, strings.Repeat("好", draw.IntN(budget/12)))
			lines = append(lines, line)
			x.Add([]byte(line))
		}
		pushed := PushedOf(1, x)
		for _, again := range []*Excerpt{x, pushed.Excerpt(budget), pushed.Excerpt(budget - draw.IntN(budget/2)), pushed.Excerpt(2 * budget)} {
			kept := linesOfExcerpt(again)
			if again.Lines != len(lines) || len(kept) != again.HeadLines+again.TailLines || len(again.Text()) > again.Budget {
				t.Fatalf("%d: %d of %d lines are kept in %d bytes", n, len(kept), again.Lines, len(again.Text()))
			}
			for number, line := range kept {
				if cut, is := strings.CutSuffix(line, lineCut); line != lines[number-1] && !(is && strings.HasPrefix(lines[number-1], cut)) {
					t.Fatalf("%d: line %d is kept as %q", n, number, line)
				}
			}
		}
		if text := pushed.Excerpt(budget).Text(); !bytes.Equal(text, x.Text()) {
			t.Fatalf("%d: %d bytes were pushed, %d are kept", n, len(x.Text()), len(text))
		}
	}
}
