package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Release is a line of XXL-JOB releases whose tables cannot be told from each other.
type Release string

const (
	Release21 Release = "2.1" // 2.1.0 to 2.2.0
	Release23 Release = "2.3" // 2.3.0 to 2.4.2
	Release25 Release = "2.5" // 2.5.0 to 3.1.1
	Release32 Release = "3.2" // 3.2.0 to 3.3.2
	Release34 Release = "3.4" // 3.4.0 to 3.4.2
	Release35 Release = "3.5"
)

// Span is the line in words for people, such as "2.3.0 to 2.4.2".
func (r Release) Span() string {
	switch r {
	case Release21:
		return "2.1.0–2.2.0"
	case Release23:
		return "2.3.0–2.4.2"
	case Release25:
		return "2.5.0–3.1.1"
	case Release32:
		return "3.2.0–3.3.2"
	case Release34:
		return "3.4.0–3.4.2"
	case Release35:
		return "3.5"
	}
	return string(r)
}

// PasswordForm is how XXL-JOB's admin keeps a password: without salt, in lower-case hexadecimal digits.
type PasswordForm string

const (
	PasswordMD5    PasswordForm = "md5"
	PasswordSHA256 PasswordForm = "sha256"
)

// Passwords is the form that the admins of a release can read.
func (r Release) Passwords() PasswordForm {
	switch r {
	case Release21, Release23, Release25:
		return PasswordMD5
	case Release32, Release34, Release35:
		return PasswordSHA256
	}
	return PasswordSHA256
}

// releaseOf tells the line by what its create scripts and upgrades changed; a database that was brought along by hand is that of
// the newest column it has.
func releaseOf(found schema) Release {
	job, group, user := found["xxl_job_info"], found["xxl_job_group"], found["xxl_job_user"]
	switch {
	case job.has("name") || group.has("name"):
		return Release35
	case job.has("executor_param") && job.columns["executor_param"].dataType != "varchar":
		return Release34
	case user.has("token"):
		return Release32
	case !job.has("schedule_type"):
		return Release21
	}
	if registry := found["xxl_job_registry"]; registry != nil && registry.unique("registry_group", "registry_key", "registry_value") {
		return Release25
	}
	return Release23
}

// noteAdoption keeps what the tables show before anything is changed. What an adoption that was cut short has noted stays.
func (p *Pool) noteAdoption(ctx context.Context, target *sql.DB, found schema) error {
	create, err := migrationFiles.ReadFile("migrations/mysql/00013_adoption.sql")
	if err != nil {
		return err
	}
	if _, err := target.ExecContext(ctx, string(create)); err != nil {
		return fmt.Errorf("note what is adopted: %w", err)
	}
	if used, err := hasUsers(ctx, target, found); err != nil || !used {
		return err
	}
	_, err = target.ExecContext(ctx, "INSERT IGNORE INTO punctual_adoption (id, release_line, adopted_at) VALUES (1, ?, ?)", releaseOf(found), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("note what is adopted: %w", err)
	}
	return nil
}

// hasUsers tells an XXL-JOB database, whose create script makes its first user, from an installation of ours that was cut short
// before it had one: there nobody can go back, and passwords are not to be weakened for it.
func hasUsers(ctx context.Context, target *sql.DB, found schema) (bool, error) {
	if found["xxl_job_user"] == nil {
		return false, nil
	}
	var n int
	if err := target.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT id FROM xxl_job_user LIMIT 1) AS u").Scan(&n); err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return n > 0, nil
}

// WayBack says in which form an XXL-JOB admin reads passwords that may be put back at any time; "" where none may, or none ever was.
func (p *Pool) WayBack(ctx context.Context) (PasswordForm, error) {
	a, err := New().GetAdoption(ctx, p)
	switch err = Error(err); {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask for the way back: %w", err)
	case a.FinishedAt != 0:
		return "", nil
	}
	return Release(a.ReleaseLine).Passwords(), nil
}

// JobFinding is why the times of an adopted job are not what they were.
type JobFinding string

const (
	FindingUnread  JobFinding = "unread"  // its text is not understood, so that it stops at its first fire
	FindingFields  JobFinding = "fields"  // its cron text has more than seven fields: releases up to 3.0.0 passed over the rest, here it is not understood
	FindingWeekday JobFinding = "weekday" // "5,20W" was the weekday nearest to the 5th; here it is the 5th, and the weekday nearest to the 20th
	FindingMonths  JobFinding = "months"  // releases 3.1.0 to 3.3.2 left out months for L and W; here it is due in each
	FindingDay     JobFinding = "day"     // the times of a day with W were partly missed; here all of them are kept
	FindingDelay   JobFinding = "delay"   // XXL-JOB never ran FIX_DELAY jobs; here they run
)

// findingOf judges the schedule of one job.
func findingOf(r Release, t jobspec.ScheduleType, conf string) JobFinding {
	switch t {
	case jobspec.ScheduleFixDelay:
		return FindingDelay
	case jobspec.ScheduleFixRate:
		if _, err := jobspec.Interval(conf); err != nil {
			return FindingUnread
		}
		return ""
	case jobspec.ScheduleCron:
		return cronFinding(r, conf)
	case jobspec.ScheduleNone, jobspec.ScheduleOnce:
		return ""
	}
	return ""
}

func cronFinding(r Release, conf string) JobFinding {
	fields := strings.FieldsFunc(strings.ToUpper(conf), func(r rune) bool { return r == ' ' || r == '\t' }) // as they are read
	if len(fields) > 7 {
		return FindingFields
	}
	if _, err := jobspec.Next(jobspec.ScheduleCron, conf, time.Unix(0, 0), time.UTC); err != nil {
		return FindingUnread
	}
	days := fields[3]
	nearest, list, last := strings.Contains(days, "W"), strings.Contains(days, ","), strings.Contains(days, "L")
	switch {
	case nearest && list && r != Release34 && r != Release35:
		return FindingWeekday
	case r == Release32 && (nearest || last):
		return FindingMonths
	case nearest && strings.ContainsAny(strings.Join(fields[:3], ""), "*,-/"):
		return FindingDay
	}
	return ""
}

// adoptedPage is how many jobs are looked through at a time, and adoptedLines how many of those with a finding are named in the log.
const (
	adoptedPage  = 1000
	adoptedLines = 20
)

// lookThrough finds, once after an adoption, what is another thing with Punctual than it was: jobs whose times change, and mails
// that nobody sends. It is said in the log, and kept for the console.
func (p *Pool) lookThrough(ctx context.Context) error {
	q := New()
	a, err := q.GetAdoption(ctx, p)
	if err = Error(err); errors.Is(err, ErrNotFound) || err == nil && a.CheckedAt != 0 {
		return nil
	} else if err != nil {
		return fmt.Errorf("read what was adopted: %w", err)
	}
	if err := p.stopOddJobs(ctx, q); err != nil {
		return fmt.Errorf("look through the statuses of the adopted jobs: %w", Error(err))
	}
	found, err := p.findChanges(ctx, q, Release(a.ReleaseLine))
	if err != nil {
		return fmt.Errorf("look through the adopted jobs: %w", Error(err))
	}
	if found > 0 {
		p.logger.Warn("jobs have other times than under XXL-JOB; the console lists them", "jobs", found, "page", "/adoption")
	}
	backoffs, err := q.CountJobsWithBackoff(ctx, p, adoptedBackoff)
	if err != nil {
		return fmt.Errorf("count adopted retries: %w", Error(err))
	}
	if backoffs > 0 {
		p.logger.Info("jobs with retries wait for 10 s before each, as XXL-JOB did; it can be changed in each job", "jobs", backoffs)
	}
	if err := p.keepOldRuns(ctx, q); err != nil {
		return fmt.Errorf("keep the old runs: %w", Error(err))
	}
	mails, err := q.CountJobsWithMail(ctx, p)
	if err != nil {
		return fmt.Errorf("count alarm mails: %w", Error(err))
	}
	if mails > 0 {
		p.logger.Warn("jobs name addresses for alarm mails, and none is sent before a mail channel is made and marked for them: see the console's page of alarms", "jobs", mails)
	}
	err = q.NoteAdoptionChecked(ctx, p, NoteAdoptionCheckedParams{CheckedAt: time.Now().UnixMilli(), Backoffs: backoffs})
	if err != nil {
		return fmt.Errorf("note that the adopted jobs were looked through: %w", Error(err))
	}
	return nil
}

// How long runs are kept: the setting, and what holds unless somebody decides otherwise, as XXL-JOB's configuration has it.
const (
	SettingRetention     = "log_retention_days"
	DefaultRetentionDays = 30
)

// keepOldRuns has runs kept for ever, until somebody decides otherwise, where an XXL-JOB admin kept them for longer than is the default. What its
// configuration said is not in the database.
func (p *Pool) keepOldRuns(ctx context.Context, q *Queries) error {
	since, err := p.keptSince(ctx)
	if err != nil || since.IsZero() {
		return err
	}
	_, err = q.InsertSettingIfAbsent(ctx, p, InsertSettingIfAbsentParams{Name: SettingRetention, Value: "0", UpdatedAt: time.Now().UnixMilli()})
	if err == nil {
		p.logger.Warn("XXL-JOB kept runs for longer than is the default here, so they are kept for ever until somebody sets how long", "since", since, "setting", SettingRetention)
	}
	return err
}

// cleanedDaily is how much older than its configuration says an XXL-JOB admin's oldest run may be: it deletes once a day.
const cleanedDaily = 2

// oldestRuns are so many that those without a time, or with one of nobody's, are not all of them.
const oldestRuns = 1000

// keptSince is the time of the oldest run, if it is older than an admin with the default would have kept.
func (p *Pool) keptSince(ctx context.Context) (since time.Time, err error) {
	var oldest sql.NullTime
	err = p.QueryRowContext(ctx, `SELECT MIN(r.trigger_time) FROM (SELECT trigger_time FROM xxl_job_log ORDER BY id LIMIT ?) AS r
		WHERE r.trigger_time > '2001-01-01 00:00:00'`, oldestRuns).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return time.Time{}, err
	}
	if since = p.FromWall(oldest.Time); time.Since(since) < (DefaultRetentionDays+cleanedDaily)*24*time.Hour {
		return time.Time{}, nil
	}
	return since, nil
}

// stopOddJobs leaves stopped what XXL-JOB did not run: a hand has given a status that began to mean something with us. Nobody has moved a job yet.
func (p *Pool) stopOddJobs(ctx context.Context, q *Queries) error {
	ids, err := q.ListMovedJobs(ctx, p)
	if err != nil || len(ids) == 0 {
		return err
	}
	p.logger.Warn("jobs have trigger_status 2, which XXL-JOB takes for stopped and Punctual would not; it is made 0", "jobs", len(ids), "first", ids[:min(len(ids), adoptedLines)])
	return q.StopMovedJobs(ctx, p, ids)
}

// adoptedBackoff is what migration 12 gives adopted jobs with retries.
const adoptedBackoff = "10s"

// findChanges keeps the jobs with a finding and returns their number.
func (p *Pool) findChanges(ctx context.Context, q *Queries, r Release) (found int, err error) {
	for after := int64(0); ; {
		rows, err := q.ListSchedulesAfter(ctx, p, ListSchedulesAfterParams{AfterID: after, Limit: adoptedPage})
		if err != nil {
			return found, err
		}
		for _, j := range rows {
			after = j.ID
			finding := findingOf(r, j.ScheduleType, string(j.ScheduleConf))
			if finding == "" {
				continue
			}
			if found++; found <= adoptedLines {
				p.logger.Warn("a job has other times than under XXL-JOB", "job_id", j.ID, "finding", string(finding), "schedule", string(j.ScheduleConf))
			}
			err := q.InsertAdoptedJob(ctx, p, InsertAdoptedJobParams{JobID: j.ID, Finding: string(finding), ScheduleType: string(j.ScheduleType), ScheduleConf: string(j.ScheduleConf)})
			if err != nil {
				return found, err
			}
		}
		if len(rows) < adoptedPage {
			return found, nil
		}
	}
}

// GroupTokens are the access tokens that groups had in XXL-JOB 3.5, by app name: nil for other releases, and once they were taken over.
func (p *Pool) GroupTokens(ctx context.Context) (map[string]string, error) {
	a, err := New().GetAdoption(ctx, p)
	if err = Error(err); errors.Is(err, ErrNotFound) || err == nil && (Release(a.ReleaseLine) != Release35 || a.TokensAt != 0) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read what was adopted: %w", err)
	}
	rows, err := p.QueryContext(ctx, "SELECT app_name, access_token FROM xxl_job_group WHERE access_token <> ''")
	if err != nil {
		return nil, fmt.Errorf("read the groups' tokens: %w", Error(err))
	}
	tokens := make(map[string]string)
	err = scanAll(rows, func() error {
		var app, token string
		err := rows.Scan(&app, &token)
		tokens[app] = token
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the groups' tokens: %w", Error(err))
	}
	return tokens, nil
}
