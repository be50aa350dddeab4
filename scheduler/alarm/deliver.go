package alarm

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

const (
	// deliverPage is how many due messages are read at a time.
	deliverPage = 500
	// mergeAbove is how many messages may wait for one recipient before they become one: nobody reads the eleventh of ten
	// mails, and providers of chat tools refuse them.
	mergeAbove = 5
)

// refusal is an error that concerns one recipient, such as a mailbox that is full. The channel does not rest for it.
type refusal struct {
	error
	final bool // another try cannot mend it: the mailbox does not exist
}

func (r refusal) Unwrap() error { return r.error }

// deliver starts the sending of due messages, one goroutine for each channel, and returns for how many channels. Channels
// that are at work or resting are left out, so one that hangs delays nobody else.
func (a *Alarmer) deliver(ctx context.Context, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	rows, err := a.queries.ListDueAlarmDeliveries(ctx, a.cfg.Pool, db.ListDueAlarmDeliveriesParams{
		NowMs: now.UnixMilli(), ExceptChannels: a.unavailable(now), Limit: deliverPage,
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	byChannel := make(map[int64][]db.ListDueAlarmDeliveriesRow)
	for _, r := range rows {
		byChannel[r.ChannelID] = append(byChannel[r.ChannelID], r)
	}
	started := 0
	var errs error
	for id, due := range byChannel {
		c, err := a.readChannel(ctx, id)
		switch {
		case errors.Is(err, db.ErrNotFound):
			errs = errors.Join(errs, a.giveUp(ctx, id, channelGone, now))
		case c != nil && c.row.Enabled == 0:
			errs = errors.Join(errs, a.giveUp(ctx, id, channelOff, now))
		case c == nil: // the database, or settings nobody can read
			a.failed(ctx, id, troubleOf(nil, reasonOf(err)), now, a.cfg.Rest)
			errs = errors.Join(errs, err)
		default:
			if end := quietUntil(now.In(a.cfg.Pool.Zone()), c.row.QuietFrom, c.row.QuietTo); !end.IsZero() {
				errs = errors.Join(errs, a.delay(ctx, c, due, end, now))
				continue
			}
			a.mu.Lock()
			a.busy[id] = struct{}{}
			a.mu.Unlock()
			started++
			a.sends.Go(func() { a.sendAll(ctx, c, due) })
		}
	}
	return started, errs
}

// unavailable lists the channels that are not to be read now; never empty, as the query needs.
func (a *Alarmer) unavailable(now time.Time) []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := []int64{0}
	for id := range a.busy {
		ids = append(ids, id)
	}
	for id, until := range a.rested {
		if now.Before(until) {
			ids = append(ids, id)
		} else {
			delete(a.rested, id)
		}
	}
	return ids
}

// delay puts messages off to the end of quiet hours.
func (a *Alarmer) delay(ctx context.Context, c *channel, due []db.ListDueAlarmDeliveriesRow, end, now time.Time) error {
	counted := int64(0)
	if QuietMode(c.row.QuietMode) == QuietCount {
		counted = 1
	}
	_, err := a.queries.DelayAlarmDeliveries(ctx, a.cfg.Pool, db.DelayAlarmDeliveriesParams{
		NextAt: end.UnixMilli(), Counted: counted, Ids: db.IDs(due, func(r *db.ListDueAlarmDeliveriesRow) int64 { return r.ID }), NowMs: now.UnixMilli(),
	})
	return err
}

// sendAll sends a channel's due messages one after the other, and stops at the first failure that is the channel's.
func (a *Alarmer) sendAll(ctx context.Context, c *channel, due []db.ListDueAlarmDeliveriesRow) {
	defer func() {
		a.mu.Lock()
		delete(a.busy, c.row.ID)
		a.mu.Unlock()
		a.Wake() // more may wait than one page held
	}()
	kind, _ := c.kind().Info()
	recipients := make(map[int64]string, len(due))
	for _, d := range due {
		recipients[d.ID] = strings.ToLower(d.Recipient)
	}
	for _, batch := range batches(due, kind.Incidents) {
		if ctx.Err() != nil {
			return
		}
		again, err := a.sendBatch(ctx, c, batch)
		if err != nil {
			a.log.Warn("send alarms", "channel", c.row.Name, "error", scrub(err.Error(), c.settings.secrets()))
		}
		if !again || !kind.Incidents && a.calms(c.row.ID, recipients[batch[0]]) {
			return
		}
	}
}

// pace is how many messages a channel has sent to each recipient since a moment.
type pace struct {
	since time.Time
	sent  map[string]int
}

// calms notes a message, and lets a channel rest once somebody had as many as may wait for them one by one: what follows within the time is one message
// then. Where jobs fail one after the other and the server is quick, none waits for another.
func (a *Alarmer) calms(channelID int64, recipient string) bool {
	now := a.cfg.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.paces[channelID]
	if p == nil || now.Sub(p.since) >= a.cfg.Calm {
		p = &pace{now, make(map[string]int)}
		a.paces[channelID] = p
	}
	p.sent[recipient]++
	if a.cfg.Calm < 0 || p.sent[recipient] < mergeAbove {
		return false
	}
	a.rested[channelID] = p.since.Add(a.cfg.Calm)
	delete(a.paces, channelID)
	return true
}

// batches parts due messages into those that are sent together: each alone, or all of a recipient when they are many, or
// were put off by quiet hours that only count. Single: each alone always.
func batches(due []db.ListDueAlarmDeliveriesRow, single bool) [][]int64 {
	type key struct {
		recipient          string
		counted, escalated bool
	}
	byKey := make(map[key][]int64)
	var order []key
	for _, d := range due {
		k := key{strings.ToLower(d.Recipient), d.Counted == 1, d.Escalated == 1}
		if byKey[k] == nil {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], d.ID)
	}
	var all [][]int64
	for _, k := range order {
		if ids := byKey[k]; !single && (k.counted || len(ids) > mergeAbove) {
			all = append(all, ids)
		} else {
			for id := range slices.Chunk(ids, 1) {
				all = append(all, id)
			}
		}
	}
	return all
}

// sendBatch claims messages to one recipient, sends them as one and writes the outcome. It reports whether the channel may
// go on.
func (a *Alarmer) sendBatch(ctx context.Context, c *channel, ids []int64) (again bool, err error) {
	holder := holderOf(a.cfg.Node()) + newHolder()
	now := a.cfg.Now()
	if _, err := a.queries.ClaimAlarmDeliveries(ctx, a.cfg.Pool, db.ClaimAlarmDeliveriesParams{
		Holder: holder, NewLease: now.Add(a.cfg.Lease).UnixMilli(), Ids: ids, NowMs: now.UnixMilli(),
	}); err != nil {
		return false, err
	}
	held, err := a.queries.ListAlarmDeliveriesOfHolder(ctx, a.cfg.Pool, db.ListAlarmDeliveriesOfHolderParams{Ids: ids, Holder: holder})
	if err != nil || len(held) == 0 { // another admin has them
		return err == nil, err
	}
	m, err := a.compose(ctx, c, held)
	if err != nil {
		return false, err // the lease brings them back
	}
	sendErr := a.sendWithin(ctx, c, m)
	now = a.cfg.Now()
	// Recorded also when the process is stopping: what was sent must not be sent again.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return a.recordSent(record, c, held, m, holder, sendErr, now)
}

// holderOf begins the name of each holder that is on an admin, a node of the cluster.
func holderOf(node int64) string { return strconv.FormatInt(node, 10) + "-" }

// freeLeases ends the leases of admins that are gone from the cluster. One may have been declared gone while a message went out: that is over by then.
func (a *Alarmer) freeLeases(ctx context.Context, now time.Time) error {
	nodes, err := a.queries.ListNodes(ctx, a.cfg.Pool)
	if err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		if n.State == 1 || now.Sub(time.UnixMilli(n.BeatAt)) < a.cfg.SendTimeout {
			continue
		}
		if _, err := a.queries.FreeAlarmDeliveries(ctx, a.cfg.Pool, holderOf(n.ID)+"%"); err != nil {
			return err
		}
	}
	return nil
}

// sendWithin sends a message within the time a message may take, and a little longer than the process runs.
func (a *Alarmer) sendWithin(ctx context.Context, c *channel, m *message) error {
	send, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.SendTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(a.cfg.Grace, cancel) })()
	return a.send(send, c, m)
}

// send hands a message to the channel's server.
func (a *Alarmer) send(ctx context.Context, c *channel, m *message) error {
	if c.kind() == KindMail {
		// The installation's mail servers are mostly inside. Who looks after a group's channel need not be let in there.
		m.outside = c.row.GroupID != 0 && a.cfg.Defaults().DenyPrivate
		return a.sendMail(ctx, &c.settings, m)
	}
	return a.sendWeb(ctx, c, m)
}

// recordSent writes the outcome of a message into its deliveries and its channel.
func (a *Alarmer) recordSent(ctx context.Context, c *channel, held []db.ListAlarmDeliveriesOfHolderRow, m *message, holder string, sendErr error, now time.Time) (again bool, err error) {
	kind := string(c.kind())
	type group struct {
		tries int64
		last  bool // it is not tried again
	}
	groups := make(map[group][]int64)
	for _, d := range held {
		g := group{d.Tries, a.lastTry(&d, now)}
		groups[g] = append(groups[g], d.ID)
	}
	var why Trouble
	if sendErr != nil {
		why = troubleOf(c.settings.secrets(), reasonOf(sendErr))
	}
	refused, personal := errors.AsType[refusal](sendErr)
	busy, told := errors.AsType[*busyError](sendErr)
	err = a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		for g, ids := range groups {
			end := db.EndAlarmDeliveriesParams{Tries: g.tries + 1, Ids: ids, Holder: holder, Error: string(why)}
			switch {
			case sendErr == nil:
				end.State, end.DoneAt = deliverySent, now.UnixMilli()
			case refused.final || g.last:
				end.State, end.DoneAt = deliveryGone, now.UnixMilli()
			case told:
				end.State, end.NextAt = deliveryWaits, now.Add(busy.wait).UnixMilli()
			default:
				end.State, end.NextAt = deliveryWaits, now.Add(a.cfg.Backoff[min(int(g.tries), len(a.cfg.Backoff)-1)]).UnixMilli()
			}
			if _, err := a.queries.EndAlarmDeliveries(ctx, tx, end); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case sendErr == nil:
		a.metrics.deliveries.WithLabelValues(kind, "sent").Inc()
		if len(m.items) == 1 && m.items[0].notice.FollowUp == 0 && !m.acknowledged {
			a.metrics.delay.Observe(now.Sub(time.UnixMilli(m.items[0].notice.FirstAt)).Seconds())
		}
		err = errors.Join(err, a.works(ctx, c, now))
	case personal:
		a.metrics.deliveries.WithLabelValues(kind, "refused").Inc()
		a.noteError(ctx, c.row.ID, why, now)
	default:
		a.metrics.deliveries.WithLabelValues(kind, "failed").Inc()
		rest := a.cfg.Rest
		if told {
			rest = max(rest, busy.wait)
		}
		a.failed(ctx, c.row.ID, why, now, rest)
	}
	notices := db.IDs(held, func(r *db.ListAlarmDeliveriesOfHolderRow) int64 { return r.NoticeID })
	slices.Sort(notices)
	err = errors.Join(err, a.settle(ctx, slices.Compact(notices)))
	return sendErr == nil || personal, errors.Join(err, sendErr)
}

// lastTry reports whether a message is given up if it is refused once more: it had all its tries, and the time that their pauses take,
// from the first on. Those that a receiver asks for may be short, and an outage is no shorter for it.
func (a *Alarmer) lastTry(d *db.ListAlarmDeliveriesOfHolderRow, now time.Time) bool {
	var pauses time.Duration
	for _, pause := range a.cfg.Backoff {
		pauses += pause
	}
	return len(a.cfg.Backoff) == 0 || int(d.Tries) >= len(a.cfg.Backoff) && now.Sub(when(d.TriedAt)) >= pauses
}

// works notes that a channel has taken a message. What it did not take before need not wait out its pause.
func (a *Alarmer) works(ctx context.Context, c *channel, now time.Time) (err error) {
	if c.row.LastError != "" {
		err = a.queries.RetryAlarmDeliveriesNow(ctx, a.cfg.Pool, db.RetryAlarmDeliveriesNowParams{ChannelID: c.row.ID, NowMs: now.UnixMilli()})
		c.row.LastError = ""
	}
	return errors.Join(err, a.queries.NoteAlarmChannelOK(ctx, a.cfg.Pool, db.NoteAlarmChannelOKParams{ID: c.row.ID, AtMs: now.UnixMilli()}))
}

// failed lets a channel rest and makes its trouble visible.
func (a *Alarmer) failed(ctx context.Context, channelID int64, why Trouble, now time.Time, rest time.Duration) {
	a.mu.Lock()
	a.rested[channelID] = now.Add(rest)
	a.mu.Unlock()
	a.noteError(ctx, channelID, why, now)
}

func (a *Alarmer) noteError(ctx context.Context, channelID int64, why Trouble, now time.Time) {
	if err := a.queries.NoteAlarmChannelError(ctx, a.cfg.Pool, db.NoteAlarmChannelErrorParams{
		ID: channelID, AtMs: now.UnixMilli(), LastError: string(why),
	}); err != nil {
		a.log.Warn("note a channel's error", "error", err)
	}
}

// giveUp ends what waits for a channel that takes no messages any more.
func (a *Alarmer) giveUp(ctx context.Context, channelID int64, why event.Key, now time.Time) error {
	return a.queries.GiveUpAlarmDeliveriesOfChannel(ctx, a.cfg.Pool, db.GiveUpAlarmDeliveriesOfChannelParams{
		ChannelID: channelID, Error: string(troubleOf(nil, reason(why))), DoneAt: now.UnixMilli(),
	})
}
