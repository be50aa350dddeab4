package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	// AheadDays is how far the outlook reaches. It follows at most aheadJobs schedules, aheadSteps quarters of an hour in all.
	AheadDays  = 14
	aheadJobs  = 200_000
	aheadSteps = 30_000_000
	quarter    = 15 * time.Minute
	quarters   = AheadDays * 24 * int(time.Hour/quarter)
	aheadLife  = time.Minute
	aheadSpans = 32 // whose jobs are kept
)

// Ahead is how many runs are due in each quarter of an hour of the next [AheadDays] days.
type Ahead struct {
	From     time.Time // when the first quarter begins
	Quarters []int64
	Ends     time.Time // from then on more is due than was followed; zero: all is here
}

// outlook is what is ahead of every group.
type outlook struct {
	from   time.Time
	groups map[int64]*[quarters]int64
	ends   time.Time
}

// alike are jobs that are due at the same times.
type alike struct {
	schedule jobspec.Schedule
	pauses   jobspec.Pauses
	due      time.Time
	jobs     []aheadJob
}

type aheadJob struct{ id, group int64 }

// Ahead tells how busy the next days will be in the groups that the principal may see.
func (s *Dashboard) Ahead(ctx context.Context, p auth.Principal) (Ahead, error) {
	all, err := unlessPaused(ctx, s, &s.ahead, aheadLife, s.lookAhead)
	out := Ahead{From: all.from, Quarters: make([]int64, quarters), Ends: all.ends}
	for group, due := range all.groups {
		if p.CanUseGroup(group) {
			for i, n := range due {
				out.Quarters[i] += n
			}
		}
	}
	return out, err
}

func (s *Dashboard) lookAhead(ctx context.Context, now time.Time) (outlook, error) {
	o := outlook{from: now.Truncate(quarter), groups: map[int64]*[quarters]int64{}}
	until := o.from.Add(time.Duration(quarters) * quarter)
	steps := aheadSteps
	ends, err := s.follows(ctx, now, until, func(a *alike) bool {
		of := map[int64]int64{}
		for _, j := range a.jobs {
			of[j.group]++
		}
		return walk(a.schedule, a.pauses, a.due, until, quarter, func(from time.Time, long, n int) bool {
			first := int(from.Sub(o.from) / quarter)
			for group, jobs := range of {
				if steps -= long; steps < 0 {
					return false
				}
				due := o.groups[group]
				if due == nil {
					due = new([quarters]int64)
					o.groups[group] = due
				}
				for i := max(first, 0); i < min(first+long, quarters); i++ {
					due[i] += int64(n) * jobs
				}
			}
			return true
		})
	})
	o.ends = ends
	if ends.Before(o.from) && !ends.IsZero() {
		o.ends = o.from
	}
	return o, err
}

// span is from one moment up to, not including, another.
type span struct{ from, until time.Time }

// dueIn are the jobs that are due in a span, the newest first; none once it is over. Each is found once a minute for all who look at it.
func (s *Dashboard) dueIn(ctx context.Context, in span) ([]int64, error) {
	if !in.from.Before(in.until) || in.until.Sub(in.from) > AheadDays*24*time.Hour {
		return nil, nil
	}
	s.dueMu.Lock()
	list := s.due[in]
	if list == nil {
		if len(s.due) >= aheadSpans {
			clear(s.due)
		}
		list = new(kept[dated[[]int64]])
		s.due[in] = list
	}
	s.dueMu.Unlock()
	return unlessPaused(ctx, s, list, aheadLife, func(ctx context.Context, now time.Time) ([]int64, error) { return s.findDue(ctx, now, in) })
}

func (s *Dashboard) findDue(ctx context.Context, now time.Time, in span) ([]int64, error) {
	if !now.Before(in.until) {
		return nil, nil
	}
	var ids []int64
	_, err := s.follows(ctx, now, in.until, func(a *alike) bool {
		due := a.due
		if len(a.pauses) == 0 && due.Before(in.from) && a.schedule.Type != jobspec.ScheduleFixDelay {
			var err error
			if due, err = a.schedule.From(due, in.from); err != nil {
				return true
			}
		}
		found := false
		walk(a.schedule, a.pauses, due, in.until, time.Minute, func(minute time.Time, minutes, _ int) bool {
			found = minute.Add(time.Duration(minutes) * time.Minute).After(in.from)
			return !found
		})
		if found {
			for _, j := range a.jobs {
				ids = append(ids, j.id)
			}
		}
		return true
	})
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	return ids, err
}

// follows visits the schedules of started jobs that are due before a moment, those that are alike at once, the soonest first, until visit
// returns false. It returns up to when that is all; zero: it is.
func (s *Dashboard) follows(ctx context.Context, now, until time.Time, visit func(*alike) bool) (ends time.Time, err error) {
	book, err := db.ReadPauses(ctx, s.cfg.Pool, now)
	if err != nil {
		return ends, err
	}
	rows, err := db.ListDueWithin(ctx, s.cfg.Pool, db.ListJobsDueWithinParams{UntilMs: until.UnixMilli() - 1, Limit: aheadJobs})
	if err != nil {
		return ends, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	if len(rows) == aheadJobs {
		ends = time.UnixMilli(rows[len(rows)-1].TriggerNextTime)
	}
	type key struct {
		kind                               jobspec.ScheduleType
		conf, zone, calendar, rule, pauses string
		due, end                           int64
	}
	var all []*alike
	found := make(map[key]*alike, len(rows))
	for i := range rows {
		r := &rows[i]
		pauses, due := book.Of(r.ID, r.JobGroup, r.Tags), dueOf(r)
		k := key{r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.Calendar, r.CalendarRule, names(pauses), due.UnixMilli(), r.EndAt}
		a := found[k]
		if a == nil {
			a = &alike{schedule: s.scheduleOf(r), pauses: pauses, due: due}
			found[k] = a
			all = append(all, a)
		}
		a.jobs = append(a.jobs, aheadJob{r.ID, r.JobGroup})
	}
	for _, a := range all {
		if !visit(a) {
			return a.due, nil
		}
	}
	return ends, nil
}

// names tells pauses from others.
func names(pauses jobspec.Pauses) string {
	var b strings.Builder
	for _, p := range pauses {
		b.WriteString(strconv.FormatInt(p.ID, 10))
		b.WriteByte(' ')
	}
	return b.String()
}
