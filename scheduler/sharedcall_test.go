package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// inSharing runs a test with queues whose runs take so many bytes of a shared call, and whose calls take a second.
func inSharing(t *testing.T, size int, test func(*testing.T, *addressQueues, *sending)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(256, 64)
		s.size = size
		test(t, l, s)
		l.stop()
		l.wait()
		synctest.Wait()
	})
}

// addRuns queues runs of as many jobs, from an id on.
func (l *addressQueues) addRuns(from, n int64) {
	for id := from; id < from+n; id++ {
		l.add("a", run(id, id), unlimited)
	}
}

func (s *sending) wantCalls(t *testing.T, when string, want ...int) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.calls) // they are made at the same time
	slices.Sort(want)
	if !slices.Equal(s.calls, want) {
		t.Errorf("%s: calls of %v runs, want %v", when, s.calls, want)
	}
}

func TestAMomentsRunsShareFewCalls(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		s.takes["a"] = 10 * time.Millisecond
		l.addRuns(0, 1000)
		want := []int{1, 1, 1, 1, 100, 100, 100, 100, 100, 100, 100, 100, 100} // the last 96 are no call's worth
		s.wantCalls(t, "at once", want...)
		time.Sleep(10 * time.Millisecond)
		s.wantCalls(t, "when one has ended", slices.Concat(want, []int{96})...)
		time.Sleep(10 * time.Millisecond)
		l.addRuns(2000, 1)
		s.wantCalls(t, "one that comes alone", slices.Concat(want, []int{96, 1})...)
		if queued, inFlight := l.depth(); queued != 0 || inFlight != 1 {
			t.Errorf("%d queued and %d in flight", queued, inFlight)
		}
	})
}

// TestTheLastRunsOfAMomentGoWithTheOthers: they are due as well, and wait for no call of those to end.
func TestTheLastRunsOfAMomentGoWithTheOthers(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		s.takes["a"] = 10 * time.Millisecond
		l.together(func() { l.addRuns(0, 650) })
		want := []int{100, 100, 100, 100, 100, 100, 50}
		s.wantCalls(t, "at once", want...)
		l.together(func() { l.addRuns(1000, 60) }) // no call's worth, while there are calls to wait for
		l.remove(1059)
		s.wantCalls(t, "few more", want...)
		time.Sleep(10 * time.Millisecond)
		want = append(want, 59)
		s.wantCalls(t, "when those have ended", want...)
		l.together(func() { l.addRuns(2000, 3) })
		want = append(want, 3)
		s.wantCalls(t, "a few with nothing to wait for", want...)
		l.together(func() {
			l.addRuns(3000, 130)
			for id := int64(3100); id < 3130; id++ {
				l.remove(id)
			}
		})
		l.addRuns(4000, 1)
		s.wantCalls(t, "when its last ones are taken back", append(want, 100, 1)...)
	})
}

// TestAMomentsRunsFillTheirCalls, also where not a hundred fit: what is left of those that do not has no call of its own.
func TestAMomentsRunsFillTheirCalls(t *testing.T) {
	t.Parallel()
	inSharing(t, sharedBytes/93, func(t *testing.T, l *addressQueues, s *sending) {
		l.together(func() { l.addRuns(0, 500) })
		s.wantCalls(t, "at once", 93, 93, 93, 93, 93, 35)
	})
}

// TestRunsThatShareNoCallWaitForNoneOfTheirMoment: as those of XXL-JOB's executors.
func TestRunsThatShareNoCallWaitForNoneOfTheirMoment(t *testing.T) {
	t.Parallel()
	inSharing(t, 0, func(t *testing.T, l *addressQueues, s *sending) {
		l.together(func() {
			l.addRuns(0, 3)
			s.wantCalls(t, "while others are queued", 1, 1, 1)
		})
	})
}

// TestSharedCallsThatHangAreNotWaitedFor: an executor that hangs holds a bounded number of runs, and none waits for its calls longer than it takes to see that.
func TestSharedCallsThatHangAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		s.takes["a"] = time.Hour
		l.addRuns(0, 6)
		s.wantCalls(t, "at once", 1, 1, 1, 1)
		time.Sleep(sharedFor - time.Millisecond)
		s.wantCalls(t, "while they may end", 1, 1, 1, 1)
		time.Sleep(time.Millisecond)
		s.wantCalls(t, "when they hang", 1, 1, 1, 1, 2)
		l.addRuns(10, sharedRuns-6)
		time.Sleep(time.Minute)
		l.addRuns(5000, 1000)
		time.Sleep(time.Minute)
		if _, inFlight := l.depth(); inFlight != sharedRuns {
			t.Errorf("%d runs are in flight to an executor that hangs", inFlight)
		}
	})
}

// TestRunsThatTheirJobHoldsBackAreNoCallsWorth: nobody would share a call any more while they wait for those before them.
func TestRunsThatTheirJobHoldsBackAreNoCallsWorth(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		s.takes["a"] = time.Hour
		for id := range int64(64 + 2*wire.MaxRuns) {
			l.add("a", run(1000+id, 1), unlimited)
		}
		s.wantCalls(t, "as many of a job as it may have", 1, 1, 1, 1, 60)
		time.Sleep(sharedFor)
		s.wantCalls(t, "no more of it when they hang", 1, 1, 1, 1, 60)
		l.addRuns(10, sharedAhead)
		s.wantCalls(t, "those of others while few calls are under way", 1, 1, 1, 1, 60, 1, 1, 1, 1)
		l.addRuns(20, 5)
		s.wantCalls(t, "then they wait for each other", 1, 1, 1, 1, 60, 1, 1, 1, 1)
		if d := l.remove(24); d == nil {
			t.Error("one that waits is not found")
		}
		time.Sleep(sharedFor)
		s.wantCalls(t, "and share a call", 1, 1, 1, 1, 60, 1, 1, 1, 1, 4)
		l.clear()
		l.addRuns(30, 3+wire.MaxRuns)
		s.wantCalls(t, "a call's worth after all was dropped", 1, 1, 1, 1, 60, 1, 1, 1, 1, 4, 1, 1, 1, wire.MaxRuns)
	})
}

// A call that hung and then ended is one less once: others wait for as many as before.
func TestASharedCallThatHungCountsOnce(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		s.takes["a"] = time.Hour // it keeps the queue there
		l.addRuns(0, 1)
		time.Sleep(sharedFor)
		synctest.Wait()
		s.mu.Lock()
		s.takes["a"] = 2 * sharedFor
		s.mu.Unlock()
		l.addRuns(10, 3)
		time.Sleep(3 * sharedFor)
		l.addRuns(20, 10)
		s.wantCalls(t, "when three have hung and ended", 1, 1, 1, 1, 1, 1, 1, 1)
	})
}

// A run that has a call of its own waits for no shared one, and none waits for it.
func TestCallsOfTheirOwnAndSharedCallsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 100} {
		inSharing(t, first, func(t *testing.T, l *addressQueues, s *sending) {
			l.addRuns(0, 4)
			s.size = 100 - first
			l.addRuns(10, 1)
			s.wantCalls(t, "at once", 1, 1, 1, 1, 1)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(1, 64)
		l.share = func(d *dispatch) int { return 100 * int(d.id%2) }
		l.addRuns(1, 5) // and 1 is being sent
		l.wait()
		if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(s.order, want) || len(s.calls) != 5 {
			t.Errorf("sent %v in calls of %v", s.order, s.calls)
		}
	})
}

func TestASharedCallIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	inSharing(t, sharedBytes/3, func(t *testing.T, l *addressQueues, s *sending) {
		l.addRuns(0, 4+wire.MaxRuns)
		s.wantCalls(t, "at once", 1, 1, 1, 1, 3)
	})
	inSharing(t, sharedBytes/4, func(t *testing.T, l *addressQueues, s *sending) {
		l.addRuns(0, 4+wire.MaxRuns)
		s.wantCalls(t, "four that fill one", 1, 1, 1, 1, 4)
	})
	inSharing(t, 2*sharedBytes, func(t *testing.T, l *addressQueues, s *sending) {
		l.addRuns(0, 4+wire.MaxRuns)
		s.wantCalls(t, "runs that fill one", 1, 1, 1, 1, 1)
	})
}

// TestRunsOfTwoGroupsShareNoCall: they may have other tokens.
func TestRunsOfTwoGroupsShareNoCall(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		l.addRuns(0, 4)
		for id := range int64(6) {
			d := run(10+id, 10+id)
			d.job.group = id / 3
			l.add("a", d, unlimited)
		}
		time.Sleep(sharedFor)
		s.wantCalls(t, "when they may go", 1, 1, 1, 1, 3, 3)
	})
}

func TestAJobsBoundHoldsInSharedCalls(t *testing.T) {
	t.Parallel()
	inSharing(t, 100, func(t *testing.T, l *addressQueues, s *sending) {
		for id := range int64(300) {
			l.add("a", run(id, 1), unlimited)
		}
		s.wantCalls(t, "at once", 1, 1, 1, 1, 60)
		time.Sleep(time.Second)
		s.wantCalls(t, "when those have ended", 1, 1, 1, 1, 60, 1, 1, 1, 1, 60)
	})
}

// TestARunThatHasACallOfItsOwnSharesNone goes through what a run may be when its turn comes.
func TestARunThatHasACallOfItsOwnSharesNone(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	b.executors.takes = true
	plain := func() *dispatch {
		return &dispatch{id: 1, address: addressA, job: &job{id: 1, group: b.group, glue: wire.GlueBean}}
	}
	if b.engine.share(plain()) == 0 {
		t.Error("an ordinary run shares no call")
	}
	script := plain()
	script.job.glue, script.job.glueUpdated = wire.GlueShell, 5
	b.engine.sources.byJob[1] = source{updated: 5, text: "echo"}
	b.engine.sources.byJob[2] = source{updated: 5, text: "# punctual:env K=${{ secrets.KEY }}\necho"}
	if b.engine.share(script) == 0 {
		t.Error("a script that is known shares no call")
	}
	for what, change := range map[string]func(*dispatch){
		"no address yet":            func(d *dispatch) { d.address = "" },
		"it waits for a slot":       func(d *dispatch) { d.waiting = true },
		"taken over":                func(d *dispatch) { d.taken = true },
		"the run before is open":    func(d *dispatch) { d.recheck = true },
		"to be asked about":         func(d *dispatch) { d.unanswered = time.Now() },
		"sent before":               func(d *dispatch) { d.called = time.Now() },
		"a secret to be read":       func(d *dispatch) { d.param = "${{ secrets.KEY }}" },
		"a script that is not read": func(d *dispatch) { d.job.glue, d.job.glueUpdated = wire.GlueShell, 6 },
		"a secret in its script": func(d *dispatch) {
			d.job = &job{id: 2, group: b.group, glue: wire.GlueShell, glueUpdated: 5}
		},
		"a trial": func(d *dispatch) {
			d.job.glue, d.job.glueUpdated, d.trigger = wire.GlueShell, 5, jobspec.TriggerTrial
		},
	} {
		d := plain()
		if change(d); b.engine.share(d) != 0 {
			t.Errorf("%s: it shares a call", what)
		}
	}
	b.executors.takes = false
	if b.engine.share(plain()) != 0 {
		t.Error("an executor that takes none is given several")
	}
}

// TestWhatASharedCallComesToIsSaidOfEach: each of its runs is refused, put back or asked about for itself.
func TestWhatASharedCallComesToIsSaidOfEach(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.takes = true
		b.engine.queues.hangAfter = time.Hour // or how they share calls is a matter of the machine's speed
		held, open := b.latch()
		b.executors.call = func(ctx context.Context, _ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			switch req.ExecutorParams {
			case "holds":
				<-held
			case "refused":
				return wire.Answer{Code: wire.CodeFail, Msg: "no"}, nil
			case "unheard": // it has it, and the answer did not come
				b.executors.mu.Lock()
				b.executors.has[req.LogID] = addressA
				b.executors.mu.Unlock()
				return wire.Answer{}, &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("reset")}
			case "away":
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errors.New("connection refused")}
			}
			return yes, nil
		}
		add := func(param string) int64 {
			return b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = db.Text(param) })
		}
		for i := range sharedAhead { // each by itself: what is due together goes together
			b.trigger(add("holds"))
			b.await("as many are under way as others wait for", func() bool { _, n := b.engine.queues.depth(); return n == i+1 })
		}
		runs := make(map[string]int64)
		for _, param := range []string{"taken", "refused", "unheard", "away"} {
			runs[param] = b.trigger(add(param))
		}
		b.await("they wait for those", func() bool { n, _ := b.engine.queues.depth(); return n == len(runs) })
		open()
		b.await("they have gone", func() bool {
			for _, id := range runs {
				if b.run(id).TriggerCode == 0 {
					return false
				}
			}
			return true
		})
		b.executors.mu.Lock()
		calls := slices.Clone(b.executors.calls)
		b.executors.mu.Unlock()
		if slices.Max(calls) != len(runs) {
			t.Errorf("calls of %v runs", calls)
		}
		for param, want := range map[string]event.Key{"taken": event.Sent, "refused": event.Refused, "unheard": event.Known, "away": event.Unreachable} {
			r := b.run(runs[param])
			if ok := want == event.Sent || want == event.Known; (r.TriggerCode == wire.CodeSuccess) != ok {
				t.Errorf("%s: %d, %s", param, r.TriggerCode, r.TriggerMsg)
			}
			if !b.has(runs[param], want) {
				t.Errorf("%s: %v", param, b.events(runs[param]))
			}
		}
	})
}
