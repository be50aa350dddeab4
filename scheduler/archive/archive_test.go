package archive

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

var errDown = errors.New("connection refused")

// host is an executor as the service reads it, of one of the eras.
type host struct {
	mu    sync.Mutex
	lines map[int64][]string
	over  map[int64]bool // its IsEnd says so, as ours does
	pages int            // lines that it answers at a time; 100
	zero  bool           // it answers line 0 when there is nothing new, as XXL-JOB 3 does
	down  bool
	calls int
	each  func() // is called with every call; may be nil
}

func (h *host) use(ctx context.Context, r Run, from int, use func(wire.LogResult)) error {
	log, err := h.read(ctx, r, from)
	if err == nil {
		use(log)
	}
	return err
}

func (h *host) read(_ context.Context, r Run, from int) (wire.LogResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if h.each != nil {
		h.each()
	}
	if h.down {
		return wire.LogResult{}, errDown
	}
	lines, ok := h.lines[r.ID]
	if !ok {
		return wire.LogResult{FromLineNum: from, LogContent: wire.LogMissing, IsEnd: true}, nil
	}
	if from > len(lines) {
		to := from - 1
		if h.zero {
			to = 0
		}
		return wire.LogResult{FromLineNum: from, ToLineNum: to, IsEnd: h.over[r.ID]}, nil
	}
	page := lines[from-1 : min(len(lines), from-1+cmp.Or(h.pages, 100))]
	to := from - 1 + len(page)
	return wire.LogResult{FromLineNum: from, ToLineNum: to, LogContent: strings.Join(page, "\n") + "\n", IsEnd: h.over[r.ID] && to == len(lines)}, nil
}

// memory is a store that a test can look into and break.
type memory struct {
	objects map[string][]byte
	down    error
	held    map[string]bool // objects that it does not let be deleted
	puts    int
	gets    atomic.Int64
}

func (m *memory) Name() string { return "memory" }

func (m *memory) Put(_ context.Context, o Object, data []byte) error {
	if m.down != nil {
		return m.down
	}
	m.puts++
	m.objects[o.Name] = bytes.Clone(data)
	return nil
}

func (m *memory) Get(_ context.Context, o Object, pos, size int64) ([]byte, error) {
	m.gets.Add(1)
	data, ok := m.objects[o.Name]
	switch {
	case m.down != nil:
		return nil, m.down
	case !ok:
		return nil, ErrNoObject
	case int64(len(data)) < pos+size:
		return nil, errShort
	}
	return data[pos : pos+size], nil
}

func (m *memory) Delete(_ context.Context, o Object) error {
	if m.held[o.Name] || m.held["all"] {
		return fmt.Errorf("%w: it is locked", ErrHeld)
	}
	delete(m.objects, o.Name)
	return m.down
}

func (m *memory) Check(ctx context.Context) error { return check(ctx, m, Object{Name: "check"}) }

// bench is one admin's service, whose steps are taken by hand.
type bench struct {
	t     *testing.T
	pool  *db.Pool
	s     *Service
	host  *host
	store *memory
	now   time.Time
	node  int64
	alive []int64
	limit Limits

	frozen bool // the store does not answer
}

func newBench(t *testing.T, pool *db.Pool, options ...func(*Config)) *bench {
	b := &bench{t: t, pool: pool, now: noon, node: 1, alive: []int64{1}, limit: Limits{Keep: jobspec.KeepAll, RunBytes: 16 << 10, MaxUncopy: 1000},
		host: &host{lines: make(map[int64][]string), over: make(map[int64]bool)}, store: &memory{objects: make(map[string][]byte)}}
	b.s = b.service(options...)
	return b
}

// open are the runs that have no result, as a sweep finds them.
func (b *bench) open() (ids []int64) {
	b.t.Helper()
	rows, err := db.New().ListOpenRuns(b.t.Context(), b.pool, db.ListOpenRunsParams{Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// service is another start of an admin on the same database.
func (b *bench) service(options ...func(*Config)) *Service {
	b.t.Helper()
	cfg := Config{
		Pool: b.pool, Logger: slog.New(slog.DiscardHandler), Store: b.store, Read: b.host.use, Limits: func() Limits { return b.limit },
		Now: func() time.Time { return b.now }, Node: func() int64 { return b.node }, Alive: func() []int64 { return b.alive },
		Mine: func() func(int64) bool { return func(int64) bool { return true } }, Open: b.open,
	}
	for _, o := range options {
		o(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// run inserts a run that was sent when the test began.
func (b *bench) run(lines ...string) Run {
	b.t.Helper()
	id, err := db.InsertRuns(b.t.Context(), b.pool, []db.NewRun{{JobGroup: 1, JobID: 7, Address: "http://a:1/", TriggerTime: b.pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), TriggerCode: 200}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec("UPDATE xxl_job_log SET sent_at = ? WHERE id = ?", b.now.UnixMilli(), id)
	if lines != nil {
		b.host.lines[id] = lines
	}
	return Run{ID: id, Group: 1, Job: 7, Address: "http://a:1/", LogDate: b.now.UnixMilli()}
}

func (b *bench) exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), query, args...); err != nil {
		b.t.Fatal(err)
	}
}

// ends ends a run as the engine does.
func (b *bench) ends(runs ...Run) []Ended {
	b.t.Helper()
	var ended []Ended
	for _, r := range runs {
		b.exec("UPDATE xxl_job_log SET handle_code = 500, outcome = 2, finished_at = ? WHERE id = ?", b.now.UnixMilli(), r.ID)
		ended = append(ended, Ended{Run: r, At: b.now.UnixMilli()})
	}
	if err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error { return b.s.Note(b.t.Context(), tx, ended) }); err != nil {
		b.t.Fatal(err)
	}
	return ended
}

// step does once what the goroutines of a service do.
func (b *bench) step(s *Service) {
	b.t.Helper()
	ctx := b.t.Context()
	if err := s.look(ctx); err != nil && !errors.Is(err, b.store.down) && !(b.frozen && errors.Is(err, context.DeadlineExceeded)) {
		b.t.Fatal(err)
	}
	for len(s.queue) > 0 {
		s.copyEnded(ctx, <-s.queue)
	}
	b.write(s)
	if err := s.flushNotes(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) write(s *Service) {
	var batch []copied
	for len(s.copies) > 0 {
		c := <-s.copies
		s.held.Add(-int64(c.excerpt.Size()))
		batch = append(batch, c)
	}
	if len(batch) > 0 {
		s.write(b.t.Context(), batch)
	}
}

// text is what the copy of a run says, with a line for what is missing.
func (b *bench) text(s *Service, run int64) string {
	b.t.Helper()
	c, err := s.Read(b.t.Context(), run)
	if err != nil {
		b.t.Fatal(err)
	}
	if c == nil {
		return "none"
	}
	var all []string
	for line := 1; ; {
		lines, first, gap := c.From(line, 3)
		if gap > 0 {
			all = append(all, fmt.Sprintf("(%d)", gap))
		}
		if len(lines) == 0 {
			return strings.Join(all, "\n")
		}
		for _, l := range lines {
			all = append(all, string(l))
		}
		line = first + len(lines)
	}
}

func (b *bench) row(run int64) db.Output {
	b.t.Helper()
	row, err := db.New().GetOutput(b.t.Context(), b.pool, run)
	if err != nil {
		b.t.Fatal(db.Error(err))
	}
	return row
}

// state is that of the row of a run; 0 where there is none.
func (b *bench) state(run int64) int64 {
	b.t.Helper()
	row, err := db.New().GetOutput(b.t.Context(), b.pool, run)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		b.t.Fatal(err)
	}
	return row.State
}

func (b *bench) count(query string, args ...any) (n int) {
	b.t.Helper()
	if err := b.pool.QueryRowContext(b.t.Context(), query, args...).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of a run", i+1)
	}
	return lines
}

// Executors of every era say in their own way that there is no more.
func TestTheOutputOfARunThatEndedIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		ours, old, newer := b.run(numbered(250)...), b.run("one", "two"), b.run("ERROR in it", "java.lang.IllegalStateException: x", "well")
		quiet := b.run([]string{}...)
		b.host.lines[quiet.ID] = nil
		b.host.over[ours.ID] = true
		b.s.Offer(b.ends(ours, old, quiet))
		b.step(b.s)
		b.host.zero = true
		b.s.Offer(b.ends(newer))
		b.step(b.s)
		b.host.down = true
		if got := b.text(b.s, ours.ID); got != strings.Join(numbered(250), "\n") {
			t.Errorf("of an executor of ours is kept:\n%s", got)
		}
		if got := b.text(b.s, old.ID); got != "one\ntwo" {
			t.Errorf("of an old executor is kept %q", got)
		}
		if row := b.row(newer.ID); row.State != db.OutputWhole || row.Faults != 2 || row.KeptAt != noon.UnixMilli() {
			t.Errorf("the row says %+v", row)
		}
		if got := b.text(b.s, quiet.ID); got != "none" {
			t.Errorf("of a run that wrote nothing is kept %q", got)
		}
		if b.store.puts != 2 {
			t.Errorf("%d writes to the store; three runs that ended together make one object", b.store.puts)
		}
		if b.step(b.s); b.store.puts != 2 {
			t.Error("what was copied is copied again")
		}
	})
}

// TestAnOutputWithoutEndKeepsNoOtherFromBeingCopied: its executor says with each line, which takes it a second, that there is more.
func TestAnOutputWithoutEndKeepsNoOtherFromBeingCopied(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		endless, other := b.run("1"), b.run("one", "two")
		b.host.each = func() {
			b.now = b.now.Add(time.Second)
			if b.host.calls > 10_000 {
				t.Fatal("it is asked for ever")
			}
			if lines := b.host.lines[endless.ID]; len(lines) > 0 {
				b.host.lines[endless.ID] = append(lines, "and on")
			}
		}
		b.host.pages = 1
		b.s.Offer(b.ends(endless))
		b.step(b.s)
		if row := b.row(endless.ID); row.State != db.OutputDue || b.text(b.s, endless.ID) != "" {
			t.Errorf("the row says %+v", row)
		}
		other.Address = "http://b:1/"
		b.host.lines[endless.ID], b.host.pages = nil, 0
		b.s.Offer(b.ends(other))
		if b.step(b.s); b.text(b.s, other.ID) != "one\ntwo" {
			t.Errorf("of the other is kept %q", b.text(b.s, other.ID))
		}
	})
}

// What is not in memory any more is found in the rows: after a crash, and where the queue was full. Two do not copy the same.
func TestWhatWasNotCopiedIsFoundAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		first, second := b.run("a"), b.run("b")
		b.ends(first, second) // and the admin is killed
		b.node, b.alive, b.now = 2, []int64{2, 3}, noon.Add(2*soon)
		after := b.service()
		b.step(after) // takes them over
		b.now = b.now.Add(time.Second)
		b.step(after)
		if got := b.text(after, first.ID) + b.text(after, second.ID); got != "ab" {
			t.Errorf("kept are %q", got)
		}
		third := b.run("c")
		ended := b.ends(third)
		after.Offer(ended)
		b.node = 3
		other := b.service()
		b.exec("UPDATE punctual_output_ended SET node = 3") // it is held for dead
		b.now = b.now.Add(2 * soon)
		b.step(other)
		b.node = 2
		puts := b.store.puts
		for len(after.queue) > 0 {
			after.copyEnded(t.Context(), <-after.queue)
		}
		b.write(after)
		if n := b.count("SELECT live FROM punctual_output_object ORDER BY id DESC LIMIT 1"); n != 0 || b.store.puts != puts+1 {
			t.Errorf("the copy of an admin that came too late counts %d", n)
		}
		if got := b.text(other, third.ID); got != "c" {
			t.Errorf("kept is %q", got)
		}
	})
}

func TestALongRunIsCopiedWhileItGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.limit.Keep = jobspec.KeepFailed
		r, brief := b.run(numbered(3)...), b.run("brief")
		follow := func() {
			t.Helper()
			if err := b.s.followOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.write(b.s)
		}
		b.now = noon.Add(19 * time.Second)
		if follow(); b.text(b.s, r.ID) != "none" {
			t.Error("a run of 19 s is followed already")
		}
		b.exec("UPDATE xxl_job_log SET handle_code = 200, outcome = 1 WHERE id = ?", brief.ID)
		b.now = noon.Add(30 * time.Second)
		follow()
		if got := b.text(b.s, r.ID); got != strings.Join(numbered(3), "\n") || b.row(r.ID).State != db.OutputLive {
			t.Errorf("after 30 s is kept %q", got)
		}
		puts := b.store.puts
		if follow(); b.store.puts != puts {
			t.Error("nothing new was written again")
		}
		b.host.lines[r.ID] = numbered(5)
		follow()
		b.s.following.drop() // another admin goes on from what is kept
		b.host.lines[r.ID] = numbered(6)
		follow()
		if got := b.text(b.s, r.ID); got != strings.Join(numbered(6), "\n") {
			t.Errorf("kept is %q", got)
		}
		// Its executor is killed, and so the run ends.
		b.host.down = true
		b.s.Offer(b.ends(r))
		b.step(b.s)
		if got := b.text(b.s, r.ID); got != strings.Join(numbered(6), "\n") {
			t.Errorf("while the executor is asked again is kept %q", got)
		}
		b.now = b.now.Add(b.s.cfg.GiveUp + time.Minute)
		b.step(b.s)
		b.step(b.s)
		if row := b.row(r.ID); row.State != db.OutputPart || row.Reason != ReasonExecutor {
			t.Errorf("the row says %+v", row)
		}
		if got := b.text(b.s, r.ID); got != strings.Join(numbered(6), "\n") {
			t.Errorf("kept is %q", got)
		}
		// Of one that succeeds nothing is wanted.
		b.host.down = false
		b.s.answered(r.executor())
		good := b.run(numbered(3)...)
		b.now = b.now.Add(time.Minute)
		follow()
		b.exec("UPDATE xxl_job_log SET handle_code = 200, outcome = 1, finished_at = ? WHERE id = ?", b.now.UnixMilli(), good.ID)
		b.now = b.now.Add(2 * time.Minute)
		if b.step(b.s); b.text(b.s, good.ID) != "none" {
			t.Error("what was copied of a run that succeeded stays")
		}
		b.now = b.now.Add(b.s.cfg.DraftAge + time.Minute)
		b.step(b.s)
		if len(b.store.objects) != 1 {
			t.Errorf("%d objects are left, of one output", len(b.store.objects))
		}
	})
}

// TestAnExecutorRestsInItsGroup: another group's executor of the same name, which fetches its calls, is another one. One that is called is the
// same for all groups.
// TestALateCopyOfARunThatGoesOnTakesNothingAway: an admin stands still before it writes what it has read, and another follows the run meanwhile.
func TestALateCopyOfARunThatGoesOnTakesNothingAway(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		r := b.run(numbered(3)...)
		b.now = noon.Add(30 * time.Second)
		for n := range 2 { // before the other has written anything, and after
			other := b.service()
			b.host.lines[r.ID] = numbered(10*n + 4)
			if err := b.s.followOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.host.lines[r.ID] = numbered(10*n + 6)
			if err := other.followOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.write(other)
			b.write(b.s)
			if got := b.text(b.s, r.ID); got != strings.Join(numbered(10*n+6), "\n") {
				t.Errorf("kept is %q", got)
			}
			if n := b.count("SELECT SUM(live) FROM punctual_output_object"); n != 1 {
				t.Errorf("objects count %d copies of one run", n)
			}
		}
	})
}

func TestAnExecutorRestsInItsGroup(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		for address, both := range map[string]bool{"pull://worker-1": false, "http://10.0.0.1:9999/": true} {
			one, other := Run{Group: 1, Address: address}, Run{Group: 2, Address: address}
			b.s.refused(one.executor(), b.now)
			if rests := !b.s.restsUntil(other.executor(), b.now).IsZero(); b.s.restsUntil(one.executor(), b.now).IsZero() || rests != both {
				t.Errorf("%s: in the other group it rests: %v", address, rests)
			}
		}
	})
}

func TestTheStatusTellsWhatIsKeptAndWhatIsNot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.limit.RunBytes = 1000
		long, missing := b.run(numbered(100)...), b.run()
		b.s.Offer(b.ends(long, missing))
		b.step(b.s)
		b.now = b.now.Add(2 * time.Second)
		b.step(b.s)
		st := b.s.Status()
		if want := float64(len(strings.Join(numbered(100), "\n"))+1) / 2; st.Rate != want || st.Cut != 1 || st.Lost != 1 || st.LeftOut != 0 {
			t.Errorf("the status is %+v, the rate should be %v", st, want)
		}
		for range 12 {
			b.now = b.now.Add(time.Second)
			b.step(b.s)
		}
		if st := b.s.Status(); st.Rate != 0 || st.Cut != 1 {
			t.Errorf("some seconds later the status is %+v", st)
		}
	})
}

func TestAStoreThatTakesNothingIsSaid(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.store.down = errors.New("no space left on device")
		r := b.run("a")
		b.s.Offer(b.ends(r))
		b.step(b.s)
		if st := b.s.Status(); st.Trouble != "no space left on device" {
			t.Errorf("the status is %+v", st)
		}
		b.now = b.now.Add(time.Hour)
		b.step(b.s)
		if st := b.s.Status(); st.For != time.Hour || st.Waiting != 1 {
			t.Errorf("the status is %+v", st)
		}
		b.store.down = nil
		b.now = b.now.Add(2 * maxRest)
		b.step(b.s)
		if st := b.s.Status(); st.Trouble != "" || b.text(b.s, r.ID) != "a" {
			t.Errorf("after that the status is %+v", st)
		}
		b.store.down = errors.New("gone")
		if b.s.check(t.Context()); b.s.Status().Trouble != "gone" {
			t.Errorf("a store that is looked at without a run: %+v", b.s.Status())
		}
		b.store.down = nil
		if b.s.check(t.Context()); b.s.Status().Trouble != "" {
			t.Errorf("a store that is back: %+v", b.s.Status())
		}
		b.limit.MaxUncopy = 1
		b.s.waiting.Store(1)
		if !b.s.Full(3) || b.s.Status().LeftOut != 3 {
			t.Error("too many that wait are not left out, or not counted")
		}
	})
}

// TestAnExecutorThatIsAskedLateHasItsTime: outputs wait for a store longer than an executor is asked for, and when the store is back
// their executor is just starting anew.
func TestAnExecutorThatIsAskedLateHasItsTime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.host.down = true // for a moment
		b.s.Offer(b.ends(b.run("before")))
		b.step(b.s)
		b.host.down = false
		b.store.down = errors.New("no space left on device")
		var runs []Run
		for range 3 {
			runs = append(runs, b.run("a"))
		}
		b.s.Offer(b.ends(runs...))
		for range 60 {
			b.step(b.s)
			b.now = b.now.Add(maxRest + time.Second)
		}
		b.store.down = nil
		b.s.check(t.Context())
		b.host.down = true
		b.step(b.s)
		if st := b.s.Status(); st.Lost != 0 || b.host.calls < 3 {
			t.Fatalf("%d outputs are lost after %d calls", st.Lost, b.host.calls)
		}
		b.host.down = false
		b.now = b.now.Add(2 * maxRest)
		b.step(b.s)
		for _, r := range runs {
			if got := b.text(b.s, r.ID); got != "a" {
				t.Errorf("kept of run %d is %q", r.ID, got)
			}
		}
		if st := b.s.Status(); st.Lost != 0 {
			t.Errorf("%d outputs are lost", st.Lost)
		}
	})
}

// TestAnExecutorThatDoesNotAnswerIsGivenUp, for all of its runs or for one of which it has nothing to say.
func TestAnExecutorThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, never := range map[string]bool{"at all": true, "of one run": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				var silent int64
				b := newBench(t, pool, func(c *Config) {
					read := c.Read
					c.Read = func(ctx context.Context, r Run, from int, use func(wire.LogResult)) error {
						if never || r.ID == silent {
							return errDown
						}
						return read(ctx, r, from, use)
					}
				})
				r := b.run("a")
				silent = r.ID
				b.s.Offer(b.ends(r))
				began := b.now
				for b.state(r.ID) != db.OutputLost {
					if passed := b.now.Sub(began); passed > b.s.cfg.GiveUp+3*maxRest {
						t.Fatalf("it is asked for since %s", passed)
					}
					b.step(b.s)
					b.s.Offer(b.ends(b.run("b")))
					b.now = b.now.Add(maxRest / 2)
				}
				if passed := b.now.Sub(began); passed < b.s.cfg.GiveUp-maxRest {
					t.Errorf("it is given up after %s", passed)
				}
				if row := b.row(r.ID); row.Reason != ReasonExecutor {
					t.Errorf("it is lost because of %q", row.Reason)
				}
				b.now = b.now.Add(b.s.cfg.GiveUp + 2*maxRest)
				if b.step(b.s); len(b.s.refusals) > 0 && !never {
					t.Errorf("%d runs are remembered that nobody asks for", len(b.s.refusals))
				}
			})
		})
	}
}

func TestAnExecutorWithoutTheOutputIsSaid(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		r := b.run()
		b.s.Offer(b.ends(r))
		b.step(b.s)
		if row := b.row(r.ID); row.State != db.OutputLost || row.Reason != ReasonMissing {
			t.Errorf("the row says %+v", row)
		}
	})
}

func TestCopiesGoWithTheirRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		var runs []Run
		for i := range 6 {
			runs = append(runs, b.run(fmt.Sprintf("run %d", i)))
		}
		b.s.Offer(b.ends(runs...))
		b.step(b.s)
		forget := func(gone ...Run) {
			t.Helper()
			for _, r := range gone {
				b.exec("DELETE FROM xxl_job_log WHERE id = ?", r.ID)
				if err := b.s.forget(t.Context(), []int64{r.ID}); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // one round finds what is thin, and the next what is empty
				b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
				b.step(b.s)
			}
		}
		before := slices.Collect(maps.Keys(b.store.objects))
		forget(runs[0])
		if now := slices.Collect(maps.Keys(b.store.objects)); !slices.Equal(now, before) {
			t.Error("an object was moved for one of six")
		}
		forget(runs[1:4]...)
		if now := slices.Collect(maps.Keys(b.store.objects)); len(now) != 1 || slices.Equal(now, before) {
			t.Errorf("what was left in %v is in %v", before, now)
		}
		if got := b.text(b.s, runs[4].ID) + b.text(b.s, runs[5].ID); got != "run 4run 5" {
			t.Errorf("what was moved is %q", got)
		}
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", runs[4].ID) // by an XXL-JOB admin
		forget(runs[5])
		b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
		b.step(b.s)
		if n := b.count("SELECT COUNT(*) FROM punctual_output"); n != 0 || len(b.store.objects) != 0 {
			t.Errorf("%d rows and %d objects are left", n, len(b.store.objects))
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object"); n != 0 {
			t.Errorf("%d rows of objects are left", n)
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_filter"); n != 0 {
			t.Errorf("%d filters are left", n)
		}
	})
}

// Nothing is left in a store by an admin that ends between writing and noting it.
func TestAnObjectThatNobodyNotedIsDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		o, err := b.s.newObject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Put(t.Context(), o, []byte("x")); err != nil {
			t.Fatal(err)
		}
		b.step(b.s)
		if len(b.store.objects) != 1 {
			t.Error("an object that is being made was deleted")
		}
		b.now = noon.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
		if b.step(b.s); len(b.store.objects) != 0 {
			t.Error("it is left")
		}
	})
}

func TestCopiesAreSealed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		key, err := seal.New(bytes.Repeat([]byte{7}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, pool, func(c *Config) { c.Seal = key })
		const secret = "what nobody may read in the store"
		first, second := b.run(secret), b.run("other")
		b.s.Offer(b.ends(first, second))
		b.step(b.s)
		for _, data := range b.store.objects {
			if data[0] != blockSealed || bytes.Contains(data, []byte("nobody")) {
				t.Errorf("the store has %q", data)
			}
		}
		if got := b.text(b.s, first.ID); got != secret {
			t.Errorf("the copy says %q", got)
		}
		if _, err := b.service().Read(t.Context(), first.ID); !errors.Is(err, errNoKey) {
			t.Errorf("without the key: %v", err)
		}
	})
}

func TestAnExcerptKeepsBothEnds(t *testing.T) {
	t.Parallel()
	x := &excerpt{Budget: 4000}
	long := strings.Repeat("好", 2000)
	for i := range 10_000 {
		line := fmt.Sprintf("line %d", i+1)
		if i == 5 || i == 9_990 {
			line = long
		}
		x.Add([]byte(line))
	}
	text := string(x.Text())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch {
	case len(text) > 4000 || len(text) < 3000:
		t.Errorf("%d bytes are kept", len(text))
	case lines[0] != "line 1" || lines[len(lines)-1] != "line 10000":
		t.Errorf("kept are %q to %q", lines[0], lines[len(lines)-1])
	case x.HeadLines+x.TailLines != len(lines) || x.HeadLines+x.TailLines+x.Left() != 10_000:
		t.Errorf("%d and %d lines of %d, and %d are missing", x.HeadLines, x.TailLines, len(lines), x.Left())
	case !strings.HasSuffix(lines[5], "好… (line cut)"):
		t.Errorf("a long line became %q", lines[5])
	}
	var row db.Output
	describe(x, &row)
	again := excerptOf(&row, x.Text(), 4000)
	again.Add([]byte("more"))
	if again.Lines != 10_001 || again.Left() < x.Left() || !strings.HasSuffix(string(again.Text()), "line 10000\nmore\n") {
		t.Errorf("gone on with it has %d lines, %d are missing", again.Lines, again.Left())
	}
	whole := &excerpt{Budget: 4000}
	for range 40 {
		whole.Add([]byte(strings.Repeat("x", 90)))
	}
	if whole.Left() != 0 || whole.HeadLines == 40 {
		t.Errorf("of what fits %d lines are missing", whole.Left())
	}
}

// The same for every store. TEST_S3 names a bucket at another server, as s3://KEY:SECRET@HOST:PORT/BUCKET?plain=true.
func TestStores(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, s Store) {
		t.Helper()
		ctx := t.Context()
		if err := s.Check(ctx); err != nil {
			t.Fatal(err)
		}
		big := bytes.Repeat([]byte("0123456789"), 160_000) // more than a row of the database takes
		o := Object{ID: 5, Name: "2026/03/02/ABC"}
		for _, data := range [][]byte{[]byte("what was there before"), big} {
			if err := s.Put(ctx, o, data); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range [][2]int64{{0, 10}, {0, 1_600_000}, {524_283, 20}, {1_599_999, 1}} {
			got, err := s.Get(ctx, o, at[0], at[1])
			if err != nil || !bytes.Equal(got, big[at[0]:at[0]+at[1]]) {
				t.Errorf("%d bytes at %d: %d, %v", at[1], at[0], len(got), err)
			}
		}
		if _, err := s.Get(ctx, o, 1_599_999, 5); err == nil {
			t.Error("more than there is was read")
		}
		if err := errors.Join(s.Delete(ctx, o), s.Delete(ctx, o)); err != nil {
			t.Errorf("delete twice: %v", err)
		}
		if _, err := s.Get(ctx, o, 0, 1); !errors.Is(err, ErrNoObject) {
			t.Errorf("what is gone: %v", err)
		}
	}
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		dbtest.Run(t, func(t *testing.T, pool *db.Pool) { try(t, NewDatabase(pool)) })
	})
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f, err := OpenFolder(dir + "/outputs")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		try(t, f)
		if left, err := os.ReadDir(dir + "/outputs"); err != nil || len(left) != 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		findsTheSameWithoutFilters(t, dbtest.New(t, db.SQLite), f)
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		place, _ := s3Server(t)
		p, err := ParsePlace(place)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		try(t, s)
		findsTheSameWithoutFilters(t, dbtest.New(t, db.SQLite), s)
	})
}

func TestPlacesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "database", "database": "database", "/var/outputs": "folder", "file:///var/outputs": "folder", "off": "off",
		"s3://k:s%2Fx@host:9000/bucket/some/where?plain=true&region=eu": "s3", "s3://host/bucket": "s3",
		"outputs": "error", "s3://k:geheim@host": "error", "s3://geheim@host/bucket": "error", "s3://k:geheim@host/bucket?what=1": "error", "s3://k:geheim/@host/b%zz": "error",
	} {
		p, err := ParsePlace(text)
		got := "database"
		switch {
		case err != nil:
			got = "error"
		case p.off:
			got = "off"
		case p.folder == "/var/outputs":
			got = "folder"
		case p.s3 != nil:
			got = "s3"
		}
		if got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error tells the secret: %v", err)
		}
		if p.s3 != nil && p.s3.Key != "" && (p.s3.Secret != "s/x" || p.s3.Prefix != "some/where" || p.s3.Region != "eu" || !p.s3.Plain) {
			t.Errorf("%q is %+v", text, p.s3)
		}
	}
}
