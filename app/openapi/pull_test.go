package openapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// pulls remembers who asked.
type pulls struct {
	asked []wire.PullRequest
	err   error
}

func (p *pulls) Pull(_ context.Context, req wire.PullRequest) (wire.PullResponse, error) {
	p.asked = append(p.asked, req)
	return wire.PullResponse{Held: 3, Calls: []wire.PulledCall{{ID: "a.1", Path: "/beat", Body: []byte(`""`), Left: 5}}}, p.err
}

func pullBody(group string) string {
	return `{"registryKey":"` + group + `","registryValue":"pull://box","instance":"i","pull":"p","max":1,"wait":0}`
}

// TestWhoMayAskForCalls: whoever may register the group's executors, and nobody else.
func TestWhoMayAskForCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token, group string
		allowed      bool
	}{
		"the common token":                        {token, "orders", true},
		"the group's own":                         {ordersToken, "orders", true},
		"another group's":                         {ordersToken, "billing", false},
		"the common one, where the group has one": {token, "closed", false},
		"no token":                                {"", "orders", false},
		"a wrong token":                           {"x", "orders", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, e := newAPI()
			p := new(pulls)
			api.Pulls = p
			w := post(api, "POST", "/xxl-job-admin/api/pull", tt.token, pullBody(tt.group))
			if w.Code != http.StatusOK {
				t.Errorf("status %d", w.Code)
			}
			if !tt.allowed {
				if !strings.Contains(w.Body.String(), msgToken) || len(p.asked) != 0 || len(e.refused) != 1 || e.refused[0].by.AppName != tt.group {
					t.Errorf("answered %s, asked %v, refused %+v", w.Body, p.asked, e.refused)
				}
				return
			}
			if !strings.Contains(w.Body.String(), `"data":{"held":3,"calls":[{"id":"a.1","path":"/beat","body":"","left":5}]}`) || len(p.asked) != 1 || p.asked[0].RegistryValue != "pull://box" {
				t.Errorf("answered %s, asked %v", w.Body, p.asked)
			}
		})
	}
}

func TestAPullThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		msgPullOther: pull.ErrOther, msgPullCopy: pull.ErrCopy, msgPullMany: pull.ErrTooMany, msgPullStopped: pull.ErrClosed, msgPullNoCall: pull.ErrNoCall, msgPullFull: pull.ErrFull, "cannot do this now": errors.New("database away"),
	} {
		api, _ := newAPI()
		api.Pulls = &pulls{err: err}
		if w := post(api, "POST", "/api/pull", token, pullBody("orders")); !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "database away") {
			t.Errorf("%v: answered %s", err, w.Body)
		}
	}
	before, e := newAPI()
	before.Pulls = &pulls{err: pull.ErrBetween}
	if w := post(before, "POST", "/api/pull", token, pullBody("orders")); !strings.Contains(w.Body.String(), `"code":409`) || len(e.refused) != 0 {
		t.Errorf("a moment after another: answered %s, noted %+v", w.Body, e.refused)
	}
	for why, err := range map[scheduler.Refusal]error{scheduler.RefusedName: pull.ErrOther, scheduler.RefusedCopy: pull.ErrCopy} {
		api, e := newAPI()
		api.Pulls = &pulls{err: err}
		w := post(api, "POST", "/api/pull", token, pullBody("orders"))
		if !strings.Contains(w.Body.String(), `"code":409`) || len(e.refused) != 1 || e.refused[0].why != why || e.refused[0].by.Executor != "pull://box" || e.refused[0].by.AppName != "orders" {
			t.Errorf("%v: answered %s, noted %+v", err, w.Body, e.refused)
		}
	}
	api, _ := newAPI()
	for _, body := range []string{"{", `{"registryKey":"a","registryValue":"http://a:1/"}`, pullBody("a,b")} {
		if w := post(api, "POST", "/api/pull", token, body); !strings.Contains(w.Body.String(), `"code":500`) || strings.Contains(w.Body.String(), "cannot do this now") {
			t.Errorf("%s: answered %s", body, w.Body)
		}
	}
}
