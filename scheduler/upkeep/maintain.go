package upkeep

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
	// The hour that is over, when what was planned in it has mostly ended.
	recountHourAt = "7 * * * *"
	// Somebody who asks for a clearing watches it begin. One read of a small table.
	clearAt = "@every 2s"
	// How long somebody else's change of a schedule may go unnoticed, where there are not so many jobs that [noticeShare] says less.
	noticeAt = "@every 1m"
	// Three partitions of a million runs are kept empty, which is more than is written in a minute.
	extendAt = "@every 1m"
)

// KeptDays is how many days the counters of hours and of long runs are kept whole, today's included: somewhat longer than the longest
// picture that is made of them.
const KeptDays = 100

const (
	// jitterMax spreads installations that share a database server; nodes of one installation do not meet, see [Config.Leads].
	jitterMax = 30 * time.Second
	// recountSoon is when after a start the counters that a crash may have left wrong are looked at, and recountSoonMax the
	// size of a day above which that waits for the night.
	recountSoon    = 20 * time.Second
	recountSoonMax = 1_000_000
	// recountAdopted is how many days back days without hours are counted.
	recountAdopted = 30
	keepHours      = KeptDays * 24 * time.Hour
	// keepClearings is how long finished clearings are shown.
	keepClearings = 90 * 24 * time.Hour
	// trialGrace is how old the text of a trial is before it is looked whether its run is gone.
	trialGrace = time.Hour
	// forgetPage is how many of those whose run is gone are read and deleted at once.
	forgetPage = 1000
	// pullGrace is for how long a call may be over before it is deleted: whoever made it deletes it at once.
	pullGrace = 10 * time.Minute
	// keepSeen is for how long it is known when an executor asked for its calls that does not any more.
	keepSeen = 24 * time.Hour
)

// maintain runs the maintenance jobs until ctx ends.
func (s *Service) maintain(ctx context.Context) {
	log := cronLogger{s.log}
	// The skipping must be outside: a job that panicked through it would count as running for ever.
	c := cron.New(cron.WithLocation(s.cfg.Pool.Zone()), cron.WithLogger(log), cron.WithChain(cron.SkipIfStillRunning(log), cron.Recover(log)))
	add := func(spec, what string, jitter time.Duration, do func(context.Context) error) {
		_, err := c.AddFunc(spec, func() {
			if !s.cfg.Leads() || jitter > 0 && Rest(ctx, rand.N(jitter)) != nil {
				return
			}
			s.do(ctx, what, do)
		})
		if err != nil {
			panic(fmt.Sprintf("schedule of %s: %v", what, err)) // the specs are constants above
		}
	}
	add(retainAt, "delete old runs", jitterMax, s.retain)
	add(retainAt, "delete what has outlived its use", jitterMax, s.forgetOld)
	add(recountAt, "recount the last days", jitterMax, func(ctx context.Context) error { return s.recountDays(ctx, 2) })
	add(recountHourAt, "recount the last hour", jitterMax, func(ctx context.Context) error {
		return s.RecountHour(ctx, s.wall(s.cfg.Now()).Truncate(time.Hour).Add(-time.Hour))
	})
	add(clearAt, "clear runs", 0, s.clearDue)
	add(extendAt, "add partitions to the log", 0, s.extendLog)
	add(noticeAt, "look for changed schedules", 0, s.noticeSchedules)
	c.Start()
	if s.cfg.Leads() { // an adopted database has no history yet
		s.do(ctx, "look for changed schedules", s.noticeSchedules)
	}
	if Rest(ctx, recountSoon+rand.N(recountSoon)) == nil && s.cfg.Leads() {
		s.do(ctx, "recount after the start", s.recountAtStart)
	}
	<-ctx.Done()
	<-c.Stop().Done()
}

var (
	// errNotLeader ends a maintenance job in the middle: another node has become the one to do it, and goes on.
	errNotLeader = errors.New("another admin looks after the database now")
	// errChanged means that somebody else changed a row between the read and the guarded write.
	errChanged = errors.New("a row was changed meanwhile")
)

// recountDays recounts today and as many days before it, the oldest first.
func (s *Service) recountDays(ctx context.Context, before int) error {
	today := s.today()
	for i := before; i >= 0; i-- {
		if !s.cfg.Leads() {
			return errNotLeader
		}
		day := today.AddDate(0, 0, -i)
		if err := s.Recount(ctx, day); errors.Is(err, errBusyDay) {
			s.log.Info("a day was not recounted", "day", day.Format(time.DateOnly), "error", err)
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
func (s *Service) recountAtStart(ctx context.Context) error {
	now := s.cfg.Now()
	_, err := s.queries.GetSetting(ctx, s.cfg.Pool, SettingSkipsCounted)
	skipsCounted := err == nil
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	days, _, err := Days(ctx, s.cfg.Pool, s.cfg.Pool.FromWall(s.today().AddDate(0, 0, -recountAdopted)), now)
	if err != nil {
		return err
	}
	soon := days[len(days)-1].Total() + days[len(days)-2].Total()
	for i, d := range days[:len(days)-2] {
		if d.Total() == 0 {
			continue
		}
		day := s.today().AddDate(0, 0, i-recountAdopted)
		first, err := s.queries.FirstHourSince(ctx, s.cfg.Pool, db.FirstHourSinceParams{FromHour: day.Unix(), ToHour: day.Unix() + 86_400})
		if err != nil {
			return err
		}
		if first != 0 && skipsCounted {
			continue
		}
		if !s.cfg.Leads() {
			return errNotLeader
		}
		if err := s.Recount(ctx, day); err != nil && !errors.Is(err, errBusyDay) {
			return err
		}
	}
	if !skipsCounted {
		if err := s.queries.SetSetting(ctx, s.cfg.Pool, db.SetSettingParams{Name: SettingSkipsCounted, Value: "1", UpdatedAt: now.UnixMilli()}); err != nil {
			return err
		}
	}
	if soon > recountSoonMax {
		return nil
	}
	return s.recountDays(ctx, 1)
}

// forgetOld deletes what has outlived its use beside runs. What cannot be deleted of one kind keeps nothing of the others, unless the database is
// away.
func (s *Service) forgetOld(ctx context.Context) (err error) {
	now := s.cfg.Now()
	before := func(forget func(context.Context, db.DBTX, int64) (int64, error), at int64) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := forget(ctx, s.cfg.Pool, at)
			return err
		}
	}
	until := s.wall(now.Add(-keepHours)).Unix()
	for _, forget := range []func(context.Context) error{
		s.forgetSchedules,
		before(s.queries.DeleteClearingsBefore, now.Add(-keepClearings).UnixMilli()),
		s.forgetTrials,
		s.forgetFlows,
		s.forgetNotes,
		s.forgetGates,
		// Calls to executors that ask for theirs, and answers, of admins that were killed: each has been over for a while.
		before(s.queries.DeletePullsBefore, now.Add(-pullGrace).UnixMilli()),
		before(s.queries.DeletePullAnswersBefore, now.Add(-pullGrace).UnixMilli()),
		before(s.queries.DeletePullSeenBefore, now.Add(-keepSeen).UnixMilli()),
		func(ctx context.Context) error { return s.inParts(ctx, s.queries.DeleteHoursBefore, until) },
		func(ctx context.Context) error { return s.inParts(ctx, s.queries.DeleteJobDaysBefore, until) },
	} {
		failed := forget(ctx)
		if err = errors.Join(err, failed); !s.goesOn(ctx, failed) {
			return err
		}
	}
	return err
}

// inParts deletes what was before a moment by a query that deletes a thousand rows at most.
func (s *Service) inParts(ctx context.Context, forget func(context.Context, db.DBTX, int64) (int64, error), before int64) error {
	for {
		if n, err := forget(ctx, s.cfg.Pool, before); err != nil || n < 1000 {
			return err
		}
	}
}

// forgetGates deletes what is kept of jobs that are deleted for the slots of their runs. One of whose runs still asks for a slot gets it anew.
func (s *Service) forgetGates(ctx context.Context) error {
	for {
		jobs, err := s.queries.ListGatesWithoutJob(ctx, s.cfg.Pool)
		if err != nil || len(jobs) == 0 {
			return err
		}
		if _, err := s.queries.DeleteGates(ctx, s.cfg.Pool, jobs); err != nil || len(jobs) < 1000 { // the query's limit
			return err
		}
	}
}

// today is the midnight of the day it is in the installation's zone, as the DATETIME columns hold it.
func (s *Service) today() time.Time { return time.Unix(dayOf(s.wall(s.cfg.Now())), 0).UTC() }

// Rest waits. The error is the context's.
func Rest(ctx context.Context, d time.Duration) error {
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
