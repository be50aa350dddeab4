package flows

import (
	"fmt"
	"slices"
	"strings"
)

// line leads from a step to one that needs it, by their places.
type line struct{ from, to int }

// point is a place in the picture, in pixels.
type point struct{ x, y int }

// size is how large the boxes of a picture are and how far apart, in pixels: along the way of the lines, and across it.
type size struct {
	down                bool // the lines go from top to bottom, not from left to right
	along, across       int
	gapAlong, gapAcross int
}

// The two pictures of a flow: one for wide screens, one for phones.
var (
	wide = size{along: 196, across: 54, gapAlong: 52, gapAcross: 18}
	tall = size{down: true, along: 54, across: 158, gapAlong: 34, gapAcross: 14}
)

// throughWidth is the room across the way that a line takes which passes a layer.
const throughWidth = 10

// layout is where everything stands.
type layout struct {
	width, height int
	boxes         []point  // upper left corners
	lines         []string // paths, in the order of the lines that were given
	heads         []string // their arrows' heads
	back          []bool   // the line closes a circle: it says what is wrong
}

// lay arranges n boxes in layers, so that every line leads onwards: no box overlaps another, no line goes under a box. It is the usual way
// for such pictures (Sugiyama's): layers by the longest way, lines that pass layers get a place in each, the places of a layer are ordered
// by the mean of their neighbours' while that makes fewer crossings, and are then moved as near to their neighbours as the order allows.
// Nothing in it is chance, so that the same flow looks the same each time.
//
// The libraries that were looked at: autog is not served as a module here, go-graph-layout calls itself unfinished, Graphviz as
// WebAssembly adds megabytes.
func lay(n int, lines []line, s size) layout {
	l := &layers{size: s, back: make([]bool, len(lines))}
	l.split(n, lines)
	l.order()
	l.move()
	return l.draw(n, lines)
}

// place is a box, or where a line passes a layer.
type place struct {
	layer        int
	box          bool
	before, next []int // places of the layers beside it that lines lead to
	order        int   // in its layer
	at           int   // its middle, across
}

type layers struct {
	size
	places []place
	layers [][]int
	ways   [][]int // of each line, the places that it passes
	back   []bool
}

// split puts the boxes into layers and gives lines over several layers their places. All lines of a box share these, as far as they go
// together, so that their number is bounded by boxes and layers, not by lines.
func (l *layers) split(n int, lines []line) {
	l.places = make([]place, n)
	out := make([][]int, n)
	for i, e := range lines {
		out[e.from] = append(out[e.from], i)
	}
	depth := l.depths(n, lines, out)
	count := 0
	for i := range l.places {
		l.places[i] = place{layer: depth[i], box: true}
		count = max(count, depth[i]+1)
	}
	l.layers = make([][]int, count)
	for i := range n {
		l.layers[depth[i]] = append(l.layers[depth[i]], i)
	}
	l.ways = make([][]int, len(lines))
	for from := range n {
		var through []int // places of this box's lines, from the next layer on
		last := from
		farthest := 0
		for _, i := range out[from] {
			if !l.back[i] {
				farthest = max(farthest, depth[lines[i].to])
			}
		}
		for layer := depth[from] + 1; layer < farthest; layer++ {
			id := len(l.places)
			l.places = append(l.places, place{layer: layer})
			l.layers[layer] = append(l.layers[layer], id)
			l.join(last, id)
			through, last = append(through, id), id
		}
		for _, i := range out[from] {
			if l.back[i] {
				continue
			}
			to := lines[i].to
			way := through[:depth[to]-depth[from]-1]
			end := from
			if len(way) > 0 {
				end = way[len(way)-1]
			}
			l.join(end, to)
			l.ways[i] = way
		}
	}
}

func (l *layers) join(a, b int) {
	if !slices.Contains(l.places[a].next, b) {
		l.places[a].next = append(l.places[a].next, b)
		l.places[b].before = append(l.places[b].before, a)
	}
}

// depths is the layer of each box: one behind the last of those that it needs. Lines that close a circle are marked and count for nothing.
func (l *layers) depths(n int, lines []line, out [][]int) []int {
	const fresh, open, done = 0, 1, 2
	state, depth := make([]int, n), make([]int, n)
	var reversed []int // every box behind all that need it
	var visit func(int)
	visit = func(v int) {
		state[v] = open
		for _, i := range out[v] {
			switch to := lines[i].to; state[to] {
			case open:
				l.back[i] = true
			case fresh:
				visit(to)
			}
		}
		state[v] = done
		reversed = append(reversed, v)
	}
	for v := range n {
		if state[v] == fresh {
			visit(v)
		}
	}
	for _, v := range slices.Backward(reversed) {
		for _, i := range out[v] {
			if to := lines[i].to; !l.back[i] {
				depth[to] = max(depth[to], depth[v]+1)
			}
		}
	}
	return depth
}

// order arranges the places of each layer.
func (l *layers) order() {
	l.number()
	best, crossings := l.copied(), l.crossings()
	for round := 0; round < 12 && crossings > 0; round++ {
		if round%2 == 0 {
			for i := 1; i < len(l.layers); i++ {
				l.sort(i, func(p *place) []int { return p.before })
			}
		} else {
			for i := len(l.layers) - 2; i >= 0; i-- {
				l.sort(i, func(p *place) []int { return p.next })
			}
		}
		if now := l.crossings(); now < crossings {
			best, crossings = l.copied(), now
		}
	}
	l.layers = best
	l.number()
}

func (l *layers) number() {
	for _, layer := range l.layers {
		for i, p := range layer {
			l.places[p].order = i
		}
	}
}

func (l *layers) copied() [][]int {
	c := make([][]int, len(l.layers))
	for i, layer := range l.layers {
		c[i] = slices.Clone(layer)
	}
	return c
}

// sort orders a layer by the mean of where the neighbours on one side stand. What has none stays where it is among the others.
func (l *layers) sort(i int, neighbours func(*place) []int) {
	means := make(map[int]float64, len(l.layers[i]))
	for _, p := range l.layers[i] {
		list := neighbours(&l.places[p])
		if len(list) == 0 {
			means[p] = float64(l.places[p].order)
			continue
		}
		sum := 0
		for _, q := range list {
			sum += l.places[q].order
		}
		means[p] = float64(sum) / float64(len(list))
	}
	slices.SortStableFunc(l.layers[i], func(a, b int) int {
		switch d := means[a] - means[b]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	for at, p := range l.layers[i] {
		l.places[p].order = at
	}
}

// crossings counts the lines that cross, between all layers.
func (l *layers) crossings() int {
	total := 0
	for i := 0; i+1 < len(l.layers); i++ {
		tree := make([]int, len(l.layers[i+1])+1) // Fenwick's, of the ends that were seen
		seen := 0
		for _, p := range l.layers[i] {
			next := l.places[p].next
			for _, q := range next {
				below := 0
				for at := l.places[q].order + 1; at > 0; at -= at & -at {
					below += tree[at]
				}
				total += seen - below
			}
			for _, q := range next {
				seen++
				for at := l.places[q].order + 1; at < len(tree); at += at & -at {
					tree[at]++
				}
			}
		}
	}
	return total
}

func (l *layers) half(p int) int {
	if l.places[p].box {
		return l.across / 2
	}
	return throughWidth / 2
}

// move gives the places their middles: layer by layer as near to their neighbours as order and distance allow.
func (l *layers) move() {
	for _, layer := range l.layers {
		at := 0
		for i, p := range layer {
			if i > 0 {
				at += l.half(layer[i-1]) + l.gapAcross + l.half(p)
			}
			l.places[p].at = at
		}
	}
	for range 4 {
		for i := 1; i < len(l.layers); i++ {
			l.approach(l.layers[i], func(p *place) []int { return p.before })
		}
		for i := len(l.layers) - 2; i >= 0; i-- {
			l.approach(l.layers[i], func(p *place) []int { return p.next })
		}
	}
	least := 0
	for i := range l.places {
		least = min(least, l.places[i].at-l.half(i))
	}
	for i := range l.places {
		l.places[i].at -= least
	}
}

// approach moves a layer's places to the mean of their neighbours, by least squares: places that would come too near to each other become
// a block, which stands in the middle of what they want (pool adjacent violators).
func (l *layers) approach(layer []int, neighbours func(*place) []int) {
	type block struct {
		wish   float64 // where its first place wants to be, if each were as far from the first as it has to be
		weight float64
		count  int
	}
	var blocks []block
	offsets := make([]int, len(layer))
	for i, p := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + l.half(layer[i-1]) + l.gapAcross + l.half(p)
		}
		wish, weight := float64(l.places[p].at), 0.1
		if list := neighbours(&l.places[p]); len(list) > 0 {
			sum := 0
			for _, q := range list {
				sum += l.places[q].at
			}
			wish, weight = float64(sum)/float64(len(list)), 1
			if !l.places[p].box {
				weight = 2 // so that long lines are straight
			}
		}
		blocks = append(blocks, block{wish - float64(offsets[i]), weight, 1})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.wish <= b.wish {
				break
			}
			w := a.weight + b.weight
			blocks = append(blocks[:len(blocks)-2], block{(a.wish*a.weight + b.wish*b.weight) / w, w, a.count + b.count})
		}
	}
	i := 0
	for _, b := range blocks {
		start := int(b.wish)
		if b.wish < 0 && float64(start) != b.wish {
			start-- // downwards for all, so that rounding keeps the order
		}
		for range b.count {
			l.places[layer[i]].at = start + offsets[i]
			i++
		}
	}
}

// margin is around the picture, for the lines of boxes and their focus.
const margin = 4

func (l *layers) draw(n int, lines []line) layout {
	out := layout{back: l.back, boxes: make([]point, n), lines: make([]string, len(lines)), heads: make([]string, len(lines))}
	most := 0
	for i := range l.places {
		most = max(most, l.places[i].at+l.half(i))
	}
	long := max(0, len(l.layers)*(l.along+l.gapAlong)-l.gapAlong)
	corner := l.at(long, most)
	out.width, out.height = corner.x+margin, corner.y+margin
	for i := range n {
		out.boxes[i] = l.at(l.begin(i), l.places[i].at-l.across/2)
	}
	for i, e := range lines {
		out.lines[i], out.heads[i] = l.path(e, l.ways[i], l.back[i])
	}
	return out
}

// at is a point by its distances along and across.
func (l *layers) at(along, across int) point {
	if l.down {
		return point{across + margin, along + margin}
	}
	return point{along + margin, across + margin}
}

// begin is where a place's layer begins.
func (l *layers) begin(p int) int { return l.places[p].layer * (l.along + l.gapAlong) }

// headLength is how long the head of an arrow is.
const headLength = 7

// path leads from a box through the places of a line to another box, in curves between the layers and straight through them. A line that
// closes a circle goes straight back.
func (l *layers) path(e line, way []int, back bool) (path, head string) {
	var b strings.Builder
	along, across := l.begin(e.from)+l.along, l.places[e.from].at
	write := func(form string, points ...point) {
		b.WriteString(form)
		for i, p := range points {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%d,%d", p.x, p.y)
		}
	}
	write("M", l.at(along, across))
	end := l.begin(e.to)
	if back {
		along = l.begin(e.from)
		end = l.begin(e.to) + l.along
		if e.from == e.to {
			along, end = l.begin(e.from), l.begin(e.from)+l.along
		}
		b.Reset()
		write("M", l.at(along, across))
		write("L", l.at(end, l.places[e.to].at))
		return b.String(), ""
	}
	curve := func(toAlong, toAcross int) {
		middle := (along + toAlong) / 2
		write("C", l.at(middle, across), l.at(middle, toAcross), l.at(toAlong, toAcross))
		along, across = toAlong, toAcross
	}
	for _, p := range way {
		curve(l.begin(p), l.places[p].at)
		along += l.along
		write("L", l.at(along, across))
	}
	to := l.places[e.to].at
	curve(end-headLength, to)
	path = b.String()
	b.Reset()
	write("M", l.at(end-headLength, to-4))
	write("L", l.at(end, to))
	write("L", l.at(end-headLength, to+4))
	b.WriteByte('Z')
	return path, b.String()
}
