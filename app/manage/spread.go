package manage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// BulkWindows are over how long BulkSpread moves jobs apart, in the order they are offered.
func BulkWindows() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}
}

// spread is the cron text that a BulkSpread gives a job: a later time that depends on the job's id alone, so that the preview says what
// comes and every admin makes the same of it.
func (b Bulk) spread(j db.Job) (string, error) {
	conf := string(j.ScheduleConf)
	if was, ok := b.Was[j.ID]; ok {
		return was, nil
	}
	if j.ScheduleType != jobspec.ScheduleCron {
		return conf, problem.New(problem.Conflict, "problem.job.nocron")
	}
	moved, ok := jobspec.SpreadCron(conf, b.Window, j.ID)
	if !ok {
		return conf, problem.New(problem.Conflict, "problem.job.unspread")
	}
	return moved, nil
}

// spreadMinutes is for how long [Jobs.Spread] looks ahead.
const spreadMinutes = 24 * 60

// Busiest is the minute in which most is due.
type Busiest struct {
	At time.Time
	N  int64
}

// Spread is how often the jobs of a BulkSpread are due in each minute of an hour, before and after it: the hour of the next 24 that has the
// busiest minute. It takes all of them for started, and knows no pauses.
type Spread struct {
	From           time.Time
	Before, After  [60]int64
	Worst, Thereby Busiest // the busiest minute of the day before and after
}

// PreviewSpread is [Jobs.Preview] of a BulkSpread, with what it comes to: both of one reading of the jobs.
func (s *Jobs) PreviewSpread(ctx context.Context, p auth.Principal, b Bulk) ([]BulkItem, Spread, error) {
	items, stored, err := s.bulk(ctx, p, b, MaxMatching)
	if err != nil {
		return nil, Spread{}, err
	}
	foreseen, err := s.foresee(b, items, stored)
	return items, foreseen, err
}

// foresee counts what the jobs are due that a BulkSpread would change. Those that are alike are counted together, before and after it.
func (s *Jobs) foresee(b Bulk, items []BulkItem, stored map[int64]db.Job) (Spread, error) {
	from := s.cfg.Now().Truncate(time.Minute).Add(time.Minute)
	var before, after [spreadMinutes]int64
	was, becomes := make(map[jobspec.Schedule]int64), make(map[jobspec.Schedule]int64) // how many jobs have a schedule
	for _, item := range items {
		if !item.Changes || item.Err != nil {
			continue
		}
		j := stored[item.ID]
		schedule, err := s.scheduleOf(j.Spec())
		if err != nil {
			continue // its calendar is gone: it is due at no time
		}
		conf, err := b.spread(j)
		if err != nil {
			return Spread{}, err
		}
		if _, err := schedule.Next(from); err != nil {
			continue // an XXL-JOB admin took a text that is none: it is due at no time either, and the deed says so
		}
		schedule.Conf = wholeMinute(schedule.Conf)
		was[schedule]++
		schedule.Conf = wholeMinute(conf)
		becomes[schedule]++
	}
	for schedule, jobs := range was {
		if err := tally(schedule, from, jobs, &before); err != nil {
			return Spread{}, err
		}
	}
	for schedule, jobs := range becomes {
		if err := tally(schedule, from, jobs, &after); err != nil {
			return Spread{}, err
		}
	}
	out := Spread{Worst: busiest(from, before[:]), Thereby: busiest(from, after[:])}
	out.From = out.Worst.At.Truncate(time.Hour)
	if out.From.Before(from) {
		out.From = from
	}
	first := min(int(out.From.Sub(from)/time.Minute), spreadMinutes-60)
	out.From = from.Add(time.Duration(first) * time.Minute)
	copy(out.Before[:], before[first:])
	copy(out.After[:], after[first:])
	return out, nil
}

// wholeMinute is a cron text at the beginning of its minutes. The picture counts minutes, and so a sixtieth of as many texts is reckoned.
func wholeMinute(conf string) string {
	fields := strings.Fields(conf)
	fields[0] = "0"
	return strings.Join(fields, " ")
}

// tally adds what so many jobs of a schedule are due in each minute of a day.
func tally(schedule jobspec.Schedule, from time.Time, jobs int64, due *[spreadMinutes]int64) error {
	next, err := schedule.Next(from.Add(-time.Nanosecond))
	if err != nil {
		return fmt.Errorf("foresee a schedule: %w", err)
	}
	if next.IsZero() {
		return nil
	}
	_, err = schedule.Tally(next, from.Add(spreadMinutes*time.Minute), time.Minute, func(at time.Time, steps, n int) bool {
		first := int(at.Sub(from) / time.Minute)
		for i := max(first, 0); i < min(first+steps, spreadMinutes); i++ {
			due[i] += int64(n) * jobs
		}
		return true
	})
	return err
}

func busiest(from time.Time, due []int64) Busiest {
	most := slices.Max(due)
	return Busiest{At: from.Add(time.Duration(slices.Index(due, most)) * time.Minute), N: most}
}
