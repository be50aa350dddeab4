package alarm

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// DeliveryState is how far a message is.
type DeliveryState int

// The states, as they are stored.
const (
	AnyState DeliveryState = iota - 1
	Waiting                // for its first or next try, or for the end of quiet hours
	Sending
	Sent
	GivenUp
)

// Delivery is one message to one recipient, as a page lists it.
type Delivery struct {
	ID             int64
	ChannelID      int64 // of a channel that may have been deleted
	Recipient      string
	State          DeliveryState
	Tries          int
	NextAt         time.Time // of a waiting one
	Error          Trouble   // of the latest try
	CreatedAt      time.Time
	DoneAt         time.Time // zero: not done
	JobID, GroupID int64
	LogID          int64
	Cause          scheduler.AlarmCause
	Count          int  // how many events it tells of
	Acked          bool // it says that somebody looks after it
	Escalated      bool // it tells a second channel that nobody does
}

// DeliveryFilter chooses deliveries; the zero value of a field means any, except that State must be [AnyState] for that.
type DeliveryFilter struct {
	BeforeID  int64 // a page starts below the last id of the one before
	ChannelID int64
	State     DeliveryState
	Limit     int // 1 to 500; 50
	// Only are the channels to choose from; nil: all.
	Only []int64
}

// Deliveries lists messages, newest first.
func (a *Alarmer) Deliveries(ctx context.Context, f DeliveryFilter) ([]Delivery, error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	rows, err := a.listDeliveries(ctx, f)
	if err != nil {
		return nil, err
	}
	list := make([]Delivery, len(rows))
	for i, r := range rows {
		list[i] = Delivery{
			ID: r.ID, ChannelID: r.ChannelID, Recipient: r.Recipient, State: DeliveryState(r.State), Tries: int(r.Tries), Error: Trouble(r.Error),
			CreatedAt: when(r.CreatedAt), DoneAt: when(r.DoneAt), JobID: r.JobID, GroupID: r.JobGroup, LogID: r.LogID,
			Cause: scheduler.AlarmCause(r.Cause), Count: int(r.EventCount), Acked: r.Acked == 1, Escalated: r.Escalated == 1,
		}
		if list[i].State == Waiting {
			list[i].NextAt = when(r.NextAt)
		}
	}
	return list, nil
}

func (a *Alarmer) listDeliveries(ctx context.Context, f DeliveryFilter) ([]db.ListAlarmDeliveriesRow, error) {
	limit := int32(min(f.Limit, 500))
	if f.Only == nil {
		return a.queries.ListAlarmDeliveries(ctx, a.cfg.Pool, db.ListAlarmDeliveriesParams{BeforeID: f.BeforeID, ChannelID: f.ChannelID, State: int64(f.State), Limit: limit})
	}
	only := f.Only
	if f.ChannelID != 0 {
		only = slices.DeleteFunc(slices.Clone(only), func(id int64) bool { return id != f.ChannelID })
	}
	if len(only) == 0 {
		return nil, nil
	}
	found, err := a.queries.ListAlarmDeliveriesOfChannels(ctx, a.cfg.Pool, db.ListAlarmDeliveriesOfChannelsParams{BeforeID: f.BeforeID, ChannelIds: only, State: int64(f.State), Limit: limit})
	rows := make([]db.ListAlarmDeliveriesRow, len(found))
	for i, r := range found {
		rows[i] = db.ListAlarmDeliveriesRow(r)
	}
	return rows, err
}

// ChannelOf is the channel of a message. The error is [db.ErrNotFound] when there is none.
func (a *Alarmer) ChannelOf(ctx context.Context, delivery int64) (int64, error) {
	id, err := a.queries.GetChannelOfAlarmDelivery(ctx, a.cfg.Pool, delivery)
	return id, db.Error(err)
}

// Retry sends a message that was given up, or waits, at once. The error is [db.ErrNotFound] when there is none, or it is
// sent already.
func (a *Alarmer) Retry(ctx context.Context, id int64) error {
	n, err := a.queries.RequeueAlarmDelivery(ctx, a.cfg.Pool, db.RequeueAlarmDeliveryParams{ID: id, NextAt: a.cfg.Now().UnixMilli()})
	if err != nil {
		return err
	}
	if n == 0 {
		return db.ErrNotFound
	}
	a.Wake()
	return nil
}
