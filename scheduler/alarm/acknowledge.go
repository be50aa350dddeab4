package alarm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// MaxRemark is how many characters somebody may say of an alarm that they look after.
const MaxRemark = 255

// Open is an alarm that has not recovered.
type Open struct {
	Cause   scheduler.AlarmCause
	Since   time.Time
	Count   int   // of occurrences
	Run     int64 // the newest; 0: it is about no run
	AckedAt time.Time
	AckedBy string
	Remark  string // what they said
}

// Acked reports whether somebody looks after it.
func (o Open) Acked() bool { return !o.AckedAt.IsZero() }

// OpenJob is a job with open alarms.
type OpenJob struct {
	ID, Group int64
	Name      string
	Alarms    []Open
}

// What stands against acknowledging.
var (
	// ErrNothingOpen means that a job has no trouble that anybody could look after.
	ErrNothingOpen = errors.New("the job has no open alarm")
	// ErrAcknowledged means that somebody looks after all of it already.
	ErrAcknowledged = errors.New("the alarm is acknowledged already")
)

// OpenJobs lists the jobs with open alarms, the newest job first, below an id.
func (a *Alarmer) OpenJobs(ctx context.Context, below int64, alarms int) ([]OpenJob, error) {
	rows, err := a.queries.ListOpenAlarmsWithJobs(ctx, a.cfg.Pool, db.ListOpenAlarmsWithJobsParams{BelowJob: below, Limit: int32(alarms)})
	if err != nil {
		return nil, err
	}
	var list []OpenJob
	for _, r := range rows {
		if len(list) == 0 || list[len(list)-1].ID != r.JobID {
			list = append(list, OpenJob{ID: r.JobID, Group: r.JobGroup, Name: r.JobDesc})
		}
		j := &list[len(list)-1]
		j.Alarms = append(j.Alarms, openOf(&db.AlarmState{Cause: r.Cause, OpenedAt: r.OpenedAt, EventCount: r.EventCount, LastLogID: r.LastLogID, AckedAt: r.AckedAt, AckedBy: r.AckedBy, AckRemark: r.AckRemark}))
	}
	return list, nil
}

// OpenOf are the open alarms of jobs, in the order of [Causes].
func (a *Alarmer) OpenOf(ctx context.Context, jobIDs ...int64) (map[int64][]Open, error) {
	if len(jobIDs) == 0 {
		return nil, nil
	}
	rows, err := a.queries.ListAlarmStates(ctx, a.cfg.Pool, jobIDs)
	byJob := make(map[int64][]Open)
	for i := range rows {
		if rows[i].OpenedAt > 0 {
			byJob[rows[i].JobID] = append(byJob[rows[i].JobID], openOf(&rows[i]))
		}
	}
	for _, list := range byJob {
		slices.SortFunc(list, func(x, y Open) int { return slices.Index(Causes(), x.Cause) - slices.Index(Causes(), y.Cause) })
	}
	return byJob, err
}

func openOf(s *db.AlarmState) Open {
	return Open{Cause: scheduler.AlarmCause(s.Cause), Since: when(s.OpenedAt), Count: int(s.EventCount), Run: s.LastLogID, AckedAt: when(s.AckedAt), AckedBy: s.AckedBy, Remark: s.AckRemark}
}

// ackTries is how often a change of states is made anew when another admin was faster.
const ackTries = 5

// Acknowledge says that somebody looks after the open alarms of a job: until it recovers they are told no more, and what they are is
// returned. A job that fails while nobody listens has no alarm on record; then one is made of its newest failure. also is done in the
// same transaction; it may be nil. The error is [ErrNothingOpen] or [ErrAcknowledged].
func (a *Alarmer) Acknowledge(ctx context.Context, jobID int64, by, remark string, also func(tx *sql.Tx, now []Open) error) error {
	by, remark = cutRunes(line(by), 64), cutRunes(remark, MaxRemark)
	err := a.changeStates(ctx, jobID, func(tx *sql.Tx, states []db.AlarmState) error {
		if !slices.ContainsFunc(states, isOpen) {
			s, err := a.failing(ctx, tx, jobID, states)
			if err != nil {
				return err
			}
			states = []db.AlarmState{s}
		}
		var done []Open
		for i := range states {
			s := &states[i]
			if !isOpen(*s) || s.AckedAt > 0 {
				continue
			}
			s.AckedAt, s.AckedBy, s.AckRemark = a.cfg.Now().UnixMilli(), by, remark
			if err := a.writeState(ctx, tx, s); err != nil {
				return err
			}
			done = append(done, openOf(s))
		}
		if len(done) == 0 {
			return ErrAcknowledged
		}
		if err := a.tellKeepers(ctx, tx, jobID, done); err != nil {
			return err
		}
		if also == nil {
			return nil
		}
		return also(tx, done)
	})
	if err != nil {
		return err
	}
	a.Wake()
	m := &a.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[jobID], m.raised[jobID] = struct{}{}, a.cfg.Now()
	return nil
}

// tellKeepers tells the channels that keep incidents, and were told of a job's alarms, that somebody looks after them.
func (a *Alarmer) tellKeepers(ctx context.Context, tx db.DBTX, jobID int64, alarms []Open) error {
	channels, err := a.queries.ListAlarmChannels(ctx, tx)
	if err != nil {
		return err
	}
	since := alarms[0].Since
	for _, o := range alarms {
		if o.Since.Before(since) {
			since = o.Since
		}
	}
	var deliveries []db.NewAlarmDelivery
	for i := range channels {
		c := &channel{row: channels[i]}
		if c.row.Enabled != 1 || !c.keepsIncidents() {
			continue
		}
		notice, err := a.queries.GetLatestAlarmNoticeOfChannel(ctx, tx, db.GetLatestAlarmNoticeOfChannelParams{ChannelID: c.row.ID, JobID: jobID, SinceMs: since.UnixMilli()})
		if errors.Is(db.Error(err), db.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		deliveries = append(deliveries, db.NewAlarmDelivery{NoticeID: notice, ChannelID: c.row.ID, At: a.cfg.Now().UnixMilli(), Acked: true})
	}
	return db.InsertAlarmDeliveries(ctx, tx, deliveries)
}

// keepsIncidents reports whether the channel's service keeps an incident of each job.
func (c *channel) keepsIncidents() bool {
	kind, _ := c.kind().Info()
	return kind.Incidents
}

// Unacknowledge takes back that somebody looks after the alarms of a job. The error is [ErrNothingOpen] when nobody does.
func (a *Alarmer) Unacknowledge(ctx context.Context, jobID int64, also func(tx *sql.Tx, before []Open) error) error {
	return a.changeStates(ctx, jobID, func(tx *sql.Tx, states []db.AlarmState) error {
		var before []Open
		for i := range states {
			s := &states[i]
			if !isOpen(*s) || s.AckedAt == 0 {
				continue
			}
			before = append(before, openOf(s))
			s.AckedAt, s.AckedBy, s.AckRemark = 0, "", ""
			if err := a.writeState(ctx, tx, s); err != nil {
				return err
			}
		}
		if len(before) == 0 {
			return ErrNothingOpen
		}
		if err := a.queries.RearmAlarmEscalations(ctx, tx, jobID); err != nil {
			return err
		}
		if also == nil {
			return nil
		}
		return also(tx, before)
	})
}

func isOpen(s db.AlarmState) bool { return s.OpenedAt > 0 }

// changeStates changes a job's states in a transaction, and again when another admin has changed them meanwhile.
func (a *Alarmer) changeStates(ctx context.Context, jobID int64, change func(tx *sql.Tx, states []db.AlarmState) error) error {
	for try := 1; ; try++ {
		err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			states, err := a.queries.ListAlarmStates(ctx, tx, []int64{jobID})
			if err != nil {
				return err
			}
			return change(tx, states)
		})
		if try == ackTries || !errors.Is(err, errRaced) && !errors.Is(err, db.ErrDuplicate) {
			return err
		}
	}
}

// failing is the alarm of a job's newest failure, which nobody was told of.
func (a *Alarmer) failing(ctx context.Context, tx db.DBTX, jobID int64, known []db.AlarmState) (s db.AlarmState, err error) {
	rows, err := a.queries.ListRunsForDeadline(ctx, tx, db.ListRunsForDeadlineParams{JobID: jobID, BelowID: 1 << 62, Limit: 50})
	if err != nil {
		return s, fmt.Errorf("read the newest runs: %w", err)
	}
	for _, r := range rows {
		cause, ended := causeOf(runstate.Of(event.Outcome(r.Outcome), r.TriggerCode, r.HandleCode, ""))
		if !ended {
			continue
		}
		if cause == "" {
			break
		}
		if at := slices.IndexFunc(known, func(k db.AlarmState) bool { return k.Cause == string(cause) }); at >= 0 {
			s = known[at] // closed, but on record
		}
		s.JobID, s.Cause, s.OpenedAt, s.EventCount, s.LastLogID, s.LastPlanned = jobID, string(cause), a.cfg.Now().UnixMilli(), 1, r.ID, r.PlannedAt
		if r.FinishedAt > 0 {
			s.OpenedAt = r.FinishedAt
		}
		return s, nil
	}
	return s, ErrNothingOpen
}

// causeOf is the alarm that an end of a run would be, "" for a success. ended is false for what says nothing of how the job does.
func causeOf(s runstate.State) (cause scheduler.AlarmCause, ended bool) {
	switch s {
	case runstate.Success:
		return "", true
	case runstate.Failed:
		return scheduler.AlarmFailed, true
	case runstate.Timeout:
		return scheduler.AlarmTimeout, true
	case runstate.Lost:
		return scheduler.AlarmLost, true
	case runstate.SendFailed, runstate.Unconfirmed, runstate.Stopped:
		return scheduler.AlarmDispatch, true
	case runstate.Waiting, runstate.Sent, runstate.Killed, runstate.Skipped, runstate.Discarded, runstate.Cancelled:
		return "", false
	default:
		return "", false
	}
}

// cutRunes shortens a text to a number of characters.
func cutRunes(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
