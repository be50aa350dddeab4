package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryGroupIsSuggested, also where there are more than one page of them.
func TestEveryGroupIsSuggested(t *testing.T) {
	t.Parallel()
	const groups = 260
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		to := min(from+limit, groups)
		var items []string
		for i := from; i < to; i++ {
			items = append(items, fmt.Sprintf(`{"id":%d,"app_name":"group-%03d"}`, i+1, i))
		}
		next := ""
		if to < groups {
			next = fmt.Sprintf(`,"next":"%d"`, to)
		}
		fmt.Fprintf(w, `{"items":[%s]%s}`, strings.Join(items, ","), next)
	}))
	t.Cleanup(server.Close)
	if names := Suggest(t.Context(), "groups", Admin{URL: server.URL, Token: "pnc_x"}, "group-2"); !slices.Contains(names, "group-259") {
		t.Errorf("%d names: %v", len(names), names)
	}
}
