package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestExecutorsOfOneNameAreTwo: an executor that fetches its calls has a name of its own within its group. Another group's of the same name is
// another one: what is found of the one says nothing of the other, and runs for the one do not wait for those for the other.
func TestExecutorsOfOneNameAreTwo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const same, addressC = "pull://worker-1", "http://10.0.0.3:9999/"
		b := setup(t, pool, func(c *Config) { c.PerAddress = 1 }, same, addressB)
		others := b.addGroup("others", same, addressC)
		hangs, release := b.latch()
		begun := make(chan struct{}, 1)
		b.executors.run = func(to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if to.Address == same && to.AppName == "others" {
				if req.ExecutorParams == "hang" {
					begun <- struct{}{}
					<-hangs
				}
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: &wire.SilentError{Since: time.UnixMilli(1_790_000_000_000)}}
			}
			return yes, nil
		}
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == same { // only the one that is passed over is asked
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: &wire.SilentError{Since: time.UnixMilli(1_790_000_000_000)}}
			}
			return yes, nil
		}
		job := func(group int64, r jobspec.Route) int64 {
			return b.addJob(func(p *db.InsertJobParams) { p.JobGroup, p.ExecutorRouteStrategy = group, r })
		}
		begin := func(id int64, param string) []int64 {
			t.Helper()
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual, Param: &param})
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		decided := func(ids []int64) (runs []db.Run) {
			t.Helper()
			for _, id := range ids {
				b.await("the run is decided", func() bool { return b.run(id).TriggerCode != 0 })
				runs = append(runs, b.run(id))
			}
			return runs
		}

		// The order is that of the texts, so it is the last of both.
		theirs := begin(job(others, jobspec.RouteLast), "hang")
		<-begun
		if run := decided(begin(job(b.group, jobspec.RouteLast), ""))[0]; string(run.ExecutorAddress) != same || run.TriggerCode != 200 {
			t.Errorf("beside a call that hangs: %s, %d", run.ExecutorAddress, run.TriggerCode)
		}
		release()
		if run := decided(theirs)[0]; run.Outcome != event.NotSent {
			t.Errorf("%+v", run)
		}
		suspect := func(group int64) bool {
			t.Helper()
			for _, a := range b.engine.Addresses(group) {
				if a.Address == same {
					return a.Suspect
				}
			}
			t.Fatalf("group %d has no %s", group, same)
			return false
		}
		if suspect(b.group) || !suspect(others) {
			t.Errorf("passed over: %v and %v", suspect(b.group), suspect(others))
		}
		for _, run := range decided(begin(job(b.group, jobspec.RouteShardingBroadcast), "")) {
			if run.TriggerCode != 200 {
				t.Errorf("a broadcast: %s, %s", run.ExecutorAddress, b.eventsOf(run.ID))
			}
		}
		if run := decided(begin(job(others, jobspec.RouteLast), ""))[0]; string(run.ExecutorAddress) != addressC || run.TriggerCode != 200 {
			t.Errorf("the other group: %s, %d", run.ExecutorAddress, run.TriggerCode)
		}
		for _, app := range []string{"orders", "Others"} { // a beat of the one is none of the other, however its name is written
			if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: app, RegistryValue: same}); err != nil {
				t.Fatal(err)
			}
			if suspect(others) != (app == "orders") {
				t.Errorf("after a beat of %s it is passed over: %v", app, suspect(others))
			}
		}
	})
}
