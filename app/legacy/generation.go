package legacy

import (
	"net/http"
	"net/url"

	"github.com/punctual-job/punctual/app/auth"
)

// generation is how a caller wants its answer spelled.
type generation int

const (
	either generation = iota // of a route: both had it, the request tells
	first                    // XXL-JOB to 3.1.1: {code, msg, content}, lists by start and length (to 3.2.0)
	second                   // since 3.2.0: {code, msg, data, success}, lists by offset and pagesize (since 3.3.0)
)

// generationOf reads it off a request whose path both generations had. Where nothing tells, nobody is logged in.
func generationOf(form url.Values, r *http.Request) generation {
	switch {
	case form.Has("ids[]"), form.Has("offset"), form.Has("pagesize"):
		return second
	case form.Has("start"), form.Has("length"):
		return first
	case !hasCookie(r, auth.FormerCookie2) && hasCookie(r, auth.FormerCookie):
		return first
	}
	return second
}

func hasCookie(r *http.Request, name string) bool {
	_, err := r.Cookie(name)
	return err == nil
}
