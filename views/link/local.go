package link

import (
	"net/url"
	"strings"
)

// Local keeps a path to return to only if it leads to this console: it must begin with one slash. Anything else,
// a whole address or a "//host" that browsers read as one, gives the empty string.
func Local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return ""
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return ""
	}
	return path
}
