package alarm

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// MaxEscalateAfter is how many minutes a route may wait at most before it tells a second channel.
const MaxEscalateAfter = 7 * 24 * 60

// States of an escalation. Its row is written together with the first messages of an alarm, and is taken by one admin.
const (
	escalationTold   = 1 // or it had nothing to tell any more
	escalationSpared = 2 // somebody looked after the alarm when it was due
)

// second is a channel that is told of an alarm if nobody looks after it in time.
type second struct {
	channelID int64
	after     time.Duration
}

// seconds are the channels that the routes of a notice name for the case that nobody looks after its alarm, each once.
func (b *book) seconds(n *db.AlarmNotice) []second {
	if !opens(scheduler.AlarmCause(n.Cause)) {
		return nil
	}
	var found []second
	group := b.groupOf(n)
	for i := range b.routes {
		r := &b.routes[i]
		if r.EscalateAfter <= 0 || !b.leads(r, group, n) || b.channels[r.EscalateTo] == nil {
			continue
		}
		s := second{r.EscalateTo, time.Duration(r.EscalateAfter) * time.Minute}
		at := slices.IndexFunc(found, func(f second) bool { return f.channelID == s.channelID })
		if at < 0 {
			found = append(found, s)
		} else {
			found[at].after = min(found[at].after, s.after)
		}
	}
	return found
}

// planEscalations notes whom to tell of a notice's alarm if it stays open and nobody looks after it. One that is noted already stays.
func (a *Alarmer) planEscalations(ctx context.Context, tx db.DBTX, n *db.AlarmNotice, s *db.AlarmState, to []second) error {
	if !isOpen(*s) || s.Cause != n.Cause {
		return nil
	}
	for _, next := range to {
		if err := a.queries.InsertAlarmEscalation(ctx, tx, db.InsertAlarmEscalationParams{
			JobID: s.JobID, Cause: s.Cause, OpenedAt: s.OpenedAt, ChannelID: next.channelID, NoticeID: n.ID, DueAt: s.OpenedAt + next.after.Milliseconds(),
		}); err != nil {
			return err
		}
	}
	return nil
}

// escalate tells the second channels of alarms that nobody looked after in time, and returns of how many.
func (a *Alarmer) escalate(ctx context.Context, now time.Time) (int, error) {
	due, err := a.queries.ListDueAlarmEscalations(ctx, a.cfg.Pool, db.ListDueAlarmEscalationsParams{NowMs: now.UnixMilli(), Limit: expandPage})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	book, err := a.readBook(ctx, nil)
	if err != nil {
		return 0, err
	}
	done := 0
	for i := range due {
		err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error { return a.escalateOne(ctx, tx, &due[i], book, now) })
		if err != nil && !errors.Is(err, errRaced) {
			return done, err
		}
		if err == nil {
			done++
		}
	}
	return done, nil
}

func (a *Alarmer) escalateOne(ctx context.Context, tx *sql.Tx, e *db.AlarmEscalation, b *book, now time.Time) error {
	states, err := a.queries.ListAlarmStates(ctx, tx, []int64{e.JobID})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(states, func(s db.AlarmState) bool { return s.Cause == e.Cause && s.OpenedAt == e.OpenedAt })
	take := db.TakeAlarmEscalationParams{ID: e.ID, State: escalationTold}
	spared := at >= 0 && states[at].AckedAt > 0
	if spared {
		take.State = escalationSpared
	}
	n, err := a.queries.TakeAlarmEscalation(ctx, tx, take)
	if err != nil {
		return err
	}
	if n != 1 {
		return errRaced
	}
	c := b.channels[e.ChannelID]
	if at < 0 || spared || c == nil {
		return nil
	}
	var deliveries []db.NewAlarmDelivery
	for _, recipient := range c.recipients() {
		deliveries = append(deliveries, db.NewAlarmDelivery{NoticeID: e.NoticeID, ChannelID: c.row.ID, Recipient: recipient, At: now.UnixMilli(), Escalated: true})
	}
	return db.InsertAlarmDeliveries(ctx, tx, deliveries)
}

// recipients are those of what routes bring to a channel.
func (c *channel) recipients() []string {
	if c.kind() == KindMail {
		return c.settings.Recipients
	}
	return []string{""}
}
