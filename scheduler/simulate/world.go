package simulate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/sqlite"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// installation is the zone of the simulated installation: not UTC, so that a forgotten conversion shows.
var installation = time.FixedZone("UTC+8", 8*60*60)

// world is a scenario under way: a database, nodes, executors, and what was seen of them.
type world struct {
	*scenario
	dir       string
	connector driver.Connector
	closer    io.Closer
	oracle    *db.Pool // a client of the database that nothing ever goes wrong with
	queries   *db.Queries
	schedules *db.Schedules
	slots     []*slot
	executors map[string]*executor
	order     []*executor
	groupIDs  []int64
	byID      map[int64]*job
	log       *tail
	mutate    func(string) (string, bool) // lets a test break them: their statements, and whether one is carried out at all
	over      chan struct{}               // closed when the scenario has been played
	life      context.Context
	patience  time.Duration // for the last run to end: a long job may have a long queue
	seconds   *atomic.Int64 // simulated so far, for who watches from outside
	wg        sync.WaitGroup

	mu       sync.Mutex
	counts   map[string]int
	sends    map[int64][]departure
	doubted  map[int64]bool // runs that an executor that asks may have been given, as the node was told that called it
	begun    map[int64]int
	names    map[int64]string // of nodes, by id
	killed   map[int64]bool   // runs that were ended by hand, as the engine said
	asked    map[int64]bool   // runs that somebody wanted ended, whatever became of it
	byHand   map[int64]bool   // runs triggered by hand
	seen     []violation
	suspects []int64 // runs to tell about
}

// violation is a promise that was broken.
type violation struct{ what, detail string }

// departure is a request for a run that left a node.
type departure struct {
	node, address string
	at            time.Time
}

// slot is the place of a node: a process that may be killed, and another one that takes its place.
type slot struct {
	w     *world
	index int
	turn  chan struct{} // capacity 1: held while the process is started or ended

	mu   sync.Mutex
	node *node // nil while there is none
	life int
}

// node is one process.
type node struct {
	name   string
	link   *link
	pool   *db.Pool
	engine *scheduler.Engine

	mailbox  *pull.Mailbox
	pulls    *wire.ExecutorClient // of executors that ask for their calls
	endPulls context.CancelFunc
}

// template is a migrated database file.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "punctual-simulate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	pool, err := db.Open(ctx, db.Config{DataDir: dir, Unsafe: true, Zone: installation, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(pool.Migrate(ctx), pool.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "punctual.db"))
})

// newWorld makes the database and everybody in it. It must be called inside the bubble, but for template.
func newWorld(s *scenario, dir string, content []byte) (*world, error) {
	w := &world{
		scenario: s, dir: dir, patience: time.Hour, seconds: new(atomic.Int64), queries: db.New(), schedules: db.NewSchedules(nil, installation, time.Now), executors: make(map[string]*executor), byID: make(map[int64]*job),
		log: &tail{}, over: make(chan struct{}), counts: make(map[string]int), sends: make(map[int64][]departure),
		doubted: make(map[int64]bool), begun: make(map[int64]int), names: make(map[int64]string), killed: make(map[int64]bool), asked: make(map[int64]bool), byHand: make(map[int64]bool),
	}
	path := filepath.Join(dir, "punctual.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, err
	}
	shared, err := sqlite.NewConnector(path, sqlite.Options{Unsafe: true, Readers: 16})
	if err != nil {
		return nil, err
	}
	w.connector, w.closer = onlyConnector{shared}, shared
	if w.oracle, err = w.open(context.Background(), w.connector); err != nil {
		return nil, err
	}
	return w, nil
}

// onlyConnector keeps a pool that is closed from closing what the others use.
type onlyConnector struct{ driver.Connector }

func (w *world) open(ctx context.Context, c driver.Connector) (*db.Pool, error) {
	return db.OpenShared(ctx, c, db.Config{Zone: installation, MaxConns: 64, Logger: slog.New(slog.DiscardHandler)})
}

// prepare writes groups and jobs down.
func (w *world) prepare(ctx context.Context) error {
	now := sql.NullTime{Time: w.oracle.Wall(time.Now()), Valid: true}
	for i, g := range w.groups {
		id, err := w.queries.InsertGroup(ctx, w.oracle, db.InsertGroupParams{AppName: g.app, Title: g.app, UpdateTime: now})
		if err != nil {
			return err
		}
		w.groupIDs = append(w.groupIDs, id)
		if g.limit > 0 {
			if err := w.queries.SetGroupOptions(ctx, w.oracle, db.SetGroupOptionsParams{AppName: g.app, MaxRunning: g.limit}); err != nil {
				return err
			}
		}
		for k := range g.executors {
			err := w.queries.InsertRegistry(ctx, w.oracle, db.InsertRegistryParams{
				RegistryGroup: "EXECUTOR", RegistryKey: g.app, RegistryValue: w.address(i, k), UpdateTime: now,
			})
			if err != nil {
				return err
			}
		}
	}
	for _, j := range w.jobs {
		var children []string
		for _, c := range j.children {
			children = append(children, fmt.Sprint(w.jobs[c].id))
		}
		p := db.InsertJobParams{
			JobGroup: w.groupIDs[j.group], JobDesc: j.name, AddTime: now, UpdateTime: now, Author: "simulate", ScheduleType: j.when.kind,
			ScheduleConf: db.Text(j.when.conf()), MisfireStrategy: j.misfire.Plain(), MisfireMore: j.misfire.More(), MisfireLast: j.mostLate, MisfireWithin: 60 * j.mostLate, ExecutorRouteStrategy: j.route, ExecutorHandler: "work",
			ExecutorBlockStrategy: db.Text(j.block), ExecutorFailRetryCount: j.retries, GlueType: wire.GlueBean, GlueUpdateTime: now,
			ChildJobIDs: db.Text(strings.Join(children, ",")), TimeZone: j.when.zoneName, MaxConcurrent: j.limit, ConcurrencyPolicy: string(j.policy), Priority: string(j.priority),
		}
		if j.def != nil {
			source, err := w.definition(j)
			if err != nil {
				return err
			}
			p.GlueType, p.GlueSource, p.ExecutorHandler = jobspec.GlueFlow, db.Text(source), ""
		}
		p.StartAt, p.EndAt = db.Millis(j.when.start), db.Millis(j.when.end)
		err := w.oracle.Tx(ctx, func(tx *sql.Tx) (err error) {
			j.id, err = w.schedules.Create(ctx, tx, p)
			return err
		})
		if err != nil {
			return err
		}
		j.row = p
		w.byID[j.id] = j
	}
	return nil
}

func (w *world) address(group, i int) string {
	if w.groups[group].asks[i] != called {
		return fmt.Sprintf("%sx-%d-%d", wire.PullScheme, group, i)
	}
	return fmt.Sprintf("http://10.%d.0.%d:9999/", group, i+1)
}

// rng is a stream of numbers of its own for everybody, so that what one draws does not move another's.
func (w *world) stream(of ...int) *rand.Rand {
	n := uint64(7)
	for _, i := range of {
		n = n*1_000_003 + uint64(i) + 1
	}
	return rand.New(rand.NewPCG(w.seed, n))
}

func (w *world) chance(r *rand.Rand, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.IntN(n)
}

// play lets the scenario happen, up to the moment when everything has come to its end.
func (w *world) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.life = ctx
	time.Sleep(time.Until(w.begin))
	if err := w.prepare(ctx); err != nil {
		return err
	}
	w.wg.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			w.seconds.Add(1)
		}
	})
	for i := range w.nodes {
		s := &slot{w: w, index: i, turn: make(chan struct{}, 1)}
		w.slots = append(w.slots, s)
	}
	for i, g := range w.groups {
		for k, kind := range g.executors {
			x := newExecutor(w, g.app, w.address(i, k), kind, g.asks[k], w.stream(2, i, k))
			w.executors[x.address] = x
			w.order = append(w.order, x)
		}
	}
	var hands sync.WaitGroup
	for _, s := range w.slots {
		hands.Go(func() { s.start() })
	}
	hands.Wait()
	for _, j := range w.jobs {
		if err := w.startJob(ctx, j); err != nil {
			return err
		}
	}
	began := time.Now()
	for i, f := range w.faults {
		hands.Go(func() {
			time.Sleep(time.Until(began.Add(f.at)))
			w.hurt(i, f)
		})
	}
	for _, a := range w.acts {
		hands.Go(func() {
			time.Sleep(time.Until(began.Add(a.at)))
			w.act(ctx, a)
		})
	}
	hands.Wait()
	time.Sleep(time.Until(began.Add(w.length)))
	time.Sleep(30 * time.Second) // all is well again: the engines find their way back by themselves
	w.settle(ctx)
	for _, j := range w.jobs {
		if err := w.stopJob(ctx, j); err != nil {
			return err
		}
	}
	w.drain(ctx)
	for _, s := range w.slots {
		hands.Go(func() { s.stop(30 * time.Second) })
	}
	hands.Wait()
	close(w.over)
	cancel()
	for _, x := range w.order {
		x.fall()
	}
	w.wg.Wait()
	return nil
}

func (w *world) close() error { return errors.Join(w.oracle.Close(), w.closer.Close()) }

// settle checks that the schedule has been caught up with. Jobs whose missed fires have runs of their own may take longer for it.
func (w *world) settle(ctx context.Context) {
	behind := func(each string) (n int) {
		err := w.oracle.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status > 0 AND trigger_next_time < ? AND (misfire_more <> '') = "+each,
			time.Now().Add(-2*time.Second).UnixMilli()).Scan(&n)
		if err != nil {
			w.violate("schedule not caught up", "%v", err)
		}
		return n
	}
	if n := behind("0"); n > 0 {
		w.violate("schedule not caught up", "30 s after the last fault %d jobs are due and not claimed", n)
	}
	const most = jobspec.MaxMissed / (jobspec.MaxFires - 1) * time.Second // a claim a second, of a job that is due every second
	for waited := time.Duration(0); behind("1") > 0; waited += 10 * time.Second {
		if waited > most {
			w.violate("schedule not caught up", "%v after the last fault %d jobs still make up for what they missed", waited+30*time.Second, behind("1"))
			return
		}
		time.Sleep(10 * time.Second)
	}
}

// drain waits until every run has ended, for as long as runs do end: an executor that works off a long queue takes its time.
func (w *world) drain(ctx context.Context) {
	least, since := math.MaxInt, time.Now()
	for {
		time.Sleep(5 * time.Second)
		var open, unsent int
		err := w.oracle.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(SUM(CASE WHEN trigger_code = 0 THEN 1 ELSE 0 END), 0) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200)").Scan(&open, &unsent)
		switch {
		case err != nil:
			w.violate("oracle", "%v", err)
			return
		case open == 0:
			return
		case open < least:
			least, since = open, time.Now()
		case time.Since(since) > w.patience:
			w.violate("run without an end", "in %v none of %d runs has ended, %d of them unsent", w.patience, open, unsent)
			return
		}
	}
}

// hurt makes a fault begin and end.
func (w *world) hurt(number int, f fault) {
	w.count("fault: " + f.what)
	slots := w.slots
	if f.node >= 0 {
		slots = slots[f.node : f.node+1]
	}
	x := w.order[f.executor]
	switch f.what {
	case "freeze":
		l := slots[0].current()
		if l == nil {
			return
		}
		l.link.freeze()
		time.Sleep(f.lasts)
		l.link.wake()
	case "kill", "stop":
		if f.clean {
			slots[0].stop(10 * time.Second)
		} else {
			slots[0].kill()
		}
		time.Sleep(f.lasts)
		slots[0].start()
	case "outage":
		if f.trouble.away {
			f.what = "away"
			w.hurt(number, f)
			return
		}
		w.each(slots, func(s *slot) {
			if f.clean {
				s.stop(10 * time.Second)
			} else {
				s.kill()
			}
		})
		time.Sleep(f.lasts)
		w.each(slots, (*slot).start)
	case "trouble", "away", "hole":
		var links []*link
		for _, s := range slots {
			if n := s.current(); n != nil {
				n.link.begin(number, f.trouble)
				links = append(links, n.link)
			}
		}
		time.Sleep(f.lasts)
		for _, l := range links {
			l.end(number)
		}
	case "step":
		n := slots[0].current()
		if n == nil {
			return
		}
		n.link.step(f.offset)
		time.Sleep(f.lasts)
		n.link.step(0)
	case "dead executor":
		x.fall()
		time.Sleep(f.lasts)
		x.rise()
	case "frozen executor":
		x.freeze()
		time.Sleep(f.lasts)
		x.wake()
	case "slow executor", "lossy executor":
		x.disturb(f.trouble)
		time.Sleep(f.lasts)
		x.disturb(trouble{})
	}
}

// each does something to several nodes at once.
func (w *world) each(slots []*slot, do func(*slot)) {
	var all sync.WaitGroup
	for _, s := range slots {
		all.Go(func() { do(s) })
	}
	all.Wait()
}

func (s *slot) current() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// start starts a process, again and again until it comes up, as whatever supervises it would.
func (s *slot) start() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.current() != nil {
		return
	}
	for range 200 {
		n, err := s.try()
		if err == nil {
			s.mu.Lock()
			s.node = n
			s.mu.Unlock()
			return
		}
		time.Sleep(time.Second)
	}
	s.w.violate("node does not start", "node %d", s.index)
}

func (s *slot) try() (*node, error) {
	w := s.w
	s.life++
	n := &node{name: fmt.Sprintf("node-%d.%d", s.index, s.life)}
	n.link = newLink(w, n.name, w.stream(3, s.index, s.life))
	ctx, cancel := context.WithTimeout(w.life, 20*time.Second)
	defer cancel()
	var err error
	if n.pool, err = w.open(ctx, &connector{inner: w.connector, link: n.link}); err != nil {
		return nil, err
	}
	cfg := scheduler.Config{
		Pool: n.pool, Executors: network{w: w, node: n}, Reference: n.reference, Name: n.name, Address: n.name, Version: "simulated", JobZone: installation, Now: n.link.now,
		Logger: w.logger(n),
	}
	n.collect(w)
	if n.engine, err = scheduler.New(cfg); err == nil {
		err = n.engine.Start(ctx)
	}
	if err != nil {
		n.link.kill()
		return nil, errors.Join(err, n.pool.Close())
	}
	var pulls context.Context
	pulls, n.endPulls = context.WithCancel(w.life)
	w.wg.Go(func() { n.mailbox.Run(pulls) })
	return n, nil
}

func (w *world) logger(n *node) *slog.Logger {
	return slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelInfo})).With("node", n.name)
}

// reference is the database's clock, which no fault of a node moves. Asking it is a statement like any other.
func (n *node) reference(ctx context.Context) (time.Time, error) {
	var one int
	err := n.pool.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	return time.Now(), err
}

// take gives the process up for being ended.
func (s *slot) take() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.node
	s.node = nil
	return n
}

// kill ends the process at once. What is left of it in memory runs out without reaching anything.
func (s *slot) kill() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	n := s.take()
	if n == nil {
		return
	}
	n.link.kill()
	n.mailbox.Close()
	n.endPulls()
	s.w.wg.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = n.engine.Stop(ctx)
		_ = n.pool.Close()
	})
}

// stop ends the process as SIGTERM does.
func (s *slot) stop(limit time.Duration) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	n := s.take()
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = n.engine.Stop(ctx)
	n.mailbox.Close()
	n.endPulls()
	n.link.kill()
	_ = n.pool.Close()
}

// nodesUp are the processes there are.
func (w *world) nodesUp() (up []*node) {
	for _, s := range w.slots {
		if n := s.current(); n != nil {
			up = append(up, n)
		}
	}
	return up
}

// askAny puts a request to one admin after the other, until one takes it.
func (w *world) askAny(r *rand.Rand, do func(context.Context, *node) error) bool {
	up := w.nodesUp()
	w.mu.Lock()
	r.Shuffle(len(up), func(i, k int) { up[i], up[k] = up[k], up[i] })
	w.mu.Unlock()
	for _, n := range up {
		ctx, cancel := context.WithTimeout(w.life, 3*time.Second)
		err := n.take(ctx, do)
		cancel()
		if err == nil {
			return true
		}
	}
	return false
}

// startJob makes a job due from now on, as the console does.
func (w *world) startJob(ctx context.Context, j *job) error {
	now := time.Now().Truncate(time.Second)
	claimed, err := w.claimed(ctx, w.oracle, j)
	if err != nil {
		return err
	}
	first := j.when.first(later(now, claimed).Truncate(time.Second))
	if first.IsZero() {
		return nil
	}
	started := false
	err = w.oracle.Tx(ctx, func(tx *sql.Tx) (err error) {
		started, err = w.schedules.Start(ctx, tx, db.StartJobParams{ID: j.id, NextTime: first.UnixMilli()})
		return err
	})
	if err != nil || !started {
		return err
	}
	j.epochs = append(j.epochs, epoch{when: j.when, first: first, began: now})
	for _, n := range w.nodesUp() {
		n.engine.JobsChanged()
	}
	return nil
}

// last is the epoch that has not ended.
func (j *job) last() *epoch {
	if len(j.epochs) == 0 || !j.epochs[len(j.epochs)-1].ended.IsZero() {
		return nil
	}
	return &j.epochs[len(j.epochs)-1]
}

// claimed is up to when the fires of a job are decided: what people start or edit is due behind it, see manage.Jobs.
func (w *world) claimed(ctx context.Context, tx db.DBTX, j *job) (time.Time, error) {
	var until int64
	err := tx.QueryRowContext(ctx, "SELECT claimed_until FROM xxl_job_info WHERE id = ?", j.id).Scan(&until)
	if claimed := time.UnixMilli(until); claimed.After(time.Now()) && time.Until(claimed) <= time.Minute {
		return claimed.Add(-time.Millisecond), err
	}
	return time.Time{}, err
}

// stopJob ends an epoch, and notes from which time on nothing is planned any more.
func (w *world) stopJob(ctx context.Context, j *job) error {
	return w.changeJob(ctx, j, func(tx *sql.Tx, _ time.Time, _ int64) error {
		_, err := w.schedules.Stop(ctx, tx, j.id, sql.NullTime{})
		return err
	})
}

// changeJob does something to a job in the transaction in which its epoch ends.
func (w *world) changeJob(ctx context.Context, j *job, change func(*sql.Tx, time.Time, int64) error) error {
	e := j.last()
	if e == nil {
		return nil
	}
	return w.oracle.Tx(ctx, func(tx *sql.Tx) error {
		var status, next int64
		if err := tx.QueryRowContext(ctx, "SELECT trigger_status, trigger_next_time FROM xxl_job_info WHERE id = ?", j.id).Scan(&status, &next); err != nil {
			return err
		}
		now := time.Now()
		e.ended = now
		if e.stopped = status == 0; e.stopped {
			e.until = now.Add(time.Hour) // the schedule's own end bounds it
			return nil
		}
		e.until = time.UnixMilli(next)
		return change(tx, now, next)
	})
}

// edit gives a running job another schedule.
func (w *world) edit(ctx context.Context, j *job, r *rand.Rand) error {
	if j.when.kind != jobspec.ScheduleCron && j.when.kind != jobspec.ScheduleFixRate || j.takes > time.Second || j.def != nil {
		return nil
	}
	other := w.drawWhen(r)
	if other.kind != jobspec.ScheduleCron && other.kind != jobspec.ScheduleFixRate {
		return nil
	}
	other.zone, other.zoneName, other.start, other.end = j.when.zone, j.when.zoneName, j.when.start, j.when.end
	return w.changeJob(ctx, j, func(tx *sql.Tx, now time.Time, next int64) error {
		claimed, err := w.claimed(ctx, tx, j)
		if err != nil {
			return err
		}
		first := other.first(later(now, claimed).Truncate(time.Second))
		if first.IsZero() {
			_, err := w.schedules.Stop(ctx, tx, j.id, sql.NullTime{})
			return err
		}
		p := j.row
		p.ScheduleType, p.ScheduleConf = other.kind, db.Text(other.conf())
		j.row, j.when = p, other
		var revision int64
		if err := tx.QueryRowContext(ctx, "SELECT revision FROM xxl_job_info WHERE id = ?", j.id).Scan(&revision); err != nil {
			return err
		}
		err = w.schedules.Edit(ctx, tx, db.UpdateJobParams{
			ID: j.id, OldNextTime: next, OldStatus: 1, OldRevision: revision, NewNextTime: first.UnixMilli(),
			JobGroup: p.JobGroup, JobDesc: p.JobDesc, UpdateTime: p.UpdateTime, Author: p.Author, ScheduleType: p.ScheduleType, ScheduleConf: p.ScheduleConf,
			MisfireStrategy: p.MisfireStrategy, MisfireMore: p.MisfireMore, MisfireLast: p.MisfireLast, MisfireWithin: p.MisfireWithin, ExecutorRouteStrategy: p.ExecutorRouteStrategy, ExecutorHandler: p.ExecutorHandler,
			ExecutorBlockStrategy: p.ExecutorBlockStrategy, ExecutorFailRetryCount: p.ExecutorFailRetryCount, ChildJobIDs: p.ChildJobIDs,
			TimeZone: p.TimeZone, StartAt: p.StartAt, EndAt: p.EndAt, MaxConcurrent: p.MaxConcurrent, ConcurrencyPolicy: p.ConcurrencyPolicy, Priority: p.Priority,
		})
		j.epochs = append(j.epochs, epoch{when: other, first: first, began: now})
		return err
	})
}

// act does something by hand.
func (w *world) act(ctx context.Context, a act) {
	r := rand.New(rand.NewPCG(a.draw, 5))
	j := w.jobs[a.job]
	up := w.nodesUp()
	if len(up) == 0 {
		return
	}
	n := up[r.IntN(len(up))]
	call, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	w.count("act: " + a.what)
	var err error
	switch a.what {
	case "trigger":
		_ = n.take(call, func(ctx context.Context, n *node) error {
			ids, err := n.engine.Trigger(ctx, scheduler.TriggerRequest{JobID: j.id, Type: jobspec.TriggerManual, User: "somebody"})
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, id := range ids {
				w.byHand[id] = true
			}
			return err
		})
	case "restart":
		w.turn(j, func() {
			if err = w.stopJob(ctx, j); err == nil {
				time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
				err = w.startJob(ctx, j)
			}
		})
	case "stop":
		w.turn(j, func() { err = w.stopJob(ctx, j) })
	case "edit":
		w.turn(j, func() { err = w.edit(ctx, j, r) })
	case "kill":
		var id int64
		err = w.oracle.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200) AND job_id >= ?", j.id).Scan(&id)
		if err != nil || id == 0 {
			break
		}
		w.mu.Lock()
		w.asked[id] = true
		w.mu.Unlock()
		_ = n.take(call, func(ctx context.Context, n *node) error {
			err := n.engine.Kill(ctx, id, "somebody")
			if err == nil {
				w.mu.Lock()
				w.killed[id] = true
				w.mu.Unlock()
				w.count("runs killed by hand")
			}
			return err
		})
	}
	if err != nil {
		w.violate("oracle", "%s: %v", a.what, err)
	}
}

// turn keeps two hands from changing one job at the same time.
func (w *world) turn(j *job, do func()) {
	for {
		w.mu.Lock()
		if !j.held {
			j.held = true
			w.mu.Unlock()
			break
		}
		w.mu.Unlock()
		time.Sleep(time.Second)
	}
	do()
	w.mu.Lock()
	j.held = false
	w.mu.Unlock()
}

// tact is what durations are rounded to: what happens together costs less to simulate.
const tact = 20 * time.Millisecond

// work is how long a run takes, and how it ends.
func (w *world) work(req *wire.RunRequest, r *rand.Rand) (time.Duration, int) {
	j := w.byID[req.JobID]
	if j == nil {
		return time.Millisecond, wire.CodeSuccess
	}
	takes, code := (j.takes + time.Duration(r.Int64N(int64(j.spread)+1))).Truncate(tact), wire.CodeSuccess
	if r.Float64() < j.fails {
		code = wire.CodeFail
		if r.IntN(4) == 0 {
			code = wire.CodeTimeout
		}
	}
	return takes, code
}

// began notes that an executor begins a run.
func (w *world) began(_ *executor, req *wire.RunRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[req.LogID]++
}

// inDoubt notes a run of which its node does not know whether an executor that asks has it.
func (w *world) inDoubt(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubted[id] = true
	w.counts["pulled call in doubt"]++
}

// sent notes that a request for a run leaves a node, and looks at the run's row as it is at that moment.
func (w *world) sent(by, address string, req *wire.RunRequest) {
	now := time.Now()
	w.mu.Lock()
	w.sends[req.LogID] = append(w.sends[req.LogID], departure{node: by, address: address, at: now})
	w.mu.Unlock()
	ctx := context.Background()
	var owner, triggerCode, handleCode, planned int64
	var trigger string
	err := w.oracle.QueryRowContext(ctx, "SELECT owner_node, trigger_code, handle_code, planned_at, trigger_type FROM xxl_job_log WHERE id = ?", req.LogID).
		Scan(&owner, &triggerCode, &handleCode, &planned, &trigger)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		w.violate("sent without a row", "run %d of job %d by %s", req.LogID, req.JobID, by)
		return
	case err != nil:
		w.violate("oracle", "%v", err)
		return
	}
	if name := w.nameOf(ctx, owner); name != by {
		w.violate("sent what is another's", "run %d by %s, it belongs to %s (node %d)", req.LogID, by, name, owner)
	}
	if triggerCode != 0 {
		w.violate("sent what was decided", "run %d by %s: its trigger code is %d already", req.LogID, by, triggerCode)
	}
	if handleCode != 0 {
		w.violate("sent what had ended", "run %d by %s: its handle code is %d already", req.LogID, by, handleCode)
	}
	late := now.Sub(time.UnixMilli(planned))
	if late < -time.Second {
		w.violate("sent early", "run %d by %s: %v before its time", req.LogID, by, -late)
	}
	if trigger == string(jobspec.TriggerCron) && w.byID[req.JobID].nothing() && late > staleAfter+2*time.Second {
		w.suspect(req.LogID)
		w.violate("sent too late", "run %d by %s: %v late, with DO_NOTHING", req.LogID, by, late)
	}
}

// staleAfter is how late a fire of a job that is to do nothing about misfires may still be sent: what the engine promises.
const staleAfter = time.Minute

func (w *world) nameOf(ctx context.Context, id int64) string {
	w.mu.Lock()
	name := w.names[id]
	w.mu.Unlock()
	if name == "" {
		_ = w.oracle.QueryRowContext(ctx, "SELECT name FROM punctual_node WHERE id = ?", id).Scan(&name)
		w.mu.Lock()
		w.names[id] = name
		w.mu.Unlock()
	}
	return name
}

func (w *world) mutated(query string) (string, bool) {
	if w.mutate == nil {
		return query, true
	}
	return w.mutate(query)
}

func (w *world) count(what string) {
	w.mu.Lock()
	w.counts[what]++
	w.mu.Unlock()
}

// maxViolations is how many are kept: one fault of the engine may show a thousand times.
const maxViolations = 200

func (w *world) violate(what, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts["BROKEN: "+what]++
	if len(w.seen) < maxViolations {
		w.seen = append(w.seen, violation{what, time.Now().UTC().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)})
	}
}

// suspect notes a run of which more is to be told.
func (w *world) suspect(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.suspects) < 5 {
		w.suspects = append(w.suspects, id)
	}
}

// stories are the rows of the suspects.
func (w *world) stories(ctx context.Context) string {
	var b strings.Builder
	for _, id := range w.suspects {
		run, err := w.queries.GetRun(ctx, w.oracle, id)
		fmt.Fprintf(&b, "%+v %v\n\tsent %v\n", run, err, w.sends[id])
	}
	return b.String()
}

// report is what was broken, each kind with a few examples.
func (w *world) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	byKind := make(map[string][]string)
	for _, v := range w.seen {
		byKind[v.what] = append(byKind[v.what], v.detail)
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&b, "%s (%d):\n", what, w.counts["BROKEN: "+what])
		for i, d := range byKind[what] {
			if i == 4 {
				b.WriteString("\t…\n")
				break
			}
			fmt.Fprintf(&b, "\t%s\n", d)
		}
	}
	return b.String()
}

// tail keeps the end of what the engines logged.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, string(p))
	if len(t.lines) > 4000 {
		t.lines = slices.Clone(t.lines[2000:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
