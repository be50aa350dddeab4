package api

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// TestAnswersAreCompressedForWhoTakesThat, where they are long, and no streams: each event of those is to arrive at once.
func TestAnswersAreCompressedForWhoTakesThat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("run ", 1000)
	e := echo.New()
	e.Use(compressed)
	e.GET("/long", func(c echo.Context) error { return c.JSONBlob(http.StatusCreated, []byte(long)) })
	e.GET("/parts", func(c echo.Context) error {
		c.Response().WriteHeader(http.StatusOK)
		for _, part := range strings.SplitAfter(long, " ") {
			_, _ = c.Response().Write([]byte(part))
		}
		return nil
	})
	e.GET("/short", func(c echo.Context) error { return c.String(http.StatusAccepted, "done") })
	e.GET("/nothing", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	e.GET("/refused", func(echo.Context) error { return errors.New("no") })
	e.GET("/broken", func(c echo.Context) error {
		return errors.Join(c.String(http.StatusAccepted, "half"), errors.New("no"))
	})
	e.GET("/live", func(c echo.Context) error {
		c.Response().Header().Set("Content-Type", eventStream)
		c.Response().WriteHeader(http.StatusOK)
		_, _ = c.Response().Write([]byte(long))
		c.Response().Flush()
		return nil
	})
	server := httptest.NewServer(e)
	defer server.Close()
	for _, tt := range []struct {
		path, accept, body string
		status             int
		zipped             bool
	}{
		{"/long", "gzip", long, http.StatusCreated, true},
		{"/long", "br, GZIP;q=0.5", long, http.StatusCreated, true},
		{"/long", "gzip;q=0, *", long, http.StatusCreated, false},
		{"/long", "gzip; q=0.0", long, http.StatusCreated, false},
		{"/long", "identity", long, http.StatusCreated, false},
		{"/parts", "gzip", long, http.StatusOK, true},
		{"/short", "gzip", "done", http.StatusAccepted, false},
		{"/nothing", "gzip", "", http.StatusNoContent, false},
		{"/refused", "gzip", "{\"message\":\"Internal Server Error\"}\n", http.StatusInternalServerError, false},
		{"/broken", "gzip", "half", http.StatusAccepted, false},
		{"/broken", "", "half", http.StatusAccepted, false},
		{"/live", "gzip", long, http.StatusOK, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", tt.accept)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		body, zipped := string(raw), answer.Header.Get("Content-Encoding") == "gzip"
		if zipped {
			z, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if raw, err = io.ReadAll(z); err != nil || len(body) > len(long)/4 {
				t.Errorf("%s: %v, %d bytes", tt.path, err, len(body))
			}
			body = string(raw)
		}
		if answer.StatusCode != tt.status || zipped != tt.zipped || body != tt.body || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s for %q: %d, compressed %v, Vary %q, %.60q", tt.path, tt.accept, answer.StatusCode, zipped, answer.Header.Get("Vary"), body)
		}
	}
}
