package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

func TestTheOpenRunsOfADeletedJobAreTakenOutOfTheCounters(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.ReportEvery = time.Hour }, addressA)
		job, other := b.addJob(nil), b.addJob(nil)
		b.finish(b.trigger(job), 200, "")
		b.finish(b.trigger(job), 500, "")
		open := b.trigger(job)
		b.trigger(job)
		b.trigger(other)
		b.settled()
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		total := 0
		for n := 1; n > 0; total += n {
			var err error
			if n, err = b.engine.upkeep.DeleteRunsOfJob(t.Context(), job, 3); err != nil {
				t.Fatal(err)
			}
		}
		if total != 4 {
			t.Errorf("%d runs deleted, want 4", total)
		}
		b.finish(open, 200, "") // nobody records it any more
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		today := b.today()
		var sum, rows upkeep.Day
		for _, day := range []time.Time{today.AddDate(0, 0, -1), today} { // the test may run over midnight
			before := reported(t, b.engine, day)
			if err := idle(t, pool, nil).upkeep.Recount(t.Context(), day); err != nil {
				t.Fatal(err)
			}
			if after := reported(t, b.engine, day); after != before {
				t.Errorf("the recount changed %+v to %+v", before, after)
			}
			sum.Add(before)
			rows.Add(counted(t, b.engine, day))
		}
		if want := (upkeep.Day{Running: 1, Succeeded: 1, Failed: 1}); sum != want {
			t.Errorf("counted %+v, want %+v", sum, want)
		}
		if want := (upkeep.Day{Running: 1}); rows != want {
			t.Errorf("the rows are %+v, want %+v", rows, want)
		}
	})
}
