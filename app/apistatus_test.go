package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/app/api"
)

// documented finds the operation of API v1 that a request is for, by the committed document, which is that of the code
// (TestTheDocumentIsThatOfTheCode).
var documented = sync.OnceValues(func() (*http.ServeMux, error) {
	raw, err := os.ReadFile("api/openapi.json")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]struct{ Responses map[string]any }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for pattern, item := range doc.Paths {
		for method, o := range item {
			mux.Handle(strings.ToUpper(method)+" "+api.Prefix+pattern, statuses(o.Responses))
		}
	}
	return mux, nil
})

// statuses are those that an operation answers with.
type statuses map[string]any

func (statuses) ServeHTTP(http.ResponseWriter, *http.Request) {}

// undocumented is what is wrong with the status of an answer of API v1. Every answer that a test of this package reads is looked at, so that
// clients that are made of the document meet no status which it does not have.
func undocumented(req *http.Request, status int) error {
	operations, err := documented()
	if err != nil || status == http.StatusMethodNotAllowed { // no operation answered: what is at the path is asked for in another way
		return err
	}
	h, pattern := operations.Handler(req)
	if has, ok := h.(statuses); ok && has[strconv.Itoa(status)] == nil {
		return fmt.Errorf("the API document does not have %d for %s", status, pattern)
	}
	return nil
}

// TestAStatusThatTheDocumentDoesNotHaveIsSeen by what looks at the answers of all tests.
func TestAStatusThatTheDocumentDoesNotHaveIsSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/api/v1/jobs/7", 200, ""},
		{"HEAD", "/api/v1/jobs/7?wait=1s", 404, ""},
		{"GET", "/api/v1/jobs/7", 409, "the API document does not have 409 for GET /api/v1/jobs/{id}"},
		{"POST", "/api/v1/jobs", 201, ""},
		{"POST", "/api/v1/jobs", 200, "the API document does not have 200 for POST /api/v1/jobs"},
		{"GET", "/api/v1/runs/live", 404, "the API document does not have 404 for GET /api/v1/runs/live"}, // which is no run
		{"GET", "/api/v1/runs/rerun", 405, ""},                                                            // which is posted to, and no run either
		{"GET", "/api/v1/nothing", 404, ""},
		{"GET", "/jobs", 303, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := undocumented(req, tt.status); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s %s, %d: %q, want %q", tt.method, tt.path, tt.status, got, tt.want)
		}
	}
}
