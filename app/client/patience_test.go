package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// whileAway is an admin of whose calls the first answers, and that is away after that, in one way after the other.
type whileAway struct {
	calls int
	ways  []func() (*http.Response, error)
	back  int // the call from which on it answers again; 0: never
}

func (w *whileAway) RoundTrip(*http.Request) (*http.Response, error) {
	w.calls++
	if w.calls == 1 {
		return answer(http.StatusOK, "application/json", `{"id":4,"state":"running"}`), nil
	}
	if w.back != 0 && w.calls >= w.back {
		return answer(http.StatusOK, "application/json", `{"id":4,"state":"success","ended":true}`), nil
	}
	return w.ways[w.calls%len(w.ways)]()
}

func answer(status int, kind, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
}

// TestAWaitOutlastsAnAdminThatStartsAgain, whatever is in front of it, and tells the reader once.
func TestAWaitOutlastsAnAdminThatStartsAgain(t *testing.T) {
	t.Parallel()
	ways := []func() (*http.Response, error){
		func() (*http.Response, error) { return nil, errors.New("connection refused") },
		func() (*http.Response, error) {
			return answer(http.StatusBadGateway, "text/html", "<h1>Bad Gateway"), nil
		},
		func() (*http.Response, error) {
			return answer(http.StatusServiceUnavailable, "application/problem+json", `{"status":503,"title":"Stopping"}`), nil
		},
		func() (*http.Response, error) { return answer(http.StatusOK, "text/html", "<h1>Back soon"), nil },
		func() (*http.Response, error) {
			return answer(http.StatusTooManyRequests, "text/html", "<h1>Slowly"), nil
		},
		func() (*http.Response, error) {
			r := answer(http.StatusOK, "application/json", "")
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":4,`), broken{}))
			return r, nil
		},
	}
	for back, want := range map[int]string{20: "", 0: "connection refused"} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			w := &whileAway{ways: ways, back: back}
			if back == 0 {
				w.ways = ways[:1]
			}
			a := (&api{base: "http://admin.example", http: &http.Client{Transport: w}}).patient(&said, false)
			began := time.Now()
			r, err := a.ended(t.Context(), 4)
			if want == "" && (err != nil || !r.Ended) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("back at call %d: %+v, %v", back, r, err)
			}
			if took := time.Since(began); took < 30*time.Second || took > awayFor+awayEvery {
				t.Errorf("back at call %d: after %s", back, took)
			}
			if n := strings.Count(said.String(), "asking again for 2m0s\n"); n != 1 {
				t.Errorf("told %d times: %s", n, &said)
			}
		})
	}
}

// hasty is a proxy in front of an admin: who asks it to wait for ten seconds or more has its answer, or finds the connection cut.
type hasty struct {
	way  func() (*http.Response, error)
	ends time.Time // when the run does
}

func (h hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		return nil, err
	}
	most := min(wait, time.Until(h.ends))
	if most >= 10*time.Second {
		time.Sleep(10 * time.Second)
		return h.way()
	}
	time.Sleep(most)
	if time.Now().Before(h.ends) {
		return answer(http.StatusOK, "application/json", `{"id":4,"state":"sent"}`), nil
	}
	return answer(http.StatusOK, "application/json", `{"id":4,"state":"success","ended":true}`), nil
}

// TestAProxyThatWaitsLessLongIsNoAdminThatIsAway: it is asked for less, and a run of an hour has its end.
func TestAProxyThatWaitsLessLongIsNoAdminThatIsAway(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func() (*http.Response, error){
		"it answers": func() (*http.Response, error) {
			return answer(http.StatusGatewayTimeout, "text/html", "<h1>Gateway Timeout"), nil
		},
		"it cuts":   func() (*http.Response, error) { return nil, io.EOF },
		"it resets": func() (*http.Response, error) { return nil, &net.OpError{Op: "read", Err: errors.New("reset")} },
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			began := time.Now()
			a := (&api{base: "http://admin.example", http: &http.Client{Transport: hasty{way, began.Add(time.Hour)}}}).patient(&said, true)
			if r, err := a.ended(t.Context(), 4); err != nil || !r.Ended {
				t.Errorf("%s: after %s: %+v, %v", name, time.Since(began), r, err)
			}
			if took := time.Since(began); took != time.Hour || said.Len() > 0 {
				t.Errorf("%s: after %s, told %q", name, took, &said)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // who answers nothing, however little is asked for, is away
		var said bytes.Buffer
		a := (&api{base: "http://admin.example", http: &http.Client{Transport: &whileAway{calls: 1, ways: []func() (*http.Response, error){func() (*http.Response, error) { return nil, io.EOF }}}}}).patient(&said, true)
		began := time.Now()
		if _, err := a.ended(t.Context(), 4); !isAway(err) || said.String() != "cannot reach http://admin.example: EOF; asking again for 2m0s\n" {
			t.Errorf("%v, told %q", err, &said)
		}
		if took := time.Since(began); took < awayFor || took > awayFor+awayEvery {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAnAdminThatIsGoneIsWaitedForOnce, also by a command that follows, and the code tells it from a run that failed.
func TestAnAdminThatIsGoneIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		a := &api{base: "http://admin.example", http: &http.Client{Transport: &whileAway{calls: 1, ways: []func() (*http.Response, error){
			func() (*http.Response, error) { return nil, errors.New("connection refused") },
		}}}}
		began := time.Now()
		err := waiting{Follow: true}.on(t.Context(), a, Streams{Out: io.Discard, Err: &said}, "table", []int64{4})
		if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != codeUnknown || !strings.Contains(err.Error(), "connection refused; run 4 goes on") {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(began); took < awayFor || took > awayFor+awayEvery || said.String() != "cannot reach http://admin.example: connection refused; asking again for 2m0s\n" {
			t.Errorf("after %s, told %q", took, &said)
		}
	})
}

// TestNobodyWaitsForAnAddressThatIsWrong, for an executor that cannot be asked, or on when it is interrupted.
func TestNobodyWaitsForAnAddressThatIsWrong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := &api{base: "http://admin.example", http: &http.Client{Transport: &whileAway{calls: 1, ways: []func() (*http.Response, error){
			func() (*http.Response, error) { return nil, errors.New("no such host") },
		}}}}
		if _, err := a.patient(io.Discard, false).ended(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "no such host") {
			t.Errorf("a wrong address: %v", err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		if _, err := a.patient(io.Discard, true).ended(ctx, 4); !errors.Is(err, errInterrupted) {
			t.Errorf("interrupted: %v", err)
		}
		a.http.Transport = &whileAway{calls: 1, ways: []func() (*http.Response, error){
			func() (*http.Response, error) {
				return answer(http.StatusBadGateway, "application/problem+json", `{"status":502,"title":"The executor did not answer"}`), nil
			},
		}}
		if _, _, _, err := a.patient(io.Discard, true).output(t.Context(), 4, 1); err == nil {
			t.Error("an executor that cannot be asked is an output")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestATimeThatIsOverIsNoAdminThatIsAway: who waits no longer than they said is not told that the admin cannot be reached.
func TestATimeThatIsOverIsNoAdminThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		a := (&api{base: "http://admin.example", http: &http.Client{Transport: silent{}}}).patient(&said, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.ended(ctx, 4); err == nil || said.Len() > 0 {
			t.Errorf("%v, told %q", err, &said)
		}
	})
}

// silent is an admin that does not answer.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestARunIsAskedForOnce: the answer to what makes a run is lost in each way, and the request is sent again with its key until there is one.
func TestARunIsAskedForOnce(t *testing.T) {
	t.Parallel()
	ways := map[string]func() (*http.Response, error){
		"cut while it waits": func() (*http.Response, error) { return nil, io.EOF },
		"reset":              func() (*http.Response, error) { return nil, &net.OpError{Op: "read", Err: errors.New("reset")} },
		"broken off": func() (*http.Response, error) {
			r := answer(http.StatusCreated, "application/json", "")
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"runs":[`), broken{}))
			return r, nil
		},
		"a proxy's": func() (*http.Response, error) {
			return answer(http.StatusGatewayTimeout, "text/html", "<h1>Gateway Timeout"), nil
		},
		"not confirmed": func() (*http.Response, error) {
			return answer(http.StatusServiceUnavailable, "application/problem+json", `{"code":"unconfirmed"}`), nil
		},
		"still worked on": func() (*http.Response, error) {
			return answer(http.StatusConflict, "application/problem+json", `{"code":"once.running"}`), nil
		},
	}
	for name, way := range ways {
		synctest.Test(t, func(t *testing.T) {
			admin := &forgetful{way: way, last: `{"runs":[9]}`, code: http.StatusCreated}
			var out bytes.Buffer
			a := &api{base: "http://admin.example", http: &http.Client{Transport: admin}}
			if err := (waiting{}).trigger(t.Context(), a, Streams{Out: &out, Err: io.Discard}, "table", "/jobs/7/trigger", nil); err != nil || out.String() != "9\n" {
				t.Errorf("%s: %q, %v", name, &out, err)
			}
			if len(admin.keys) != 3 || admin.keys[0] == "" || admin.keys[0] != admin.keys[1] || admin.keys[1] != admin.keys[2] {
				t.Errorf("%s: keys %q", name, admin.keys)
			}
			if err := (waiting{}).trigger(t.Context(), a, Streams{Out: &out, Err: io.Discard}, "table", "/jobs/7/trigger", nil); err != nil || admin.keys[3] == admin.keys[0] {
				t.Errorf("%s: another run, %v: keys %q", name, err, admin.keys)
			}
		})
	}
}

// TestNobodyKnowsWhetherItRan: that is no refusal, and an address at which nobody is is not asked twice.
func TestNobodyKnowsWhetherItRan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		way   func() (*http.Response, error)
		last  string
		calls int
		code  int
	}{
		"unknown": {func() (*http.Response, error) { return nil, io.EOF }, `{"code":"once.unknown","title":"?"}`, 3, codeUnknown},
		"refused": {func() (*http.Response, error) { return nil, io.EOF }, `{"code":"conflict","title":"no"}`, 3, codeRefused},
		"nobody":  {func() (*http.Response, error) { return nil, &net.OpError{Op: "dial", Err: errors.New("refused")} }, "", 1, codeUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			admin := &forgetful{way: tt.way, last: tt.last, code: http.StatusConflict}
			a := &api{base: "http://admin.example", http: &http.Client{Transport: admin}}
			err := (waiting{}).trigger(t.Context(), a, Streams{Out: io.Discard, Err: io.Discard}, "table", "/jobs/7/trigger", nil)
			code := 0
			if ended, ok := errors.AsType[*ExitError](err); ok {
				code = ended.Code
			}
			if err == nil || len(admin.keys) != tt.calls || code != tt.code {
				t.Errorf("%s: after %d calls code %d, %v", name, len(admin.keys), code, err)
			}
		})
	}
}

// forgetful is an admin of whose answers the first two are lost.
type forgetful struct {
	way  func() (*http.Response, error)
	last string
	code int
	keys []string
}

func (f *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.keys = append(f.keys, r.Header.Get("Idempotency-Key")); len(f.keys) < 3 {
		return f.way()
	}
	kind := "application/json"
	if f.code >= 400 {
		kind = "application/problem+json"
	}
	return answer(f.code, kind, f.last), nil
}

// TestABackfillWhoseEndNobodyTells goes on, whatever a proxy answers in the admin's place: that is no failure.
func TestABackfillWhoseEndNobodyTells(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func() (*http.Response, error){
		"a page": func() (*http.Response, error) {
			return answer(http.StatusOK, "text/html; charset=utf-8", "<!doctype html>"), nil
		},
		"nonsense": func() (*http.Response, error) { return answer(http.StatusOK, "text/plain", "ok"), nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			c := backfillsRun{Wait: true}
			a := &api{base: "http://admin.example", http: &http.Client{Transport: begun(way)}}
			err := c.on(t.Context(), a, 7, Streams{Out: io.Discard, Err: &said})
			exit, _ := errors.AsType[*ExitError](err)
			if exit == nil || exit.Code != codeUnknown || !strings.Contains(err.Error(), "backfill 3 goes on") {
				t.Errorf("%s: %v", name, err)
			}
			if name == "a page" && (!strings.Contains(err.Error(), "a page for people") || strings.Count(said.String(), "asking again for 2m0s") != 1) {
				t.Errorf("%s: %v, %q", name, err, &said)
			}
		})
	}
}

// begun is an admin that begins backfill 3, and then something that answers in its place.
type begun func() (*http.Response, error)

func (b begun) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return answer(http.StatusCreated, "application/json", `{"id":3,"total":2}`), nil
	}
	return b()
}

// TestALoginOutlastsAnAdminThatStartsAgain while somebody opens the page in a browser.
func TestALoginOutlastsAnAdminThatStartsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pipeline{answers: []func() (*http.Response, error){
			func() (*http.Response, error) {
				return answer(http.StatusCreated, "application/json", `{"device_code":"d","user_code":"BCDF-GHJK","verification_path":"/device","interval":5}`), nil
			},
			func() (*http.Response, error) {
				return answer(http.StatusOK, "application/json", `{"state":"waiting"}`), nil
			},
			func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
			func() (*http.Response, error) { return answer(http.StatusBadGateway, "text/html", ""), nil },
			func() (*http.Response, error) {
				return answer(http.StatusOK, "application/json", `{"state":"approved","token":"pnc_x"}`), nil
			},
		}}
		token, err := letIn(t.Context(), &api{base: "http://admin.example", http: &http.Client{Transport: p}}, Streams{Err: io.Discard})
		if err != nil || token != "pnc_x" {
			t.Errorf("%q, %v", token, err)
		}
	})
}

// TestARefusalWhileItWaitsSaysNothingOfTheRun: who loses the right to look does not learn that it failed.
func TestARefusalWhileItWaitsSaysNothingOfTheRun(t *testing.T) {
	t.Parallel()
	for status, title := range map[int]string{http.StatusUnauthorized: "This token has expired", http.StatusForbidden: "This is not allowed", http.StatusNotFound: "There is no such run", http.StatusInternalServerError: "Something went wrong"} {
		refuse := func() (*http.Response, error) {
			return answer(status, "application/problem+json", `{"title":"`+title+`"}`), nil
		}
		for name, wait := range map[string]waiting{"wait": {Wait: true}, "follow": {Follow: true}} {
			a := &api{base: "http://admin.example", http: &http.Client{Transport: &whileAway{ways: []func() (*http.Response, error){refuse}}}}
			err := wait.on(t.Context(), a, Streams{Out: io.Discard, Err: io.Discard}, "table", []int64{4})
			want := title + "; run 4 goes on"
			if status == http.StatusNotFound { // it does not
				want = title + "; run 4 was deleted meanwhile, or the token does not see it any more"
			}
			if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != codeUnknown || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
	}
}
