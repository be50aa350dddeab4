package alarm

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// A message about one open alarm carries a link by which its reader can say that they look after it, without signing in. It names the
// message and is signed, counts once, for [LinkLife], and only while the alarm that was told is open. Opening it changes nothing: tools
// that preview links open them.

// LinkLife is how long the link of a message counts.
const LinkLife = 7 * 24 * time.Hour

// linkBytes is how much of a signature a link carries: no more can be guessed, and chat messages are short.
const linkBytes = 16

// LinkState is what a link can still do.
type LinkState string

const (
	LinkOpen  LinkState = "open"  // it acknowledges
	LinkAcked LinkState = "acked" // somebody looks after the alarm
	LinkOver  LinkState = "over"  // the job has recovered, or is gone
	LinkUsed  LinkState = "used"  // by it, and that was taken back
	LinkOld   LinkState = "old"
)

// Linked is what a link is about.
type Linked struct {
	State    LinkState
	Job      int64
	Group    int64
	JobName  string
	Cause    scheduler.AlarmCause
	Since    time.Time
	AckedAt  time.Time
	AckedBy  string
	Remark   string
	Reader   string // to whom the message went: an address, or the name of a channel
	delivery int64
}

func (a *Alarmer) linkSignature(delivery string) []byte {
	mac := hmac.New(sha256.New, a.cfg.Key)
	mac.Write([]byte("punctual alarm link\n" + delivery))
	return mac.Sum(nil)[:linkBytes]
}

// linkToken is what the link of a message carries.
func (a *Alarmer) linkToken(delivery int64) string {
	id := strconv.FormatInt(delivery, 36)
	return id + "." + base64.RawURLEncoding.EncodeToString(a.linkSignature(id))
}

// ByLink is what a link is about. The error is [db.ErrNotFound] for one that no message had, or whose message is forgotten.
func (a *Alarmer) ByLink(ctx context.Context, token string) (l Linked, err error) {
	id, signature, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || !hmac.Equal(given, a.linkSignature(id)) {
		return l, db.ErrNotFound
	}
	delivery, err := strconv.ParseInt(id, 36, 64)
	if err != nil {
		return l, db.ErrNotFound
	}
	d, err := a.queries.GetAlarmOfDelivery(ctx, a.cfg.Pool, delivery)
	if err != nil {
		return l, db.Error(err)
	}
	l = Linked{State: LinkOver, Job: d.JobID, Cause: scheduler.AlarmCause(d.Cause), Since: when(d.FirstAt), Reader: d.Recipient, delivery: d.ID}
	if l.Reader == "" {
		c, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, d.ChannelID)
		if err != nil && !errors.Is(db.Error(err), db.ErrNotFound) {
			return l, err
		}
		l.Reader = c.Name
	}
	jobs, err := a.queries.ListAlarmJobs(ctx, a.cfg.Pool, []int64{d.JobID})
	if err != nil || len(jobs) == 0 {
		return l, err
	}
	l.JobName, l.Group = jobs[0].JobDesc, jobs[0].JobGroup
	states, err := a.queries.ListAlarmStates(ctx, a.cfg.Pool, []int64{d.JobID})
	if err != nil {
		return l, err
	}
	for i := range states {
		s := &states[i]
		if s.Cause != d.Cause || !isOpen(*s) || s.OpenedAt > d.LastAt { // it recovered, and failed anew
			continue
		}
		l.Since = when(s.OpenedAt)
		switch {
		case s.AckedAt > 0:
			l.State, l.AckedAt, l.AckedBy, l.Remark = LinkAcked, when(s.AckedAt), s.AckedBy, s.AckRemark
		case d.LinkUsedAt > 0:
			l.State = LinkUsed
		case a.cfg.Now().Sub(when(d.CreatedAt)) > LinkLife:
			l.State = LinkOld
		default:
			l.State = LinkOpen
		}
	}
	return l, nil
}

// AcknowledgeByLink is [Alarmer.Acknowledge] by whoever holds the link of a message. The error is [ErrNothingOpen] when the link does
// nothing any more.
func (a *Alarmer) AcknowledgeByLink(ctx context.Context, token, by, remark string, also func(tx *sql.Tx, l Linked, now []Open) error) error {
	l, err := a.ByLink(ctx, token)
	if err != nil {
		return err
	}
	switch l.State {
	case LinkOpen:
	case LinkAcked:
		return ErrAcknowledged
	case LinkOver, LinkUsed, LinkOld:
		return ErrNothingOpen
	}
	return a.Acknowledge(ctx, l.Job, by, remark, func(tx *sql.Tx, now []Open) error {
		n, err := a.queries.UseAlarmLink(ctx, tx, db.UseAlarmLinkParams{ID: l.delivery, AtMs: a.cfg.Now().UnixMilli()})
		if err != nil {
			return err
		}
		if n != 1 {
			return ErrNothingOpen
		}
		return also(tx, l, now)
	})
}
