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

// compressed writes a picture of a page with the 256 colours it uses most, which is a third of its size and looks the same:
// a page has few colours, and the rest are the edges of letters.
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
	for _, c := range byUse[:min(256, len(byUse))] {
		palette = append(palette, c)
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
