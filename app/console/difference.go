package console

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"

	"github.com/punctual-job/punctual/views/glue"
)

// differenceContext is how many equal lines stay around each change.
const differenceContext = 4

// lineDifference puts two texts side by side. Removed and added lines that meet stand beside each other as changed.
func lineDifference(left, right string, around int) []glue.Line {
	d := &difference{a: strings.Split(left, "\n"), b: strings.Split(right, "\n")}
	for _, change := range lcs.DiffLines(d.a, d.b) {
		d.same(change.Start - d.i)
		d.replace(change.End-change.Start, change.ReplEnd-change.ReplStart)
	}
	d.same(len(d.a) - d.i)
	return fold(d.lines, around)
}

// difference goes through two texts at once; i and j are the lines that come next.
type difference struct {
	a, b  []string
	i, j  int
	lines []glue.Line
}

func (d *difference) same(n int) {
	for range n {
		d.lines = append(d.lines, glue.Line{Kind: glue.LineSame, LeftNumber: d.i + 1, RightNumber: d.j + 1, Left: d.a[d.i], Right: d.b[d.j]})
		d.i, d.j = d.i+1, d.j+1
	}
}

// replace takes n lines of the left for m of the right.
func (d *difference) replace(n, m int) {
	for ; n > 0 && m > 0; n, m = n-1, m-1 {
		d.lines = append(d.lines, glue.Line{Kind: glue.LineChanged, LeftNumber: d.i + 1, RightNumber: d.j + 1, Left: d.a[d.i], Right: d.b[d.j]})
		d.i, d.j = d.i+1, d.j+1
	}
	for range n {
		d.lines = append(d.lines, glue.Line{Kind: glue.LineRemoved, LeftNumber: d.i + 1, Left: d.a[d.i]})
		d.i++
	}
	for range m {
		d.lines = append(d.lines, glue.Line{Kind: glue.LineAdded, RightNumber: d.j + 1, Right: d.b[d.j]})
		d.j++
	}
}

// fold leaves out equal lines that are far from any change.
func fold(lines []glue.Line, around int) []glue.Line {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Kind != glue.LineSame {
			for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
				near[k] = true
			}
		}
	}
	var folded []glue.Line
	for i := 0; i < len(lines); i++ {
		if near[i] {
			folded = append(folded, lines[i])
			continue
		}
		gap := glue.Line{Kind: glue.LineGap}
		for ; i < len(lines) && !near[i]; i++ {
			gap.Skipped++
		}
		i--
		folded = append(folded, gap)
	}
	return folded
}
