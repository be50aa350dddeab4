package flows

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// drawnFlow draws a flow without a circle: each step needs some of those before it.
func drawnFlow(t *rapid.T) (n int, lines []line) {
	n = rapid.IntRange(1, 40).Draw(t, "steps")
	for to := 1; to < n; to++ {
		for _, from := range rapid.SliceOfNDistinct(rapid.IntRange(0, to-1), 0, min(to, 4), rapid.ID[int]).Draw(t, "needs") {
			lines = append(lines, line{from, to})
		}
	}
	// In another order of writing, so that places say nothing about who needs whom.
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	places = rapid.Permutation(places).Draw(t, "written")
	for i, e := range lines {
		lines[i] = line{places[e.from], places[e.to]}
	}
	return n, lines
}

var (
	numbers   = regexp.MustCompile(`[MLC][^MLCZ]*`)
	lastPoint = regexp.MustCompile(`(-?\d+),(-?\d+)$`)
)

// points are the points of a path that a line goes through.
func points(path string) []point {
	var list []point
	for _, part := range numbers.FindAllString(path, -1) {
		var x, y int
		last := lastPoint.FindStringSubmatch(part)
		x, _ = strconv.Atoi(last[1])
		y, _ = strconv.Atoi(last[2])
		list = append(list, point{x, y})
	}
	return list
}

func TestNothingOverlapsInAPicture(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]size{"wide": wide, "tall": tall} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			n, lines := drawnFlow(t)
			l := lay(n, lines, s)
			w, h := s.along, s.across
			if s.down {
				w, h = h, w
			}
			for i, a := range l.boxes {
				if a.x < 0 || a.y < 0 || a.x+w > l.width || a.y+h > l.height {
					t.Fatalf("box %d at %v is outside of %d×%d", i, a, l.width, l.height)
				}
				for j, b := range l.boxes[:i] {
					if a.x < b.x+w && b.x < a.x+w && a.y < b.y+h && b.y < a.y+h {
						t.Fatalf("boxes %d at %v and %d at %v overlap", i, a, j, b)
					}
				}
			}
			for i, e := range lines {
				from, to := l.boxes[e.from], l.boxes[e.to]
				if s.down && from.y+h >= to.y || !s.down && from.x+w >= to.x {
					t.Fatalf("the line of %v leads back: from %v to %v", e, from, to)
				}
				list := points(l.lines[i])
				for k := 1; k < len(list); k++ {
					a, b := list[k-1], list[k]
					if s.down && b.y <= a.y || !s.down && b.x <= a.x {
						t.Fatalf("the line of %v turns: %s", e, l.lines[i])
					}
					// A curve stays between its ends' layers; a straight part passes a layer, between its boxes.
					for box, c := range l.boxes {
						straight := s.down && a.x == b.x || !s.down && a.y == b.y
						if straight && box != e.from && box != e.to && a.x < c.x+w && b.x > c.x && a.y < c.y+h && b.y > c.y {
							t.Fatalf("the line of %v goes under box %d", e, box)
						}
					}
				}
			}
			if again := lay(n, lines, s); !reflect.DeepEqual(l, again) {
				t.Fatal("the same flow looks different")
			}
		}))
	}
}

func TestAFanOutIsDrawnEvenly(t *testing.T) {
	t.Parallel()
	l := lay(5, []line{{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}}, wide)
	b := l.boxes
	if b[1].x != b[2].x || b[2].x != b[3].x {
		t.Errorf("steps side by side stand in different layers: %v", b)
	}
	if b[0].y != b[2].y || b[4].y != b[2].y {
		t.Errorf("begin and end do not stand in the middle: %v", b)
	}
}

func TestLinesAreUncrossed(t *testing.T) {
	t.Parallel()
	// Written so that the order of writing would cross all lines.
	l := &layers{size: wide, back: make([]bool, 4)}
	l.split(8, []line{{0, 7}, {1, 6}, {2, 5}, {3, 4}})
	l.number()
	if l.crossings() != 6 {
		t.Errorf("crossings = %d before, want 6", l.crossings())
	}
	if l.order(); l.crossings() != 0 {
		t.Errorf("crossings = %d after, want 0", l.crossings())
	}
}

func TestACircleIsMarkedAndDrawn(t *testing.T) {
	t.Parallel()
	lines := []line{{0, 1}, {1, 2}, {2, 0}, {1, 1}}
	l := lay(3, lines, wide)
	if want := []bool{false, false, true, true}; !reflect.DeepEqual(l.back, want) {
		t.Errorf("back = %v, want %v", l.back, want)
	}
	for i, path := range l.lines {
		if path == "" {
			t.Errorf("line %v is not drawn", lines[i])
		}
	}
}

func TestNoSteps(t *testing.T) {
	t.Parallel()
	if l := lay(0, nil, tall); len(l.boxes) != 0 || l.width != 2*margin {
		t.Errorf("an empty picture is %+v", l)
	}
}

// Each of the most steps needs every one before it: what is kept of lines that pass layers is bounded by steps and layers.
func TestTheLargestFlowStaysSmall(t *testing.T) {
	t.Parallel()
	const n = 200
	var lines []line
	for to := range n {
		for from := range to {
			lines = append(lines, line{from, to})
		}
	}
	l := &layers{size: wide, back: make([]bool, len(lines))}
	if l.split(n, lines); len(l.places) > n+n*n/2 {
		t.Errorf("%d places of %d steps", len(l.places), n)
	}
	if drawn := lay(n, lines, wide); len(drawn.lines) != len(lines) || len(drawn.boxes) != n {
		t.Errorf("%d lines and %d boxes", len(drawn.lines), len(drawn.boxes))
	}
}

func BenchmarkLayout(b *testing.B) {
	var lines []line
	for to := 1; to < 200; to++ {
		for k := 1; k <= 3 && k*k <= to; k++ {
			lines = append(lines, line{to - k*k, to})
		}
	}
	for b.Loop() {
		lay(200, lines, wide)
	}
}

// TestALongPictureGivesWayToOneThatHasRoom: what is wider than its place goes from top to bottom there, unless that is too wide as well.
func TestALongPictureGivesWayToOneThatHasRoom(t *testing.T) {
	t.Parallel()
	row := func(n int) (g Graph) {
		for i := range n {
			node := Node{ID: fmt.Sprint(i)}
			if i > 0 {
				node.Needs = []string{fmt.Sprint(i - 1)}
			}
			g.Nodes = append(g.Nodes, node)
		}
		return g
	}
	fan := row(5)
	for i := range 8 { // eight beside each other in the middle of a row
		fan.Nodes = append(fan.Nodes, Node{ID: fmt.Sprint("f", i), Needs: []string{"0"}})
	}
	for name, tt := range map[string]struct {
		g    Graph
		want string
	}{"three": {row(3), ""}, "five": {row(5), " long longer"}, "four": {row(4), " long"}, "a fan": {fan, ""}} {
		across, down := tt.g.draw(wide, "flow-wide"), tt.g.draw(tall, "flow-tall")
		if got := tt.g.long(across, down); got != tt.want {
			t.Errorf("%s: %q, want %q; %d across, %d down", name, got, tt.want, across.width, down.width)
		}
	}
}
