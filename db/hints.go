package db

import "regexp"

// A page from the middle of a log is read along an index on the job, the group or the result, which InnoDB ends with the id, from an id on.
// MariaDB, left alone, goes along the same index from the newest entry of the job and leaves out each that is above the id: a page of a
// job with a million runs took a second, and a search through their outputs the square of that. With one index to choose from it begins at
// the id (TestAPageIsAsCheapInTheMiddleOfALog). So queries that are of this kind name it.

// noSuchIndex is the error of a statement that names an index which is not there.
const noSuchIndex = 1176

var hints = regexp.MustCompile(`FORCE INDEX \([\w, ]+\)`)

// withoutHints is a statement for a log whose indexes are called differently, or are not built yet (deferred.go).
func withoutHints(query string) string { return hints.ReplaceAllString(query, "") }
