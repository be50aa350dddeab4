//go:build unix

package archive

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAFrozenS3ServerLosesNothing has it stand still for an hour while runs end that write much. What they wrote waits with their executors: little
// of it is in memory, it is said what the trouble is, and all of it is copied when the server goes on.
func TestAFrozenS3ServerLosesNothing(t *testing.T) {
	t.Parallel()
	place, process := s3Server(t)
	if process == nil {
		t.Skip("the server that TEST_S3 names is not ours to freeze")
	}
	p, err := ParsePlace(place)
	if err != nil {
		t.Fatal(err)
	}
	pool := dbtest.New(t, db.SQLite)
	store, err := p.Open(pool)
	if err != nil {
		t.Fatal(err)
	}
	store.(*S3).limit = time.Second
	b := newBench(t, pool, func(c *Config) { c.Store = store })
	before := b.run("before")
	b.s.Offer(b.ends(before))
	b.step(b.s)
	if got := b.text(b.s, before.ID); got != "before" {
		t.Fatalf("before that: %q", got)
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Signal(syscall.SIGCONT) })
	// On a busy machine it may do some work before the signal comes to it.
	if _, err := syscall.Wait4(process.Pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	b.frozen = true
	var runs []Run
	for range 4 { // a quarter of an hour each
		var ended []Run
		for n := range 25 {
			ended = append(ended, b.run(strings.Repeat(fmt.Sprintf("line of run %d ", n), 20)))
		}
		runs = append(runs, ended...)
		passed := executortest.Watch()
		b.s.Offer(b.ends(ended...))
		b.step(b.s)
		if took := passed(); took > 20*time.Second {
			t.Errorf("a look waited %s for the server", took)
		}
		if st := b.s.Status(); st.Trouble == "" || st.Lost != 0 || b.s.held.Load() != 0 {
			t.Errorf("%+v, %d bytes are held", st, b.s.held.Load())
		}
		b.now = b.now.Add(15 * time.Minute)
	}
	if st := b.s.Status(); st.For != time.Hour {
		t.Errorf("the trouble is said to last %s", st.For)
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.frozen = false
	for range 3 {
		b.now = b.now.Add(2 * maxRest)
		b.step(b.s)
	}
	for n, r := range runs {
		if got := b.text(b.s, r.ID); !strings.HasPrefix(got, fmt.Sprintf("line of run %d ", n%25)) {
			t.Errorf("run %d: %q", r.ID, got)
		}
	}
	if st := b.s.Status(); st.Trouble != "" || st.Lost != 0 || st.Waiting != 0 {
		t.Errorf("after that: %+v", st)
	}
}
