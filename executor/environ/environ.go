// Package environ finds what somebody meant to set and did not: variables of the environment that look like a program's settings and
// that it does not read, most of them misspelt, and names that were left without a value.
package environ

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// DropEmpty takes the variables that begin with one of the prefixes and are empty out of the environment: in a file of variables, a name
// without a value is a setting that nobody has made.
func DropEmpty(prefixes ...string) {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" && slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			os.Unsetenv(name)
		}
	}
}

// Stray is a variable that is set and that the program does not read.
type Stray struct {
	Name  string
	Meant string // the one it is most like; empty: it is like none
}

// ofRuns is what scripts find in their environment; a program that a script starts is not meant by it.
var ofRuns = []string{"PUNCTUAL_JOB_ID", "PUNCTUAL_LOG_ID", "PUNCTUAL_LOG_FILE", "PUNCTUAL_PARAM", "PUNCTUAL_PLANNED_AT", "PUNCTUAL_SHARD_INDEX", "PUNCTUAL_SHARD_TOTAL"}

// ofServices matches what Kubernetes sets for a service that is called like the program.
var ofServices = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?=|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?=`)

// Strays lists, sorted, the variables of environ ("NAME=value") that begin with prefix and are not known, and those that do not and
// are like a known one all the same.
func Strays(environ []string, prefix string, known []string) []Stray {
	var strays []Stray
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		// PUNCTUAL_PORT=8080 is somebody's, and PUNCTUAL_PORT=tcp://10.0.0.1:8080 is Kubernetes'.
		if slices.Contains(known, name) || slices.Contains(ofRuns, name) ||
			ofServices.MatchString(name+"=") && (!strings.HasSuffix(name, "_PORT") || strings.Contains(value, "://") || strings.HasSuffix(name, "_SERVICE_PORT")) {
			continue
		}
		meant := nearest(name, known)
		if strings.HasPrefix(name, prefix) || meant != "" {
			strays = append(strays, Stray{Name: name, Meant: meant})
		}
	}
	slices.SortFunc(strays, func(a, b Stray) int { return strings.Compare(a.Name, b.Name) })
	return strays
}

// slips is how many letters may be wrong, missing or too many in a name that is still recognised.
const slips = 2

// nearest is the known name that a misspelt one is most like, or "".
func nearest(name string, known []string) string {
	best, least := "", slips+1
	for _, k := range known {
		if d := distance(strings.ToUpper(name), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to change, add or take away to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := diagonal
			if a[i-1] != b[j-1] {
				changed++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, changed)
		}
	}
	return row[len(b)]
}
