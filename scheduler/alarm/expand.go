package alarm

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// expandPage is how many notices are read at a time; each has a transaction of its own.
const expandPage = 100

// target is somebody to tell.
type target struct {
	channelID int64
	recipient string // of a mail; "" for a webhook
}

// expand hands due notices to channels and returns how many it handed on.
func (a *Alarmer) expand(ctx context.Context, now time.Time) (int, error) {
	total := 0
	for ctx.Err() == nil {
		notices, err := a.queries.ListDueAlarmNotices(ctx, a.cfg.Pool, db.ListDueAlarmNoticesParams{NowMs: now.UnixMilli(), Limit: expandPage})
		if err != nil || len(notices) == 0 {
			return total, err
		}
		book, err := a.readBook(ctx, notices)
		if err != nil {
			return total, err
		}
		for i := range notices {
			targets := book.targets(&notices[i])
			err := a.expandOne(ctx, &notices[i], targets, now)
			if errors.Is(err, errRaced) {
				continue
			}
			if err != nil {
				return total, err
			}
			total++
		}
		if len(notices) < expandPage {
			break
		}
	}
	return total, nil
}

// expandOne makes the deliveries of one notice, and opens the next window of its job and cause.
func (a *Alarmer) expandOne(ctx context.Context, n *db.AlarmNotice, targets []target, now time.Time) error {
	err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		affected, err := a.queries.TakeAlarmNotice(ctx, tx, db.TakeAlarmNoticeParams{ID: n.ID, Revision: n.Revision, State: noticeHanded})
		if err != nil {
			return err
		}
		if affected != 1 {
			return errRaced
		}
		states, err := a.queries.ListAlarmStates(ctx, tx, []int64{n.JobID})
		if err != nil {
			return err
		}
		for i := range states {
			s := &states[i]
			if s.NoticeID == n.ID {
				s.NoticeID, s.WindowUntil = 0, now.Add(a.cfg.Window).UnixMilli()
				if err := a.writeState(ctx, tx, s); err != nil {
					return err
				}
			}
			if s.OpenedAt > 0 && n.FollowUp == 1 && n.Cause == string(scheduler.AlarmRecovered) {
				targets = nil // it has failed again, so "it works again" is not true any more
			}
		}
		for _, t := range targets {
			if err := a.queries.InsertAlarmDelivery(ctx, tx, db.InsertAlarmDeliveryParams{
				NoticeID: n.ID, ChannelID: t.channelID, Recipient: t.recipient, NextAt: now.UnixMilli(), CreatedAt: now.UnixMilli(),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && len(targets) == 0 {
		err = a.settleNotice(ctx, n.ID)
	}
	return err
}

// States of a notice.
const (
	noticeHanded  = 1
	deliveryWaits = 0
	deliverySends = 1
	deliverySent  = 2
	deliveryGone  = 3 // given up
)

// The values of alarm_status that say what became of an alarm (spec §3.8).
const (
	runNobody = 1
	runTold   = 2
	runFailed = 3
)

// settleNotice writes what became of a notice into the runs it is about, once no delivery of it is left to make. Everything
// in it may be repeated.
func (a *Alarmer) settleNotice(ctx context.Context, id int64) error {
	counts, err := a.queries.CountAlarmDeliveriesOfNotice(ctx, a.cfg.Pool, id)
	if err != nil {
		return err
	}
	status := int64(runNobody)
	for _, c := range counts {
		switch c.State {
		case deliveryWaits, deliverySends:
			return nil
		case deliverySent:
			status = max(status, runTold)
		case deliveryGone:
			status = runFailed
		}
	}
	for after := int64(0); ; {
		runs, err := a.queries.ListRunsOfAlarmNotice(ctx, a.cfg.Pool, db.ListRunsOfAlarmNoticeParams{NoticeID: id, AfterID: after, Limit: db.MaxBatch})
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			ids := make([]int64, len(runs))
			for i, r := range runs {
				ids[i] = r.LogID
			}
			if _, err := a.queries.SetRunAlarmStatus(ctx, a.cfg.Pool, db.SetRunAlarmStatusParams{AlarmStatus: status, Ids: ids}); err != nil {
				return err
			}
			after = runs[len(runs)-1].ID
		}
		if len(runs) < db.MaxBatch {
			break
		}
	}
	_, err = a.queries.SettleAlarmNotice(ctx, a.cfg.Pool, id)
	return err
}

// settleLeftovers settles notices whose last delivery was recorded by somebody who died before settling.
func (a *Alarmer) settleLeftovers(ctx context.Context, now time.Time) error {
	const page = 500
	for after := int64(0); ; {
		ids, err := a.queries.ListUnsettledAlarmNotices(ctx, a.cfg.Pool, db.ListUnsettledAlarmNoticesParams{
			BeforeMs: now.Add(-a.cfg.Lease).UnixMilli(), AfterID: after, Limit: page,
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := a.settleNotice(ctx, id); err != nil {
				return err
			}
			after = id
		}
		if len(ids) < page {
			return nil
		}
	}
}

// book is whom to tell of what: everything that turns a notice into targets.
type book struct {
	channels map[int64]*channel // enabled ones
	routes   []db.AlarmRoute
	jobs     map[int64]*db.ListAlarmJobsRow
	forJobs  *channel // carries the mails to the jobs' own addresses
}

func (a *Alarmer) readBook(ctx context.Context, notices []db.AlarmNotice) (*book, error) {
	b := &book{channels: make(map[int64]*channel), jobs: make(map[int64]*db.ListAlarmJobsRow)}
	rows, err := a.queries.ListAlarmChannels(ctx, a.cfg.Pool)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		c, err := a.channelOf(&rows[i])
		if err != nil {
			a.log.Error("a channel's settings cannot be read; it gets no alarms", "channel", rows[i].Name, "error", err)
			continue
		}
		if rows[i].Enabled == 1 {
			b.channels[c.row.ID] = c
			if c.row.ForJobs == 1 && c.kind() == KindMail {
				b.forJobs = c
			}
		}
	}
	if b.routes, err = a.queries.ListAlarmRoutes(ctx, a.cfg.Pool); err != nil {
		return nil, err
	}
	ids := make([]int64, len(notices))
	for i := range notices {
		ids[i] = notices[i].JobID
	}
	jobs, err := a.queries.ListAlarmJobs(ctx, a.cfg.Pool, ids)
	for i := range jobs {
		b.jobs[jobs[i].ID] = &jobs[i]
	}
	return b, err
}

// targets is whom to tell of a notice, each once.
func (b *book) targets(n *db.AlarmNotice) []target {
	var found []target
	add := func(channelID int64, recipient string) {
		if !slices.ContainsFunc(found, func(t target) bool {
			return t.channelID == channelID && strings.EqualFold(t.recipient, recipient)
		}) {
			found = append(found, target{channelID, recipient})
		}
	}
	cause := scheduler.AlarmCause(n.Cause)
	group, job := n.JobGroup, b.jobs[n.JobID]
	if job != nil {
		group = job.JobGroup // it may have moved since
	}
	for _, r := range b.routes {
		c := b.channels[r.ChannelID]
		if c == nil || !routeWants(r.Causes, cause) || !routeCovers(&r, group, n.JobID) {
			continue
		}
		if c.kind() != KindMail {
			add(c.row.ID, "")
			continue
		}
		for _, address := range c.settings.Recipients {
			add(c.row.ID, address)
		}
	}
	if job != nil && b.forJobs != nil && routeWants("", cause) {
		for _, address := range splitAddresses(string(job.AlarmEmail)) {
			add(b.forJobs.row.ID, address)
		}
	}
	return found
}

// routeCovers reports whether a route is about a job of a group.
func routeCovers(r *db.AlarmRoute, group, job int64) bool {
	switch Scope(r.Scope) {
	case ScopeAll:
		return true
	case ScopeGroup:
		return r.ScopeID == group
	case ScopeJob:
		return r.ScopeID == job
	default:
		return false
	}
}

// routeWants reports whether a route asks for a cause. An empty list means all but skipped fires, which are many after every
// long stop and mostly meant.
func routeWants(causes string, cause scheduler.AlarmCause) bool {
	if causes == "" {
		return cause != scheduler.AlarmMisfire
	}
	return slices.Contains(strings.Split(causes, ","), string(cause))
}
