package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// commits is how many are noted whose outputs are not all copied.
func (b *bench) commits() int {
	b.t.Helper()
	return b.count("SELECT COUNT(*) FROM punctual_output_ended")
}

// What ends together is one row until all of it is copied, and a run has one from then on.
func TestWhatEndsTogetherIsNotedTogether(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		first, second, quiet, gone := b.run("a"), b.run("b"), b.run([]string{}...), b.run("d")
		b.host.lines[quiet.ID] = nil
		ended := b.ends(first, second, quiet, gone)
		if commits, rows := b.commits(), b.count("SELECT COUNT(*) FROM punctual_output"); commits != 1 || rows != 0 {
			t.Errorf("of four runs that ended there are %d commits and %d rows", commits, rows)
		}
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", gone.ID)
		b.s.Offer(ended)
		for len(b.s.queue) > 0 {
			b.s.copyEnded(t.Context(), <-b.s.queue)
		}
		if b.now = b.now.Add(2 * soon); b.s.settle(t.Context()) != nil || b.commits() != 1 || len(b.s.queue) != 0 {
			t.Errorf("while they are written %d commits are noted and %d runs queued again", b.commits(), len(b.s.queue))
		}
		b.write(b.s)
		calls := b.host.calls
		for range 3 { // what is gone is looked for once more
			b.step(b.s)
		}
		if got := b.text(b.s, first.ID) + b.text(b.s, second.ID) + b.text(b.s, quiet.ID) + b.text(b.s, gone.ID); got != "abnonenone" {
			t.Errorf("kept are %q", got)
		}
		if b.commits() != 0 || b.host.calls != calls || len(b.s.busy)+len(b.s.over) != 0 {
			t.Errorf("%d commits are left, the executor was asked %d more times, %d runs are held", b.commits(), b.host.calls-calls, len(b.s.busy)+len(b.s.over))
		}
		over := b.run() // of which nobody wants anything
		b.s.knowOver(over.ID, b.now.UnixMilli())
		if b.now = b.now.Add(2 * overFor); b.s.settle(t.Context()) != nil || len(b.s.over) != 0 {
			t.Errorf("%d runs are remembered of which nothing is to be copied", len(b.s.over))
		}
	})
}

// A run that cannot be copied has a row of its own, and does not hold up what ended with it.
func TestWhatCannotBeCopiedIsPutOff(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		late, missing := b.run("late"), b.run()
		b.host.down = true
		b.s.Offer(b.ends(late, missing))
		b.step(b.s)
		b.step(b.s)
		if row := b.row(late.ID); row.State != db.OutputDue || row.Node != 1 || row.EndedAt != noon.UnixMilli() || row.NextAt <= noon.UnixMilli() || b.commits() != 0 {
			t.Errorf("its row says %+v, and %d commits are left", row, b.commits())
		}
		if b.s.tidied.counted = (time.Time{}); b.s.look(t.Context()) != nil || b.s.Status().Waiting != 2 {
			t.Errorf("%d runs are said to wait", b.s.Status().Waiting)
		}
		b.host.down = false
		b.now = b.now.Add(2 * maxRest)
		b.step(b.s)
		if got, row := b.text(b.s, late.ID), b.row(missing.ID); got != "late" || row.State != db.OutputLost || row.JobID != 7 || row.JobGroup != 1 {
			t.Errorf("kept is %q, and of the other the row says %+v", got, row)
		}
	})
}

// Rows that an admin of before 00343_output_ended.sql wrote are copied, also while such a one still works.
func TestRowsOfAnEarlierVersionAreCopied(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		own, other, going := b.run("own"), b.run("other"), b.run("going")
		for node, r := range map[int64]Run{1: own, 2: other, 3: going} {
			b.exec("UPDATE xxl_job_log SET handle_code = 500, outcome = 2, finished_at = ? WHERE id = ?", b.now.UnixMilli(), r.ID)
			b.exec("INSERT INTO punctual_output (log_id, job_group, job_id, node, ended_at, next_at) VALUES (?, 1, 7, ?, ?, ?)", r.ID, node, b.now.UnixMilli(), b.now.UnixMilli())
		}
		b.alive = []int64{1, 3}
		for range 2 {
			b.now = b.now.Add(2 * soon)
			b.step(b.s)
		}
		if got := b.text(b.s, own.ID) + b.text(b.s, other.ID); got != "ownother" {
			t.Errorf("kept are %q", got)
		}
		if row := b.row(going.ID); row.State != db.OutputDue || row.Node != 3 {
			t.Errorf("the row of one that lives says %+v", row)
		}
	})
}

// Two admins that are handed the same outputs at the same moment keep each once, each what else it has, and the objects know how many are
// in them.
func TestTwoThatKeepTheSameKeepItOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		stores := make([]*memory, 2)
		services := make([]*Service, len(stores))
		for i := range services {
			stores[i] = &memory{objects: make(map[string][]byte)}
			services[i] = b.service(func(c *Config) { c.Store, c.Node = stores[i], func() int64 { return int64(i + 1) } })
		}
		const rounds, both, runs = 10, 20, 30 // of the last ten each has a half
		for range rounds {
			batches := make([][]copied, len(services))
			var together []Run
			for range runs {
				together = append(together, b.run())
			}
			ended := b.ends(together...)
			for i := range services {
				for at, e := range ended {
					if at >= both && at%len(services) != i {
						continue
					}
					x := &excerpt{Budget: 1000}
					x.Add(fmt.Appendf(nil, "by %d", i))
					batches[i] = append(batches[i], copied{Run: e.Run, endedAt: e.At, pushed: true, excerpt: x})
				}
			}
			var writing sync.WaitGroup
			for i, s := range services {
				writing.Go(func() { s.write(t.Context(), batches[i]) })
			}
			writing.Wait()
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output WHERE state = 2 AND pushed = 1"); n != rounds*runs {
			t.Errorf("%d outputs are kept of %d", n, rounds*runs)
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object o WHERE live <> (SELECT COUNT(*) FROM punctual_output WHERE object_id = o.id)"); n != 0 {
			t.Errorf("%d objects count their rows wrong", n)
		}
		if n := services[0].Status().Pushed + services[1].Status().Pushed; n != rounds*runs {
			t.Errorf("%d are counted as kept", n)
		}
	})
}

// What one admin puts off or gives up changes no row that says better.
func TestPuttingOffAndLosingLeaveWhatIsBetter(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		const next, kept = 5000, 6000
		type row struct{ state, node, pushed, object, next int64 } // each has ended at 3000, and ends at 4000 or, where it has ended then, at 3000
		for i, c := range []struct{ before, late, lost row }{
			{row{db.OutputDue, 1, 0, 0, 9}, row{db.OutputDue, 1, 0, 0, next}, row{db.OutputLost, 1, 0, 0, 9}},
			{row{db.OutputDue, 1, 0, 3, 9}, row{db.OutputDue, 1, 0, 3, next}, row{db.OutputPart, 1, 0, 3, 9}},
			{row{db.OutputDue, 2, 0, 0, 9}, row{db.OutputDue, 2, 0, 0, 9}, row{db.OutputDue, 2, 0, 0, 9}}, // another's
			{row{db.OutputLive, 2, 0, 3, 0}, row{db.OutputDue, 1, 0, 3, next}, row{db.OutputPart, 2, 0, 3, 0}},
			{row{db.OutputLive, 2, 1, 3, 0}, row{db.OutputWhole, 2, 1, 3, 0}, row{db.OutputLive, 2, 1, 3, 0}}, // whole, as soon as it is looked at
			{row{db.OutputWhole, 2, 1, 3, 0}, row{db.OutputWhole, 2, 1, 3, 0}, row{db.OutputWhole, 2, 1, 3, 0}},
			{row{db.OutputWhole, 2, 0, 3, 0}, row{db.OutputDue, 1, 0, 3, next}, row{db.OutputPart, 2, 0, 3, 0}},
			{row{db.OutputPart, 2, 0, 3, 0}, row{db.OutputDue, 1, 0, 3, next}, row{db.OutputPart, 2, 0, 3, 0}},
			{row{db.OutputLost, 2, 0, 0, 0}, row{db.OutputDue, 1, 0, 0, next}, row{db.OutputLost, 2, 0, 0, 0}},
		} {
			insert := func(id int64) {
				b.exec("INSERT INTO punctual_output (log_id, state, node, pushed, object_id, next_at, ended_at, reason) VALUES (?, ?, ?, ?, ?, ?, 3000, 'before')",
					id, c.before.state, c.before.node, c.before.pushed, c.before.object, c.before.next)
			}
			try := func(late, lost, at int64) {
				if err := db.PutOffOutputs(t.Context(), pool, []db.LateOutput{{LogID: late, Node: 1, EndedAt: at, NextAt: next}}); err != nil {
					t.Fatal(err)
				}
				if err := db.LoseOutputs(t.Context(), pool, []db.LostOutput{{LogID: lost, Node: 1, EndedAt: at, KeptAt: kept, Reason: ReasonMissing}}); err != nil {
					t.Fatal(err)
				}
			}
			if c.before.state > db.OutputLive { // nothing happens to what has not ended again
				id := int64(300 + i)
				insert(id)
				try(id, id, 3000)
				if r := b.row(id); r.State != c.before.state || r.Reason != "before" || r.NextAt != 0 || r.KeptAt != 0 || r.EndedAt != 3000 {
					t.Errorf("%+v became %+v", c.before, r)
				}
			}
			late, lost := int64(100+i), int64(200+i)
			insert(late)
			insert(lost)
			try(late, lost, 4000)
			for id, want := range map[int64]row{late: c.late, lost: c.lost} {
				r := b.row(id)
				if got := (row{r.State, r.Node, r.Pushed, r.ObjectID, r.NextAt}); got != want {
					t.Errorf("%+v became %+v, want %+v", c.before, got, want)
				}
				if changed := c.before.node == 1 || c.before.state != db.OutputDue; c.before.pushed == 0 && changed && (r.EndedAt != 4000 || id == lost && (r.Reason != ReasonMissing || r.KeptAt != kept)) {
					t.Errorf("%+v became %+v", c.before, r)
				}
			}
		}
	})
}

// A run that was called lost and reports after all has the output that it has then, whatever was kept of it before.
func TestARunThatEndsAgainIsCopiedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		grows, gone, pushed, missing := b.run("a"), b.run("a"), b.run("a"), b.run()
		b.s.Offer(b.ends(grows, gone, pushed, missing))
		b.step(b.s)
		b.now = b.now.Add(time.Minute)
		b.host.lines[grows.ID], b.host.lines[missing.ID] = []string{"a", "b"}, []string{"after all"}
		b.s.Offer(b.ends(grows, missing)[:1]) // the other is found later
		ended := b.ends(pushed)
		ended[0].Pushed = true
		b.s.Offer(ended)
		b.pushes(b.s, pushed, "a", "c")
		for range 3 {
			b.step(b.s)
			b.now = b.now.Add(2 * soon)
		}
		if got := b.text(b.s, grows.ID) + " " + b.text(b.s, missing.ID) + " " + b.text(b.s, pushed.ID); got != "a\nb after all a\nc" {
			t.Errorf("kept are %q", got)
		}
		b.host.down = true
		b.ends(gone)
		for range 3 {
			b.now = b.now.Add(2 * soon)
			b.step(b.s)
		}
		if row := b.row(gone.ID); row.State != db.OutputDue || b.commits() != 0 || b.text(b.s, gone.ID) != "a" {
			t.Errorf("while its executor is gone the row says %+v; %d commits are left", row, b.commits())
		}
		for range 3 {
			b.now = b.now.Add(b.s.cfg.GiveUp)
			b.step(b.s)
		}
		if row := b.row(gone.ID); row.State != db.OutputPart || row.Reason != ReasonExecutor || b.text(b.s, gone.ID) != "a" {
			t.Errorf("in the end the row says %+v", row)
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object o WHERE live <> (SELECT COUNT(*) FROM punctual_output WHERE object_id = o.id)"); n != 0 {
			t.Errorf("%d objects count their rows wrong", n)
		}
	})
}

// TestStatementsOfKeptOutputs: what it costs the database to keep outputs, in round trips, whether they are pushed or copied. Nothing is asked
// about runs of which this admin knows what became of them.
func TestStatementsOfKeptOutputs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		watched := dbtest.Watch(t, pool)
		b := newBench(t, pool)
		last := func() []string {
			t.Helper()
			all := watched.Transactions("INSERT punctual_output")
			if len(all) == 0 {
				t.Fatal("nothing was written")
			}
			return all[len(all)-1]
		}
		written := []string{"BEGIN", "ListRunsThere", "INSERT punctual_output", "SetOutputObject", "DeleteOutputFilter", "InsertOutputFilter", "COMMIT"}
		copied, quick := b.run("a"), b.run("b")
		b.s.Offer(b.ends(copied, quick))
		for len(b.s.queue) > 0 {
			b.s.copyEnded(t.Context(), <-b.s.queue)
		}
		b.write(b.s)
		if diff := cmp.Diff(written, last()); diff != "" {
			t.Errorf("copied (-want +got):\n%s", diff)
		}
		pushed, other := b.run(), b.run()
		b.pushes(b.s, pushed, "c")
		b.pushes(b.s, other, "d")
		ended := b.ends(pushed, other)
		ended[0].Pushed, ended[1].Pushed = true, true
		b.s.Offer(ended)
		if b.s.settle(t.Context()) != nil || b.commits() != 1 {
			t.Errorf("while it is written %d commits are noted", b.commits())
		}
		b.write(b.s)
		if diff := cmp.Diff(written, last()); diff != "" {
			t.Errorf("pushed (-want +got):\n%s", diff)
		}
		if b.s.settle(t.Context()) != nil || b.commits() != 0 {
			t.Errorf("%d commits are left", b.commits())
		}
		if got := watched.Transactions("ListOutputStates"); len(got) != 0 {
			t.Errorf("the rows of what was just written were read: %v", got)
		}
		if len(b.s.over)+len(b.s.taken)+len(b.s.busy) != 0 {
			t.Errorf("%d, %d and %d runs are held", len(b.s.over), len(b.s.taken), len(b.s.busy))
		}

		// Who pushes once more what another admin has written finds the row in the way.
		two := b.service(func(c *Config) { c.Node = func() int64 { return 2 } })
		twice, once := b.run(), b.run()
		b.pushes(two, twice, "first")
		b.write(two)
		b.pushes(b.s, twice, "second")
		b.pushes(b.s, once, "once")
		b.s.Offer(b.ends(twice, once))
		b.write(b.s)
		b.now = b.now.Add(2 * soon)
		b.step(b.s)
		b.step(b.s)
		if got := b.text(b.s, twice.ID) + " " + b.text(b.s, once.ID); got != "first once" || b.commits() != 0 {
			t.Errorf("kept is %q, and %d commits are left", got, b.commits())
		}
		if b.row(twice.ID).State != db.OutputWhole || b.row(once.ID).State != db.OutputWhole {
			t.Errorf("the rows say %+v and %+v", b.row(twice.ID), b.row(once.ID))
		}
		for _, r := range []Run{copied, quick, pushed, other} {
			if row := b.row(r.ID); row.State != db.OutputWhole {
				t.Errorf("the row says %+v", row)
			}
		}
	})
}

// TestWhatIsKnownToBeOverIsBounded: what is not remembered is read.
func TestWhatIsKnownToBeOverIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool, func(c *Config) { c.Queue = 10 })
		for id := range int64(100) {
			b.s.knowOver(-id, 1)
		}
		if n := len(b.s.over); n != 10*overRoom {
			t.Errorf("%d runs are remembered", n)
		}
		r := b.run()
		b.pushes(b.s, r, "kept")
		ended := b.ends(r)
		ended[0].Pushed = true
		b.s.Offer(ended)
		b.write(b.s)
		if b.s.settle(t.Context()) != nil || b.commits() != 0 || b.text(b.s, r.ID) != "kept" {
			t.Errorf("%d commits are left, and kept is %q", b.commits(), b.text(b.s, r.ID))
		}
	})
}

// TestALookSettlesPageAfterPage, but only while the queue has room for what it finds.
func TestALookSettlesPageAfterPage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const queue, commits = 300, 2*commitPage + 1
		for name, tt := range map[string]struct{ queued, left int }{
			"all":                         {0, 0},
			"half of the queue is taken":  {queue / 2, 0},
			"more than half of it":        {queue/2 + 1, commits - commitPage},
			"all, the last page is whole": {0, 0},
		} {
			b := newBench(t, pool, func(c *Config) { c.Queue = queue })
			var rows []string
			for id := range int64(commits) {
				if name == "all, the last page is whole" && id == 0 {
					continue
				}
				b.s.knowOver(-id-1, 1)
				rows = append(rows, fmt.Sprintf("(1, 1, 1, '%d')", -id-1))
			}
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_output_ended (node, ended_at, runs, ids) VALUES "+strings.Join(rows, ",")); err != nil {
				t.Fatal(err)
			}
			for range tt.queued {
				b.s.queue <- Ended{}
			}
			if err := b.s.settle(t.Context()); err != nil || b.commits() != tt.left {
				t.Errorf("%s: %d commits are left, want %d (%v)", name, b.commits(), tt.left, err)
			}
			if _, err := pool.ExecContext(t.Context(), "DELETE FROM punctual_output_ended"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestALookGoesPastWhatStays: a page of commits of which a run is being written hides none behind it.
func TestALookGoesPastWhatStays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.s.busy[-1] = true
		b.s.knowOver(-2, 1)
		rows := append(slices.Repeat([]string{"(1, 1, 1, '-1')"}, commitPage), "(1, 1, 1, '-2')")
		b.exec("INSERT INTO punctual_output_ended (node, ended_at, runs, ids) VALUES " + strings.Join(rows, ","))
		if err := b.s.settle(t.Context()); err != nil || b.commits() != commitPage {
			t.Errorf("%d commits are left, want %d (%v)", b.commits(), commitPage, err)
		}
	})
}

// TestASettlingThatFailsIsTriedAgain: what could not be read or written is none that is done.
func TestASettlingThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := newBench(t, pool)
		open, live := b.run("open"), b.run("live")
		b.pushes(b.s, live, "live")
		b.write(b.s)
		b.ends(open, live)
		b.now = b.now.Add(2 * soon)
		for _, name := range []string{"ListEndedOutputs", "ListOutputStates", "EndPushedOutputs"} {
			sent.Refuse(name, 1, errors.New("away"))
			if err := b.s.settle(t.Context()); err == nil || b.commits() != 1 || len(b.s.queue) != 0 {
				t.Errorf("without %s: %v, %d commits, %d runs are queued", name, err, b.commits(), len(b.s.queue))
			}
		}
		b.step(b.s)
		b.step(b.s)
		if got := b.text(b.s, open.ID); got != "open" || b.commits() != 0 {
			t.Errorf("kept is %q, %d commits are left", got, b.commits())
		}
	})
}

// TestWhatIsLeftOfARunThatEnded: its end is settled by what is known of that end and not of an earlier one. What is not settled is queued, once
// there was time for it and while half of the queue is free.
func TestWhatIsLeftOfARunThatEnded(t *testing.T) {
	t.Parallel()
	const queue = 4
	type row struct{ state, pushed, endedAt int64 }
	last := noon.UnixMilli()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		for name, tt := range map[string]struct {
			row    *row
			over   int64 // until when nothing is to be copied
			queued int
			after  time.Duration
			left   bool
			found  int
			ended  int // statements that end what was pushed
		}{
			"nothing is known of it":            {after: soon, left: true, found: 1},
			"it is known to be over":            {over: last, after: soon},
			"it was over before it ended again": {over: last - 1, after: soon, left: true, found: 1},
			"put off":                           {row: &row{db.OutputDue, 0, last}, after: soon},
			"put off before it ended again":     {row: &row{db.OutputDue, 0, last - 1}, after: soon, left: true, found: 1},
			"pushed until now":                  {row: &row{db.OutputLive, 1, 0}, after: soon, ended: 1},
			"copied until now":                  {row: &row{db.OutputLive, 0, 0}, after: soon, left: true, found: 1},
			"pushed":                            {row: &row{db.OutputWhole, 1, last}, after: soon},
			"a moment too early to look for it": {after: soon - time.Millisecond, left: true},
			"half of the queue is taken":        {queued: queue / 2, after: soon, left: true, found: 1},
			"more than half of the queue is":    {queued: queue/2 + 1, after: soon, left: true},
		} {
			b := newBench(t, pool, func(c *Config) { c.Queue = queue })
			r := b.run("a")
			b.ends(r)
			if tt.row != nil {
				b.exec("INSERT INTO punctual_output (log_id, state, node, pushed, ended_at) VALUES (?, ?, 1, ?, ?)", r.ID, tt.row.state, tt.row.pushed, tt.row.endedAt)
			}
			if tt.over != 0 {
				b.s.knowOver(r.ID, tt.over)
			}
			for range tt.queued {
				b.s.queue <- Ended{}
			}
			b.now = b.now.Add(tt.after)
			before := len(sent.Transactions("EndPushedOutputs"))
			if err := b.s.settle(t.Context()); err != nil || b.commits() > 0 != tt.left || len(b.s.queue) != tt.queued+tt.found {
				t.Errorf("%s: %d commits are left and %d runs queued (%v)", name, b.commits(), len(b.s.queue)-tt.queued, err)
			}
			if n := len(sent.Transactions("EndPushedOutputs")) - before; n != tt.ended {
				t.Errorf("%s: %d statements end what was pushed", name, n)
			}
			b.exec("DELETE FROM punctual_output_ended")
		}
	})
}

// TestARunThatWasSentNowhereIsNotAskedFor, nor noted for longer than a look.
func TestARunThatWasSentNowhereIsNotAskedFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		r := b.run("a")
		b.exec("UPDATE xxl_job_log SET executor_address = '' WHERE id = ?", r.ID)
		b.ends(r)
		b.now = b.now.Add(soon)
		for left := 1; left >= 0; left-- {
			if err := b.s.settle(t.Context()); err != nil || b.commits() != left || len(b.s.queue) != 0 {
				t.Errorf("%d commits are left, want %d, and %d runs queued (%v)", b.commits(), left, len(b.s.queue), err)
			}
		}
	})
}

// TestWhatIsOverIsKnownForAMinute, and no longer.
func TestWhatIsOverIsKnownForAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, db.SQLite))
	b.s.knowOver(1, 1)
	for _, tt := range []struct {
		more time.Duration
		left int
	}{{overFor, 1}, {time.Millisecond, 0}} {
		b.now = b.now.Add(tt.more)
		if b.s.forgetOver(); len(b.s.over) != tt.left {
			t.Errorf("%v after it ended %d runs are known, want %d", b.now.Sub(noon), len(b.s.over), tt.left)
		}
	}
}

// TestMoreThanAStatementTakesIsNotedWholeOrNotAtAll: runs that end together are noted in parts.
func TestMoreThanAStatementTakesIsNotedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := newBench(t, pool)
		ended := make([]Ended, db.MaxBatch+1)
		for i := range ended {
			ended[i] = Ended{Run: Run{ID: int64(i + 1)}, At: noon.UnixMilli()}
		}
		sent.Refuse("InsertEndedOutputs", 1, errors.New("away"))
		if err := b.s.Note(t.Context(), pool, ended); err == nil || b.commits() != 0 {
			t.Errorf("what is refused: %d commits are noted (%v)", b.commits(), err)
		}
		if err := b.s.Note(t.Context(), pool, ended); err != nil || b.count("SELECT SUM(runs) FROM punctual_output_ended") != len(ended) || b.commits() != 2 {
			t.Errorf("%d commits are noted (%v)", b.commits(), err)
		}
	})
}
