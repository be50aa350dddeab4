package console

import (
	"bytes"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

// compressFrom is the size from which compressing a page is worth it: below, it would not save a packet.
const compressFrom = 1400

// compressLevel is the one at which large pages are about as small as the standard library makes them, in three quarters of its time.
const compressLevel = 7

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, compressLevel) // fails for levels that there are not
	return z
}}

// writeHTML sends a page, compressed if the browser takes that: a long list is ten times smaller, for its icons are
// markup. No page shows a secret beside text that came with the request, which compression would let a listener guess.
func writeHTML(ec echo.Context, status int, page []byte) error {
	h := ec.Response().Header()
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	if len(page) < compressFrom || !strings.Contains(ec.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
		return ec.HTMLBlob(status, page)
	}
	var buf bytes.Buffer
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(&buf)
	_, _ = z.Write(page) // neither writing nor closing fails on a buffer
	_ = z.Close()
	h.Set(echo.HeaderContentEncoding, "gzip")
	return ec.HTMLBlob(status, buf.Bytes())
}
