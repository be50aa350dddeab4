package console

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/problem"
)

// typedOrChosen is the file in one field of a form, or the text in the other if none was chosen. Lines end as they do in a page. A file that
// is too large is longer than maxBytes.
func typedOrChosen(ec echo.Context, typed, chosen string, maxBytes int64) (string, error) {
	r := ec.Request()
	if err := r.ParseMultipartForm(maxBytes); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return "", err
		}
		return "", (&problem.Error{Kind: problem.Malformed}).Because(err)
	}
	if err := parseForm(ec); err != nil {
		return "", err
	}
	if r.MultipartForm != nil {
		defer func() { _ = r.MultipartForm.RemoveAll() }()
		for _, header := range r.MultipartForm.File[chosen] {
			if header.Size == 0 {
				continue // no file was chosen
			}
			f, err := header.Open()
			if err != nil {
				return "", (&problem.Error{Kind: problem.Malformed}).Because(err)
			}
			raw, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
			_ = f.Close()
			if err != nil {
				return "", (&problem.Error{Kind: problem.Malformed}).Because(err)
			}
			if int64(len(raw)) > maxBytes {
				return string(raw), nil // as long as it is, so that nobody takes its beginning for the whole
			}
			return strings.ReplaceAll(string(raw), "\r\n", "\n"), nil
		}
	}
	return ec.FormValue(typed), nil
}
