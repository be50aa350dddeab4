package console

import (
	"strings"

	"github.com/punctual-job/punctual/views/glue"
)

const (
	// differenceContext is how many equal lines stay around each change.
	differenceContext = 4
	// maxTable bounds the work of comparing two texts line by line; beyond it the middle counts as replaced whole.
	maxTable = 4_000_000
)

// lineDifference puts two texts side by side. Removed and added lines that meet stand beside each other as changed.
func lineDifference(left, right string, around int) []glue.Line {
	a, b := strings.Split(left, "\n"), strings.Split(right, "\n")
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	d := &difference{a: a, b: b}
	d.same(begin)
	d.middle(len(a)-end, len(b)-end)
	d.same(end)
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

// middle goes on to the lines untilA and untilB along the longest run of lines that both have in order.
func (d *difference) middle(untilA, untilB int) {
	a, b := d.a[d.i:untilA], d.b[d.j:untilB]
	if (len(a)+1)*(len(b)+1) > maxTable {
		d.replace(len(a), len(b))
		return
	}
	// common[i*w+j] is the length of the longest common run of a[i:] and b[j:].
	w := len(b) + 1
	common := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	i, j, n, m := 0, 0, 0, 0 // n and m count what differs since the last common line
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			d.replace(n, m)
			d.same(1)
			n, m, i, j = 0, 0, i+1, j+1
		case common[(i+1)*w+j] >= common[i*w+j+1]:
			i, n = i+1, n+1
		default:
			j, m = j+1, m+1
		}
	}
	d.replace(n+len(a)-i, m+len(b)-j)
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
