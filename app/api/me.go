package api

import (
	"context"
	"net/http"

	"github.com/punctual-job/punctual/app/auth"
)

// me is for whom a token acts, and what it may.
type me struct {
	User          int64         `json:"user_id"`
	Name          string        `json:"name"`
	Administrator bool          `json:"administrator" doc:"It may do everything."`
	Rights        []string      `json:"rights" doc:"What it may do in some group."`
	Groups        []groupRights `json:"groups" doc:"What it may do in which; of one that may the same in all groups there are none."`
}

func (a *API) me() {
	add(a, op{method: http.MethodGet, path: "/me", id: "getMe", tag: "tokens", summary: "Get for whom this token acts, and what it may"},
		func(_ context.Context, p auth.Principal, _ *struct{}) (*struct{ Body me }, error) {
			out := me{User: p.UserID, Name: p.Name, Administrator: p.Admin, Rights: []string{}, Groups: []groupRights{}}
			for _, name := range auth.RightNames(auth.AllRights) {
				if p.CanAnywhere(auth.RightNamed(name)) {
					out.Rights = append(out.Rights, name)
				}
			}
			if ids, all := p.Groups(); !all {
				rights := make(map[int64]auth.Rights, len(ids))
				for _, id := range ids {
					rights[id] = p.Rights(id)
				}
				out.Groups = readRights(rights)
			}
			return &struct{ Body me }{out}, nil
		})
}
