package executor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Job is a job that a program brings with it: see [Executor.Declare]. What is left at its zero value is for people to decide in the
// console, but for Description, Handler and Author, which have defaults.
type Job struct {
	// Name is how the job is found again, whatever else changes; at most 128 characters, unique in the group.
	Name        string
	Description string // what the job is called in the console; default Name
	Author      string // default the executor's app name
	Handler     string // default Name
	Param       string
	ParamFixed  bool // runs by hand go with Param, and with no other

	Schedule            Schedule
	Zone                string // IANA name, such as Asia/Shanghai; empty: the installation's
	Calendar            string // the name of a calendar whose days it keeps to; empty: none
	CalendarRule        string // WORKDAYS if empty, DAYS_OFF, NEXT_WORKDAY or PREVIOUS_WORKDAY
	NotBefore, NotAfter time.Time
	Misfire             string        // DO_NOTHING, FIRE_ONCE_NOW, FIRE_ALL, FIRE_LAST or FIRE_WITHIN
	MisfireLast         int           // of FIRE_LAST: how many missed fires have a run
	MisfireWithin       time.Duration // of FIRE_WITHIN: how long ago a missed fire may have been due

	Route string // as XXL-JOB spells them: FIRST, ROUND, FAILOVER, SHARDING_BROADCAST, …
	Block string // SERIAL_EXECUTION, DISCARD_LATER or COVER_EARLY

	Timeout       time.Duration // whole seconds, as the other durations here
	Retries       int
	Backoff       []time.Duration // before the first retry, the second, …; the last one for all that follow
	MaxConcurrent int             // runs at a time in the whole cluster
	Concurrency   string          // QUEUE or DISCARD

	WarnAfter     time.Duration // how long a run may take before somebody is told
	ExpectSuccess time.Duration // within which a success is expected
	DoneBy        string        // the time of day, such as "06:00", by which the run before it has to be done
	Runbook       string        // the http or https address of what to do when it fails
	ParamForm     string        // which fields Param, a JSON object, consists of, as in a job file
	Priority      string        // among the jobs that wait for the limit of their executor: HIGHEST, HIGH, NORMAL, LOW or LOWEST
	WhenLost      string        // what becomes of a run whose executor is gone: "FAIL", or "AGAIN" to run it once more
	KeepOutput    string        // of which runs the output is kept beyond this executor: "ALL", "FAILED" or "NONE"
	RetentionDays int
	AlarmEmails   []string
	Tags          []string
	Next          []string // names of declared jobs that start when this one succeeded

	Stopped bool // its schedule is not started when the job is made; later people start and stop it
}

// Schedule says when a declared job is due. Make one with [Cron], [Every], [After] or [At]; with the zero one a job is never due by
// itself.
type Schedule struct{ kind, field, conf string }

// Cron is due when an expression says so: seconds, minutes, hours, days, months, weekdays and perhaps years, as XXL-JOB reads them.
func Cron(expression string) Schedule { return Schedule{"CRON", "cron", expression} }

// Every is due at a fixed rate, in whole seconds.
func Every(d time.Duration) Schedule { return Schedule{"FIX_RATE", "every_seconds", seconds(d)} }

// After is due some time after the end of the run before, in whole seconds.
func After(d time.Duration) Schedule { return Schedule{"FIX_DELAY", "every_seconds", seconds(d)} }

// At is due once.
func At(t time.Time) Schedule { return Schedule{"ONCE", "at", moment(t)} }

// seconds is as long as it says: what is not whole the admin refuses, and that is logged, where a part that was left out would mean no bound at all.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func moment(t time.Time) string { return t.Format(time.RFC3339Nano) }

// declared is the job as admins read it. The fields are those of docs/jobfile.md.
func (j Job) declared(appName string) wire.DeclaredJob {
	fields := map[string]string{
		"description": cmp.Or(j.Description, j.Name), "author": cmp.Or(j.Author, appName),
		"handler": cmp.Or(j.Handler, j.Name), "schedule": cmp.Or(j.Schedule.kind, "NONE"),
	}
	set := func(name, value string) {
		if value != "" && value != "0" {
			fields[name] = value
		}
	}
	if j.Schedule.field != "" {
		fields[j.Schedule.field] = j.Schedule.conf
	}
	set("parameter", j.Param)
	if j.ParamFixed {
		set("parameter_fixed", "true")
	}
	set("time_zone", j.Zone)
	set("calendar", j.Calendar)
	set("calendar_rule", j.CalendarRule)
	if !j.NotBefore.IsZero() {
		set("not_before", moment(j.NotBefore))
	}
	if !j.NotAfter.IsZero() {
		set("not_after", moment(j.NotAfter))
	}
	set("misfire", j.Misfire)
	set("misfire_last", strconv.Itoa(j.MisfireLast))
	set("misfire_within_seconds", seconds(j.MisfireWithin))
	set("route", j.Route)
	set("block", j.Block)
	set("timeout_seconds", seconds(j.Timeout))
	set("retries", strconv.Itoa(j.Retries))
	waits := make([]string, len(j.Backoff))
	for i, d := range j.Backoff {
		waits[i] = d.String()
	}
	set("retry_backoff", strings.Join(waits, ","))
	set("max_concurrent", strconv.Itoa(j.MaxConcurrent))
	set("concurrency", j.Concurrency)
	set("warn_after_seconds", seconds(j.WarnAfter))
	set("expect_success_seconds", seconds(j.ExpectSuccess))
	set("done_by", j.DoneBy)
	set("when_lost", j.WhenLost)
	set("priority", j.Priority)
	set("runbook", j.Runbook)
	set("parameter_form", j.ParamForm)
	set("keep_output", j.KeepOutput)
	set("retention_days", strconv.Itoa(j.RetentionDays))
	set("alarm_email", strings.Join(j.AlarmEmails, ","))
	set("tags", strings.Join(j.Tags, ","))
	return wire.DeclaredJob{Name: j.Name, Fields: fields, Next: j.Next, Stopped: j.Stopped}
}

// Removal is what becomes of a job that the program declared before and declares no longer.
type Removal string

const (
	RemovedStop   Removal = wire.RemovedStop // its schedule is stopped; started again when it is declared again
	RemovedKeep   Removal = wire.RemovedKeep // it stays as it is, and is people's from then on
	RemovedDelete Removal = wire.RemovedDelete
)

// Declare brings jobs with the program: once the executor has registered they are made on the admin, or brought up to date if the
// program says something else of them than before. Ten replicas that start at once make one job each. What people changed in the
// console meanwhile stays until the program says something new. It takes the group's own access token, and that an administrator
// lets this token manage the group's jobs. Jobs without a handler in the program, or of other admins than Punctual's, do no harm:
// the former are refused when they run, the latter refuse the call, which is logged.
//
// Like [Executor.Handle] it panics when a name is empty or taken. Call it before [Executor.Start].
func (e *Executor) Declare(jobs ...Job) {
	e.handlersMu.Lock()
	defer e.handlersMu.Unlock()
	for _, j := range jobs {
		taken := func(d wire.DeclaredJob) bool { return d.Name == j.Name }
		if j.Name == "" || slices.ContainsFunc(e.declared, taken) {
			panic("executor: Declare with an empty name or twice with " + strconv.Quote(j.Name))
		}
		e.declared = append(e.declared, j.declared(e.config.AppName))
	}
}

// declare tells the admins of the jobs, and says whether that is done. What is refused is logged and not asked again, because only
// another program, or somebody at the console, can change it; a call that is refused as a whole is tried again.
func (e *Executor) declare(ctx context.Context) bool {
	e.handlersMu.RLock()
	jobs := slices.Clone(e.declared)
	e.handlersMu.RUnlock()
	if len(jobs) == 0 {
		return true
	}
	results, err := e.admins.Declare(ctx, wire.Declaration{RegistryKey: e.config.AppName, Removed: string(e.config.Removed), Jobs: jobs})
	if err != nil {
		if ctx.Err() == nil {
			e.logger.Warn("cannot declare jobs, trying again", "group", e.config.AppName, "error", err)
		}
		return false
	}
	for _, r := range results {
		switch r.Outcome {
		case wire.DeclaredRefused:
			e.logger.Error("a declared job is refused", "group", e.config.AppName, "job", r.Name, "error", errors.New(r.Error))
		case wire.DeclaredUnchanged:
		default:
			e.logger.Info("declared job", "group", e.config.AppName, "job", r.Name, "job_id", r.ID, "outcome", r.Outcome)
		}
	}
	return true
}
