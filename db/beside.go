package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Beside XXL-JOB admins that go on working, Punctual schedules the groups that were moved to it, and theirs are the others.
//
// Whose a started job is stands in the job itself and nowhere else: trigger_status is 1 where the old admins schedule it, which ask
// for that value alone, and 2 where Punctual does, as flows have on any database. A job changes hands under the lock that the old admins hold from reading what is
// due to writing when it is due next, so no pass of theirs is under way then.
//
//   - To Punctual: an old admin has moved the next time of each fire that it keeps in memory, up to 5 s ahead. What it finds as the
//     next time is the first fire that nobody has taken.
//   - Back: Punctual has done the same, and sends what it has claimed. It claims [BesideHorizon] ahead, and a job is given back while
//     at least givenAhead of that is left, which is more than the old admins, which look every 5 s, need to see it in time.
//
// The mode is a row in the database and no setting of a process, so that no node can be started without it by mistake. It begins
// and ends while no admin of ours runs.

const (
	// BesideHorizon is how far ahead fires are claimed beside XXL-JOB admins.
	BesideHorizon = 12 * time.Second
	givenAhead    = 8 * time.Second
	// handOver is for how long a hand-over waits for the old admins' lock, and for Punctual to have claimed far enough ahead.
	handOver = 20 * time.Second
	// ModeGroup is the row of punctual_beside that says that the mode is on.
	ModeGroup = 0
)

var (
	// ErrNotBeside means that Punctual does not work beside XXL-JOB admins on a database.
	ErrNotBeside = errors.New("this is no database on which Punctual works beside XXL-JOB; punctual migrate beside makes it one")
	// ErrBesideRelease is wrapped where the tables are of a release that cannot go on beside Punctual.
	ErrBesideRelease = errors.New("only beside XXL-JOB 2.3.0 to 3.4.2, on MySQL or MariaDB, can Punctual work")
	// ErrBesideGalera means that a lock on one server is none on the others.
	ErrBesideGalera = errors.New("on a Galera cluster Punctual cannot work beside XXL-JOB: its nodes do not see each other's locks, by which a job changes hands")
	// ErrNoLock means that the row is missing that XXL-JOB admins lock.
	ErrNoLock = errors.New("xxl_job_lock has no row schedule_lock: no XXL-JOB admin can work on this database")
	// ErrBehind means that Punctual has not claimed far enough ahead of a group's jobs for them to be given back.
	ErrBehind = errors.New("nothing was changed: Punctual has not claimed the fires of the next seconds; it must run, and not be behind, for jobs to be returned")
	// ErrFinished means that somebody said that there is no way back to XXL-JOB.
	ErrFinished = errors.New("there is no way back to XXL-JOB any more: somebody said so")
)

// KeptError names the started jobs for which a hand-over was refused; nothing was changed.
type KeptError struct {
	Back bool // to the old admins
	Jobs []StrangeJob
}

func (e *KeptError) Error() string {
	var b strings.Builder
	if e.Back {
		b.WriteString("XXL-JOB cannot run all of these jobs as Punctual does; change or stop them first:")
	} else {
		b.WriteString("Punctual cannot read when these jobs are due; mend or stop them in XXL-JOB first:")
	}
	for i, j := range e.Jobs {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(e.Jobs)-i)
			break
		}
		fmt.Fprintf(&b, " %d %q (%s);", j.ID, j.Name, j.Why)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// Beside reports whether Punctual works beside XXL-JOB admins on this database, as it was when it was opened and brought up to date.
func (p *Pool) Beside() bool { return p != nil && p.beside.Load() }

// BesideArg is what queries take for it: 1 or 0.
func (p *Pool) BesideArg() int64 {
	if p.Beside() {
		return 1
	}
	return 0
}

// findBeside reads the mode.
func (p *Pool) findBeside(ctx context.Context) error {
	if p.dialect != MySQL {
		return nil
	}
	rows, err := New().ListBeside(ctx, p)
	if err = Error(err); err != nil {
		return fmt.Errorf("ask for the groups beside XXL-JOB: %w", err)
	}
	p.beside.Store(len(rows) > 0 && rows[0].GroupID == ModeGroup)
	return nil
}

// BeginBeside adopts a database for work beside the XXL-JOB admins that go on working on it: all groups are theirs at first. The mode
// stands in the database before anything else is done to it. look is as [Pool.HandBack] has it.
func (p *Pool) BeginBeside(ctx context.Context, by string, look time.Duration) error {
	if p.dialect != MySQL {
		return ErrBesideRelease
	}
	if p.galera {
		return ErrBesideGalera
	}
	ours, err := p.hasVersion(ctx)
	if err != nil {
		return err
	}
	if ours {
		err = p.mayBeginAgain(ctx, look)
	} else {
		err = p.mayBegin(ctx)
	}
	if err != nil {
		return err
	}
	create, err := migrationFiles.ReadFile("migrations/mysql/00180_beside.sql")
	if err != nil {
		return err
	}
	if _, err := p.ExecContext(ctx, string(create)); err != nil {
		return fmt.Errorf("make the table of groups: %w", Error(err))
	}
	if err := New().BeginBeside(ctx, p, BeginBesideParams{MovedAt: time.Now().UnixMilli(), MovedBy: by}); err != nil {
		return fmt.Errorf("note the mode: %w", Error(err))
	}
	return p.Migrate(ctx)
}

// mayBegin refuses releases beside which Punctual cannot work: 3.5 needs the columns that an adoption renames, and 2.1 and 2.2 have
// the times of their jobs elsewhere.
func (p *Pool) mayBegin(ctx context.Context) error {
	found, err := readSchema(ctx, p.DB)
	if err != nil {
		return err
	}
	if found["xxl_job_info"] == nil || found["xxl_job_lock"] == nil {
		return fmt.Errorf("%w; there is no XXL-JOB in this database", ErrBesideRelease)
	}
	return besideRelease(releaseOf(found))
}

func besideRelease(r Release) error {
	if r == Release21 || r == Release35 {
		return fmt.Errorf("%w; this database is of %s", ErrBesideRelease, r.Span())
	}
	return nil
}

// mayBeginAgain is for a database that was handed back, or whose adoption was cut short.
func (p *Pool) mayBeginAgain(ctx context.Context, look time.Duration) error {
	a, err := New().GetAdoption(ctx, p)
	switch err = Error(err); {
	case errors.Is(err, ErrNotFound):
		return ErrNeverAdopted
	case err != nil:
		return fmt.Errorf("read what was adopted: %w", err)
	case a.FinishedAt != 0:
		return ErrFinished
	}
	if err := besideRelease(Release(a.ReleaseLine)); err != nil {
		return err
	}
	_, err = p.restOfNodes(ctx, look)
	return err
}

// EndBeside ends the mode, after the XXL-JOB admins were stopped and while no admin of ours runs: from the next start on Punctual
// schedules every started job. It gives how many were theirs until now. look is as [Pool.HandBack] has it.
func (p *Pool) EndBeside(ctx context.Context, look time.Duration) (theirs int64, err error) {
	if err := p.needBeside(ctx); err != nil {
		return 0, err
	}
	if _, err := p.restOfNodes(ctx, look); err != nil {
		return 0, err
	}
	q := New()
	err = p.underLock(ctx, func(tx *sql.Tx) error {
		theirs = 0
		jobs, err := q.CountJobsOfGroupsByStatus(ctx, tx)
		if err != nil {
			return err
		}
		for _, n := range jobs {
			if n.TriggerStatus == int64(jobspec.StatusRunning) {
				theirs += n.Jobs
			}
		}
		return p.endBeside(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("end the work beside XXL-JOB: %w", err)
	}
	return theirs, nil
}

// endBeside gives every started job but flows the value that all schedulers know. The days that both counted are counted anew.
func (p *Pool) endBeside(ctx context.Context, tx *sql.Tx) error {
	q := New()
	if _, err := q.TakeAllJobs(ctx, tx); err != nil {
		return err
	}
	if err := q.EndBeside(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM punctual_setting WHERE name = 'skips_counted'")
	return err
}

func (p *Pool) needBeside(ctx context.Context) error {
	if err := p.findBeside(ctx); err != nil {
		return err
	}
	if !p.Beside() {
		return ErrNotBeside
	}
	return nil
}

// Hand says to whom groups go, and by whose word.
type Hand struct {
	Groups []int64
	Back   bool // to the XXL-JOB admins
	By     string
	Now    func() time.Time                          // time.Now when nil
	Note   func(tx *sql.Tx, group, jobs int64) error // told of each group in the transaction; may be nil
}

// HandOver hands the started jobs of groups to Punctual, or back, all or none. The error is a [KeptError] where one of them cannot go.
// Groups that are there already are left as they are but for jobs that somebody has started at the other end since.
func (p *Pool) HandOver(ctx context.Context, h Hand) (jobs int64, err error) {
	if err := p.needBeside(ctx); err != nil {
		return 0, err
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	for {
		err = p.underLock(ctx, func(tx *sql.Tx) error {
			jobs = 0
			for _, id := range h.Groups {
				n, err := p.handGroup(ctx, tx, h, id)
				if err != nil {
					return err
				}
				jobs += n
			}
			return nil
		})
		if !errors.Is(err, ErrBehind) || !pause(ctx, 6) {
			return jobs, err
		}
	}
}

// underLock does something while no XXL-JOB admin is between reading what is due and writing when it is due next.
func (p *Pool) underLock(ctx context.Context, do func(tx *sql.Tx) error) error {
	for {
		err := p.Tx(ctx, func(tx *sql.Tx) error {
			if _, err := New().LockSchedules(ctx, tx); errors.Is(Error(err), ErrNotFound) {
				return ErrNoLock
			} else if err != nil {
				return fmt.Errorf("wait for the lock of the XXL-JOB admins: %w", err)
			}
			return do(tx)
		})
		if !IsLocked(err) || ctx.Err() != nil { // a pass may take longer than one wait
			return err
		}
	}
}

func (p *Pool) handGroup(ctx context.Context, tx *sql.Tx, h Hand, id int64) (jobs int64, err error) {
	q := New()
	status := jobspec.StatusRunning
	if h.Back {
		status = jobspec.StatusMoved
	}
	rows, err := q.ListJobsOfGroupByStatus(ctx, tx, ListJobsOfGroupByStatusParams{JobGroup: id, TriggerStatus: int64(status)})
	if err != nil {
		return 0, err
	}
	var kept []StrangeJob
	for i := range rows {
		why := unreadable(&rows[i])
		if h.Back {
			why = unknownToOld(&rows[i])
		}
		if why != "" {
			kept = append(kept, StrangeJob{ID: rows[i].ID, Name: rows[i].JobDesc, Why: why})
		}
	}
	if len(kept) > 0 {
		return 0, &KeptError{Back: h.Back, Jobs: kept}
	}
	if h.Back {
		jobs, err = p.giveBack(ctx, tx, id, h.Now())
	} else if jobs, err = q.TakeJobs(ctx, tx, id); err == nil {
		err = q.SetBeside(ctx, tx, SetBesideParams{GroupID: id, MovedAt: h.Now().UnixMilli(), MovedBy: h.By})
	}
	if err == nil {
		err = p.noteHanded(ctx, tx, id, h)
	}
	if err != nil || h.Note == nil {
		return jobs, err
	}
	return jobs, h.Note(tx, id, jobs)
}

// giveBack gives all of a group's started jobs back, if the fires of the next seconds are claimed of each.
func (p *Pool) giveBack(ctx context.Context, tx *sql.Tx, id int64, now time.Time) (jobs int64, err error) {
	q := New()
	if jobs, err = q.GiveJobsBack(ctx, tx, GiveJobsBackParams{JobGroup: id, FromMs: now.Add(givenAhead).UnixMilli()}); err != nil {
		return 0, err
	}
	left, err := q.CountMovedJobs(ctx, tx, id)
	if err != nil {
		return 0, err
	}
	if left > 0 {
		return 0, ErrBehind
	}
	return jobs, q.UnsetBeside(ctx, tx, id)
}

// noteHanded writes into the history of a group's jobs that they changed hands, of all in two statements: the old admins wait.
func (p *Pool) noteHanded(ctx context.Context, tx *sql.Tx, id int64, h Hand) error {
	started, status, cause, claimed := 1, jobspec.StatusMoved, ScheduleStarted, "0"
	if h.Back {
		started, status, cause, claimed = 0, jobspec.StatusRunning, ScheduleStopped, "GREATEST(j.trigger_next_time, j.claimed_until)"
	}
	now := h.Now().UnixMilli()
	_, err := tx.ExecContext(ctx, `UPDATE punctual_schedule AS h JOIN xxl_job_info AS j ON j.id = h.job_id
		SET h.until_at = ?, h.claimed_to = `+claimed+` WHERE j.job_group = ? AND j.trigger_status = ? AND h.until_at = 0 AND h.started <> ?`,
		now, id, int64(status), started)
	if err != nil {
		return fmt.Errorf("end the history of schedules: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO punctual_schedule (job_id, job_group, job_desc, cause, since_at, made_at, until_at, claimed_to, started,
			next_at, schedule_type, schedule_conf, misfire_strategy, time_zone, start_at, end_at, calendar, calendar_rule)
		SELECT j.id, j.job_group, j.job_desc, ?, ?, ?, 0, 0, ?, j.trigger_next_time, j.schedule_type, COALESCE(j.schedule_conf, ''), j.misfire_strategy,
			CASE WHEN j.time_zone = '' THEN ? ELSE j.time_zone END, j.start_at, j.end_at, j.calendar, j.calendar_rule
		FROM xxl_job_info AS j LEFT JOIN punctual_schedule AS h ON h.job_id = j.id AND h.until_at = 0
		WHERE j.job_group = ? AND j.trigger_status = ? AND h.id IS NULL`,
		string(cause), now, now, started, p.zone.String(), id, int64(status))
	if err != nil {
		return fmt.Errorf("begin the history of schedules: %w", err)
	}
	return nil
}

// unreadable says why Punctual cannot schedule a job: it would stop it at its first fire.
func unreadable(j *ListJobsOfGroupByStatusRow) string {
	switch findingOf(Release34, j.ScheduleType, string(j.ScheduleConf)) {
	case FindingUnread, FindingFields:
		return string(j.ScheduleConf)
	case FindingWeekday, FindingMonths, FindingDay, FindingDelay:
	}
	if !j.ScheduleType.Schedules() {
		return string(j.ScheduleType)
	}
	return ""
}

// unknownToOld says why an XXL-JOB admin cannot run a job as Punctual does.
func unknownToOld(j *ListJobsOfGroupByStatusRow) string {
	switch j.ScheduleType {
	case jobspec.ScheduleCron, jobspec.ScheduleFixRate:
	case jobspec.ScheduleNone, jobspec.ScheduleFixDelay, jobspec.ScheduleOnce:
		return string(j.ScheduleType)
	default:
		return string(j.ScheduleType)
	}
	switch {
	case j.TimeZone != "":
		return "zone"
	case j.StartAt > 0 || j.EndAt > 0:
		return "bounds"
	case j.Calendar != "":
		return "calendar"
	case !j.ExecutorRouteStrategy.Valid():
		return string(j.ExecutorRouteStrategy)
	case j.GlueType == wire.GlueRuby, j.GlueType == jobspec.GlueFlow:
		return string(j.GlueType)
	}
	return ""
}

// MovedGroups are the groups that are Punctual's.
func (p *Pool) MovedGroups(ctx context.Context) (map[int64]bool, error) {
	rows, err := New().ListBeside(ctx, p)
	if err = Error(err); err != nil {
		return nil, fmt.Errorf("ask for the groups beside XXL-JOB: %w", err)
	}
	moved := make(map[int64]bool, len(rows))
	for _, r := range rows {
		if r.GroupID != ModeGroup {
			moved[r.GroupID] = true
		}
	}
	return moved, nil
}
