package alarm

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

const (
	// rememberEvery is how far behind the tables the memory may be.
	rememberEvery = 2 * time.Second
	// justRaised is how long it may take until an event shows as an open alarm in the tables.
	justRaised = 10 * time.Second
	// maxOpen bounds what is remembered; beyond it recoveries are found by the watch instead.
	maxOpen = 100_000
	// maxDetail is how many bytes of an executor's text an event keeps: what fits in a message somebody reads on a phone.
	maxDetail = 2000
)

// memory answers [Alarmer.Wanted] without the database.
type memory struct {
	reading sync.Mutex // held while the tables are read, so that an older view does not replace a newer one

	mu        sync.RWMutex
	listening bool                // an enabled channel exists
	misfires  bool                // a route asks for skipped fires
	open      map[int64]struct{}  // jobs with open alarms; may hold some that are closed already, which costs an event
	raised    map[int64]time.Time // jobs raised here a moment ago, which the tables may not show yet
	read      time.Time           // when the tables were read, used by Run only
}

// Wanted implements [scheduler.Alarms].
func (a *Alarmer) Wanted(cause scheduler.AlarmCause, jobID int64) bool {
	m := &a.memory
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch cause {
	case scheduler.AlarmRecovered:
		_, ok := m.open[jobID]
		return ok
	case scheduler.AlarmMisfire:
		return m.listening && m.misfires
	default:
		return m.listening || a.cfg.Webhooks.Wants(webhook.AlarmRaised)
	}
}

// Raise implements [scheduler.Alarms].
func (a *Alarmer) Raise(ctx context.Context, tx db.DBTX, events []scheduler.AlarmEvent) error {
	rows := make([]db.NewAlarmEvent, len(events))
	for i, e := range events {
		rows[i] = db.NewAlarmEvent{
			JobID: e.JobID, JobGroup: e.GroupID, LogID: e.LogID, Cause: string(e.Cause), PlannedAt: e.Planned,
			RaisedAt: e.At.UnixMilli(), Detail: bothEnds(e.Text), Events: e.Events.Stored(),
		}
		a.metrics.events.WithLabelValues(string(e.Cause)).Inc()
	}
	if err := db.InsertAlarmEvents(ctx, tx, rows); err != nil {
		return err
	}
	now := a.cfg.Now()
	// Remembered before the commit: should it fail, the next success of the job raises an event that closes nothing.
	m := &a.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		if opens(e.Cause) && len(m.open) < maxOpen {
			m.open[e.JobID] = struct{}{}
			m.raised[e.JobID] = now
		}
	}
	return nil
}

// opens reports whether a cause stays open until the job succeeds. A skipped fire is over when it is told, and a slow run
// ends by itself, one way or the other.
func opens(cause scheduler.AlarmCause) bool {
	switch cause {
	case scheduler.AlarmFailed, scheduler.AlarmTimeout, scheduler.AlarmLost, scheduler.AlarmDispatch, scheduler.AlarmSilent, scheduler.AlarmDeadline:
		return true
	case scheduler.AlarmMisfire, scheduler.AlarmSlow, scheduler.AlarmApproval, scheduler.AlarmRecovered:
		return false
	default:
		return false
	}
}

// remember reads anew what Wanted answers from, when it is time.
func (a *Alarmer) remember(ctx context.Context, now time.Time) error {
	m := &a.memory
	if since := now.Sub(m.read); since >= 0 && since < rememberEvery {
		return nil
	}
	if err := a.reload(ctx); err != nil {
		return err
	}
	m.read = now
	return nil
}

func (a *Alarmer) reload(ctx context.Context) error {
	a.memory.reading.Lock()
	defer a.memory.reading.Unlock()
	channels, err := a.queries.ListAlarmChannels(ctx, a.cfg.Pool)
	if err != nil {
		return err
	}
	routes, err := a.queries.ListAlarmRoutes(ctx, a.cfg.Pool)
	if err != nil {
		return err
	}
	states, err := a.queries.ListOpenAlarms(ctx, a.cfg.Pool, db.ListOpenAlarmsParams{Limit: maxOpen})
	if err != nil {
		return err
	}
	open := make(map[int64]struct{}, len(states))
	for _, s := range states {
		open[s.JobID] = struct{}{}
	}
	m, now := &a.memory, a.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, at := range m.raised {
		if age := now.Sub(at); age < -justRaised || age > justRaised {
			delete(m.raised, id)
		} else {
			open[id] = struct{}{}
		}
	}
	m.open = open
	m.listening = slices.ContainsFunc(channels, func(c db.AlarmChannel) bool { return c.Enabled == 1 })
	m.misfires = slices.ContainsFunc(routes, func(r db.AlarmRoute) bool {
		return routeWants(r.Causes, scheduler.AlarmMisfire)
	})
	return nil
}

// clip cuts a text at a character's boundary and shows that it did.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = " …"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// bothEnds keeps the beginning and the end of a long text: an exception says at its beginning what happened, a protocol of
// tries at its end.
func bothEnds(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxDetail {
		return s
	}
	const tail = maxDetail / 3
	cut := len(s) - tail
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return clip(s[:cut], maxDetail-tail-1) + "\n" + s[cut:]
}
