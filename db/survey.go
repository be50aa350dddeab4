package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Survey is what an XXL-JOB database shows before anything is done to it.
type Survey struct {
	Release Release // "" when it is none, or ours already
	Ours    bool    // Punctual works on it, or did
	Steps   []string
	Zone    *ZoneError // nil: nothing speaks against the zone
	Runs    int64      // in the log, by the database's estimate
	Bytes   int64      // of the log with its indexes, by the same
	Open    int64      // runs without a result
	Kept    time.Time  // since when, if that is longer ago than the default here; zero otherwise
	Jobs    []SurveyedJob
	Groups  []SurveyedGroup
	Users   []SurveyedUser
	// Beat is when an executor registered last, as the database has it; Overdue are started jobs that nobody has moved on for a minute.
	Beat    time.Time
	Overdue int64
}

// SurveyedJob is a job as far as it matters for a move.
type SurveyedJob struct {
	ID       int64
	Name     string
	Started  bool
	Type     jobspec.ScheduleType
	Conf     string
	Finding  JobFinding
	GlueType string
	Route    jobspec.Route
	Mails    bool // it names addresses for alarm mails
	Retries  bool
}

// SurveyedGroup is an executor group with what is registered for it.
type SurveyedGroup struct {
	ID        int64
	AppName   string
	Title     string
	Manual    bool
	Token     string // of 3.5
	Addresses []string
}

// SurveyedUser is somebody who may log in.
type SurveyedUser struct {
	Name     string
	Admin    bool
	Groups   string // ids, as they are stored
	Password string // as it is stored
}

// Survey reads a database and changes nothing.
func (p *Pool) Survey(ctx context.Context) (s Survey, err error) {
	if p.dialect != MySQL {
		return s, nil
	}
	found, err := readSchema(ctx, p.DB)
	if err != nil {
		return s, err
	}
	if found["xxl_job_info"] == nil {
		_, err := adoptionSteps(found)
		return s, err
	}
	if s.Ours, err = p.hasVersion(ctx); err != nil || s.Ours {
		return s, err
	}
	s.Release = releaseOf(found)
	steps, err := adoptionSteps(found)
	if err != nil {
		return s, err
	}
	for _, step := range steps {
		s.Steps = append(s.Steps, step.table+": "+step.why)
	}
	if s.Zone, err = p.zoneOf(ctx, p.DB, found); err != nil {
		return s, err
	}
	for _, read := range []func(context.Context, schema, *Survey) error{p.surveySize, p.surveyJobs, p.surveyGroups, p.surveyUsers} {
		if err := read(ctx, found, &s); err != nil {
			return s, fmt.Errorf("look through the database: %w", Error(err))
		}
	}
	return s, nil
}

// hasVersion says that our table of versions is there and has the baseline.
func (p *Pool) hasVersion(ctx context.Context) (bool, error) {
	var tables int
	err := p.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", versionTable).Scan(&tables)
	if err != nil || tables == 0 {
		return false, Error(err)
	}
	return isOurs(ctx, p.DB)
}

func (p *Pool) surveySize(ctx context.Context, found schema, s *Survey) error {
	err := p.QueryRowContext(ctx, `SELECT COALESCE(table_rows, 0), COALESCE(data_length, 0) + COALESCE(index_length, 0) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'`).Scan(&s.Runs, &s.Bytes)
	if err != nil {
		return err
	}
	if s.Kept, err = p.keptSince(ctx); err != nil || !found["xxl_job_log"].indexed("handle_code") {
		return err
	}
	return p.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200)").Scan(&s.Open)
}

func (p *Pool) surveyJobs(ctx context.Context, found schema, s *Survey) error {
	job := found["xxl_job_info"]
	name, kind, conf := "job_desc", "schedule_type", "COALESCE(schedule_conf, '')"
	if job.has("name") {
		name = "name"
	}
	if !job.has("schedule_type") {
		kind, conf = "'CRON'", "job_cron"
	}
	rows, err := p.QueryContext(ctx, "SELECT id, "+name+", trigger_status = 1, "+kind+", "+conf+", glue_type, COALESCE(alarm_email, '') <> '', executor_fail_retry_count > 0, COALESCE(executor_route_strategy, '') FROM xxl_job_info ORDER BY id")
	if err != nil {
		return err
	}
	err = scanAll(rows, func() error {
		var j SurveyedJob
		if err := rows.Scan(&j.ID, &j.Name, &j.Started, &j.Type, &j.Conf, &j.GlueType, &j.Mails, &j.Retries, &j.Route); err != nil {
			return err
		}
		j.Finding = findingOf(s.Release, j.Type, j.Conf)
		s.Jobs = append(s.Jobs, j)
		return nil
	})
	if err != nil {
		return err
	}
	return p.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time > 0 AND trigger_next_time < ?",
		time.Now().Add(-time.Minute).UnixMilli()).Scan(&s.Overdue)
}

func (p *Pool) surveyGroups(ctx context.Context, found schema, s *Survey) error {
	group := found["xxl_job_group"]
	title, token := "title", "''"
	if group.has("name") {
		title = "name"
	}
	if group.has("access_token") {
		token = "COALESCE(access_token, '')"
	}
	registered, err := p.registered(ctx, s)
	if err != nil {
		return err
	}
	rows, err := p.QueryContext(ctx, "SELECT id, app_name, "+title+", address_type = 1, COALESCE(address_list, ''), "+token+" FROM xxl_job_group ORDER BY app_name, id")
	if err != nil {
		return err
	}
	return scanAll(rows, func() error {
		var g SurveyedGroup
		var list string
		if err := rows.Scan(&g.ID, &g.AppName, &g.Title, &g.Manual, &list, &g.Token); err != nil {
			return err
		}
		if g.Manual {
			g.Addresses = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		} else {
			g.Addresses = registered[strings.ToLower(g.AppName)]
		}
		s.Groups = append(s.Groups, g)
		return nil
	})
}

// registered are the addresses that executors registered, by app name.
func (p *Pool) registered(ctx context.Context, s *Survey) (map[string][]string, error) {
	rows, err := p.QueryContext(ctx, "SELECT registry_key, registry_value, update_time FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' ORDER BY registry_key, registry_value")
	if err != nil {
		return nil, err
	}
	registered := make(map[string][]string)
	err = scanAll(rows, func() error {
		var app, address string
		var at sql.NullTime
		if err := rows.Scan(&app, &address, &at); err != nil {
			return err
		}
		if at.Valid && p.FromWall(at.Time).After(s.Beat) {
			s.Beat = p.FromWall(at.Time)
		}
		app = strings.ToLower(app)
		if !slices.Contains(registered[app], address) { // up to 2.4.2 a row may be there twice
			registered[app] = append(registered[app], address)
		}
		return nil
	})
	return registered, err
}

func (p *Pool) surveyUsers(ctx context.Context, _ schema, s *Survey) error {
	rows, err := p.QueryContext(ctx, "SELECT username, role = 1, COALESCE(permission, ''), password FROM xxl_job_user ORDER BY username")
	if err != nil {
		return err
	}
	return scanAll(rows, func() error {
		var u SurveyedUser
		err := rows.Scan(&u.Name, &u.Admin, &u.Groups, &u.Password)
		s.Users = append(s.Users, u)
		return err
	})
}
