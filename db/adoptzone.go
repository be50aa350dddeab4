package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// XXL-JOB reads cron texts in its process's zone and writes DATETIME columns in that of its JDBC URL, and says neither in the
// database. With another zone than these Punctual would run every daily job at another hour. What the old admin has written
// tells them: the next times of started jobs are milliseconds of the epoch, which fit their cron texts in its zone alone, and the
// time of a run is wall-clock time beside the milliseconds of the job's last fire.

// ZoneError means that a database was written in another zone than Punctual was started with.
type ZoneError struct {
	Zone   *time.Location // that Punctual was started with
	At     time.Time      // the last of the times that tell; the zone may be ahead of UTC by something else now
	Shift  time.Duration  // how far the other zone is ahead of it
	Fit    int            // of the times that tell, as many fit the other zone
	Of     int
	Source ZoneSource
}

// ZoneSource is what tells a zone.
type ZoneSource string

const (
	ZoneOfJobs ZoneSource = "jobs" // the next times of started jobs against their cron texts
	ZoneOfRuns ZoneSource = "runs" // the times of runs against the last fires of their jobs
)

// Error implements error; it names the setting that is to be changed.
func (e *ZoneError) Error() string {
	_, offset := e.At.In(e.Zone).Zone()
	theirs := time.Duration(offset)*time.Second + e.Shift
	what := "the next times of %d of %d started jobs fit their cron texts"
	if e.Source == ZoneOfRuns {
		what = "the times of %d of %d runs fit the last fires of their jobs"
	}
	text := fmt.Sprintf("its times are not those of the zone %s (%s), which Punctual was started with: "+what+" in a zone at %s. Set PUNCTUAL_TIME_ZONE to the zone of the XXL-JOB admin",
		e.Zone, utcOffset(time.Duration(offset)*time.Second), e.Fit, e.Of, utcOffset(theirs))
	if name := usualZones[theirs]; name != "" {
		text += ", such as " + name
	}
	return text
}

// usualZones are names for the zones in which XXL-JOB is mostly run, by what they are ahead of UTC.
var usualZones = map[time.Duration]string{
	0: "UTC", 8 * time.Hour: "Asia/Shanghai", 9 * time.Hour: "Asia/Tokyo", 7 * time.Hour: "Asia/Bangkok", 5*time.Hour + 30*time.Minute: "Asia/Kolkata",
}

func utcOffset(d time.Duration) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(d/time.Second))).Format("UTC-07:00")
}

const (
	zoneStep    = 15 * time.Minute // in which zones differ
	zoneWest    = -12 * time.Hour  // and the first and the last of them, by what they are ahead of UTC
	zoneEast    = 14 * time.Hour
	zoneTurn    = 3 * time.Hour // so near to where clocks are put forward or back, a time tells nothing
	zoneSamples = 500           // jobs and runs that are looked at
	zoneEnough  = 2             // so many have to tell the same before anything is refused
	runDelay    = time.Minute   // the most that a run's time lies behind its planned fire and still tells something
)

// shifts counts for how many times each shift of the zone fits, of those that tell something: what every shift or none fits does not.
type shifts struct {
	of   int
	fits map[time.Duration]int
	last time.Time // that tells
}

// add adds one time with all shifts that fit it.
func (s *shifts) add(at time.Time, fitting []time.Duration, possible int) {
	if len(fitting) == 0 || len(fitting) == possible {
		return
	}
	if s.fits == nil {
		s.fits = make(map[time.Duration]int)
	}
	s.of++
	if at.After(s.last) {
		s.last = at
	}
	for _, d := range fitting {
		s.fits[d]++
	}
}

// judge says by how much the zone is off; 0 where nothing speaks clearly against it. Jobs that somebody changed in the tables fit no
// zone or a wrong one, so that a zone that half of the times fit is right.
func (s *shifts) judge() (shift time.Duration, fit int) {
	if 2*s.fits[0] >= s.of {
		return 0, s.fits[0]
	}
	for d, n := range s.fits {
		if n > fit || n == fit && d.Abs() < shift.Abs() || n == fit && d.Abs() == shift.Abs() && d > shift {
			shift, fit = d, n
		}
	}
	if fit < zoneEnough || 5*fit < 4*s.of {
		return 0, s.fits[0]
	}
	return shift, fit
}

// possibleShifts are all that are tried beside a zone that is so far ahead of UTC.
func possibleShifts(offset time.Duration) (all []time.Duration) {
	for east := zoneWest; east <= zoneEast; east += zoneStep {
		all = append(all, east-offset)
	}
	return all
}

// offsetAt is how far a zone is ahead of UTC; steady is false where clocks are put forward or back about then. Programs do not
// agree on what is due in an hour that is left out or comes twice.
func offsetAt(at time.Time, zone *time.Location) (offset time.Duration, steady bool) {
	ahead := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	offset = ahead(at)
	return offset, ahead(at.Add(-zoneTurn)) == offset && ahead(at.Add(zoneTurn)) == offset
}

// jobShifts are those with which a cron text gives a next time: that is what the zone of who computed it is ahead of this one. Of
// possible shifts there are so many.
func jobShifts(conf string, next time.Time, zone *time.Location) (fitting []time.Duration, possible int) {
	offset, steady := offsetAt(next, zone)
	if !steady {
		return nil, 0
	}
	all := possibleShifts(offset)
	for _, d := range all {
		// The text is read in a zone without daylight saving, so that a shift over its edge is not taken for another one.
		wall := next.Add(d).In(time.FixedZone("", int(offset/time.Second)))
		if due, err := jobspec.Next(jobspec.ScheduleCron, conf, wall.Add(-time.Second), wall.Location()); err == nil && due.Equal(wall) {
			fitting = append(fitting, d)
		}
	}
	return fitting, len(all)
}

// runShift is what the zone of a run's time is ahead of this one, by the last fire of its job; ok is false where that does not tell:
// the run is of somebody's click, or of an earlier fire.
func runShift(wall, fired time.Time, zone *time.Location) (shift time.Duration, ok bool) {
	offset, steady := offsetAt(fired, zone)
	if !steady {
		return 0, false
	}
	ahead := wall.Sub(fired)
	theirs := ahead.Truncate(zoneStep)
	if ahead < theirs {
		theirs -= zoneStep
	}
	return theirs - offset, ahead-theirs <= runDelay && zoneWest <= theirs && theirs <= zoneEast
}

// checkZone compares what an XXL-JOB admin has written with the zone. The jobs decide where both tell: they are what would run at
// another hour. What their times leave open, the runs tell.
func (p *Pool) checkZone(ctx context.Context, target *sql.DB, found schema) error {
	e, err := p.zoneOf(ctx, target, found)
	if err != nil || e == nil {
		return err
	}
	return e
}

func (p *Pool) zoneOf(ctx context.Context, target *sql.DB, found schema) (*ZoneError, error) {
	jobs, err := p.shiftsOfJobs(ctx, target, found)
	if err != nil {
		return nil, fmt.Errorf("compare the zone with the jobs: %w", Error(err))
	}
	var runs shifts
	if found["xxl_job_log"] != nil { // else an installation of ours was cut short
		runs, err = p.shiftsOfRuns(ctx, target)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the zone with the runs: %w", Error(err))
	}
	e := &ZoneError{Zone: p.zone}
	if e.Shift, e.Fit = jobs.judge(); e.Shift != 0 {
		e.Of, e.Source, e.At = jobs.of, ZoneOfJobs, jobs.last
		return e, nil
	}
	shift, fit := runs.judge()
	switch {
	case shift == 0:
		return nil, nil
	case jobs.of > 0: // whose times are right
		p.logger.Warn("the times of old runs were written in another zone than the jobs' are read in: they are shown wrongly", "shift", shift.String(), "runs", fit)
		return nil, nil
	}
	e.Shift, e.Fit, e.Of, e.Source, e.At = shift, fit, runs.of, ZoneOfRuns, runs.last
	return e, nil
}

func (p *Pool) shiftsOfJobs(ctx context.Context, target *sql.DB, found schema) (all shifts, err error) {
	text, kind := "schedule_conf", " AND schedule_type = 'CRON'"
	if !found["xxl_job_info"].has("schedule_type") {
		text, kind = "job_cron", ""
	}
	rows, err := target.QueryContext(ctx, "SELECT "+text+", trigger_next_time FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time > 0"+kind+
		" ORDER BY trigger_next_time DESC LIMIT ?", zoneSamples)
	if err != nil {
		return all, err
	}
	err = scanAll(rows, func() error {
		var conf sql.NullString
		var next int64
		if err := rows.Scan(&conf, &next); err != nil {
			return err
		}
		fitting, possible := jobShifts(conf.String, time.UnixMilli(next), p.zone)
		all.add(time.UnixMilli(next), fitting, possible)
		return nil
	})
	return all, err
}

func (p *Pool) shiftsOfRuns(ctx context.Context, target *sql.DB) (all shifts, err error) {
	rows, err := target.QueryContext(ctx, `SELECT r.job_id, r.trigger_time, j.trigger_last_time
		FROM (SELECT id, job_id, trigger_time FROM xxl_job_log ORDER BY id DESC LIMIT ?) AS r JOIN xxl_job_info AS j ON j.id = r.job_id
		WHERE r.trigger_time IS NOT NULL AND j.trigger_last_time > 0 ORDER BY r.id DESC`, zoneSamples)
	if err != nil {
		return all, err
	}
	seen := make(map[int64]bool) // the newest run of a job tells, the others are of its earlier fires
	err = scanAll(rows, func() error {
		var wall time.Time
		var job, fired int64
		if err := rows.Scan(&job, &wall, &fired); err != nil || seen[job] {
			return err
		}
		seen[job] = true
		if shift, ok := runShift(wall, time.UnixMilli(fired), p.zone); ok {
			all.add(time.UnixMilli(fired), []time.Duration{shift}, 0)
		}
		return nil
	})
	return all, err
}
