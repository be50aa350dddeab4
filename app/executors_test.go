package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// rotating is an executor that takes several runs, and changes its token while it answers: it refuses those that come with the old one.
type rotating struct {
	refuses []int64 // with the old token; nil: all
	asked   []string
}

func (x *rotating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	runs := []json.RawMessage{body}
	if r.URL.Path == "/runs" {
		if runs, err = wire.DecodeRuns(body); err != nil {
			return
		}
	}
	token := r.Header.Get(wire.HeaderToken)
	var ids []int64
	var answers []string
	for _, one := range runs {
		run, err := wire.DecodeRun(one)
		if err != nil {
			return
		}
		ids = append(ids, run.LogID)
		if token == "old" && slices.Contains(x.refuses, run.LogID) {
			answers = append(answers, `{"code":500,"msg":"The access token is wrong."}`)
		} else {
			answers = append(answers, `{"code":200,"msg":"`+token+`"}`)
		}
	}
	x.asked = append(x.asked, fmt.Sprint(token, ids))
	w.Header().Set(wire.HeaderTakesRuns, "1")
	if x.refuses == nil && token == "old" {
		_, _ = io.WriteString(w, `{"code":500,"msg":"The access token is wrong."}`)
		return
	}
	if r.URL.Path == "/run" {
		_, _ = io.WriteString(w, answers[0])
		return
	}
	_, _ = io.WriteString(w, `{"code":200,"data":[`+strings.Join(answers, ",")+`]}`)
}

// TestOnlyRunsThatATokenIsRefusedForGoAgain: the others are in the executor, and would be refused as runs that it has.
func TestOnlyRunsThatATokenIsRefusedForGoAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses []int64
		held    bool
		asked   string
		told    string
	}{
		"all are refused":      {nil, false, "old[1 2 3] new[1 2 3]", "new new new"},
		"one is refused":       {[]int64{2}, false, "old[1 2 3] new[2]", "old new old"},
		"none is":              {[]int64{9}, false, "old[1 2 3]", "old old old"},
		"the database is held": {[]int64{9}, true, "", "held held held"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executor := &rotating{refuses: c.refuses}
			server := httptest.NewServer(executor)
			defer server.Close()
			client := wire.NewExecutorClient(nil)
			defer client.Close()
			tokens := auth.NewTokens(auth.TokensConfig{Logger: slog.New(slog.DiscardHandler)})
			x := executors{
				ExecutorClient: client, http: newHTTPJobs(tokens), sample: &atomic.Pointer[sampleAt]{}, tokens: tokens, foreign: newForeign(slog.New(slog.DiscardHandler)),
				held: func() bool { return c.held },
			}
			to := wire.Target{Address: server.URL, Token: "old", OtherToken: "new"}
			var told []string
			for _, one := range x.RunAll(t.Context(), to, []*wire.RunRequest{{LogID: 1}, {LogID: 2}, {LogID: 3}}) {
				switch {
				case errors.Is(one.Err, scheduler.ErrHeld):
					told = append(told, "held")
				case one.Err != nil:
					told = append(told, one.Err.Error())
				default:
					told = append(told, one.Answer.Msg)
				}
			}
			if got := strings.Join(told, " "); got != c.told {
				t.Errorf("told %s, want %s", got, c.told)
			}
			if got := strings.Join(executor.asked, " "); got != c.asked {
				t.Errorf("asked %s, want %s", got, c.asked)
			}
		})
	}
}
