// Package dashboard finds what an operator wants to see first: what goes wrong at the moment, how much ran, and how much is to
// come. It reads only, and knows no use case: the lists of those are narrowed to what its numbers count ([Show]).
package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// Config is what a dashboard is made of.
type Config struct {
	Pool     *db.Pool
	Zone     *time.Location   // of schedules that name none; default the pool's
	Now      func() time.Time // default time.Now
	Open     func() []int64   // the runs without a result, in the order of their ids; what has ended since may be among them
	Patience time.Duration    // for how long failures are looked for; default 250 ms
}

// Dashboard is what an operator wants to see first. Each part is made of reads that stop at a limit, and is kept for a
// few seconds for everybody who looks, so that a hundred open dashboards cost what one does.
type Dashboard struct {
	cfg     Config
	queries *db.Queries

	troubles kept[troubles]
	counts   kept[map[int64]JobCount]
	forecast kept[dated[foreseen]]
	ahead    kept[dated[outlook]]
	week     kept[[]db.RunHour]

	dueMu sync.Mutex
	due   map[span]*kept[dated[[]int64]]
}

func New(cfg Config) *Dashboard {
	cfg.Zone = cmp.Or(cfg.Zone, cfg.Pool.Zone())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Patience = cmp.Or(cfg.Patience, failureTime)
	return &Dashboard{cfg: cfg, queries: db.New(), due: map[span]*kept[dated[[]int64]]{}}
}

const (
	countsLife = 15 * time.Second
	weekLife   = 5 * time.Second
)

// manyJobs is from how many jobs on lists say how many there were a moment ago.
const manyJobs = 10_000

// JobCount is how many jobs a group has.
type JobCount struct{ All, Started int64 }

// JobCounts are the numbers of jobs of the groups that the principal may see, by group, as they were at most countsLife ago.
func (s *Dashboard) JobCounts(ctx context.Context, p auth.Principal) (map[int64]JobCount, error) {
	all, err := s.counted(ctx, countsLife)
	return visible(p, all), err
}

// LatestJobCounts are JobCounts of now, unless the installation has manyJobs: these take as long to count as a page to be drawn.
func (s *Dashboard) LatestJobCounts(ctx context.Context, p auth.Principal) (map[int64]JobCount, error) {
	all, err := s.counted(ctx, countsLife)
	if err == nil && !isMany(all) {
		all, err = s.counted(ctx, 0)
	}
	return visible(p, all), err
}

// CountOfMany is how many jobs some groups have, or all without any: all of them, or those that are started or not. many is false, and nothing counted, in an
// installation that has no manyJobs.
func (s *Dashboard) CountOfMany(ctx context.Context, groups []int64, started *bool) (n int64, many bool, err error) {
	all, err := s.counted(ctx, countsLife)
	if err != nil || !isMany(all) {
		return 0, false, err
	}
	for group, c := range all {
		switch {
		case len(groups) > 0 && !slices.Contains(groups, group):
		case started == nil:
			n += c.All
		case *started:
			n += c.Started
		default:
			n += c.All - c.Started
		}
	}
	return n, true, nil
}

// counted counts the jobs of each group, if that was not done within a time.
func (s *Dashboard) counted(ctx context.Context, life time.Duration) (map[int64]JobCount, error) {
	return s.counts.get(s.cfg.Now(), life, func() (map[int64]JobCount, error) {
		rows, err := s.queries.CountJobsByGroup(ctx, s.cfg.Pool)
		if err != nil {
			return nil, fmt.Errorf("count jobs: %w", db.Error(err))
		}
		counts := make(map[int64]JobCount, len(rows))
		for _, r := range rows {
			counts[r.JobGroup] = JobCount{All: r.Total, Started: r.Started}
		}
		return counts, nil
	})
}

func isMany(counts map[int64]JobCount) bool {
	n := int64(0)
	for _, c := range counts {
		n += c.All
	}
	return n >= manyJobs
}

func visible(p auth.Principal, counts map[int64]JobCount) map[int64]JobCount {
	out := make(map[int64]JobCount)
	for group, n := range counts {
		if p.CanUseGroup(group) {
			out[group] = n
		}
	}
	return out
}

// Days is the report of so many days up to today in the groups that the principal may see.
func (s *Dashboard) Days(ctx context.Context, p auth.Principal, n int) (days []upkeep.Day, sum upkeep.Day, err error) {
	now := s.cfg.Now()
	groups, all := p.Groups()
	if !all {
		return s.daysOf(ctx, groups, now, n)
	}
	days, sum, err = upkeep.Days(ctx, s.cfg.Pool, s.cfg.Pool.FromWall(s.midnight(now, 1-n)), now)
	if err != nil {
		return nil, sum, fmt.Errorf("read the report: %w", err)
	}
	return days, sum, nil
}

// Between is the report of the days from one moment to another: of the whole installation, as upstream shows it to everybody.
func (s *Dashboard) Between(ctx context.Context, from, to time.Time) (days []upkeep.Day, sum upkeep.Day, err error) {
	if to.Before(from) || to.Sub(from) > upkeep.MaxDays*24*time.Hour {
		return nil, sum, problem.New(problem.Invalid, "problem.report.range", "Max", upkeep.MaxDays)
	}
	days, sum, err = upkeep.Days(ctx, s.cfg.Pool, from, to)
	if err != nil {
		return nil, sum, fmt.Errorf("read the report: %w", err)
	}
	return days, sum, nil
}

// daysOf adds the days of some groups up from their hours.
func (s *Dashboard) daysOf(ctx context.Context, groups []int64, now time.Time, n int) (days []upkeep.Day, sum upkeep.Day, err error) {
	first := s.midnight(now, 1-n)
	hours, err := s.hoursOf(ctx, groups, first, n)
	if err != nil {
		return nil, sum, err
	}
	for i := range n {
		days = append(days, upkeep.Day{Date: s.cfg.Pool.FromWall(first.AddDate(0, 0, i))})
	}
	for _, h := range hours {
		d := &days[(h.HourAt-first.Unix())/86_400]
		d.Add(upkeep.Day{Running: h.RunningCount, Succeeded: h.SucCount, Failed: h.FailCount, Skipped: h.SkipCount})
	}
	for i := range days {
		// A counter may stand below zero until the node that saw the beginning of a run has written it too.
		d := &days[i]
		d.Running, d.Succeeded, d.Failed, d.Skipped = max(0, d.Running), max(0, d.Succeeded), max(0, d.Failed), max(0, d.Skipped)
		sum.Add(*d)
	}
	sum.Date = days[0].Date
	return days, sum, nil
}

// midnight is the beginning of the day so many days after now's, by the wall clock.
func (s *Dashboard) midnight(now time.Time, days int) time.Time {
	return s.cfg.Pool.Wall(now).Truncate(24*time.Hour).AddDate(0, 0, days)
}

// hoursOf reads the hours of so many days in some groups.
func (s *Dashboard) hoursOf(ctx context.Context, groups []int64, first time.Time, days int) ([]db.RunHour, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	hours, err := s.queries.ListHoursOfGroups(ctx, s.cfg.Pool, db.ListHoursOfGroupsParams{
		GroupIds: groups, FromHour: first.Unix(), ToHour: first.AddDate(0, 0, days).Unix(),
	})
	if err != nil {
		return nil, fmt.Errorf("read the hours of groups: %w", db.Error(err))
	}
	return hours, nil
}

// weekDays is how many days the picture of the week has.
const weekDays = 7

// Week is how many runs were planned in each hour of the last days.
type Week struct {
	Days [weekDays]WeekDay // the oldest first; the last one is today
}

// WeekDay is a day of a [Week]. Hours that a clock change leaves out stay empty, the hour that it repeats counts twice.
type WeekDay struct {
	Date  time.Time
	Hours [24]int64
}

// Week tells when the runs of the last days were, in the groups that the principal may see.
func (s *Dashboard) Week(ctx context.Context, p auth.Principal) (Week, error) {
	now := s.cfg.Now()
	first := s.midnight(now, 1-weekDays)
	groups, all := p.Groups()
	var hours []db.RunHour
	var err error
	if !all {
		hours, err = s.hoursOf(ctx, groups, first, weekDays)
	} else {
		hours, err = s.week.get(now, weekLife, func() ([]db.RunHour, error) {
			rows, err := s.queries.ListHours(ctx, s.cfg.Pool, db.ListHoursParams{FromHour: first.Unix(), ToHour: first.AddDate(0, 0, weekDays).Unix()})
			if err != nil {
				return nil, fmt.Errorf("read the hours: %w", db.Error(err))
			}
			return rows, nil
		})
	}
	if err != nil {
		return Week{}, err
	}
	var w Week
	for i := range w.Days {
		w.Days[i].Date = s.cfg.Pool.FromWall(first.AddDate(0, 0, i))
	}
	for _, h := range hours {
		// What was kept may have been read before midnight.
		if i := (h.HourAt - first.Unix()) / 3600; i >= 0 && i < weekDays*24 {
			w.Days[i/24].Hours[i%24] += h.RunningCount + h.SucCount + h.FailCount + h.SkipCount
		}
	}
	for i := range w.Days {
		for j := range w.Days[i].Hours {
			w.Days[i].Hours[j] = max(0, w.Days[i].Hours[j])
		}
	}
	return w, nil
}

// kept is a value that is made at most once in a while, by one caller at a time.
type kept[T any] struct {
	mu    sync.Mutex
	value T
	made  time.Time
}

func (k *kept[T]) get(now time.Time, life time.Duration, make func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now.Sub(k.made); !k.made.IsZero() && age >= 0 && age < life {
		return k.value, nil
	}
	value, err := make()
	if err == nil {
		k.value, k.made = value, now
	}
	return value, err
}

// dated is what goes by the pauses of a revision.
type dated[T any] struct {
	value    T
	revision int64
}

// unlessPaused is kept.get for what is made by the pauses: it is made anew when one of them is made, changed or ended.
func unlessPaused[T any](ctx context.Context, s *Dashboard, k *kept[dated[T]], life time.Duration, make func(ctx context.Context, now time.Time) (T, error)) (T, error) {
	now := s.cfg.Now()
	revision, err := s.queries.GetPauseRevision(ctx, s.cfg.Pool)
	if err != nil {
		return *new(T), fmt.Errorf("read pauses: %w", db.Error(err))
	}
	for {
		d, err := k.get(now, life, func() (dated[T], error) {
			value, err := make(ctx, now)
			return dated[T]{value, revision}, err
		})
		if err != nil || life == 0 || d.revision == revision {
			return d.value, err
		}
		life = 0
	}
}
