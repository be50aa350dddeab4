package problem

import (
	"net/url"
	"strings"
)

// LocalPath keeps a path to return to only if it leads to this console: it must begin with one slash. Anything else,
// a whole address or a "//host" that browsers read as one, gives the empty string.
func LocalPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return ""
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return ""
	}
	return path
}

// localPath takes the path and query out of the address a browser says it is at.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return LocalPath(u.RequestURI())
}
