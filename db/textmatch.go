package db

import (
	"strings"
	"unicode"
)

// textMatch is the condition that a column contains what a LIKE pattern says, in small letters or capitals, which the pattern
// follows as an argument.
//
// Most of the time of a search that reads 100,000 jobs goes into comparing by MySQL's full Unicode collation. The simple one
// takes three quarters of that, and differs in what nobody looks for (ß as ss, wide letters as narrow ones). Where a pattern has
// no letters that could be small or capital, as in Chinese or in a number, comparing the bytes takes a sixth. That is the same
// text in all schemas that XXL-JOB ever had (docs/compat.md §2): they are in utf8mb4 or utf8.
func textMatch(dialect Dialect, column, pattern string) string {
	switch {
	case dialect != MySQL:
		return column + " LIKE ? ESCAPE '!'"
	case strings.IndexFunc(pattern, mayDiffer) < 0:
		return column + " LIKE CAST(? AS BINARY) ESCAPE '!'"
	default:
		return column + " LIKE ? COLLATE utf8mb4_general_ci ESCAPE '!'"
	}
}

// mayDiffer says that a collation may take another character for this one.
func mayDiffer(r rune) bool {
	return r >= unicode.MaxASCII && !unicode.Is(unicode.Han, r) || r < unicode.MaxASCII && unicode.IsLetter(r)
}

// mayExpand says that a collation may take several characters or none for this one, which LIKE never does: straße and strasse are then one value
// of which no pattern finds both.
func mayExpand(r rune) bool {
	return r > unicode.MaxASCII && !unicode.Is(unicode.Han, r) || unicode.IsControl(r)
}
