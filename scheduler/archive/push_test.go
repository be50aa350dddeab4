package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// pushes has a service take what a run wrote.
func (b *bench) pushes(s *Service, r Run, lines ...string) {
	b.t.Helper()
	out := wire.PushedOutput{LogID: r.ID, Head: strings.Join(lines, "\n") + "\n"}
	if err := s.Take([]Pushed{{Run: r, Output: out}}); err != nil {
		b.t.Fatal(err)
	}
}

// The admin that is pushed an output need not be the one that takes the result, and either may come first. The executor is not asked,
// and may be gone.
func TestAPushedOutputIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.host.down = true
		other := b.service(func(c *Config) { c.Node = func() int64 { return 2 } })
		before, after, elsewhere, twice := b.run(), b.run(), b.run(), b.run()

		b.pushes(b.s, before, "before", "ERROR of it")
		b.write(b.s)
		if row := b.row(before.ID); row.State != db.OutputLive {
			t.Errorf("before the result its row says %+v", row)
		}
		ended := b.ends(before)
		ended[0].Pushed = true
		b.s.Offer(ended)

		ended = b.ends(after)
		ended[0].Pushed = true
		b.s.Offer(ended)
		b.pushes(b.s, after, "after")
		b.write(b.s)

		b.ends(elsewhere)
		b.pushes(other, elsewhere, "elsewhere")
		b.write(other)

		b.pushes(b.s, twice, "twice")
		b.pushes(b.s, twice, "twice")
		b.write(b.s)
		b.pushes(other, twice, "twice, and later")
		b.ends(twice)
		b.write(other)
		b.pushes(other, twice, "after all")
		b.write(other)

		for range 3 {
			b.now = b.now.Add(2 * soon)
			b.step(b.s)
			b.step(other)
		}
		for r, want := range map[Run]string{before: "before\nERROR of it", after: "after", elsewhere: "elsewhere", twice: "twice"} {
			if got, row := b.text(b.s, r.ID), b.row(r.ID); got != want || row.State != db.OutputWhole || row.Pushed != 1 {
				t.Errorf("kept is %q, want %q; its row says %+v", got, want, row)
			}
		}
		if row := b.row(before.ID); row.Faults != 1 {
			t.Errorf("%d faults are counted", row.Faults)
		}
		if b.host.calls != 0 {
			t.Errorf("the executor was asked %d times", b.host.calls)
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object o WHERE live <> (SELECT COUNT(*) FROM punctual_output WHERE object_id = o.id)"); n != 0 {
			t.Errorf("%d objects count their rows wrong", n)
		}
	})
}

// What is copied of a run that goes on does not take the place of what was pushed, and what was pushed does that of the copy.
func TestAPushedOutputIsTheLastWord(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		r := b.run("a", "b")
		follow := func() {
			t.Helper()
			b.now = b.now.Add(time.Minute)
			if err := b.s.followOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		follow()
		b.write(b.s)
		b.pushes(b.s, r, "a", "b", "c", "d")
		b.host.lines[r.ID] = append(b.host.lines[r.ID], "c")
		follow()
		b.write(b.s)
		b.ends(r)
		b.step(b.s)
		if got, row := b.text(b.s, r.ID), b.row(r.ID); got != "a\nb\nc\nd" || row.State != db.OutputWhole {
			t.Errorf("kept is %q, its row says %+v", got, row)
		}
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		if len(b.s.busy) != 0 {
			t.Errorf("%d runs are held for busy", len(b.s.busy))
		}
	})
}

// What was pushed waits for the result that follows it, and is written once then; but not for long, nor while too much waits.
func TestWhatIsPushedWaitsForTheResult(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		watched := dbtest.Watch(t, pool)
		b := newBench(t, pool, func(c *Config) { c.FlushEvery, c.LookEvery = time.Millisecond, time.Hour })
		ids := func(batch []copied) (ids []int64) {
			for i := range batch {
				ids = append(ids, batch[i].ID)
			}
			return ids
		}
		check := func(what string, batch []copied, want ...int64) (later []copied) {
			t.Helper()
			now, later := b.s.ripe(batch)
			if got := ids(now); !slices.Equal(got, want) || len(now)+len(later) != len(batch) {
				t.Errorf("%s: %v are written and %v wait, want %v written", what, got, ids(later), want)
			}
			return later
		}
		ended, open, copy := b.run(), b.run(), b.run("copied")
		b.pushes(b.s, ended, "ended")
		b.pushes(b.s, open, "open")
		b.s.Offer(b.ends(copy))
		b.s.copyEnded(t.Context(), <-b.s.queue)
		batch := []copied{<-b.s.copies, <-b.s.copies, <-b.s.copies}
		b.s.Offer(b.ends(ended))
		later := check("with a result", batch, ended.ID, copy.ID)
		before := b.now
		b.now = before.Add(-time.Second)
		check("when the clock was set back", later, open.ID)
		b.now = before.Add(resultWait)
		check("after a while", later, open.ID)
		b.now = before
		many := make([]copied, 2*maxTogether)
		for i := range many {
			many[i] = later[0]
		}
		if _, later := b.s.ripe(many); len(later) != maxTogether/2 {
			t.Errorf("%d wait at a time", len(later))
		}
		b.s.forgetAll()

		b.s.Start()
		t.Cleanup(func() { _ = b.s.Stop(context.Background()) })
		last, next := b.run(), b.run()
		for _, r := range []Run{last, next} {
			b.pushes(b.s, r, "pushed")
		}
		of := b.ends(last, next)
		of[0].Pushed, of[1].Pushed = true, true
		b.s.Offer(of)
		executortest.Eventually(t, "they are written", func() error {
			if n := b.count("SELECT COUNT(*) FROM punctual_output WHERE state = 2 AND pushed = 1"); n != 2 {
				return fmt.Errorf("%d are", n)
			}
			return nil
		})
		if asked := watched.Transactions("ListRunsToKeep"); len(asked) != 0 {
			t.Errorf("it was asked what became of them: %v", asked)
		}
		unended := b.run()
		b.pushes(b.s, unended, "to the end")
		if err := b.s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row := b.row(unended.ID); row.State != db.OutputLive || b.s.held.Load() != 0 || len(b.s.taken) != 0 {
			t.Errorf("after the stop its row says %+v, %d bytes and %d runs are held", row, b.s.held.Load(), len(b.s.taken))
		}
	})
}

// An output that is not written in time is copied, as if it had not been pushed.
func TestAPushedOutputThatIsLostIsCopied(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		r := b.run("from the executor")
		b.pushes(b.s, r, "pushed")
		b.store.down = errors.New("no room")
		b.write(b.s)
		ended := b.ends(r)
		ended[0].Pushed = true
		b.s.Offer(ended)
		b.step(b.s)
		if b.host.calls != 0 {
			t.Errorf("it was copied at once")
		}
		b.store.down = nil
		for range 3 {
			b.now = b.now.Add(maxRest)
			b.step(b.s)
		}
		if got := b.text(b.s, r.ID); got != "from the executor" {
			t.Errorf("kept is %q", got)
		}
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		if len(b.s.busy) != 0 || b.s.held.Load() != 0 {
			t.Errorf("%d runs and %d bytes are still held", len(b.s.busy), b.s.held.Load())
		}
	})
}

// What nobody wants is not kept for being pushed: of a run that is over, and of one that turns out well where failures only are wanted.
func TestAPushedOutputThatNobodyWantsGoes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.limit.Keep = jobspec.KeepFailed
		over, well := b.run(), b.run()
		succeed := func(r Run) {
			b.exec("UPDATE xxl_job_log SET handle_code = 200, outcome = 1, finished_at = ? WHERE id = ?", b.now.UnixMilli(), r.ID)
		}
		succeed(over)
		b.pushes(b.s, over, "over")
		b.pushes(b.s, well, "well")
		b.write(b.s)
		succeed(well)
		b.now = b.now.Add(time.Hour)
		b.step(b.s)
		b.step(b.s)
		if n := b.count("SELECT COUNT(*) FROM punctual_output"); n != 0 {
			t.Errorf("%d outputs are kept", n)
		}
		// A run that somebody deleted meanwhile has no output either.
		gone := b.run()
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", gone.ID)
		b.pushes(b.s, gone, "gone")
		b.write(b.s)
		if n := b.count("SELECT COUNT(*) FROM punctual_output"); n != 0 {
			t.Errorf("%d outputs are kept of a run that is gone", n)
		}
	})
}

// Nobody who pushes waits, and nothing that is pushed goes beyond the bounds that copies have.
func TestPushedOutputsAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.Held = 20 << 10 })
		r := b.run()
		long := wire.PushedOutput{LogID: r.ID, Head: strings.Join(numbered(20_000), "\n")}
		take := func(s *Service, out wire.PushedOutput) error { return s.Take([]Pushed{{Run: r, Output: out}}) }
		if err := take(b.s, long); err != nil {
			t.Fatal(err)
		}
		if held := b.s.held.Load(); held > int64(b.limit.RunBytes) {
			t.Errorf("%d bytes are held of a run that may have %d", held, b.limit.RunBytes)
		}
		if err := take(b.s, long); err != nil {
			t.Fatal(err)
		}
		if err := take(b.s, long); !errors.Is(err, ErrFull) {
			t.Errorf("beyond what may be held: %v", err)
		}
		b.ends(r)
		b.write(b.s)
		if row := b.row(r.ID); row.LeftLines == 0 || row.HeadLines+row.LeftLines+row.TailLines != 20_000 || row.TextSize > int64(b.limit.RunBytes) {
			t.Errorf("its row says %+v", row)
		}
		b.limit.ByteRate = 1000
		limited := b.service()
		big := wire.PushedOutput{LogID: r.ID, Head: strings.Repeat("x\n", burst/2)}
		if err := take(limited, big); err != nil {
			t.Fatal(err)
		}
		if err := take(limited, big); !errors.Is(err, ErrFull) {
			t.Errorf("beyond the rate: %v", err)
		}
		if err := (*Service)(nil).Take(nil); !errors.Is(err, ErrFull) {
			t.Errorf("where nothing is kept: %v", err)
		}
		paused := b.service(func(c *Config) { c.Ready = func() bool { return false } })
		if err := take(paused, wire.PushedOutput{LogID: r.ID}); !errors.Is(err, ErrFull) {
			t.Errorf("of an admin that may not act: %v", err)
		}
	})
}

// The page of the nodes says how outputs came, and how much was written since midnight in the installation's zone.
func TestFiguresTellPushedFromCopied(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		yesterday := b.run("a", "b")
		b.now = noon.Add(-24 * time.Hour)
		b.s.Offer(b.ends(yesterday))
		b.step(b.s)
		before := int64(b.count("SELECT SUM(size) FROM punctual_output_object"))
		b.now = noon
		pushed := b.run()
		b.ends(pushed)
		b.pushes(b.s, pushed, "c", "d")
		b.write(b.s)
		b.step(b.s)
		st := b.s.Status()
		if st.Pushed != 1 || st.Copied != 1 || st.Objects != 2 || st.Today == 0 || st.Today != st.Bytes-before {
			t.Errorf("%+v, of which %d bytes are of yesterday", st, before)
		}
	})
}

// TestManySmallOutputsAreFewObjects: as many as end in a quarter of a second at 12,000 a second, ten lines each.
func TestManySmallOutputsAreFewObjects(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const many = 3000
		b := newBench(t, pool, func(c *Config) {
			c.FlushEvery, c.LookEvery, c.stopsWithin = time.Hour, time.Hour, executortest.Patience // what is there is written at the end
		})
		for range many / 500 {
			rows := make([]db.NewRun, 500)
			for i := range rows {
				rows[i] = db.NewRun{JobGroup: 1, JobID: 7, Address: "http://a:1/", TriggerTime: b.pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), TriggerCode: 200}
			}
			if _, err := db.InsertRuns(t.Context(), pool, rows); err != nil {
				t.Fatal(err)
			}
		}
		b.exec("UPDATE xxl_job_log SET sent_at = ?", b.now.UnixMilli())
		first := b.count("SELECT MIN(id) FROM xxl_job_log")
		b.s.Start()
		size := 0
		for done := 0; done < many; done += 200 {
			batch := make([]Pushed, 200)
			for i := range batch {
				id := int64(first + done + i)
				var text strings.Builder
				for line := range 10 {
					fmt.Fprintf(&text, "2026-03-02 12:00:00.000 INFO [worker-%d] order %d is settled, and what it was about\n", line, id)
				}
				size += text.Len()
				batch[i] = Pushed{Run: Run{ID: id, Group: 1, Job: 7}, Output: wire.PushedOutput{LogID: id, Head: text.String()}}
			}
			executortest.Eventually(t, "there is room", func() error { return b.s.Take(batch) })
		}
		if err := b.s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, objects := b.count("SELECT COUNT(*) FROM punctual_output WHERE object_id > 0"), len(b.store.objects)
		if most := size/(2<<20) + 2; kept != many || objects > most {
			t.Errorf("%d outputs of %d bytes are kept in %d objects, at most %d", kept, size, objects, most)
		}
	})
}

// TestPushedAndCopiedOutputsShareTheRate: also where the time that the cluster goes by is not that of this machine, as here.
func TestPushedAndCopiedOutputsShareTheRate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.limit.ByteRate = 1
		b.s.setRate()
		b.s.limiter.SetBurst(100)
		push := func() error {
			return b.s.Take([]Pushed{{Run: b.run(), Output: wire.PushedOutput{LogID: 1, Head: strings.Repeat("x", 59) + "\n"}}})
		}
		if err := b.s.limiter.WaitN(t.Context(), 1); err != nil { // as for what is copied
			t.Fatal(err)
		}
		if err := push(); err != nil {
			t.Fatal(err)
		}
		if err := b.s.limiter.WaitN(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := push(); !errors.Is(err, ErrFull) {
			t.Errorf("122 bytes were taken of 100: %v", err)
		}
	})
}
