package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// OpenAlarms are alarms that have not recovered: everybody who sees a job sees its, and who may run it may say that they look after them.
type OpenAlarms struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
	guesses *auth.Guesses
}

// FieldRemark is the name of what somebody says of the alarms that they look after.
const FieldRemark = "remark"

const (
	// openPage is how many open alarms are read at once, maxOpenJobs how many jobs a list has, and one more.
	openPage    = 1000
	maxOpenJobs = 1001
)

// OpenAlarm is a job with open alarms.
type OpenAlarm struct {
	alarm.OpenJob
	May bool // the principal may acknowledge them
}

// Acked is the newest acknowledgement, if somebody looks after all of a job's alarms.
func Acked(alarms []alarm.Open) (latest alarm.Open, ok bool) {
	for _, o := range alarms {
		if !o.Acked() {
			return alarm.Open{}, false
		}
		if o.AckedAt.After(latest.AckedAt) || !ok {
			latest, ok = o, true
		}
	}
	return latest, ok
}

// List are the jobs with open alarms that the principal may see, the newest job first, below an id (0: from the first on). more says
// that there are others.
func (s *OpenAlarms) List(ctx context.Context, p auth.Principal, below int64, limit int) (list []OpenAlarm, more bool, err error) {
	if s.cfg.Alarmer == nil {
		return nil, false, nil
	}
	if below <= 0 {
		below = math.MaxInt64
	}
	for limit = min(max(limit, 1), maxOpenJobs); ; {
		page, err := s.cfg.Alarmer.OpenJobs(ctx, below, openPage)
		if err != nil {
			return nil, false, fmt.Errorf("list open alarms: %w", err)
		}
		read := 0
		for _, j := range page {
			read += len(j.Alarms)
		}
		if read == openPage && len(page) > 1 {
			page = page[:len(page)-1] // the last may have more causes; it begins the next page
		}
		for _, j := range page {
			below = j.ID
			if !p.CanUseGroup(j.Group) {
				continue
			}
			if len(list) == limit {
				return list, true, nil
			}
			list = append(list, OpenAlarm{OpenJob: j, May: p.Can(j.Group, auth.RightRun)})
		}
		if read < openPage {
			return list, false, nil
		}
	}
}

// Of are the open alarms of jobs. Whoever asks has seen to it that they may be seen.
func (s *OpenAlarms) Of(ctx context.Context, jobIDs ...int64) (map[int64][]alarm.Open, error) {
	if s.cfg.Alarmer == nil || len(jobIDs) == 0 {
		return nil, nil
	}
	byJob, err := s.cfg.Alarmer.OpenOf(ctx, jobIDs...)
	return byJob, during("read open alarms", err)
}

// Get are the open alarms of one job; none where it fails unheard, or does not fail.
func (s *OpenAlarms) Get(ctx context.Context, p auth.Principal, jobID int64) (OpenAlarm, error) {
	j, err := s.job(ctx, p, jobID)
	if err != nil {
		return OpenAlarm{}, err
	}
	byJob, err := s.Of(ctx, jobID)
	return OpenAlarm{OpenJob: alarm.OpenJob{ID: j.ID, Group: j.JobGroup, Name: j.JobDesc, Alarms: byJob[jobID]}, May: p.Can(j.JobGroup, auth.RightRun)}, err
}

// job is a job that somebody may see.
func (s *OpenAlarms) job(ctx context.Context, p auth.Principal, id int64) (db.Job, error) {
	j, err := s.queries.GetJob(ctx, s.cfg.Pool, id)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound), err == nil && !p.CanUseGroup(j.JobGroup):
		return db.Job{}, jobGone()
	case err != nil:
		return db.Job{}, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

// change is a job whose alarms somebody may change.
func (s *OpenAlarms) change(ctx context.Context, p auth.Principal, jobID int64) (db.Job, error) {
	j, err := s.job(ctx, p, jobID)
	if err != nil {
		return j, err
	}
	if !p.Can(j.JobGroup, auth.RightRun) {
		return j, forbidden()
	}
	if s.cfg.Alarmer == nil {
		return j, &problem.Error{Kind: problem.NotFound}
	}
	return j, nil
}

// Acknowledge says that the principal looks after the alarms of a job: until it recovers they are told no more.
func (s *OpenAlarms) Acknowledge(ctx context.Context, p auth.Principal, jobID int64, remark string) error {
	j, err := s.change(ctx, p, jobID)
	if err != nil {
		return err
	}
	if remark, err = validRemark(remark); err != nil {
		return err
	}
	return openProblem(s.cfg.Alarmer.Acknowledge(ctx, jobID, p.Name, remark, func(tx *sql.Tx, now []alarm.Open) error {
		return s.audit.Record(ctx, tx, p, ackEntry(ActionAcknowledge, j.ID, j.JobGroup, j.JobDesc, now, remark, ""))
	}))
}

// AcknowledgeAll is [OpenAlarms.Acknowledge] for several jobs, and says of how many. Those that have recovered, are gone, or are looked
// after by somebody since they were listed stay as they are.
func (s *OpenAlarms) AcknowledgeAll(ctx context.Context, p auth.Principal, jobs []int64, remark string) (n int, err error) {
	if remark, err = validRemark(remark); err != nil {
		return 0, err
	}
	for _, id := range jobs {
		err := s.Acknowledge(ctx, p, id, remark)
		if err == nil {
			n++
			continue
		}
		if kind := problem.From(err).Kind; kind != problem.Conflict && kind != problem.NotFound {
			return n, err
		}
	}
	return n, nil
}

// Unacknowledge takes that back, whoever said it: the alarms are told again.
func (s *OpenAlarms) Unacknowledge(ctx context.Context, p auth.Principal, jobID int64) error {
	j, err := s.change(ctx, p, jobID)
	if err != nil {
		return err
	}
	return openProblem(s.cfg.Alarmer.Unacknowledge(ctx, jobID, func(tx *sql.Tx, before []alarm.Open) error {
		return s.audit.Record(ctx, tx, p, ackEntry(ActionUnacknowledge, j.ID, j.JobGroup, j.JobDesc, before, "", ""))
	}))
}

func ackEntry(action Action, job, group int64, name string, alarms []alarm.Open, remark, link string) Entry {
	causes := make([]string, len(alarms))
	for i, o := range alarms {
		causes[i] = string(o.Cause)
	}
	slices.Sort(causes)
	after := Snapshot{"causes": strings.Join(causes, ", ")}
	if remark != "" {
		after["remark"] = remark
	}
	if link != "" {
		after["link"] = link
	}
	return Entry{Action: action, Kind: ObjectJob, ID: job, Group: group, Name: name, After: after}
}

func validRemark(remark string) (string, error) {
	remark = strings.TrimSpace(remark)
	if len([]rune(remark)) > alarm.MaxRemark {
		return "", problem.InvalidFields(problem.Field{Name: FieldRemark, Key: alarm.CodeTooLong, Args: []any{"Max", alarm.MaxRemark}})
	}
	return remark, nil
}

// ByLink is what the link of a message is about.
func (s *OpenAlarms) ByLink(ctx context.Context, address, token string) (alarm.Linked, error) {
	if s.cfg.Alarmer == nil {
		return alarm.Linked{}, &problem.Error{Kind: problem.NotFound}
	}
	now := s.cfg.Now()
	if !s.guesses.Allowed(address, now) {
		return alarm.Linked{}, &problem.Error{Kind: problem.TooMany}
	}
	l, err := s.cfg.Alarmer.ByLink(ctx, token)
	if errors.Is(err, db.ErrNotFound) {
		s.guesses.Wrong(address, now)
		return l, problem.New(problem.NotFound, "problem.alarmlink")
	}
	return l, err
}

// AcknowledgeByLink is [OpenAlarms.Acknowledge] by whoever holds the link of a message: somebody who is signed in and may run the job,
// or else the reader whom the message went to.
func (s *OpenAlarms) AcknowledgeByLink(ctx context.Context, p auth.Principal, address, token, remark string) error {
	l, err := s.ByLink(ctx, address, token)
	if err != nil {
		return err
	}
	if p.Zero() || !p.Can(l.Group, auth.RightRun) {
		p = auth.Principal{Name: l.Reader, Address: address}
	}
	if remark, err = validRemark(remark); err != nil {
		return err
	}
	return openProblem(s.cfg.Alarmer.AcknowledgeByLink(ctx, token, p.Name, remark, func(tx *sql.Tx, l alarm.Linked, now []alarm.Open) error {
		return s.audit.Record(ctx, tx, p, ackEntry(ActionAcknowledge, l.Job, l.Group, l.JobName, now, remark, l.Reader))
	}))
}

// openProblem turns what stands against acknowledging into what people see.
func openProblem(err error) error {
	switch {
	case errors.Is(err, alarm.ErrNothingOpen):
		return problem.New(problem.Conflict, "problem.alarm.none").Because(err)
	case errors.Is(err, alarm.ErrAcknowledged):
		return problem.New(problem.Conflict, "problem.alarm.acked").Because(err)
	}
	return err
}
