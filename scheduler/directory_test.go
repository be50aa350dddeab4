package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func entry(app, address string) wire.RegistryRequest {
	return wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: app, RegistryValue: address}
}

func (b *bundle) register(app, address string) {
	b.t.Helper()
	if err := b.engine.Register(b.t.Context(), entry(app, address)); err != nil {
		b.t.Fatal(err)
	}
}

// sentTo triggers the job and gives the address it went to, or the reason why it went nowhere.
func (b *bundle) sentTo(jobID int64) string {
	b.t.Helper()
	id := b.trigger(jobID)
	b.await("the run is settled", func() bool { return b.run(id).TriggerCode != 0 })
	r := b.run(id)
	if r.TriggerCode == 200 {
		return string(r.ExecutorAddress)
	}
	_, reason, _ := strings.Cut(string(r.TriggerMsg), "result: ")
	return reason
}

func TestExecutorsComeAndGo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, clock.rule)
		id := b.addJob(nil)
		stored := func() string {
			g, err := b.engine.queries.GetGroup(t.Context(), pool, b.group)
			if err != nil {
				t.Fatal(err)
			}
			return string(g.AddressList)
		}
		if got := b.sentTo(id); got != "not sent: no executor is registered" {
			t.Errorf("before anybody registered: %q", got)
		}
		b.register("orders", addressB)
		if got := b.sentTo(id); got != addressB {
			t.Errorf("after the first registered: %q", got)
		}
		b.register("ORDERS", addressA) // app names are compared as MySQL does
		if got := b.sentTo(id); got != addressA {
			t.Errorf("the list is not sorted: %q is first", got)
		}
		if got := stored(); got != addressA+","+addressB {
			t.Errorf("stored list %q", got)
		}
		if err := b.engine.Deregister(t.Context(), entry("orders", addressA)); err != nil {
			t.Fatal(err)
		}
		if got := b.sentTo(id); got != addressB {
			t.Errorf("after it said goodbye: %q", got)
		}
		clock.pass(89 * time.Second)
		if err := b.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.sentTo(id); got != addressB {
			t.Errorf("89 s after its last beat: %q", got)
		}
		clock.pass(3 * time.Second)
		if err := b.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.sentTo(id); got != "not sent: no executor is registered" {
			t.Errorf("92 s after its last beat: %q", got)
		}
		if got := stored(); got != "" {
			t.Errorf("stored list %q, want none", got)
		}
		b.register("orders", addressB) // a row it knows, but dead
		if got := b.sentTo(id); got != addressB {
			t.Errorf("after it came back: %q", got)
		}
	})
}

func TestGroupsKeepToTheirOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		other := b.addGroup("other", addressB)
		const c, d = "http://10.0.0.4:1/", "http://10.0.0.3:1/"
		manual, err := b.engine.queries.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "by hand", AddressType: 1,
			AddressList: db.Text(" " + c + " ,," + d + "," + c)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		for group, want := range map[int64][]string{b.group: {addressA}, other: {addressB}, manual: {c, d}} {
			var got []string
			for _, s := range b.engine.Addresses(group) {
				got = append(got, s.Address)
				if s.Live != (group != manual) || s.LastBeat.IsZero() == s.Live {
					t.Errorf("group %d: %+v", group, s)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("group %d has %q, want %q", group, got, want)
			}
		}
		g, err := b.engine.queries.GetGroup(t.Context(), pool, manual)
		if err != nil || g.AddressList != db.Text(" "+c+" ,,"+d+","+c) {
			t.Errorf("the list that was typed became %q, %v", g.AddressList, err)
		}
		if got := b.engine.Addresses(4711); got != nil {
			t.Errorf("an unknown group has %v", got)
		}
	})
}

func TestAnExecutorThatAnotherAdminHeardIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), nil, addressA)
	two := b.second(nil)
	if err := two.Register(t.Context(), entry("orders", addressB)); err != nil {
		t.Fatal(err)
	}
	b.await("the first knows it", func() bool { return len(b.engine.directory.get(b.group).addresses) == 2 })
}

func TestAgeOfABeat(t *testing.T) {
	t.Parallel()
	const h, s = time.Hour, time.Second
	tests := []struct {
		name           string
		instants, wall time.Duration
		want           time.Duration
	}{
		{"an ordinary day", 30 * s, 30 * s, 30 * s},
		{"a beat in the second of two equal hours, read as the first", h + 30*s, 30 * s, 30 * s},
		{"a beat in the first of them, looked at in the second", 30 * s, 30*s - h, 30 * s},
		{"an old beat in the first of them", 20 * 60 * s, 20*60*s - h, 20 * 60 * s},
		{"the hour that is left out", 30 * s, h + 30*s, 30 * s},
		{"another admin's clock is ahead", -2 * s, -2 * s, -2 * s},
	}
	for _, tt := range tests {
		if got := age(tt.instants, tt.wall); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestExecutorsAreNotBlamedForBeatsThatNobodyTook(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		clock := newHandClock()
		b.engine = newEngine(t, pool, b.executors, clock.rule)
		b.group = b.addGroup("orders", addressA, addressB)
		// The admin was away for an hour. A was there when it left; B had gone half an hour before.
		wall := func(ago time.Duration) any { return pool.Wall(clock.now().Add(-ago)) }
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_registry SET update_time = ? WHERE registry_value = ?", wall(time.Hour), addressA); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_registry SET update_time = ? WHERE registry_value = ?", wall(90*time.Minute), addressB); err != nil {
			t.Fatal(err)
		}
		b.startEngine(b.engine)
		if got := b.engine.directory.get(b.group).addresses; len(got) != 1 || got[0] != addressA {
			t.Fatalf("alive are %v, want %s", got, addressA)
		}
		run := b.trigger(b.addJob(nil))
		b.await("the run is sent", func() bool { return b.run(run).TriggerCode == 200 })
		alive := func() []string {
			t.Helper()
			if err := b.engine.directory.reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b.engine.directory.get(b.group).addresses
		}
		clock.pass(b.engine.cfg.DeadAfter - time.Second)
		if got := alive(); len(got) != 1 || got[0] != addressA {
			t.Errorf("alive are %v while it has time to beat again", got)
		}
		clock.pass(time.Second)
		if got := alive(); len(got) != 0 {
			t.Errorf("%v still count as alive when it had its time to beat again, and did not", got)
		}
	})
}

// Executors inside the admins register before these begin to work, and other admins may have come a little earlier: neither says that
// anybody took the beats of the others.
func TestExecutorsAreNotBlamedWhereAdminsBringTheirOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		clock := newHandClock()
		b.engine = newEngine(t, pool, b.executors, clock.rule)
		b.group = b.addGroup("orders", addressA, addressB)
		b.addGroup("inside")
		wall := func(ago time.Duration) any { return pool.Wall(clock.now().Add(-ago)) }
		for address, ago := range map[string]time.Duration{addressA: time.Hour, addressB: 90 * time.Minute} {
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_registry SET update_time = ? WHERE registry_value = ?", wall(ago), address); err != nil {
				t.Fatal(err)
			}
		}
		comes := func(e *Engine, address string) {
			t.Helper()
			if err := e.Arrive(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := e.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "inside", RegistryValue: address}); err != nil {
				t.Fatal(err)
			}
			b.startEngine(e)
			if got := e.directory.get(b.group).addresses; len(got) != 1 || got[0] != addressA {
				t.Errorf("alive are %v, want %s", got, addressA)
			}
		}
		comes(b.engine, "http://inside-a:1/")
		clock.pass(2 * time.Second)
		second := newEngine(t, pool, b.executors, clock.rule)
		comes(second, "http://inside-b:1/")
		// Both give it as long, counted from when the first one came.
		clock.pass(b.engine.cfg.DeadAfter - 2*time.Second)
		for i, e := range []*Engine{b.engine, second} {
			if err := e.directory.reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := e.directory.get(b.group).addresses; len(got) != 0 {
				t.Errorf("admin %d: %v still count as alive", i, got)
			}
		}
	})
}

func TestAnExecutorThatDiedWithoutAFarewellIsShownForAWhile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, clock.rule, addressA, addressB)
		died := func(address string, ago time.Duration) {
			t.Helper()
			_, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_registry SET update_time = ? WHERE registry_value = ?", pool.Wall(clock.now().Add(-ago)), address)
			if err == nil {
				err = b.engine.directory.reload(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		died(addressA, 10*time.Minute)
		got := b.engine.Addresses(b.group)
		if len(got) != 2 || got[0].Address != addressB || !got[0].Live || got[1].Address != addressA || got[1].Live || !got[1].Gone || got[1].LastBeat.IsZero() {
			t.Errorf("addresses: %+v", got)
		}
		if list := b.engine.directory.get(b.group).addresses; len(list) != 1 {
			t.Errorf("runs go to %v", list)
		}
		died(addressA, time.Hour)
		if got := b.engine.Addresses(b.group); len(got) != 1 {
			t.Errorf("an hour later: %+v", got)
		}
	})
}

// TestExecutorsThatComeTogetherShareAReading: each sees itself in the directory when its registration is answered, and the groups are not
// read once for each of them.
func TestExecutorsThatComeTogetherShareAReading(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		d := b.engine.directory
		const many = 40
		d.reloading <- struct{}{} // a reading goes on, so that all wait for the next
		var came sync.WaitGroup
		done := make(chan struct{})
		first, cancel := context.WithCancel(t.Context())
		for i := range many {
			came.Go(func() {
				ctx := t.Context()
				if i == 0 {
					ctx = first // one of them does not wait until the end
				}
				if err := d.refresh(ctx); err != nil && i > 0 {
					t.Error(err)
				}
			})
		}
		cancel()
		<-d.reloading
		go func() { came.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(executortest.Patience):
			t.Fatal("some wait for ever")
		}
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				address := fmt.Sprintf("http://10.0.0.%d:1/", i+1)
				if err := b.engine.Register(t.Context(), entry("orders", address)); err != nil {
					t.Error(err)
				}
				if !slices.Contains(d.get(b.group).addresses, address) {
					t.Errorf("%s is not known after its registration", address)
				}
			})
		}
		all.Wait()
	})
}

// TestAListOfAddressesThatIsRefusedKeepsNoOtherFromBeingWritten: the column of MySQL holds 64 KB.
func TestAListOfAddressesThatIsRefusedKeepsNoOtherFromBeingWritten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		register := func(name string, n int) {
			var rows strings.Builder
			for i := range n {
				if i > 0 {
					rows.WriteByte(',')
				}
				fmt.Fprintf(&rows, "('EXECUTOR', '%s', 'http://10.1.%d.%d:9999/')", name, i/250, i%250)
			}
			exec("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value) VALUES " + rows.String())
			exec("UPDATE xxl_job_registry SET update_time = ? WHERE registry_key = ?", pool.Wall(b.engine.now()), name)
			exec("INSERT INTO xxl_job_group (app_name, title, address_type) VALUES (?, ?, 0)", name, name)
		}
		const others = 12
		for i := range others {
			register(fmt.Sprintf("small%d", i), 1)
		}
		register("huge", 4000)
		if err := b.engine.directory.reload(t.Context()); (err != nil) != (pool.Dialect() == db.MySQL) {
			t.Errorf("the list of 80 KB: %v", err)
		}
		var written int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_group WHERE app_name LIKE 'small%' AND address_list = 'http://10.1.0.0:9999/'").Scan(&written); err != nil || written != others {
			t.Errorf("%d of %d others are written, %v", written, others, err)
		}
	})
}

// TestARunFindsAGroupThatAnotherAdminMadeJustNow: this one has not read of it, nor of an executor that came to another one.
func TestARunFindsAGroupThatAnotherAdminMadeJustNow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		empty := b.addGroup("empty")
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		group, err := b.engine.queries.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "new", Title: "new", AddressType: 1, AddressList: db.Text(addressA)})
		if err != nil {
			t.Fatal(err)
		}
		b.exec("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'empty', ?, ?)", addressB, pool.Wall(time.Now()))
		for id, address := range map[int64]string{group: addressA, empty: addressB} {
			b.start(b.addJob(func(p *db.InsertJobParams) { p.JobGroup = id }), time.Now())
			b.await("its run has gone to "+address, func() bool {
				return b.countRuns("trigger_code = 200 AND job_group = ? AND executor_address = ?", id, address) == 1
			})
		}
	})
}
