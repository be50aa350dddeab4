package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// TestMisbehavingExecutors has executors that answer in every wrong way beside a healthy one. Each of their runs must say
// what happened, and the healthy one must not feel them.
func TestMisbehavingExecutors(t *testing.T) {
	waits(t)
	nobody := "http://127.0.0.1:" + executortest.FreePort(t) + "/"
	hasIt := executortest.Say(`{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"logContent":"x","isEnd":false}}`)
	cases := []struct {
		name    string
		answer  executortest.Behaviour // to /run; nil: nobody listens
		log     executortest.Behaviour // to the question whether it has the run; nil: as answer
		outcome event.Outcome          // Open: it is sent
		want    string                 // in the run's message
	}{
		{"garbage", executortest.Say("<html>It works!</html>"), nil, event.Unconfirmed, "invalid character '<'"},
		{"nothing", executortest.Say(""), nil, event.Unconfirmed, "unexpected end of JSON"},
		{"half of a JSON", executortest.Say(`{"code":200`), nil, event.Unconfirmed, "unexpected end of JSON"},
		{"a huge answer", executortest.Say(`{"code":200,"msg":"` + strings.Repeat("x", 8<<20) + `"}`), nil, event.Unconfirmed, "answer is longer than"},
		{"bytes", executortest.Say(strings.Repeat("\x00\xff\x01junk", 300_000)), nil, event.Unconfirmed, "looking for beginning of value"},
		{"a code without sense", executortest.Say(`{"code":-99999999999,"msg":"what"}`), nil, event.NotSent, "result: -99999999999 what"},
		{"status 500", executortest.Status(500), nil, event.Unconfirmed, "HTTP status 500"},
		{"status 404", executortest.Status(404), nil, event.Unconfirmed, "HTTP status 404"},
		{"a refusal", executortest.Refuse("not today"), nil, event.NotSent, "result: 500 not today"},
		// On a busy machine it is too slow, and asked: either way the run is sent.
		{"slow", executortest.Slowly(700*time.Millisecond, executortest.Accept), hasIt, event.Open, "result: "},
		{"never", executortest.Never, nil, event.Unconfirmed, "may have the run"},
		{"never, but it has the run", executortest.Never, hasIt, event.Open, "has the run: log"},
		{"hangs up", executortest.Hangup, nil, event.Unconfirmed, "may have the run"},
		{"half of an answer", executortest.HalfAnswer, nil, event.Unconfirmed, "may have the run"},
		{"nobody", nil, nil, event.NotSent, "not sent: "},
	}
	const fires = 4
	l := newLoad(t, db.SQLite, 1, 40, fires)
	jobs := make(map[string]int64)
	l.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		for _, c := range cases {
			address := nobody
			if c.answer != nil {
				stub := executortest.NewStub(t)
				stub.Behave(c.answer)
				if c.log != nil {
					stub.BehaveAt("/log", c.log)
				}
				address = stub.URL
			}
			group, err := addGroup(ctx, pool, c.name, address)
			if err != nil {
				return err
			}
			for range 5 { // so many that they would fill a queue they shared with others
				id, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) {
					p.ScheduleConf, p.JobDesc = "1", c.name
					p.EndAt = l.begin.Add((fires - 1) * every).UnixMilli()
				})
				if err != nil {
					return err
				}
				if err := startJob(ctx, pool, id, l.begin); err != nil {
					return err
				}
				jobs[c.name] = id
			}
		}
		return nil
	})
	s := l.database.settings()
	s.env = []string{"PUNCTUAL_CALL_TIMEOUT=1s"}
	a := l.startCalm(t, s, func(*admin) {})
	l.at(t, fires)
	eventually(t, "outcome of every sending", func() error {
		if n := l.database.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 0"); n > 0 {
			return errNotYet
		}
		return nil
	})
	runs := l.database.runs(t)
	for _, c := range cases {
		seen := 0
		for _, r := range runs {
			if r.job != jobs[c.name] {
				continue
			}
			if seen++; seen == 1 {
				t.Logf("%s: %d %s", c.name, r.code, r.message[strings.LastIndex(r.message, "\n")+1:])
			}
			if sent := c.outcome == event.Open; (r.code == wire.CodeSuccess) != sent || !sent && r.outcome != c.outcome || !strings.Contains(r.message, c.want) {
				t.Errorf("%s: run %d has code %d and outcome %v, want %v and %q in %s", c.name, r.id, r.code, r.outcome, c.outcome, c.want, r.message)
			}
			if len(r.message) > 20_000 {
				t.Errorf("%s: the message has %d bytes", c.name, len(r.message))
			}
		}
		if seen != fires {
			t.Errorf("%s: %d runs, want %d", c.name, seen, fires)
		}
	}
	const want = 40 * fires
	l.receives(t, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) != want {
		t.Fatalf("the healthy executor received %d runs, want %d", len(l.late), want)
	}
	slices.Sort(l.late)
	p99 := l.late[len(l.late)*99/100]
	t.Logf("lateness of the healthy executor's runs: median %v, p99 %v, most %v", l.late[len(l.late)/2], p99, l.late[len(l.late)-1])
	// One call that never comes back takes 1 s, and then the question about it another, for 40 runs: whoever shares a queue with these
	// waits for many of them. TestGarbageHoldsUpNobodyElse says it without a clock; here a machine that does much else must pass.
	if p99 > 10*time.Second {
		t.Errorf("p99 is %v: they were kept waiting by others", p99)
	}
	a.noPanic(t)
}
