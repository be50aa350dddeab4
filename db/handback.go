package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// Handed is what a database was handed back with, for who puts the XXL-JOB admin back.
type Handed struct {
	Release Release
	// Runs were planned and not sent: they stand as failures to send with a retry left, so that the old admin sends them.
	Runs int64
	// Unread are users whose passwords the old admin cannot check: they were kept in our form.
	Unread []string
	// Strange are started jobs that the old admin cannot run as they are: their type is unknown to it, or they have a zone, a calendar or bounds.
	Strange []StrangeJob
	// Stopped are adopted jobs that were stopped here because their schedule was not understood. Why is that schedule.
	Stopped []StrangeJob
	// Renamed says that the two columns which 3.5 named anew have its names again. Punctual adopts the database anew at its next start.
	Renamed bool
}

// StrangeJob is a started job that does more than an XXL-JOB admin can.
type StrangeJob struct {
	ID   int64
	Name string
	Why  string // the schedule's type, or "zone", "calendar" or "bounds"
}

var (
	// ErrNeverAdopted means that a database was not XXL-JOB's when Punctual first used it, or that nobody knows any more.
	ErrNeverAdopted = errors.New("this database was not adopted from XXL-JOB: there is nothing to go back to")
	// ErrStillRunning is wrapped when an admin of ours works on the database.
	ErrStillRunning = errors.New("stop Punctual first")
	// ErrCutShort is wrapped when an admin of ours ended without finishing, and left runs that it may have sent.
	ErrCutShort = errors.New("start Punctual once more and stop it (SIGTERM), so that it asks the executors about them; or hand them over as they are (--after-crash): some may then be run twice")
)

// handedMessage is what the old admin's page shows of a run that it is handed. A row of ours is written like one of its own.
const handedMessage = "Punctual had planned this run and not sent it when it was stopped; the retry is for the XXL-JOB admin."

// HandBack makes a database ready for the XXL-JOB admin that is put back after Punctual was stopped: runs that were planned and
// not sent become failures with a retry, which the old admin looks for every ten seconds, and of 3.5 the columns get their names
// back. What the old admin will not do as Punctual did is returned. look is how long the nodes are watched for a sign of life,
// which must be more than the time between two of their beats; doing it twice changes nothing more. Unsent runs beside an admin that
// crashed may have been sent all the same: they are handed over only with afterCrash, else it wraps [ErrCutShort].
func (p *Pool) HandBack(ctx context.Context, look time.Duration, afterCrash bool) (h Handed, err error) {
	a, err := New().GetAdoption(ctx, p)
	if err = Error(err); errors.Is(err, ErrNotFound) {
		return h, ErrNeverAdopted
	} else if err != nil {
		return h, fmt.Errorf("read what was adopted: %w", err)
	}
	h.Release = Release(a.ReleaseLine)
	if ours, err := isOurs(ctx, p.DB); err != nil {
		return h, err
	} else if !ours { // handed back already, or almost
		h.Renamed = true
		return h, p.renameBack(ctx)
	}
	dead, err := p.restOfNodes(ctx, look)
	if err != nil {
		return h, err
	}
	if len(dead) > 0 && !afterCrash {
		if err := p.noneCutShort(ctx, dead); err != nil {
			return h, err
		}
	}
	if h.Runs, err = p.handRuns(ctx); err != nil {
		return h, fmt.Errorf("hand the unsent runs over: %w", Error(err))
	}
	if h.Unread, err = p.unreadUsers(ctx); err != nil {
		return h, fmt.Errorf("look for passwords: %w", Error(err))
	}
	if h.Strange, err = p.strangeJobs(ctx); err != nil {
		return h, fmt.Errorf("look for jobs: %w", Error(err))
	}
	if h.Stopped, err = p.stoppedJobs(ctx); err != nil {
		return h, fmt.Errorf("look for jobs that were stopped: %w", Error(err))
	}
	if err := p.handMoved(ctx); err != nil {
		return h, fmt.Errorf("hand the groups over: %w", Error(err))
	}
	if h.Release == Release35 {
		h.Renamed = true
		return h, p.renameBack(ctx)
	}
	return h, nil
}

// stoppedJobs are adopted jobs with a schedule that is not understood here, which a fire has stopped.
func (p *Pool) stoppedJobs(ctx context.Context) ([]StrangeJob, error) {
	return p.jobsWithWhy(ctx, `SELECT j.id, j.job_desc, COALESCE(j.schedule_conf, '') FROM punctual_adopted_job AS a JOIN xxl_job_info AS j ON j.id = a.job_id
		WHERE a.finding IN (?, ?) AND j.trigger_status = 0 AND HEX(COALESCE(j.schedule_conf, '')) = HEX(a.schedule_conf)
		AND EXISTS (SELECT 1 FROM xxl_job_log AS l WHERE l.job_id = j.id AND l.outcome = ?) ORDER BY j.id`, string(FindingUnread), string(FindingFields), int64(event.Stopped))
}

// handMoved gives the jobs that are ours beside XXL-JOB admins back to them, whose pass of the moment must not be among it.
func (p *Pool) handMoved(ctx context.Context) error {
	if err := p.findBeside(ctx); err != nil || !p.Beside() {
		return err
	}
	if err := p.underLock(ctx, func(tx *sql.Tx) error { return p.endBeside(ctx, tx) }); err != nil {
		return err
	}
	return p.findBeside(ctx)
}

// lookEvery is how often nodes are watched for a sign of life.
const lookEvery = 200 * time.Millisecond

// restOfNodes refuses as soon as an admin of ours beats within look, and names those that ended without saying so.
func (p *Pool) restOfNodes(ctx context.Context, look time.Duration) (dead []string, err error) {
	before, err := New().ListNodes(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", Error(err))
	}
	beats := make(map[int64]int64)
	for _, n := range before {
		if n.State == 1 {
			beats[n.ID] = n.Beat
		}
	}
	if len(beats) == 0 {
		return nil, nil
	}
	for ends := time.Now().Add(look); ; {
		left := time.Until(ends)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(left, lookEvery)):
		}
		after, err := New().ListNodes(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("list nodes: %w", Error(err))
		}
		var alive []string
		dead = nil
		for _, n := range after {
			name := n.Name + " (" + n.Address + ")"
			if beat, known := beats[n.ID]; n.State == 1 && (!known || beat != n.Beat) {
				alive = append(alive, name)
			} else if n.State == 1 {
				dead = append(dead, name)
			}
		}
		if len(alive) > 0 {
			return nil, fmt.Errorf("%w: %s still work on this database", ErrStillRunning, strings.Join(alive, ", "))
		}
		if left <= lookEvery {
			return dead, nil
		}
	}
}

// noneCutShort refuses when there are runs of which nobody knows whether a dead admin has sent them.
func (p *Pool) noneCutShort(ctx context.Context, dead []string) error {
	var unsent int64
	err := p.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_log WHERE "+unsentRuns).Scan(&unsent)
	if err != nil {
		return fmt.Errorf("count the unsent runs: %w", Error(err))
	}
	if unsent == 0 {
		return nil
	}
	return fmt.Errorf("%s ended without finishing, and left %d runs that it may have sent: %w", strings.Join(dead, ", "), unsent, ErrCutShort)
}

// unsentRuns are those of ours that are not known to be sent.
const unsentRuns = "handle_code = 0 AND trigger_code = 0 AND planned_at > 0"

// handRuns turns what was claimed and not sent into failures that the old admin retries.
func (p *Pool) handRuns(ctx context.Context) (total int64, err error) {
	for {
		res, err := p.ExecContext(ctx, `UPDATE xxl_job_log SET trigger_code = 500, alarm_status = 0, trigger_msg = ?,
			executor_fail_retry_count = CASE WHEN executor_fail_retry_count < 1 THEN 1 ELSE executor_fail_retry_count END
			WHERE `+unsentRuns+` ORDER BY id LIMIT 1000`, handedMessage)
		if err != nil {
			return total, err
		}
		n, err := res.RowsAffected()
		if total += n; err != nil || n < 1000 {
			return total, err
		}
	}
}

func (p *Pool) unreadUsers(ctx context.Context) (names []string, err error) {
	rows, err := p.QueryContext(ctx, "SELECT username FROM xxl_job_user WHERE password LIKE '$%' AND provider = '' AND service = 0 ORDER BY username LIMIT 1000")
	if err != nil {
		return nil, err
	}
	err = scanAll(rows, func() error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

func (p *Pool) strangeJobs(ctx context.Context) ([]StrangeJob, error) {
	return p.jobsWithWhy(ctx, `SELECT id, job_desc, CASE WHEN glue_type = 'FLOW' THEN 'FLOW' WHEN schedule_type NOT IN ('CRON', 'FIX_RATE', 'NONE') THEN schedule_type WHEN time_zone <> '' THEN 'zone' WHEN calendar <> '' THEN 'calendar' ELSE 'bounds' END
		FROM xxl_job_info WHERE trigger_status > 0 AND (schedule_type NOT IN ('CRON', 'FIX_RATE', 'NONE') OR time_zone <> '' OR start_at > 0 OR end_at > 0 OR calendar <> '' OR glue_type = 'FLOW') ORDER BY id LIMIT 1000`)
}

// jobsWithWhy reads the ids and the names of jobs, and what is strange about each.
func (p *Pool) jobsWithWhy(ctx context.Context, query string, args ...any) (jobs []StrangeJob, err error) {
	rows, err := p.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = scanAll(rows, func() error {
		var j StrangeJob
		err := rows.Scan(&j.ID, &j.Name, &j.Why)
		jobs = append(jobs, j)
		return err
	})
	return jobs, err
}

// renameBack undoes what adoption renamed, and the note that the database is ours, so that Punctual adopts it anew when it comes
// back. The note goes first: were it to stay, a start would find columns missing.
func (p *Pool) renameBack(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("give the columns their names back: %w", Error(err))
		}
	}()
	if _, err := p.ExecContext(ctx, "DELETE FROM "+versionTable+" WHERE version_id = ?", baseline); err != nil {
		return err
	}
	if _, err := p.ExecContext(ctx, "UPDATE punctual_adoption SET checked_at = 0, tokens_at = 0 WHERE id = 1"); err != nil {
		return err
	}
	found, err := readSchema(ctx, p.DB)
	if err != nil {
		return err
	}
	var group, job alteration
	group.rename(found["xxl_job_group"], "title", "name", "VARCHAR(64)")
	job.rename(found["xxl_job_info"], "job_desc", "name", "VARCHAR(255)")
	for _, s := range append(group.steps(found["xxl_job_group"], "name"), job.steps(found["xxl_job_info"], "name")...) {
		if err := s.run(ctx, p, p.DB); err != nil {
			return err
		}
	}
	return nil
}
