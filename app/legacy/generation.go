package legacy

import (
	"net/http"
	"net/url"

	"github.com/punctual-job/punctual/app/auth"
)

// generation is how a caller wants its answer spelled.
type generation int

const (
	either generation = iota // nothing tells: both members, the names of both
	first                    // XXL-JOB to 3.2.0: {code, msg, content}, lists by start and length
	second                   // since 3.3.0: {code, msg, data}, lists by offset and pagesize
)

// generationOf reads it off a request whose path both generations had.
func generationOf(form url.Values, r *http.Request) generation {
	switch {
	case form.Has("ids[]"), form.Has("offset"), form.Has("pagesize"):
		return second
	case form.Has("start"), form.Has("length"):
		return first
	case hasCookie(r, auth.FormerCookie2):
		return either // 3.2.0 had the new cookie and the old answers
	case hasCookie(r, auth.FormerCookie):
		return first
	}
	return either
}

func hasCookie(r *http.Request, name string) bool {
	_, err := r.Cookie(name)
	return err == nil
}
