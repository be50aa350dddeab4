package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	if was, _, ok := b.was(j.ID); ok {
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
	b.Was = nil // nobody is asked before an undo
	items, stored, err := s.bulk(ctx, p, b, MaxMatching, s.schedulesByID)
	if err != nil {
		return nil, Spread{}, err
	}
	foreseen, err := s.foresee(items, stored)
	return items, foreseen, err
}

// spreadAtOnce is how many jobs, with what a spread needs to know of them, one query reads.
const spreadAtOnce = 1000

// schedulesByID reads what a spread is about of jobs by their ids. Those may be all of a large group: whole jobs would be ten times as much.
func (s *Jobs) schedulesByID(ctx context.Context, tx db.DBTX, ids []int64) (map[int64]db.Job, error) {
	byID := make(map[int64]db.Job, len(ids))
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), spreadAtOnce) {
		rows, err := s.queries.ListJobsToSpread(ctx, tx, part)
		if err != nil {
			return nil, fmt.Errorf("read when jobs are due: %w", db.Error(err))
		}
		for _, r := range rows {
			byID[r.ID] = db.Job{
				ID: r.ID, JobGroup: r.JobGroup, JobDesc: r.JobDesc, ScheduleType: r.ScheduleType, ScheduleConf: r.ScheduleConf, TimeZone: r.TimeZone, StartAt: r.StartAt, EndAt: r.EndAt,
				Calendar: r.Calendar, CalendarRule: r.CalendarRule, Revision: r.Revision,
			}
		}
	}
	return byID, nil
}

// spreadVersion is the version of a job as far as a spread goes: it counts what was changed here, as [JobVersion] does, and of what an XXL-JOB
// admin changes what schedulesByID reads.
func spreadVersion(j db.Job) string {
	text := make([]byte, 0, 128)
	for _, n := range []int64{j.Revision, j.JobGroup, j.StartAt, j.EndAt} {
		text = append(strconv.AppendInt(text, n, 10), '|')
	}
	for _, part := range []string{string(j.ScheduleType), string(j.ScheduleConf), j.TimeZone, j.Calendar, j.CalendarRule} {
		text = strconv.AppendQuote(text, part)
	}
	return digest(string(text))
}

// planned is what of a job says when it is due.
type planned struct {
	conf, zone, calendar, rule string
	start, end                 int64
}

// foresee counts what the jobs are due that a BulkSpread would change. Those that are alike are counted together, before and after it.
func (s *Jobs) foresee(items []BulkItem, stored map[int64]db.Job) (Spread, error) {
	from := s.cfg.Now().Truncate(time.Minute).Add(time.Minute)
	var before, after [spreadMinutes]int64
	was, becomes := make(map[planned]int64), make(map[planned]int64) // how many jobs are planned alike
	for _, item := range items {
		if !item.Changes || item.Err != nil {
			continue
		}
		j := stored[item.ID]
		p := planned{zone: j.TimeZone, calendar: j.Calendar, rule: j.CalendarRule, start: j.StartAt, end: j.EndAt}
		p.conf = wholeMinute(item.Was)
		was[p]++
		p.conf = wholeMinute(item.becomes)
		becomes[p]++
	}
	if err := errors.Join(s.tally(was, from, &before), s.tally(becomes, from, &after)); err != nil {
		return Spread{}, err
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

// tally counts what jobs are due in each minute of a day.
func (s *Jobs) tally(jobs map[planned]int64, from time.Time, due *[spreadMinutes]int64) error {
	for p, count := range jobs {
		schedule, err := s.scheduleOf(jobspec.Job{
			ScheduleType: jobspec.ScheduleCron, ScheduleConf: p.conf, Zone: p.zone, Start: p.start, End: p.end, Calendar: p.calendar, CalendarRule: jobspec.CalendarRule(p.rule),
		})
		if err != nil {
			continue // its calendar is gone: it is due at no time
		}
		next, err := schedule.Next(from.Add(-time.Nanosecond))
		if err != nil || next.IsZero() {
			continue // an XXL-JOB admin took a text that is none: it is due at no time either, and the deed says so
		}
		_, err = schedule.Tally(next, from.Add(spreadMinutes*time.Minute), time.Minute, func(at time.Time, steps, n int) bool {
			first := int(at.Sub(from) / time.Minute)
			for i := max(first, 0); i < min(first+steps, spreadMinutes); i++ {
				due[i] += int64(n) * count
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("foresee a schedule: %w", err)
		}
	}
	return nil
}

func busiest(from time.Time, due []int64) Busiest {
	most := slices.Max(due)
	return Busiest{At: from.Add(time.Duration(slices.Index(due, most)) * time.Minute), N: most}
}
