//go:build screenshots

package e2e

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// compressed writes a picture of a page with 256 colours, which is a third of its size and looks the same: a page has few
// colours, and the rest are the edges of letters.
func compressed(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	b := full.Bounds()
	used := make(map[color.RGBA]int)
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			used[at(x, y)]++
		}
	}
	byUse := slices.SortedFunc(maps.Keys(used), func(a, c color.RGBA) int {
		return cmp.Or(cmp.Compare(used[c], used[a]), cmp.Compare(a.R, c.R), cmp.Compare(a.G, c.G), cmp.Compare(a.B, c.B))
	})
	var palette color.Palette
	chosen := make(map[color.RGBA]bool)
	// Colours that differ come first, so that the red of one button is not lost to the many greys of letters.
	for _, apart := range []int{30, 15, 0} {
		for _, c := range byUse {
			if len(palette) == 256 {
				break
			}
			if !chosen[c] && distance(palette, c) >= apart {
				palette, chosen[c] = append(palette, c), true
			}
		}
	}
	nearest := make(map[color.RGBA]uint8, len(used))
	for c := range used {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// distance is how far a colour is from the nearest of a palette, as the sum of the differences of its parts.
func distance(palette color.Palette, c color.RGBA) int {
	least := 3 * 255
	apart := func(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }
	for _, p := range palette {
		o := p.(color.RGBA)
		least = min(least, apart(o.R, c.R)+apart(o.G, c.G)+apart(o.B, c.B))
	}
	return least
}
