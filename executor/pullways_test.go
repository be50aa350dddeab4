//go:build go1.26

package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// pulled is a request as a [scripted] admin got it.
type pulled struct {
	wire.PullRequest
	at     time.Duration // since the first
	client int           // the number of the client that it came from
	closed int           // how often that client's connections had been closed by then
}

// scripted is an admin, or several behind one address, that answers as a test says.
type scripted struct {
	answer func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error)

	mu    sync.Mutex
	began time.Time
	asked []pulled
}

// client is one of the clients of an executor: it has connections of its own.
type client struct {
	*scripted
	number int
	closed int
}

func (c *client) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
}

func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	req, err := wire.DecodePull(body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.began.IsZero() {
		c.began = time.Now()
	}
	c.asked = append(c.asked, pulled{req, time.Since(c.began), c.number, c.closed})
	c.mu.Unlock()
	response, err := c.answer(r, req)
	if err != nil {
		return nil, err
	}
	return answered(r, response), nil
}

// requests are those that came until now.
func (s *scripted) requests() []pulled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// waits is an admin that has nothing: it answers when a pull has waited long enough.
func waits(r *http.Request, req wire.PullRequest) error {
	select {
	case <-time.After(time.Duration(req.Wait) * time.Millisecond):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// box is an executor that asks s, of which no more is there than asking needs. Each of its askers has clients of its own.
func (s *scripted) box(t *testing.T) *Executor {
	t.Helper()
	made := 0
	e := boxed(t, &client{scripted: s}, "http://balancer")
	e.newClient = func() *http.Client {
		s.mu.Lock()
		defer s.mu.Unlock()
		made++
		return &http.Client{Transport: &client{scripted: s, number: made}}
	}
	return e
}

// with is the asking part of an executor that knows this of its one address, and its first asker. Nothing is under way.
func with(e *Executor, at place) (*puller, *asker) {
	p := newPuller(e)
	at.short = make(chan struct{}, 1)
	p.places = []place{at}
	return p, p.newAsker(0, 0)
}

// sender has what was answered handed over until the end of the test.
func (p *puller) sender(t *testing.T) {
	p.sending.Go(p.send)
	t.Cleanup(p.finish)
}

func TestTheNameOfAnExecutorThatAsks(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"Box-1.example_com":              "Box-1.example_com-0123abcd",
		"a box/2":                        "a-box-2-0123abcd",
		"":                               "-0123abcd",
		strings.Repeat("a", 91):          strings.Repeat("a", 91) + "-0123abcd",
		strings.Repeat("a", 92):          strings.Repeat("a", 91) + "-0123abcd",
		strings.Repeat("a", 300) + "end": strings.Repeat("a", 91) + "-0123abcd",
	} {
		got := pullName(host, "0123abcd4567")
		if _, ok := wire.PullAddress(got); got != want || !ok {
			t.Errorf("on %q it is %q, want %q; a name: %t", host, got, want, ok)
		}
	}
}

// TestHowAPullIsMade goes by how many admins there are behind the address.
func TestHowAPullIsMade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at     place
		number int
		want   manner
	}{
		"nobody has said how many":              {place{}, 0, manner{grace: 5 * time.Second}},
		"one":                                   {place{admins: 1, early: certainlyEarly}, 0, manner{wait: 10 * time.Second, grace: 5 * time.Second, tries: 5}},
		"one, of many before":                   {place{admins: 1, trouble: time.Now().Add(time.Hour)}, 0, manner{wait: 10 * time.Second, grace: 5 * time.Second, tries: 5}},
		"three":                                 {place{admins: 3}, 0, manner{wait: 5 * time.Second, grace: 3 * time.Second, apart: true, early: true, tries: 15, carries: true}},
		"three that begin early":                {place{admins: 3, early: perhapsEarly}, 0, manner{wait: 5 * time.Second, grace: 3 * time.Second, silence: 750 * time.Millisecond, apart: true, early: true, tries: 15, carries: true}},
		"three, one of which holds what it got": {place{admins: 3, early: certainlyEarly, trouble: time.Now().Add(time.Hour)}, 0, manner{wait: 2 * time.Second, grace: 2 * time.Second, silence: 750 * time.Millisecond, early: true, tries: 15}},
		"one of those more that wait to the end then": {place{admins: 3, early: certainlyEarly, trouble: time.Now().Add(time.Hour)}, 7, manner{wait: 2 * time.Second, grace: 2 * time.Second, patient: true, early: true, tries: 15}},
		"one of those more that do not":               {place{admins: 3, early: certainlyEarly, trouble: time.Now().Add(time.Hour)}, 6, manner{wait: 2 * time.Second, grace: 2 * time.Second, silence: 750 * time.Millisecond, early: true, tries: 15}},
	} {
		p, a := with(boxed(t, nil, "http://balancer"), tt.at)
		a.number = tt.number
		if got, needed := p.manner(a); got != tt.want || !needed {
			t.Errorf("%s: %+v, want %+v; needed: %t", name, got, tt.want, needed)
		}
	}
}

// TestHowLongABeginningIsWaitedFor goes by what was seen of earlier answers: how long they were under way, and whether they began early.
func TestHowLongABeginningIsWaitedFor(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	saw := func(held time.Duration, early, patient bool, began, took time.Duration) func(*puller) {
		return func(p *puller) {
			p.clock(0, &wire.PullResponse{Held: held.Milliseconds(), Early: early}, manner{patient: patient}, began, took)
		}
	}
	begins := func(took time.Duration) func(*puller) { return func(p *puller) { p.begins(0, took) } }
	for name, tt := range map[string]struct {
		at   place
		then func(*puller)
		want time.Duration // 0: until the end
	}{
		"admins that do not begin early":                   {place{}, saw(5*time.Second, false, false, 5*time.Second, 5*time.Second), 0},
		"an answer that was there at once":                 {place{}, saw(0, true, false, 0, 0), 750 * ms},
		"one that was under way for 200 ms":                {place{}, saw(100*ms, true, false, 300*ms, 300*ms), 1350 * ms},
		"one held too briefly for a beginning":             {place{}, saw(400*ms, true, false, 400*ms, 400*ms), 750 * ms},
		"the same where beginnings are kept back":          {place{early: neverEarly}, saw(400*ms, true, false, 400*ms, 400*ms), 0},
		"a beginning that came early":                      {place{}, saw(5*time.Second, true, false, 300*ms, 5050*ms), 900 * ms},
		"one sooner than it may be sent":                   {place{}, saw(5*time.Second, true, false, 100*ms, 5*time.Second), 750 * ms},
		"a beginning that came with the end":               {place{}, saw(5*time.Second, true, false, 5050*ms, 5100*ms), 0},
		"one that came long after it was sent":             {place{}, saw(5*time.Second, true, false, 4600*ms, 5*time.Second), 9750 * ms},
		"one that was shortly before the end":              {place{}, saw(5*time.Second, true, false, 4900*ms, 5100*ms), 0},
		"one for which everything was waited":              {place{}, saw(100*ms, true, true, 2*time.Second, 2*time.Second), 750 * ms},
		"a quick one after slow ones":                      {place{early: certainlyEarly, way: 800 * ms}, saw(0, true, false, 0, 0), 2850 * ms},
		"one that took very long":                          {place{}, saw(0, true, false, time.Minute, time.Minute), 9750 * ms},
		"a beginning in time, after many that were late":   {place{early: certainlyEarly, silent: 20}, begins(600 * ms), 750 * ms},
		"many that were late":                              {place{early: certainlyEarly, silent: 20}, func(*puller) {}, 1250 * ms},
		"very many":                                        {place{early: certainlyEarly, silent: 1000}, func(*puller) {}, 8250 * ms},
		"a late beginning while others come in time":       {place{early: certainlyEarly, silent: 1}, begins(2 * time.Second), 750 * ms},
		"a late beginning after as many as there are":      {place{early: certainlyEarly, silent: 2}, begins(2 * time.Second), 6 * time.Second},
		"the same where no beginning has been seen yet":    {place{early: perhapsEarly, silent: 2}, begins(2 * time.Second), 6 * time.Second},
		"a very late one":                                  {place{early: certainlyEarly, silent: 2}, begins(time.Minute), 9750 * ms},
		"a beginning in time as late as it may be":         {place{early: certainlyEarly, silent: 2}, begins(750 * ms), 750 * ms},
		"a late beginning that says nothing of beginnings": {place{early: neverEarly, silent: 2}, begins(2 * time.Second), 0},
	} {
		tt.at.admins = 2
		p, a := with(boxed(t, nil, "http://balancer"), tt.at)
		tt.then(p)
		if m, _ := p.manner(a); m.silence != tt.want {
			t.Errorf("%s: %s, want %s", name, m.silence, tt.want)
		}
	}
}

// TestWhatManyGivenUpInARowSay: first that an admin is frozen, then that they are held up on the way, and that nothing begins early after all
// where that was never seen.
func TestWhatManyGivenUpInARowSay(t *testing.T) {
	t.Parallel()
	for early, last := range map[early]time.Duration{perhapsEarly: 0, certainlyEarly: 1250 * time.Millisecond} {
		p, a := with(boxed(t, nil, "http://balancer"), place{admins: 2, early: early})
		for i := 1; i <= 18; i++ {
			p.noteTrouble(0)
			want := manner{wait: 2 * time.Second, grace: 2 * time.Second, silence: 750 * time.Millisecond, early: true, tries: 10}
			if i >= 16 {
				want = manner{wait: 5 * time.Second, grace: 3 * time.Second, silence: 1250 * time.Millisecond, apart: true, early: true, tries: 10, carries: true}
			}
			if i > 16 {
				want.silence = last
			}
			if got, _ := p.manner(a); got != want {
				t.Errorf("after %d: %+v, want %+v", i, got, want)
			}
		}
	}
}

// TestHowLongAnAdminHasForAnAnswer that comes to it, of several: a second, and less where one is known to be frozen.
func TestHowLongAnAdminHasForAnAnswer(t *testing.T) {
	t.Parallel()
	trouble := time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		at   place
		want time.Duration
	}{
		"all are well":               {place{admins: 2}, time.Second},
		"one is frozen":              {place{admins: 2, trouble: trouble}, 500 * time.Millisecond},
		"one is, and the way is far": {place{admins: 2, trouble: trouble, way: time.Minute}, time.Second},
		"there is one":               {place{admins: 1, trouble: trouble}, time.Second},
	} {
		if p, _ := with(boxed(t, nil, "http://balancer"), tt.at); p.answerLimit(0) != tt.want {
			t.Errorf("%s: %s, want %s", name, p.answerLimit(0), tt.want)
		}
	}
}

// TestAnAdminThatRefusesIsAskedNowAndThen: soon after the first time, in the end about once a second. It is not taken for one that is frozen,
// and the log says once that it refuses, and once that it does no more; results that wait for an admin are sent then.
func TestAnAdminThatRefusesIsAskedNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		refuses := false
		is := func(now bool) {
			mu.Lock()
			defer mu.Unlock()
			refuses = now
		}
		s := &scripted{answer: func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
			mu.Lock()
			refused := refuses
			mu.Unlock()
			if refused {
				return wire.PullResponse{}, io.ErrUnexpectedEOF
			}
			return wire.PullResponse{Admins: 2, Admin: strconv.FormatInt(time.Now().UnixNano(), 36)}, waits(r, req)
		}}
		var log bytes.Buffer
		e := s.box(t)
		e.logger = slog.New(slog.NewTextHandler(&log, nil))
		e.reporter = &reporter{again: make(chan struct{}, 1), failing: true}
		stop := startAsking(t, e)
		time.Sleep(4*sharedWait - time.Second) // between two requests: both askers find it refusing at the next
		is(true)
		before := len(s.requests())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		asked := s.requests()[before:]
		if soon := asked[5].at - asked[0].at; soon > time.Second {
			t.Errorf("the sixth request comes %s after the first", soon)
		}
		before += len(asked)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(s.requests()) - before; n < 2*60 || n > 2*100 {
			t.Errorf("each of two askers asks %d times a minute", n/2)
		}
		if len(e.reporter.again) != 0 {
			t.Error("results are sent while no admin answers")
		}
		is(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(e.reporter.again) != 1 {
			t.Error("results that wait for an admin go on waiting")
		}
		stop()
		for _, line := range []string{"cannot ask the admin for calls", "hands over calls again"} {
			if n := strings.Count(log.String(), line); n != 2 { // once each of the two
				t.Errorf("the log says %d times %q", n, line)
			}
		}
	})
}

// TestAFrozenAdminIsSoonAskedAgain: the pull that it held has taken its time already. Each time it is asked over another connection, since that may
// lead to another admin.
func TestAFrozenAdminIsSoonAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(r *http.Request, _ wire.PullRequest) (wire.PullResponse, error) {
			<-r.Context().Done()
			return wire.PullResponse{}, r.Context().Err()
		}}
		startAsking(t, s.box(t))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		asked := s.requests()
		if len(asked) < 20 {
			t.Fatalf("it asked %d times", len(asked))
		}
		for i, p := range asked[1:] {
			if pause := p.at - asked[i].at - 5*time.Second; pause < 0 || pause > firstPullAgain { // that is how long it had been silent
				t.Errorf("request %d comes %s after the one before was given up", i+1, pause)
			}
			if p.client == asked[i].client {
				t.Errorf("request %d comes over the connections of the one before", i+1)
			}
		}
	})
}

// TestAPullThatCameToAnotherIsSentAgain, five times for each admin that there is, and every other time over a new connection. Then it waits where
// it is, and the next looks again.
func TestAPullThatCameToAnotherIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
			if req.Apart {
				return wire.PullResponse{Admins: 2, Admin: "a", Elsewhere: true}, nil
			}
			return wire.PullResponse{Admins: 2, Admin: "a"}, waits(r, req)
		}}
		e := s.box(t)
		_, a := with(e, place{admins: 2, askers: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); a.loop(ctx) }()
		time.Sleep(6 * time.Second)
		cancel()
		<-done
		asked := s.requests()
		if len(asked) != 22 {
			t.Fatalf("%d requests", len(asked))
		}
		clients := ""
		for i, p := range asked {
			clients += strconv.Itoa(p.client) + " "
			if p.Apart != (i%11 < 10) {
				t.Errorf("request %d is apart: %t", i, p.Apart)
			}
		}
		if want := "1 1 2 2 3 3 4 4 5 5 6 6 6 7 7 8 8 9 9 10 10 11 "; clients != want {
			t.Errorf("they come over the connections %s, want %s", clients, want)
		}
	})
}

// TestConnectionsThatAreNotAskedOverAnyMoreAreClosed.
func TestConnectionsThatAreNotAskedOverAnyMoreAreClosed(t *testing.T) {
	t.Parallel()
	_, a := with(new(scripted).box(t), place{admins: 1})
	first := a.http.Load().Transport.(*client)
	a.renew()
	if next := a.http.Load().Transport.(*client); next == first || first.closed != 1 || next.closed != 0 {
		t.Errorf("those before were closed %d times, those now %d times", first.closed, next.closed)
	}
}

// TestAsManyAskAsThereAreAdmins, also when some of them are gone for a while. Fewer ask only when there are fewer for a minute.
func TestAsManyAskAsThereAreAdmins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		admins, open, turn := 3, 0, 0
		count := func(by int) (int, int) {
			mu.Lock()
			defer mu.Unlock()
			open += by
			turn++
			return admins, turn
		}
		s := &scripted{answer: func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
			n, turn := count(1)
			defer count(-1)
			return wire.PullResponse{Admins: n, Admin: strconv.Itoa(turn)}, waits(r, req)
		}}
		startAsking(t, s.box(t))
		for _, step := range []struct {
			admins    int
			after     time.Duration
			askers    int
			situation string
		}{
			{3, time.Minute, 3, "there are three"},
			{1, 40 * time.Second, 3, "two are not counted for a moment"},
			{1, 2 * time.Minute, 1, "two are gone"},
			{3, time.Minute, 3, "they are back"},
			{100, time.Minute, maxApart, "there are very many"},
		} {
			mu.Lock()
			admins = step.admins
			mu.Unlock()
			time.Sleep(step.after)
			synctest.Wait()
			mu.Lock()
			if open != step.askers {
				t.Errorf("%s: %d ask, want %d", step.situation, open, step.askers)
			}
			mu.Unlock()
		}
	})
}

// TestABalancerThatSentAllToOneMayDoOtherwise: it is tried now and then.
func TestABalancerThatSentAllToOneMayDoOtherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, inTurns := 0, false
		b := newBalanced(func() int {
			if n++; inTurns {
				return n % 2
			}
			return 0
		}, "a", "b")
		asking(t, b, "http://balancer")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		b.mu.Lock()
		inTurns = true
		b.mu.Unlock()
		time.Sleep(time.Minute)
		without := 0
		for range 30 {
			time.Sleep(time.Second)
			synctest.Wait()
			for i := range 2 {
				if open, _, _ := b.sees(i); open == 0 {
					without++
				}
			}
		}
		if without > 5 {
			t.Errorf("at %d of 60 moments an admin was not asked", without)
		}
	})
}

// TestWhenAnExecutorThatAsksRegistersAtOnce: when its name has just become its own, and when the admins do not know its token any more.
func TestWhenAnExecutorThatAsksRegistersAtOnce(t *testing.T) {
	t.Parallel()
	taken, token, other := &wire.RefusedError{Code: wire.CodeNameTaken}, &wire.RefusedError{Code: wire.CodeFail, Msg: "The access token is wrong."}, &wire.RefusedError{Code: wire.CodeFail, Msg: "not now"}
	fails := func(err error) func(*puller) {
		return func(p *puller) { p.mayLackName(0, err); p.mayLackToken(err) }
	}
	has := func(p *puller) { p.hasName(0) }
	for name, tt := range map[string]struct {
		registered   bool
		does         []func(*puller)
		beats, taken bool
	}{
		"it may ask":                            {true, []func(*puller){has, has}, false, false},
		"another has its name":                  {true, []func(*puller){fails(taken)}, false, true},
		"another had it":                        {true, []func(*puller){fails(taken), has}, true, false},
		"it is refused for another reason":      {true, []func(*puller){fails(other), has}, false, false},
		"the admin is not there":                {true, []func(*puller){fails(io.EOF), has}, false, false},
		"its token is not known":                {true, []func(*puller){fails(token)}, true, false},
		"its token has not been known yet":      {false, []func(*puller){fails(token)}, false, false},
		"another has it, and the admin is gone": {true, []func(*puller){fails(taken), fails(io.EOF)}, false, true},
	} {
		e := boxed(t, nil, "http://admin")
		e.registered.Store(tt.registered)
		p, _ := with(e, place{})
		for _, do := range tt.does {
			do(p)
		}
		if beats := len(e.beatNow) > 0; beats != tt.beats || p.nameTaken() != tt.taken {
			t.Errorf("%s: registers %t, the name is taken: %t", name, beats, p.nameTaken())
		}
	}
}

// TestAPullTellsOfThoseThatWereLost within a minute, of each once, and of the last fifty.
func TestAPullTellsOfThoseThatWereLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := with(boxed(t, nil, "http://admin"), place{admins: 1})
		tells := func(want ...string) {
			t.Helper()
			if got := p.request(manner{}).Lost; !slices.Equal(got, want) {
				t.Errorf("it tells of %v, want %v", got, want)
			}
		}
		p.lose("a")
		time.Sleep(40 * time.Second)
		p.lose("b")
		tells("a", "b")
		time.Sleep(20*time.Second - time.Nanosecond)
		tells("a", "b")
		time.Sleep(time.Nanosecond)
		tells("b")
		tells("b")
		time.Sleep(time.Hour)
		tells()
		var all []string
		for i := range 60 {
			all = append(all, strconv.Itoa(i))
			p.lose(all[i])
		}
		tells(all[10:]...)
		names := make(map[string]bool)
		for range 100 {
			names[p.request(manner{}).Pull] = true
		}
		if len(names) != 100 {
			t.Errorf("100 pulls have %d names", len(names))
		}
	})
}

// bringing is an admin of two that hands over calls in answer to the first pull.
func bringing(calls int) *scripted {
	given := false
	return &scripted{answer: func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
		response := wire.PullResponse{Admins: 2, Admin: "a"}
		if req.Max == 0 {
			return response, nil
		}
		if !given {
			given = true
			for i := range calls {
				response.Calls = append(response.Calls, wire.PulledCall{ID: strconv.Itoa(i), Path: "/beat", Left: 10_000})
			}
			return response, nil
		}
		return response, waits(r, req)
	}}
}

// TestAnswersGoWithTheNextPull, which is made as soon as they are there. Where they would hold more than half of all places until that pull ends, they
// go on their own, and so they do where there is no place left.
func TestAnswersGoWithTheNextPull(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ calls, busy, carried int }{
		"few":                     {3, 0, 3},
		"half of all places":      {maxPulled / 2, 0, maxPulled / 2},
		"more":                    {maxPulled/2 + 1, 0, 0},
		"with those of others":    {3, maxPulled / 2, 0},
		"more than there are yet": {10, maxPulled - 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := bringing(tt.calls)
				p, a := with(s.box(t), place{admins: 2, askers: 2})
				p.sender(t)
				for range tt.busy {
					p.slots <- struct{}{}
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); a.loop(ctx) }()
				time.Sleep(time.Second)
				synctest.Wait()
				carried, alone := 0, 0
				for _, req := range s.requests() {
					if req.Max > 0 {
						carried += len(req.Answers)
					} else {
						alone += len(req.Answers)
					}
				}
				if second := s.requests()[1]; tt.carried > 0 && second.at != 0 {
					t.Errorf("the next pull comes %s after the answers were there", second.at)
				}
				if carried != tt.carried || alone != tt.calls-tt.carried {
					t.Errorf("%d answers are carried and %d go alone, want %d and %d", carried, alone, tt.carried, tt.calls-tt.carried)
				}
				cancel()
				<-done
				for range tt.busy {
					<-p.slots
				}
				p.serving.Wait()
			})
		})
	}
}

// TestAnswersWhosePullFailedGoOnTheirOwn: whether they came is not known, and who waits for them does not wait for the next pull.
func TestAnswersWhosePullFailedGoOnTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := bringing(3)
		brings, n := s.answer, 0
		s.answer = func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
			if n++; n == 2 {
				return wire.PullResponse{}, io.ErrUnexpectedEOF
			}
			return brings(r, req)
		}
		p, a := with(s.box(t), place{admins: 2, askers: 2})
		p.sender(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.loop(ctx) }()
		time.Sleep(time.Second)
		cancel()
		<-done
		alone := 0
		for i, req := range s.requests() {
			if req.Max == 0 {
				alone += len(req.Answers)
			} else if want := 3 * min(i, 1) * max(0, 2-i); len(req.Answers) != want {
				t.Errorf("pull %d carries %d, want %d", i, len(req.Answers), want)
			}
		}
		if alone != 3 {
			t.Errorf("%d go on their own", alone)
		}
	})
}

// TestHowLongAnAdminHeldACallCounts: its time begins when the admin let go of it, and not when it was asked.
func TestHowLongAnAdminHeldACallCounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		way      time.Duration
		answered int
	}{"in time": {900 * time.Millisecond, 1}, "too late": {1100 * time.Millisecond, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				given := false
				s := &scripted{answer: func(r *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
					response := wire.PullResponse{Admins: 2, Admin: "a"}
					if given || req.Max == 0 {
						return response, waits(r, req)
					}
					given = true
					response.Held = 3000
					response.Calls = []wire.PulledCall{{ID: "a.1", Path: "/beat", Left: 1000}}
					time.Sleep(3*time.Second + tt.way)
					return response, nil
				}}
				p, a := with(s.box(t), place{admins: 2, askers: 2})
				p.sender(t)
				if _, err := a.once(t.Context(), manner{wait: 5 * time.Second, grace: 3 * time.Second}); err != nil {
					t.Fatal(err)
				}
				p.serving.Wait()
				time.Sleep(time.Second)
				answers := 0
				for _, req := range s.requests() {
					answers += len(req.Answers)
				}
				if answers != tt.answered || len(p.slots) != 0 {
					t.Errorf("%d answers, want %d; %d calls are under way", answers, tt.answered, len(p.slots))
				}
			})
		})
	}
}

// TestASilentPullIsWaitedForAsLongAsOthersShowThatItTakes, also when they show it after it was made.
func TestASilentPullIsWaitedForAsLongAsOthersShowThatItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(r *http.Request, _ wire.PullRequest) (wire.PullResponse, error) {
			<-r.Context().Done()
			return wire.PullResponse{}, r.Context().Err()
		}}
		p, a := with(s.box(t), place{admins: 2, early: certainlyEarly, silent: 2})
		m, _ := p.manner(a)
		time.AfterFunc(700*time.Millisecond, func() { p.begins(0, 750*time.Millisecond+250*time.Millisecond) })
		began := time.Now()
		if _, err := a.once(t.Context(), m); err == nil {
			t.Error("it answered")
		}
		// 250 ms until the beginning, 500 ms, and three times what the other was under way.
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it was given up after %s", took)
		}
	})
}

// TestACallThatCannotBeServedIsAnswered with the reason.
func TestACallThatCannotBeServedIsAnswered(t *testing.T) {
	t.Parallel()
	e := boxed(t, nil, "http://admin")
	for name, tt := range map[string]struct {
		call wire.PulledCall
		want string
	}{
		"an unknown one":               {wire.PulledCall{Path: "/dance"}, "uri-mapping(/dance) not found"},
		"one that cannot be read":      {wire.PulledCall{Path: "/kill", Body: []byte(`{"jobId":[]}`)}, "request error:"},
		"one that the program dies of": {wire.PulledCall{Path: "/log", Body: []byte(`{"logId":1,"logDateTim":1,"fromLineNum":1}`)}, "request error:"}, // it has no logs
	} {
		var answer struct {
			Code int
			Msg  string
		}
		if err := json.Unmarshal(e.answerCall(&tt.call), &answer); err != nil || answer.Code != wire.CodeFail || !strings.Contains(answer.Msg, tt.want) {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}

// TestWhatIsCarriedIsBounded: proxies often refuse what is longer.
func TestWhatIsCarriedIsBounded(t *testing.T) {
	t.Parallel()
	answer := func(size int) pulledAnswer {
		return pulledAnswer{PulledAnswer: wire.PulledAnswer{Answer: make([]byte, size)}}
	}
	g := newGathering(4, true)
	for i, tt := range []struct {
		size  int
		taken bool
	}{{1, true}, {maxCarried - 1, true}, {1, false}} {
		if taken := g.put(answer(tt.size)); taken != tt.taken {
			t.Errorf("answer %d of %d bytes is carried: %t", i, tt.size, taken)
		}
	}
	if n := len(g.end()); n != 2 {
		t.Errorf("%d are carried", n)
	}
	if g.put(answer(1)) {
		t.Error("one is carried that came too late")
	}
	g = newGathering(maxAnswersAtOnce+1, true)
	for i := range maxAnswersAtOnce + 1 {
		if taken := g.put(answer(1)); taken != (i < maxAnswersAtOnce) {
			t.Errorf("answer %d is carried: %t", i, taken)
		}
	}
}

// toSend are answers that wait to be handed over.
func (a *asker) toSend(n, size int, until time.Duration) (answers []pulledAnswer) {
	for i := range n {
		answers = append(answers, pulledAnswer{wire.PulledAnswer{ID: "a." + strconv.Itoa(i), Answer: []byte(`"` + strings.Repeat("x", size-2) + `"`)}, a, time.Now().Add(until)})
	}
	return answers
}

// TestAnswersAreHandedOverTogether, so many and so long as a proxy passes on. One that stops waits for it.
func TestAnswersAreHandedOverTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size int
		want []int
	}{
		"short ones":     {2, []int{200, 50}},
		"long ones":      {2 << 10, []int{128, 122}},
		"very long ones": {300 << 10, slices.Repeat([]int{1}, 250)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answer: func(*http.Request, wire.PullRequest) (wire.PullResponse, error) {
					time.Sleep(time.Millisecond)
					return wire.PullResponse{}, nil
				}}
				p, a := with(s.box(t), place{admins: 1})
				for _, answer := range a.toSend(250, tt.size, time.Minute) {
					p.slots <- struct{}{}
					p.answers <- answer
				}
				p.sending.Go(p.send)
				p.finish()
				var got []int
				for _, req := range s.requests() {
					got = append(got, len(req.Answers))
				}
				if !slices.Equal(got, tt.want) || len(p.slots) != 0 {
					t.Errorf("%v at once, want %v; %d are under way at the end", got, tt.want, len(p.slots))
				}
			})
		})
	}
}

// TestAnAnswerLooksForItsAdmin: five times for each that there is, every other time over a new connection. The next one that it comes to writes
// it down. A long one is not sent about.
func TestAnAnswerLooksForItsAdmin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ admins, size, apart int }{
		"one":                {1, 2, 0},
		"two":                {2, 2, 10},
		"three":              {3, 2, 15},
		"as long as it may":  {2, maxCarried, 10},
		"longer than it may": {2, maxCarried + 1, 0},
	} {
		s := &scripted{answer: func(_ *http.Request, req wire.PullRequest) (r wire.PullResponse, _ error) {
			if req.Apart {
				for _, answer := range req.Answers {
					r.Left = append(r.Left, answer.ID)
				}
			}
			return r, nil
		}}
		_, a := with(s.box(t), place{admins: tt.admins})
		a.client.Store(a.p.e.newAdmins(a.http.Load(), a.p.e.token.show))
		a.deliver(a.toSend(1, tt.size, time.Minute))
		asked := s.requests()
		if len(asked) != tt.apart+1 {
			t.Errorf("%s: %d requests, want %d", name, len(asked), tt.apart+1)
			continue
		}
		for i, req := range asked {
			if req.Apart != (i < tt.apart) || req.closed != i/2 {
				t.Errorf("%s: request %d is apart: %t, after %d connections", name, i, req.Apart, req.closed)
			}
		}
	}
}

// TestOnlyWhatWasLeftIsSentAgain.
func TestOnlyWhatWasLeftIsSentAgain(t *testing.T) {
	t.Parallel()
	s := &scripted{answer: func(_ *http.Request, req wire.PullRequest) (r wire.PullResponse, _ error) {
		for _, answer := range req.Answers[1:] { // each admin takes one
			r.Left = append(r.Left, answer.ID)
		}
		return r, nil
	}}
	_, a := with(s.box(t), place{admins: 2})
	a.deliver(a.toSend(4, 2, time.Minute))
	sent := ""
	for _, req := range s.requests() {
		for _, answer := range req.Answers {
			sent += answer.ID + " "
		}
		sent += "/ "
	}
	if want := "a.0 a.1 a.2 a.3 / a.1 a.2 a.3 / a.2 a.3 / a.3 / "; sent != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
}

// TestAnswersAreSentAsLongAsSomebodyWaits for one of them.
func TestAnswersAreSentAsLongAsSomebodyWaits(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]time.Duration{"in time for the last": 5 * time.Second, "too late": 11 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, took := time.Now(), 0
				s := &scripted{answer: func(_ *http.Request, req wire.PullRequest) (wire.PullResponse, error) {
					if time.Since(began) < back {
						return wire.PullResponse{}, io.ErrUnexpectedEOF
					}
					took += len(req.Answers)
					return wire.PullResponse{}, nil
				}}
				_, a := with(s.box(t), place{admins: 1})
				a.deliver(slices.Concat(a.toSend(1, 2, time.Second), a.toSend(1, 2, 10*time.Second), a.toSend(1, 2, 2*time.Second)))
				if want := 3 * min(1, int(10*time.Second/back)); took != want {
					t.Errorf("%d are taken, want %d", took, want)
				}
				if took == 0 && time.Since(began) != 10*time.Second {
					t.Errorf("it was tried for %s", time.Since(began))
				}
			})
		})
	}
}

// TestAnAnswerThatComesToAFrozenAdmin is sent to another after a second, over another connection, and it is known then that one is frozen. One that
// refuses is not, and one that is alone has longer. Whichever comes next writes the answer down.
func TestAnAnswerThatComesToAFrozenAdmin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		admins         int
		slow           time.Duration // of the first; it ends with an error, unless it is alone
		frozen         bool
		requests, gone int // connections
		took           time.Duration
	}{
		"frozen":          {2, time.Hour, true, 2, 1, answerLimit + answerAgain},
		"refuses":         {2, 0, false, 2, 0, answerAgain},
		"slow, and alone": {1, 3 * time.Second, false, 1, 0, 3 * time.Second},
		"refuses, alone":  {1, 0, false, 2, 0, answerAgain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := &scripted{answer: func(r *http.Request, _ wire.PullRequest) (wire.PullResponse, error) {
					if n++; n > 1 {
						return wire.PullResponse{}, nil
					}
					select {
					case <-time.After(tt.slow):
					case <-r.Context().Done():
					}
					if tt.requests == 1 && r.Context().Err() == nil {
						return wire.PullResponse{}, nil
					}
					return wire.PullResponse{}, io.ErrUnexpectedEOF
				}}
				p, a := with(s.box(t), place{admins: tt.admins})
				began := time.Now()
				a.deliver(a.toSend(1, 2, time.Minute))
				asked := s.requests()
				if took := time.Since(began); took != tt.took || len(asked) != tt.requests {
					t.Errorf("it took %s and %d requests, want %s and %d", took, len(asked), tt.took, tt.requests)
				}
				if last := asked[len(asked)-1]; last.Apart || last.closed != tt.gone || asked[0].Apart != (tt.admins > 1) {
					t.Errorf("the first is apart: %t, the last %t, after %d connections", asked[0].Apart, last.Apart, last.closed)
				}
				if at := &p.places[0]; at.troubled() != tt.frozen {
					t.Errorf("one is known to be frozen: %t", at.troubled())
				}
			})
		})
	}
}

// TestAnAnswerTellsOfBeginningsOnlyWhereItWasAskedForOne.
func TestAnAnswerTellsOfBeginningsOnlyWhereItWasAskedForOne(t *testing.T) {
	t.Parallel()
	for early, want := range map[bool]time.Duration{true: 750 * time.Millisecond, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{answer: func(*http.Request, wire.PullRequest) (wire.PullResponse, error) {
				return wire.PullResponse{Admins: 2, Admin: "a", Early: true}, nil
			}}
			p, a := with(s.box(t), place{admins: 2})
			m, _ := p.manner(a)
			m.early = early
			if _, err := a.once(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got := s.requests()[0].Early; got != early {
				t.Errorf("a beginning is asked for: %t", got)
			}
			if m, _ := p.manner(a); m.silence != want {
				t.Errorf("asked for one: %t: the next is waited for %s, want %s", early, m.silence, want)
			}
		})
	}
}

// TestWhenAnAdminAnsweredIsNotedNowAndThen, not with each answer.
func TestWhenAnAdminAnsweredIsNotedNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := with(boxed(t, nil, "http://admin"), place{})
		file := filepath.Join(p.e.config.DataDir, pulledFile)
		for i, again := range []bool{true, false, true} {
			p.note()
			if err := os.Remove(file); (err == nil) != again {
				t.Errorf("note %d is written: %v", i, fmt.Sprint(err))
			}
			time.Sleep(pulledEvery/2 + time.Duration(i)*pulledEvery/2)
		}
	})
}
