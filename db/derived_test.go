package db_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoTableIsGroupedForAJoin: MariaDB 10.11.19 crashes, and its node of a Galera cluster is gone, where a statement is ended while it thinks about
// how to make a derived table with groups for each row of another (choose_best_splitting). TestTheLimitOfAGroupHoldsOnAGaleraCluster had one of two runs
// end so.
func TestNoTableIsGroupedForAJoin(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for query := range strings.SplitSeq(string(text), "-- name: ") {
			if groupsForAJoin(query) {
				t.Errorf("%s: %s joins a derived table that has groups; count in a subquery of the row instead", name, strings.Fields(query)[0])
			}
		}
	}
	for query, want := range map[string]bool{
		"SELECT 1 FROM a LEFT JOIN (SELECT b, COUNT(*) FROM c GROUP BY b) AS d ON d.b = a.b":           true,
		"SELECT 1 FROM a JOIN\n(SELECT b FROM c WHERE (e = 1)\nGROUP  BY b) AS d ON d.b = a.b":         true,
		"SELECT 1 FROM a JOIN (SELECT b FROM c LIMIT 1) AS d ON d.b = a.b GROUP BY a.b":                false,
		"SELECT (SELECT COUNT(*) FROM c WHERE c.b = a.b) FROM a JOIN d ON d.b = a.b GROUP BY a.b, d.b": false,
	} {
		if groupsForAJoin(query) != want {
			t.Errorf("%q: groups for a join %t, want %t", query, !want, want)
		}
	}
}

var joined = regexp.MustCompile(`(?i)\bJOIN\s*\(`)

func groupsForAJoin(query string) bool {
	for _, at := range joined.FindAllStringIndex(query, -1) {
		depth := 1
		end := at[1]
		for ; end < len(query) && depth > 0; end++ {
			switch query[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if regexp.MustCompile(`(?i)\bGROUP\s+BY\b`).MatchString(query[at[1]:end]) {
			return true
		}
	}
	return false
}
