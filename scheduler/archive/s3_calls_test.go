package archive

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAnS3ServerThatDoesNotAnswerIsNotWaitedFor longer than a call may take, by whoever would.
func TestAnS3ServerThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // it takes connections, and nobody reads them
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	s, err := NewS3(S3Config{Endpoint: silent.Addr().String(), Plain: true, Region: "us-east-1", Bucket: "outputs", Key: "key", Secret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if s.limit != s3Limit {
		t.Errorf("a call may take %v", s.limit)
	}
	s.limit = 50 * time.Millisecond
	o := Object{Name: "a"}
	_, failed := s.Get(t.Context(), o, 0, 1)
	for i, err := range []error{failed, s.Put(t.Context(), o, []byte("x")), s.Delete(t.Context(), o)} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// TestAnObjectThatIsShorterIsToldFromAnAnswerThatBreaksOff: the one stays as it is, the other may be whole the next time.
func TestAnObjectThatIsShorterIsToldFromAnAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"whole": nil, "short": errShort, "beyond": errShort, "breaks-off": io.ErrUnexpectedEOF, "none": ErrNoObject} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			refuses := func(status int, code string) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
			}
			w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
			switch {
			case r.Header.Get("Range") != "bytes=2-5":
				t.Errorf("%s: asked for %q", name, r.Header.Get("Range"))
			case name == "beyond":
				refuses(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			case name == "none":
				refuses(http.StatusNotFound, "NoSuchKey")
			case name == "short":
				w.WriteHeader(http.StatusPartialContent)
				_, _ = io.WriteString(w, "cd")
			case name == "breaks-off":
				w.Header().Set("Content-Length", "4")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = io.WriteString(w, "cd")
			default:
				w.WriteHeader(http.StatusPartialContent)
				_, _ = io.WriteString(w, "cdef")
			}
		}))
		s, err := NewS3(S3Config{Endpoint: server.Listener.Addr().String(), Plain: true, Region: "us-east-1", Bucket: "outputs", Key: "key", Secret: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := s.Get(t.Context(), Object{Name: "a"}, 2, 4); !errors.Is(err, want) || want == nil && string(data) != "cdef" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		server.Close()
	}
}

// TestWhatS3DoesNotLetBeDeleted is told from a server that does not work.
func TestWhatS3DoesNotLetBeDeleted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, name := http.StatusForbidden, "AccessDenied"
		if strings.HasSuffix(r.URL.Path, "/broken") {
			code, name = http.StatusNotImplemented, "NotImplemented"
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<Error><Code>" + name + "</Code><Message>no</Message></Error>"))
	}))
	defer server.Close()
	s, err := NewS3(S3Config{Endpoint: strings.TrimPrefix(server.URL, "http://"), Plain: true, Region: "us-east-1", Bucket: "outputs", Key: "key", Secret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), Object{Name: "locked"}); !errors.Is(err, ErrHeld) {
		t.Errorf("a locked object: %v", err)
	}
	if err := s.Delete(t.Context(), Object{Name: "broken"}); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("a server that cannot: %v", err)
	}
}
