package console

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/punctual-job/punctual/views/second"
)

// qrCode draws a text as a QR code: a path in a square of so many modules, with the quiet zone that the standard asks for.
func qrCode(text string) (second.Picture, error) {
	const quiet = 4
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return second.Picture{}, fmt.Errorf("draw a QR code: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			run := x
			for run < size && isDark(code.At(run, y)) {
				run++
			}
			if run > x {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run-x, run-x)
				x = run
			}
		}
	}
	return second.Picture{Size: size + 2*quiet, Path: path.String()}, nil
}

func isDark(c interface{ RGBA() (r, g, b, a uint32) }) bool {
	r, _, _, _ := c.RGBA()
	return r < 0x8000
}
