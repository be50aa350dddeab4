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

// expandPage is how many notices one transaction hands on: each commit costs the disk a wait, and a longer transaction would
// keep the engine from the one writer of the embedded database.
const expandPage = 50

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
		switch err := a.expandPage(ctx, notices, book, now); {
		case err == nil:
			total += len(notices)
		case !errors.Is(err, errRaced):
			return total, err
		default: // one of them is another admin's
			for i := range notices {
				err := a.expandPage(ctx, notices[i:i+1], book, now)
				if err == nil {
					total++
				} else if !errors.Is(err, errRaced) {
					return total, err
				}
			}
		}
		if len(notices) < expandPage {
			break
		}
	}
	return total, nil
}

// expandPage makes the deliveries of notices, and opens the next windows of their jobs and causes.
func (a *Alarmer) expandPage(ctx context.Context, notices []db.AlarmNotice, book *book, now time.Time) error {
	jobs := db.IDs(notices, func(r *db.AlarmNotice) int64 { return r.JobID })
	var nobody []int64
	err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		nobody = nobody[:0]
		rows, err := a.queries.ListAlarmStates(ctx, tx, jobs)
		if err != nil {
			return err
		}
		states := make(map[int64][]*db.AlarmState, len(rows))
		for i := range rows {
			states[rows[i].JobID] = append(states[rows[i].JobID], &rows[i])
		}
		var deliveries []db.NewAlarmDelivery
		for i := range notices {
			n := &notices[i]
			affected, err := a.queries.TakeAlarmNotice(ctx, tx, db.TakeAlarmNoticeParams{ID: n.ID, Revision: n.Revision, State: noticeHanded})
			if err != nil {
				return err
			}
			if affected != 1 {
				return errRaced
			}
			targets := book.targets(n)
			seconds := book.seconds(n)
			for _, s := range states[n.JobID] {
				if s.NoticeID == n.ID {
					if s.AckedAt > 0 {
						targets = nil // somebody has begun to look after it while this was being gathered
					}
					s.NoticeID, s.WindowUntil = 0, now.Add(a.cfg.Defaults().Window).UnixMilli()
					if err := a.writeState(ctx, tx, s); err != nil {
						return err
					}
					s.Revision++
				}
				if err := a.planEscalations(ctx, tx, n, s, seconds); err != nil {
					return err
				}
				if s.OpenedAt > 0 && n.FollowUp == 1 && n.Cause == string(scheduler.AlarmRecovered) {
					targets = nil // it has failed again, so "it works again" is not true any more
				}
			}
			if len(targets) == 0 {
				nobody = append(nobody, n.ID)
			}
			for _, t := range targets {
				deliveries = append(deliveries, db.NewAlarmDelivery{NoticeID: n.ID, ChannelID: t.channelID, Recipient: t.recipient, At: now.UnixMilli()})
			}
		}
		return db.InsertAlarmDeliveries(ctx, tx, deliveries)
	})
	if err != nil {
		return err
	}
	return a.settle(ctx, nobody)
}

// States of a notice.
const (
	noticeHanded  = 1
	deliveryWaits = 0
	deliverySends = 1
	deliverySent  = 2
	deliveryGone  = 3 // given up
)

// The values of alarm_status that say what became of an alarm (docs/compat.md §3.8).
const (
	runNobody = 1
	runTold   = 2
	runFailed = 3
)

// settle is settleNotice for many.
func (a *Alarmer) settle(ctx context.Context, ids []int64) error {
	for part := range slices.Chunk(ids, expandPage) {
		if err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			for _, id := range part {
				if err := a.settleNotice(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// settleNotice writes what became of a notice into the runs it is about, once no delivery of it is left to make. Everything
// in it may be repeated.
func (a *Alarmer) settleNotice(ctx context.Context, tx db.DBTX, id int64) error {
	counts, err := a.queries.CountAlarmDeliveriesOfNotice(ctx, tx, id)
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
		runs, err := a.queries.ListRunsOfAlarmNotice(ctx, tx, db.ListRunsOfAlarmNoticeParams{NoticeID: id, AfterID: after, Limit: db.MaxBatch})
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			if _, err := a.queries.SetRunAlarmStatus(ctx, tx, db.SetRunAlarmStatusParams{AlarmStatus: status, Ids: db.IDs(runs, func(r *db.ListRunsOfAlarmNoticeRow) int64 { return r.LogID })}); err != nil {
				return err
			}
			after = runs[len(runs)-1].ID
		}
		if len(runs) < db.MaxBatch {
			break
		}
	}
	_, err = a.queries.SettleAlarmNotice(ctx, tx, id)
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
		if err := a.settle(ctx, ids); err != nil {
			return err
		}
		if len(ids) < page {
			return nil
		}
		after = ids[len(ids)-1]
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
	if len(notices) == 0 {
		return b, nil
	}
	jobs, err := a.queries.ListAlarmJobs(ctx, a.cfg.Pool, db.IDs(notices, func(r *db.AlarmNotice) int64 { return r.JobID }))
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
	group, job := b.groupOf(n), b.jobs[n.JobID]
	for i := range b.routes {
		r := &b.routes[i]
		if b.leads(r, group, n) {
			for _, recipient := range b.channels[r.ChannelID].recipients() {
				add(r.ChannelID, recipient)
			}
		}
		for _, id := range b.keepers(r, group, n) {
			add(id, "")
		}
	}
	if job != nil && b.forJobs != nil && routeWants("", scheduler.AlarmCause(n.Cause)) {
		for _, address := range Addresses(string(job.AlarmEmail)) {
			add(b.forJobs.row.ID, address)
		}
	}
	return found
}

// groupOf is the group of a notice's job, which may have moved since.
func (b *book) groupOf(n *db.AlarmNotice) int64 {
	if job := b.jobs[n.JobID]; job != nil {
		return job.JobGroup
	}
	return n.JobGroup
}

// leads reports whether a route brings a notice to its channel.
func (b *book) leads(r *db.AlarmRoute, group int64, n *db.AlarmNotice) bool {
	c := b.channels[r.ChannelID]
	return c != nil && (c.row.GroupID == 0 || c.row.GroupID == group) && routeWants(r.Causes, scheduler.AlarmCause(n.Cause)) && routeCovers(r, group, n.JobID)
}

// keepers are the channels that keep an incident which a route may have opened, and which a recovery ends: whether the route asks for
// recoveries or not, and also where it is the second channel.
func (b *book) keepers(r *db.AlarmRoute, group int64, n *db.AlarmNotice) []int64 {
	if scheduler.AlarmCause(n.Cause) != scheduler.AlarmRecovered || !routeCovers(r, group, n.JobID) ||
		!slices.ContainsFunc(Causes(), func(cause scheduler.AlarmCause) bool { return opens(cause) && routeWants(r.Causes, cause) }) {
		return nil
	}
	ids := []int64{r.ChannelID}
	if r.EscalateAfter > 0 {
		ids = append(ids, r.EscalateTo)
	}
	return slices.DeleteFunc(ids, func(id int64) bool {
		c := b.channels[id]
		return c == nil || !c.keepsIncidents() || c.row.GroupID != 0 && c.row.GroupID != group
	})
}

// routeCovers reports whether a route is about a job of a group.
func routeCovers(r *db.AlarmRoute, group, job int64) bool {
	return Route{Scope: Scope(r.Scope), ScopeID: r.ScopeID}.Covers(group, job)
}

// routeWants reports whether a route asks for a cause. An empty list means all but skipped fires, which are many after every
// long stop and mostly meant.
func routeWants(causes string, cause scheduler.AlarmCause) bool {
	if causes == "" {
		return cause != scheduler.AlarmMisfire
	}
	return slices.Contains(strings.Split(causes, ","), string(cause))
}
