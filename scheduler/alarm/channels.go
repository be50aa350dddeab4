package alarm

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

// Channel is a channel as its page shows it and its form saves it. Secrets go in and never come out: in what is returned
// Settings.URL, Secret and Password are empty, and the Has fields say whether there is one. In what is saved an empty
// secret keeps the old one, and a Remove field takes it away.
type Channel struct {
	ID        int64
	Name      string
	Kind      Kind
	GroupID   int64 // whose jobs' alarms it carries, and no others; 0: of all jobs. It never changes
	Settings  Settings
	Language  string // of its messages; "" for the installation's
	Enabled   bool
	ForJobs   bool // carries the mails to the addresses that jobs name; one mail channel at most
	QuietFrom int  // minutes after midnight; equal to QuietTo, or both NoTime: no quiet hours
	QuietTo   int
	QuietMode QuietMode

	Version int64 // another after each change of its settings; 0 asks for no check

	HasURL, HasSecret, HasPassword bool
	RemoveSecret, RemovePassword   bool

	// What became of its latest messages; zero times for never. An error that is newer than the success is what a page shows
	// in red.
	LastOKAt, LastErrorAt time.Time
	LastError             Trouble
}

// Broken reports whether the latest message failed.
func (c *Channel) Broken() bool { return c.LastError != "" }

func when(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// shown is a channel without its secrets.
func (c *channel) shown() Channel {
	s := c.settings
	v := Channel{
		ID: c.row.ID, Name: c.row.Name, Kind: c.kind(), GroupID: c.row.GroupID, Language: c.row.Lang, Enabled: c.row.Enabled == 1, ForJobs: c.row.ForJobs == 1,
		QuietFrom: int(c.row.QuietFrom), QuietTo: int(c.row.QuietTo), QuietMode: QuietMode(c.row.QuietMode),
		HasURL: s.URL != "", HasSecret: s.Secret != "", HasPassword: s.Password != "",
		Version: c.row.UpdatedAt, LastOKAt: when(c.row.LastOkAt), LastErrorAt: when(c.row.LastErrorAt), LastError: Trouble(c.row.LastError),
	}
	s.URL, s.Secret, s.Password = "", "", ""
	v.Settings = s
	return v
}

// Channels lists the channels by name. One whose settings cannot be read, because the key is another, is listed without
// them and with the reason as its error.
func (a *Alarmer) Channels(ctx context.Context) ([]Channel, error) {
	rows, err := a.queries.ListAlarmChannels(ctx, a.cfg.Pool)
	if err != nil {
		return nil, err
	}
	list := make([]Channel, len(rows))
	for i := range rows {
		c, err := a.channelOf(&rows[i])
		if err != nil {
			c = &channel{row: rows[i]}
			c.row.LastError = string(troubleOf(nil, reasonOf(err)))
		}
		list[i] = c.shown()
	}
	return list, nil
}

// Channel reads one channel. The error is [db.ErrNotFound] when there is none.
func (a *Alarmer) Channel(ctx context.Context, id int64) (Channel, error) {
	c, err := a.readChannel(ctx, id)
	if err != nil {
		return Channel{}, err
	}
	return c.shown(), nil
}

// mayMail refuses recipients to whom mails may not go. Those who were there before the setting stay: they get nothing.
func (a *Alarmer) mayMail(recipients, known []string) error {
	allowed := a.cfg.Defaults()
	for _, r := range recipients {
		if !allowed.MailsTo(r) && !slices.Contains(known, r) {
			return refuse(FieldRecipients, CodeMailDomain, "Value", clip(r, 60))
		}
	}
	return nil
}

// CreateChannel saves a new channel and returns its id. The error is [invalid.Fields] when values are refused.
func (a *Alarmer) CreateChannel(ctx context.Context, c Channel) (int64, error) {
	if err := a.validChannel(&c); err != nil {
		return 0, err
	}
	if err := a.mayMail(c.Settings.Recipients, nil); err != nil {
		return 0, err
	}
	config, err := a.sealSettings(&c.Settings)
	if err != nil {
		return 0, err
	}
	var id int64
	err = a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		var err error
		id, err = a.queries.InsertAlarmChannel(ctx, tx, db.InsertAlarmChannelParams{
			Name: c.Name, Kind: string(c.Kind), Config: config, Lang: c.Language, Enabled: bit(c.Enabled), ForJobs: bit(c.ForJobs),
			QuietFrom: int64(c.QuietFrom), QuietTo: int64(c.QuietTo), QuietMode: string(c.QuietMode), UpdatedAt: a.cfg.Now().UnixMilli(), GroupID: c.GroupID,
		})
		if err != nil || !c.ForJobs {
			return err
		}
		return a.queries.ClearAlarmChannelForJobs(ctx, tx, id)
	})
	if errors.Is(err, db.ErrDuplicate) {
		return 0, refuse(FieldName, CodeTaken, "Value", c.Name)
	}
	if err != nil {
		return 0, err
	}
	a.changed(ctx)
	return id, nil
}

// OtherSecrets are those fields of a channel with secrets that somebody gave and that it has not got as they are: all that were given where its
// settings cannot be opened.
func (a *Alarmer) OtherSecrets(ctx context.Context, c Channel) (fields []string, err error) {
	row, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, c.ID)
	if err != nil {
		return nil, db.Error(err)
	}
	var had Settings
	if old, err := a.channelOf(&row); err == nil {
		had = old.settings
	}
	for _, secret := range []struct{ field, given, had string }{
		{FieldURL, c.Settings.URL, had.URL}, {FieldSecret, c.Settings.Secret, had.Secret}, {FieldPassword, c.Settings.Password, had.Password},
	} {
		if secret.given != "" && secret.given != secret.had && strings.TrimSpace(secret.given) != secret.had {
			fields = append(fields, secret.field)
		}
	}
	return fields, nil
}

// UpdateChannel saves a channel, all but its kind. What waits for it is tried at once, since a change is mostly a repair;
// switched off, it is given up. The error is [invalid.Fields], [ErrChanged] or [db.ErrNotFound].
func (a *Alarmer) UpdateChannel(ctx context.Context, c Channel) error {
	row, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, c.ID)
	if err != nil {
		return db.Error(err)
	}
	if c.Version != 0 && c.Version != row.UpdatedAt {
		return ErrChanged
	}
	c.Kind, c.GroupID = Kind(row.Kind), row.GroupID
	// Settings that cannot be opened are replaced as a whole: then the secrets have to be typed again.
	var known []string
	old, unread := a.channelOf(&row)
	if unread == nil {
		if field := c.carriesOff(&old.settings); field != "" {
			return refuse(field, CodePasswordAgain)
		}
		c.keepSecrets(&old.settings)
		known = old.settings.Recipients
	}
	if err := a.validChannel(&c); err != nil {
		return err
	}
	if err := a.mayMail(c.Settings.Recipients, known); err != nil {
		return err
	}
	config, err := a.sealSettings(&c.Settings)
	if err != nil {
		return err
	}
	now := a.cfg.Now().UnixMilli()
	update := db.UpdateAlarmChannelParams{
		ID: c.ID, Name: c.Name, Config: config, Lang: c.Language, Enabled: bit(c.Enabled), ForJobs: bit(c.ForJobs),
		QuietFrom: int64(c.QuietFrom), QuietTo: int64(c.QuietTo), QuietMode: string(c.QuietMode), Version: row.UpdatedAt, UpdatedAt: row.UpdatedAt,
	}
	if unread != nil || !old.is(&update, &c.Settings) { // who saves it as it is tells nobody that it was changed
		update.UpdatedAt = max(now, row.UpdatedAt+1)
	}
	err = a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := a.queries.UpdateAlarmChannel(ctx, tx, update)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrChanged
		}
		if c.ForJobs {
			if err := a.queries.ClearAlarmChannelForJobs(ctx, tx, c.ID); err != nil {
				return err
			}
		}
		if !c.Enabled {
			return a.queries.GiveUpAlarmDeliveriesOfChannel(ctx, tx, db.GiveUpAlarmDeliveriesOfChannelParams{
				ChannelID: c.ID, Error: string(troubleOf(nil, reason(channelOff))), DoneAt: now,
			})
		}
		return a.queries.RetryAlarmDeliveriesNow(ctx, tx, db.RetryAlarmDeliveriesNowParams{ChannelID: c.ID, NowMs: now})
	})
	if errors.Is(err, db.ErrDuplicate) {
		return refuse(FieldName, CodeTaken, "Value", c.Name)
	}
	if err != nil {
		return err
	}
	a.cfg.Pool.AfterCommit(ctx, func(context.Context) { a.wakeChannel(c.ID) })
	a.changed(ctx)
	return nil
}

// is says whether a channel is what it is to become.
func (c *channel) is(p *db.UpdateAlarmChannelParams, s *Settings) bool {
	r := &c.row
	return r.Name == p.Name && r.Lang == p.Lang && r.Enabled == p.Enabled && r.ForJobs == p.ForJobs && r.QuietFrom == p.QuietFrom && r.QuietTo == p.QuietTo && r.QuietMode == p.QuietMode &&
		c.settings.equal(s)
}

// carriesOff names the field of a kept password or token that would go to another server than the one it was typed for, or less
// guarded; "" when none would. Of the installation's channels administrators decide that; of a group's, its editors, who need
// not know the secret.
func (c *Channel) carriesOff(old *Settings) string {
	s, kind := &c.Settings, c.Kind
	info, _ := kind.Info()
	switch {
	case c.GroupID == 0:
	case kind == KindMail && old.Password != "" && s.Password == "" && !c.RemovePassword && s.Username != "" &&
		(strings.TrimSpace(s.Host) != old.Host || s.Port != old.Port || s.Security != old.Security || s.SkipVerify && !old.SkipVerify):
		return FieldPassword
	case info.Secret == SecretToken && old.Secret != "" && s.Secret == "" && s.URL != "" && strings.TrimSpace(s.URL) != old.URL:
		return FieldSecret
	}
	return ""
}

// keepSecrets fills in the secrets that a form leaves empty.
func (c *Channel) keepSecrets(old *Settings) {
	s := &c.Settings
	if s.URL == "" {
		s.URL = old.URL
	}
	if s.Secret == "" && !c.RemoveSecret {
		s.Secret = old.Secret
	}
	if s.Password == "" && !c.RemovePassword {
		s.Password = old.Password
	}
}

// changed has what was changed come into force once it is committed. If it cannot be read, which the next look mends, it is saved all the same.
func (a *Alarmer) changed(ctx context.Context) {
	a.cfg.Pool.AfterCommit(ctx, func(ctx context.Context) {
		if err := a.reload(ctx); err != nil {
			a.cfg.Logger.Warn("read the alarm channels after a change", "error", err)
		}
	})
}

// wakeChannel ends the rest of a channel that was just repaired.
func (a *Alarmer) wakeChannel(id int64) {
	a.mu.Lock()
	delete(a.rested, id)
	a.mu.Unlock()
	a.Wake()
}

// DeleteChannel deletes a channel and its routes, and gives up what waits for it. The error is [db.ErrNotFound] when there is none.
func (a *Alarmer) DeleteChannel(ctx context.Context, id int64) error {
	err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := a.queries.DeleteAlarmChannel(ctx, tx, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return db.ErrNotFound
		}
		if err := a.queries.DeleteAlarmRoutesOfChannel(ctx, tx, id); err != nil {
			return err
		}
		if err := a.queries.ForgetEscalationsTo(ctx, tx, id); err != nil {
			return err
		}
		return a.queries.GiveUpAlarmDeliveriesOfChannel(ctx, tx, db.GiveUpAlarmDeliveriesOfChannelParams{
			ChannelID: id, Error: string(troubleOf(nil, reason(channelGone))), DoneAt: a.cfg.Now().UnixMilli(),
		})
	})
	if err != nil {
		return err
	}
	a.changed(ctx)
	return nil
}

// ErrChanged is the error of a change to a channel that somebody else has changed, or deleted, since it was read.
var ErrChanged = errors.New("the channel was changed meanwhile")

// ErrNoRecipient means that a mail channel has nobody to send a test to.
var ErrNoRecipient = errors.New("the channel has no recipient")

// Test sends a test message. The error is a [*Failure] when the channel's server has something against it. A mail goes to the
// addresses given, or else to the channel's own. Quiet hours and the switch do not matter to it.
func (a *Alarmer) Test(ctx context.Context, id int64, to ...string) error {
	c, err := a.readChannel(ctx, id)
	if _, unreadable := errors.AsType[*troubleError](err); unreadable {
		return &Failure{troubleOf(nil, reasonOf(err))}
	}
	if err != nil {
		return err
	}
	if c.kind() != KindMail {
		to = []string{""}
	} else if len(to) == 0 {
		to = c.settings.Recipients
	}
	if len(to) == 0 {
		return ErrNoRecipient
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.SendTimeout)
	defer cancel()
	var reasons []event.Event
	for _, recipient := range to {
		m := a.blank(c)
		m.id, m.recipient, m.test = "test-"+newHolder(), recipient, true
		if m.subject != "" || m.text != "" {
			m.items = []item{a.invented(m)}
		}
		if err := a.send(ctx, c, m); err != nil {
			reasons = append(reasons, about(recipient, reasonOf(err)))
		}
	}
	now := a.cfg.Now()
	if len(reasons) == 0 {
		err := a.works(ctx, c, now)
		a.wakeChannel(id)
		return err
	}
	failure := &Failure{troubleOf(c.settings.secrets(), reasons...)}
	a.noteError(context.WithoutCancel(ctx), id, failure.Trouble, now)
	return failure
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
