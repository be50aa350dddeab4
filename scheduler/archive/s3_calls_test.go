package archive

import (
	"context"
	"errors"
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
