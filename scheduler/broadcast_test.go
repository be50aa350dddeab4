package scheduler

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestABroadcastSaysWhomItPassesOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const addressC = "http://10.0.0.3:9999/"
		b := setup(t, pool, nil, addressA, addressB, addressC)
		b.executors.mu.Lock()
		b.executors.beat = func(address string) (wire.Answer, error) {
			if address == addressB {
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.mu.Unlock()
		b.engine.directory.suspect(b.group, addressB)
		b.trigger(b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = jobspec.RouteShardingBroadcast, 2
		}))
		b.await("all rows are settled", func() bool {
			runs := b.allRuns()
			return len(runs) == 3 && runs[0].TriggerCode != 0 && runs[1].TriggerCode != 0 && runs[2].TriggerCode != 0
		})
		shards := make(map[string]string)
		for _, r := range b.allRuns() {
			shards[string(r.ExecutorAddress)] = string(r.ExecutorShardingParam)
			dead, is := event.Parse(string(r.Events)).Last(event.DeadExecutor)
			if is != (string(r.ExecutorAddress) == addressB) || is && (r.Outcome != event.NotSent || dead.Text(0) != addressB || dead.Number(1) == 0) {
				t.Errorf("run at %s: outcome %v, events %s", r.ExecutorAddress, r.Outcome, b.eventsOf(r.ID))
			}
		}
		if shards[addressA] != "0/2" || shards[addressC] != "1/2" || shards[addressB] != "" || len(shards) != 3 {
			t.Errorf("shards: %v", shards)
		}
		if n := len(b.executors.received()); n != 2 {
			t.Errorf("%d runs were sent", n)
		}
	})
}

// TestWhomABroadcastPassesOverTakesNoSlot: their rows neither wait for a slot of the job's limit, in which they lost the executor that they
// are about, nor keep one from the shards that run.
func TestWhomABroadcastPassesOverTakesNoSlot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const addressC = "http://10.0.0.3:9999/"
		b := setup(t, pool, nil, addressA, addressB, addressC)
		b.executors.mu.Lock()
		b.executors.beat = func(address string) (wire.Answer, error) {
			if address != addressA {
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.mu.Unlock()
		b.engine.directory.suspect(b.group, addressB)
		b.engine.directory.suspect(b.group, addressC)
		b.trigger(b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy, p.MaxConcurrent, p.ConcurrencyPolicy = jobspec.RouteShardingBroadcast, 1, string(jobspec.ConcurrencyDiscard)
		}))
		b.await("all rows are settled", func() bool {
			runs := b.allRuns()
			return len(runs) == 3 && !slices.ContainsFunc(runs, func(r db.Run) bool { return r.TriggerCode == 0 })
		})
		got := make(map[string]event.Outcome)
		for _, r := range b.allRuns() {
			got[string(r.ExecutorAddress)] = r.Outcome
		}
		if want := map[string]event.Outcome{addressA: event.Open, addressB: event.NotSent, addressC: event.NotSent}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestABroadcastSaysWhoStoppedBeating(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const fell, out, longAgo, left = "http://10.0.0.3:9999/", "http://10.0.0.4:9999/", "http://10.0.0.5:9999/", "http://10.0.0.6:9999/"
		b := setup(t, pool, nil, addressA, addressB)
		ctx := t.Context()
		now := time.Now()
		for address, age := range map[string]time.Duration{fell: 3 * time.Minute, out: 3 * time.Minute, longAgo: 2 * time.Hour, left: 10 * time.Second} {
			if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'orders', ?, ?)",
				address, pool.Wall(now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.engine.Deregister(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: left}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.queries.SetExecutorDisabled(ctx, pool, db.SetExecutorDisabledParams{AppName: "orders", Address: out, Disabled: 1}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.GroupsChanged(ctx); err != nil {
			t.Fatal(err)
		}
		b.trigger(b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = jobspec.RouteShardingBroadcast, 2
		}))
		b.await("all rows are settled", func() bool {
			runs := b.allRuns()
			return len(runs) > 0 && !slices.ContainsFunc(runs, func(r db.Run) bool { return r.TriggerCode == 0 })
		})
		told := make(map[string]string)
		for _, r := range b.allRuns() {
			told[string(r.ExecutorAddress)] = string(r.ExecutorShardingParam)
			dead, is := event.Parse(string(r.Events)).Last(event.DeadExecutor)
			if is != (string(r.ExecutorAddress) == fell) || is && (r.Outcome != event.NotSent || now.Sub(dead.Time(1)).Round(time.Minute) != 3*time.Minute) {
				t.Errorf("run at %s: outcome %v, events %s", r.ExecutorAddress, r.Outcome, b.eventsOf(r.ID))
			}
		}
		if want := map[string]string{addressA: "0/2", addressB: "1/2", fell: ""}; !maps.Equal(told, want) {
			t.Errorf("rows and shards are %v, want %v", told, want)
		}
	})
}
