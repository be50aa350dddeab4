package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/punctual-job/punctual/db"
)

// When the maintenance jobs run, in the installation's zone. Users' jobs are never entries of this runner: it forgets what
// it missed, which maintenance may.
const (
	// A new day makes runs too old at midnight. Hourly, so that what a node that died left is taken up the same day; a round
	// with nothing to do costs a read. Off the full hour, when everybody's jobs are due.
	retainAt = "23 * * * *"
	// At the quietest hour, and outside the hours that a summer-time change leaves out.
	recountAt = "47 4 * * *"
	// Somebody who asks for a clearing watches it begin. One read of a small table.
	clearAt = "@every 2s"
	// How long somebody else's change of a schedule may go unnoticed, where there are not so many jobs that [noticeShare] says less.
	noticeAt = "@every 1m"
)

const (
	// jitterMax spreads installations that share a database server; nodes of one installation do not meet, see leads.
	jitterMax = 30 * time.Second
	// recountSoon is when after a start the counters that a crash may have left wrong are looked at, and recountSoonMax the
	// size of a day above which that waits for the night.
	recountSoon    = 20 * time.Second
	recountSoonMax = 1_000_000
	// recountAdopted is how many days back days without hours are counted, and keepHours how long hours are kept:
	// somewhat longer than the longest report that is made of them.
	recountAdopted = 30
	keepHours      = 100 * 24 * time.Hour
	// keepClearings is how long finished clearings are shown.
	keepClearings = 90 * 24 * time.Hour
)

// maintain runs the maintenance jobs until ctx ends.
func (e *Engine) maintain(ctx context.Context) {
	log := cronLogger{e.log}
	// The skipping must be outside: a job that panicked through it would count as running for ever.
	c := cron.New(cron.WithLocation(e.cfg.Pool.Zone()), cron.WithLogger(log), cron.WithChain(cron.SkipIfStillRunning(log), cron.Recover(log)))
	add := func(spec, what string, jitter time.Duration, do func(context.Context) error) {
		_, err := c.AddFunc(spec, func() {
			if !e.leads() || jitter > 0 && rest(ctx, rand.N(jitter)) != nil {
				return
			}
			if err := do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errNotLeader) {
				e.log.Warn(what, "error", err)
			}
		})
		if err != nil {
			panic(fmt.Sprintf("schedule of %s: %v", what, err)) // the specs are constants above
		}
	}
	add(retainAt, "delete old runs", jitterMax, e.retain)
	add(retainAt, "delete old sessions", jitterMax, e.forgetOld)
	add(recountAt, "recount the last days", jitterMax, func(ctx context.Context) error { return e.recountDays(ctx, 2) })
	add(clearAt, "clear runs", 0, e.clearDue)
	add(noticeAt, "look for changed schedules", 0, e.noticeSchedules)
	c.Start()
	if e.leads() { // an adopted database has no history yet
		if err := e.noticeSchedules(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errNotLeader) {
			e.log.Warn("look for changed schedules", "error", err)
		}
	}
	if rest(ctx, recountSoon+rand.N(recountSoon)) == nil && e.leads() {
		if err := e.recountAtStart(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("recount after the start", "error", err)
		}
	}
	<-ctx.Done()
	<-c.Stop().Done()
}

// errNotLeader ends a maintenance job in the middle: another node has become the one to do it, and goes on.
var errNotLeader = errors.New("another admin looks after the database now")

// leads reports whether this node is the one that looks after the database: of the live nodes the one with the lowest id,
// which every node finds without asking. Should two believe it for a moment, no harm is done, as every step is guarded
// or the same when done twice.
func (e *Engine) leads() bool {
	if !e.node.mayAct() || e.draining.Load() {
		return false
	}
	me := e.node.id.Load()
	e.node.mu.RLock()
	defer e.node.mu.RUnlock()
	for _, id := range e.node.alive {
		if id < me {
			return false
		}
	}
	return true
}

// recountDays recounts today and as many days before it, the oldest first.
func (e *Engine) recountDays(ctx context.Context, before int) error {
	today := e.today()
	for i := before; i >= 0; i-- {
		if !e.leads() {
			return errNotLeader
		}
		day := today.AddDate(0, 0, -i)
		if err := e.recount(ctx, day); errors.Is(err, errBusyDay) {
			e.log.Info("a day was not recounted", "day", day.Format(time.DateOnly), "error", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// SettingSkipsCounted is the row of punctual_setting that says that the days of before skipped fires were counted by themselves have
// been counted anew.
const SettingSkipsCounted = "skips_counted"

// recountAtStart recounts the days that an XXL-JOB admin has left without their hours, or an older version with skipped fires among
// the failures, which happens once in a database's life, and yesterday and today unless there is much to count.
func (e *Engine) recountAtStart(ctx context.Context) error {
	now := e.now()
	_, err := e.queries.GetSetting(ctx, e.cfg.Pool, SettingSkipsCounted)
	skipsCounted := err == nil
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	days, _, err := Days(ctx, e.cfg.Pool, now.AddDate(0, 0, -recountAdopted), now)
	if err != nil {
		return err
	}
	soon := days[len(days)-1].Total() + days[len(days)-2].Total()
	for i, d := range days[:len(days)-2] {
		if d.Total() == 0 {
			continue
		}
		day := e.today().AddDate(0, 0, i-recountAdopted)
		first, err := e.queries.FirstHourSince(ctx, e.cfg.Pool, db.FirstHourSinceParams{FromHour: day.Unix(), ToHour: day.Unix() + 86_400})
		if err != nil {
			return err
		}
		if first != 0 && skipsCounted {
			continue
		}
		if !e.leads() {
			return errNotLeader
		}
		if err := e.recount(ctx, day); err != nil && !errors.Is(err, errBusyDay) {
			return err
		}
	}
	if !skipsCounted {
		if err := e.queries.SetSetting(ctx, e.cfg.Pool, db.SetSettingParams{Name: SettingSkipsCounted, Value: "1", UpdatedAt: now.UnixMilli()}); err != nil {
			return err
		}
	}
	if soon > recountSoonMax {
		return nil
	}
	return e.recountDays(ctx, 1)
}

// forgetOld deletes what has outlived its use beside runs.
func (e *Engine) forgetOld(ctx context.Context) error {
	now := e.now()
	for {
		n, err := e.queries.DeleteSessionsBefore(ctx, e.cfg.Pool, now.UnixMilli())
		if err != nil {
			return err
		}
		if n < 1000 { // the query's limit
			break
		}
	}
	if err := e.forgetSchedules(ctx); err != nil {
		return err
	}
	if _, err := e.queries.DeleteClearingsBefore(ctx, e.cfg.Pool, now.Add(-keepClearings).UnixMilli()); err != nil {
		return err
	}
	for {
		n, err := e.queries.DeleteHoursBefore(ctx, e.cfg.Pool, e.wall(now.Add(-keepHours)).Unix())
		if err != nil || n < 1000 { // the query's limit
			return err
		}
	}
}

// today is the midnight of the day it is in the installation's zone, as the DATETIME columns hold it.
func (e *Engine) today() time.Time { return time.Unix(dayOf(e.wall(e.now())), 0).UTC() }

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restAfter is the pause after a piece of maintenance that took a while: twice as long, so that it has at most a third of
// one connection, or of the embedded database's writer.
func restAfter(took time.Duration) time.Duration {
	return min(max(2*took, time.Millisecond), 2*time.Second)
}

// cronLogger lets the runner's remarks into the log.
type cronLogger struct{ log *slog.Logger }

func (l cronLogger) Info(msg string, kv ...any) { l.log.Debug("maintenance: "+msg, kv...) }
func (l cronLogger) Error(err error, msg string, kv ...any) {
	l.log.Error("maintenance: "+msg, append([]any{"error", err}, kv...)...)
}

var _ cron.Logger = cronLogger{}
