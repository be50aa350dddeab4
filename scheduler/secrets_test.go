package scheduler

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/secret"
)

func TestSecretsArePutInWhenARunLeavesAndNowhereElse(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sealing, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		store := secret.NewStore(sealing)
		b := setup(t, pool, func(c *Config) { quick(c); c.Secrets = store }, addressA)
		var mu sync.Mutex
		sent := make(map[int64]wire.RunRequest)
		b.executors.run = func(_ wire.Target, r *wire.RunRequest) (wire.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			sent[r.LogID] = *r
			return yes, nil
		}
		if err := store.Set(t.Context(), pool, b.group, "TOKEN", "hunter22 and more", "ann", 1); err != nil {
			t.Fatal(err)
		}
		script := "# punctual:env T=${{ secrets.TOKEN }}\necho ${{ secrets.TOKEN }}"
		job := func(change func(*db.InsertJobParams)) int64 {
			return b.addJob(func(p *db.InsertJobParams) {
				p.ExecutorFailRetryCount = 0
				change(p)
			})
		}
		trigger := func(id int64, addresses ...string) int64 {
			t.Helper()
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual, Addresses: addresses, User: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			return ids[0]
		}
		ofParam := job(func(p *db.InsertJobParams) { p.ExecutorParam = "use ${{ secrets.token }}" })
		run := trigger(ofParam)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		mu.Lock()
		got := sent[run]
		mu.Unlock()
		if got.ExecutorParams != "use hunter22 and more" || len(got.Masks) == 0 || got.Environment != nil {
			t.Errorf("sent %+v", got)
		}

		plain := trigger(job(func(p *db.InsertJobParams) { p.ExecutorParam = "${TOKEN}" }))
		b.await("a plain one is sent", func() bool { return b.run(plain).TriggerCode == 200 })
		mu.Lock()
		if r := sent[plain]; r.Masks != nil || r.Environment != nil {
			t.Errorf("a run without secrets carries %+v", r)
		}
		mu.Unlock()

		notSent := func(run int64, want event.Key) {
			t.Helper()
			b.await("it has ended", func() bool { return b.run(run).TriggerCode != 0 })
			row := b.run(run)
			last := event.Parse(string(row.Events))
			if row.Outcome != event.NotSent || len(last) == 0 || last[len(last)-1].Key != want {
				t.Errorf("outcome %d, events %v, want %s", row.Outcome, last, want)
			}
			mu.Lock()
			defer mu.Unlock()
			if _, left := sent[run]; left {
				t.Errorf("%s: the run was sent", want)
			}
		}
		notSent(trigger(job(func(p *db.InsertJobParams) { p.ExecutorParam = "${{ secrets.NONE }} ${{ secrets.TOKEN }}" })), event.NoSecret)
		notSent(trigger(ofParam, "http://elsewhere/"), event.SecretsHeld)

		// A script's environment goes only to an executor that takes one.
		ofScript := job(func(p *db.InsertJobParams) {
			p.GlueType, p.GlueSource, p.GlueUpdateTime = wire.GlueShell, db.Text(script), nullTime(pool.Wall(time.Now()))
		})
		notSent(trigger(ofScript), event.NoEnv)
		if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, TakesEnvironment: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		run = trigger(ofScript)
		b.await("the script is sent", func() bool { return b.run(run).TriggerCode == 200 })
		mu.Lock()
		got = sent[run]
		mu.Unlock()
		if diff := cmp.Diff(map[string]string{"T": "hunter22 and more"}, got.Environment); diff != "" || got.GlueSource != script || len(got.Masks) == 0 {
			t.Errorf("script sent as %q: %s", got.GlueSource, diff)
		}

		// No column of any row has the value.
		for column, values := range dbtest.EveryColumn(t, pool) {
			if strings.Contains(values, "hunter22") {
				t.Errorf("%s holds the secret", column)
			}
		}
	})
}

func TestWithoutAKeyARunWithSecretsIsNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			t.Error("it was sent")
			return yes, nil
		}
		id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.ExecutorParam = 0, "${{ secrets.A }}" }))
		b.await("it has ended", func() bool { return b.run(id).TriggerCode != 0 })
		if events := event.Parse(string(b.run(id).Events)); len(events) == 0 || events[len(events)-1].Key != event.SecretsShut {
			t.Errorf("events %v", events)
		}
	})
}
