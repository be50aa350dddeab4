package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	stdmail "net/mail"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// Alarmer is what the settings of alarms need; [alarm.Alarmer] is the real one.
type Alarmer interface {
	Channels(ctx context.Context) ([]alarm.Channel, error)
	Channel(ctx context.Context, id int64) (alarm.Channel, error)
	CreateChannel(ctx context.Context, c alarm.Channel) (int64, error)
	Normal(c alarm.Channel) alarm.Channel
	OtherSecrets(ctx context.Context, c alarm.Channel) ([]string, error)
	UpdateChannel(ctx context.Context, c alarm.Channel) error
	DeleteChannel(ctx context.Context, id int64) error
	Test(ctx context.Context, id int64, to ...string) error
	Preview(ctx context.Context, c alarm.Channel) (alarm.Preview, error)
	Routes(ctx context.Context) ([]alarm.Route, error)
	CreateRoute(ctx context.Context, r alarm.Route) (int64, error)
	UpdateRoute(ctx context.Context, r alarm.Route) error
	DeleteRoute(ctx context.Context, id int64) error
	Deliveries(ctx context.Context, f alarm.DeliveryFilter) ([]alarm.Delivery, error)
	ChannelOf(ctx context.Context, delivery int64) (int64, error)
	Retry(ctx context.Context, id int64) error

	OpenJobs(ctx context.Context, below int64, alarms int) ([]alarm.OpenJob, error)
	OpenOf(ctx context.Context, jobIDs ...int64) (map[int64][]alarm.Open, error)
	Acknowledge(ctx context.Context, jobID int64, by, remark string, also func(tx *sql.Tx, now []alarm.Open) error) error
	Unacknowledge(ctx context.Context, jobID int64, also func(tx *sql.Tx, before []alarm.Open) error) error
	ByLink(ctx context.Context, token string) (alarm.Linked, error)
	AcknowledgeByLink(ctx context.Context, token, by, remark string, also func(tx *sql.Tx, l alarm.Linked, now []alarm.Open) error) error
}

// Channels are the use cases of alarm channels, of what leads to them, and of what was sent. They are for administrators: a channel
// is an address that the installation sends its failures to. Where it is set, who may edit the jobs of a group looks after the
// channels of that group, which carry the alarms of no others; the rest does not exist for them.
type Channels struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
	unheard unheard
}

// AlarmMessage is a message with the names of what it is about.
type AlarmMessage struct {
	alarm.Delivery
	Channel string // empty when it has been deleted
	Job     string // empty when it has been deleted
}

// TestTo is the name of the only field of a test.
const TestTo = "to"

// DefaultCauses are what a route without a choice tells of: everything but skipped fires.
func DefaultCauses() []scheduler.AlarmCause {
	return slices.DeleteFunc(alarm.Causes(), func(c scheduler.AlarmCause) bool { return c == scheduler.AlarmMisfire })
}

// For says whether somebody looks after channels at all.
func (s *Channels) For(p auth.Principal) bool {
	return p.Admin || s.cfg.Settings.AlarmEditors() && p.CanAnywhere(auth.RightEdit)
}

// May says whether somebody looks after the channels of a group; 0 is the installation.
func (s *Channels) May(p auth.Principal, groupID int64) bool {
	return p.Admin || groupID > 0 && s.cfg.Settings.AlarmEditors() && p.Can(groupID, auth.RightEdit)
}

// allowed refuses who may not, and everything in an installation without alarms.
func (s *Channels) allowed(p auth.Principal) error {
	if !s.For(p) {
		return forbidden()
	}
	if s.cfg.Alarmer == nil {
		return &problem.Error{Kind: problem.NotFound}
	}
	return nil
}

// List is every channel that p looks after, by name, with the routes that lead to each, by channel.
func (s *Channels) List(ctx context.Context, p auth.Principal) ([]alarm.Channel, map[int64][]AlarmRoute, error) {
	channels, err := s.Own(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	routes, err := s.routes(ctx, p, channels)
	return channels, routes, err
}

// FreeName is the first of some names that no channel has, whoever looks after it: names are given once. It asks for each by how many were taken.
func (s *Channels) FreeName(ctx context.Context, p auth.Principal, name func(before int) string) (string, error) {
	if err := s.allowed(p); err != nil {
		return "", err
	}
	all, err := s.cfg.Alarmer.Channels(ctx)
	if err != nil {
		return "", during("list alarm channels", err)
	}
	for before := 0; ; before++ {
		if free := name(before); !slices.ContainsFunc(all, func(c alarm.Channel) bool { return strings.EqualFold(c.Name, free) }) {
			return free, nil
		}
	}
}

// Own are the channels that p looks after, by name.
func (s *Channels) Own(ctx context.Context, p auth.Principal) ([]alarm.Channel, error) {
	if err := s.allowed(p); err != nil {
		return nil, err
	}
	// By the list, which also has a channel whose settings cannot be read: it can then be mended or deleted.
	all, err := s.cfg.Alarmer.Channels(ctx)
	return slices.DeleteFunc(all, func(c alarm.Channel) bool { return !s.May(p, c.GroupID) }), during("list alarm channels", err)
}

// Get is one channel with the routes that lead to it.
func (s *Channels) Get(ctx context.Context, p auth.Principal, id int64) (alarm.Channel, []AlarmRoute, error) {
	own, err := s.Own(ctx, p)
	if err != nil {
		return alarm.Channel{}, nil, err
	}
	c, err := among(own, id)
	if err != nil {
		return c, nil, err
	}
	routes, err := s.routes(ctx, p, own)
	return c, routes[id], err
}

func (s *Channels) get(ctx context.Context, p auth.Principal, id int64) (alarm.Channel, error) {
	own, err := s.Own(ctx, p)
	if err != nil {
		return alarm.Channel{}, err
	}
	return among(own, id)
}

func among(own []alarm.Channel, id int64) (alarm.Channel, error) {
	at := slices.IndexFunc(own, func(c alarm.Channel) bool { return c.ID == id })
	if at < 0 {
		return alarm.Channel{}, problem.New(problem.NotFound, "problem.channel.gone")
	}
	return own[at], nil
}

// ChannelGroup is the name of the field for the group that a new channel belongs to.
const ChannelGroup = "group"

// Save creates a channel, or changes the one that ID names. A new one may begin with a route; nil: with none.
func (s *Channels) Save(ctx context.Context, p auth.Principal, c alarm.Channel, first *alarm.Route) (int64, error) {
	if err := s.allowed(p); err != nil {
		return 0, err
	}
	if c.ID == 0 && !s.May(p, c.GroupID) {
		return 0, problem.InvalidFields(problem.Field{Name: ChannelGroup, Key: "job.error.group"})
	}
	defer s.unheard.forget()
	id := c.ID
	err := s.cfg.Pool.InTurn(ctx, ObjectChannel, func(ctx context.Context, _ *sql.Tx) (err error) {
		if c.ID != 0 {
			return s.update(ctx, p, c)
		}
		id, err = s.create(ctx, p, c, first)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// update changes a channel, in the transaction of its entry in the audit log.
func (s *Channels) update(ctx context.Context, p auth.Principal, c alarm.Channel) error {
	old, err := s.get(ctx, p, c.ID)
	if err != nil {
		return err
	}
	if c.Version != 0 && c.Version != old.Version {
		c.Kind, c.GroupID = old.Kind, old.GroupID
		return changedSince(strconv.FormatInt(old.Version, 10), channelSnapshot(old), channelSnapshot(s.cfg.Alarmer.Normal(c)))
	}
	given, err := s.cfg.Alarmer.OtherSecrets(ctx, c)
	if err != nil {
		return alarmProblem(err)
	}
	if err := s.cfg.Alarmer.UpdateChannel(ctx, c); err != nil {
		return alarmProblem(err)
	}
	now, err := s.cfg.Alarmer.Channel(ctx, c.ID)
	if err != nil {
		return alarmProblem(err)
	}
	entry := Entry{Action: ActionUpdate, Kind: ObjectChannel, ID: c.ID, Name: now.Name, Group: now.GroupID, Before: channelSnapshot(old), After: channelSnapshot(now)}
	if now.Version != old.Version {
		entry.After.secrets(c, given)
	}
	return s.audit.Record(ctx, s.cfg.Pool, p, entry)
}

// create makes a channel, with its first route, of a group that stays until both are there: whoever deletes it takes them along.
func (s *Channels) create(ctx context.Context, p auth.Principal, c alarm.Channel, first *alarm.Route) (int64, error) {
	if c.GroupID != 0 {
		if n, err := s.queries.HoldGroup(ctx, s.cfg.Pool, c.GroupID); err != nil {
			return 0, fmt.Errorf("hold group: %w", db.Error(err))
		} else if n == 0 {
			return 0, problem.InvalidFields(problem.Field{Name: ChannelGroup, Key: "job.error.group"})
		}
	}
	if err := s.firstRoute(ctx, p, c, first); err != nil {
		return 0, err
	}
	id, err := s.cfg.Alarmer.CreateChannel(ctx, c)
	if err != nil {
		return 0, alarmProblem(err)
	}
	if err := s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionCreate, Kind: ObjectChannel, ID: id, Name: c.Name, Group: c.GroupID, After: channelSnapshot(c)}); err != nil {
		return 0, err
	}
	if first != nil {
		r := *first
		r.ChannelID = id
		_, err = s.cfg.Alarmer.CreateRoute(ctx, r)
	}
	return id, alarmProblem(err)
}

// firstRoute refuses a new channel that could not tell of the job that it is made for.
func (s *Channels) firstRoute(ctx context.Context, p auth.Principal, c alarm.Channel, r *alarm.Route) error {
	if r == nil || r.Scope != alarm.ScopeJob {
		return nil
	}
	j, err := s.queries.GetJob(ctx, s.cfg.Pool, r.ScopeID)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound), err == nil && !p.CanUseGroup(j.JobGroup):
		return jobGone()
	case err != nil:
		return fmt.Errorf("read job: %w", err)
	case c.GroupID != 0 && c.GroupID != j.JobGroup:
		return problem.InvalidFields(problem.Field{Name: ChannelGroup, Key: "job.error.group"})
	}
	return nil
}

// secrets says which secrets of a channel somebody gave anew or took away, and nothing of what they are.
func (after Snapshot) secrets(c alarm.Channel, given []string) {
	var removed []string
	if c.RemoveSecret && c.Settings.Secret == "" {
		removed = append(removed, alarm.FieldSecret)
	}
	if c.RemovePassword && c.Settings.Password == "" {
		removed = append(removed, alarm.FieldPassword)
	}
	if len(given) > 0 {
		after["given"] = strings.Join(given, ", ")
	}
	if len(removed) > 0 {
		after["removed"] = strings.Join(removed, ", ")
	}
}

// channelSnapshot is what the audit log keeps of a channel: no address with a token in it, no password.
func channelSnapshot(c alarm.Channel) Snapshot {
	s := c.Settings
	return Snapshot{
		"name": c.Name, "kind": string(c.Kind), "group": c.GroupID, "enabled": c.Enabled, "for_jobs": c.ForJobs, "language": c.Language,
		"quiet": fmt.Sprintf("%02d:%02d–%02d:%02d %s", c.QuietFrom/60, c.QuietFrom%60, c.QuietTo/60, c.QuietTo%60, c.QuietMode),
		"host":  s.Host, "port": s.Port, "security": string(s.Security), "from": s.From, "recipients": strings.Join(s.Recipients, ", "),
		"username": s.Username, "skip_verify": s.SkipVerify, "chat": s.Chat, "template": s.Template, "subject": s.Subject, "text": s.Text,
	}
}

// Change has a channel, or a route to it, changed that is still as it is read now.
func (s *Channels) Change(ctx context.Context, p auth.Principal, id int64, change func(context.Context, alarm.Channel, []AlarmRoute) error) error {
	if err := s.allowed(p); err != nil {
		return err
	}
	return s.cfg.Pool.InTurn(ctx, ObjectChannel, func(ctx context.Context, _ *sql.Tx) error {
		c, routes, err := s.Get(ctx, p, id)
		if err != nil {
			return err
		}
		return change(ctx, c, routes)
	})
}

// Delete deletes a channel and its routes. What waits for it is given up.
func (s *Channels) Delete(ctx context.Context, p auth.Principal, id int64) error {
	defer s.unheard.forget()
	return s.Change(ctx, p, id, func(ctx context.Context, c alarm.Channel, _ []AlarmRoute) error {
		if err := s.cfg.Alarmer.DeleteChannel(ctx, id); err != nil {
			return alarmProblem(err)
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionDelete, Kind: ObjectChannel, ID: id, Name: c.Name, Group: c.GroupID, Before: channelSnapshot(c)})
	})
}

// Test sends a test message, mail to the address given or else to the channel's recipients. failure is what the server had
// against it, empty when the message was taken: a test that fails has done what it is for.
func (s *Channels) Test(ctx context.Context, p auth.Principal, id int64, to string) (failure alarm.Trouble, err error) {
	c, err := s.get(ctx, p, id)
	if err != nil {
		return "", err
	}
	var recipients []string
	if to = strings.TrimSpace(to); to != "" && c.Kind == alarm.KindMail {
		address, err := stdmail.ParseAddress(to)
		if err != nil {
			return "", problem.InvalidFields(problem.Field{Name: TestTo, Key: "job.error.email", Args: []any{"Value", cut(to, 60)}})
		}
		recipients = append(recipients, address.Address)
	}
	s.audit.Note(ctx, p, Entry{Action: ActionTest, Kind: ObjectChannel, ID: id, Name: c.Name, Group: c.GroupID})
	err = s.cfg.Alarmer.Test(ctx, id, recipients...)
	if f, ok := errors.AsType[*alarm.Failure](err); ok {
		return f.Trouble, nil
	}
	if errors.Is(err, alarm.ErrNoRecipient) {
		return "", problem.InvalidFields(problem.Field{Name: TestTo, Key: "job.error.required"})
	}
	return "", err
}

// Preview draws the words of a channel as it was typed. Nothing is sent.
func (s *Channels) Preview(ctx context.Context, p auth.Principal, c alarm.Channel) (alarm.Preview, error) {
	if err := s.allowed(p); err != nil {
		return alarm.Preview{}, err
	}
	if c.ID != 0 {
		if _, err := s.get(ctx, p, c.ID); err != nil {
			return alarm.Preview{}, err
		}
	}
	drawn, err := s.cfg.Alarmer.Preview(ctx, c)
	return drawn, alarmProblem(err)
}

// Messages lists what was sent or waits, newest first.
func (s *Channels) Messages(ctx context.Context, p auth.Principal, f alarm.DeliveryFilter) ([]AlarmMessage, error) {
	channels, err := s.Own(ctx, p)
	if err != nil {
		return nil, err
	}
	names, ids := make(map[int64]string, len(channels)), make([]int64, len(channels))
	for i, c := range channels {
		names[c.ID], ids[i] = c.Name, c.ID
	}
	if f.Only = nil; !p.Admin { // they also see what channels sent that have been deleted
		f.Only = ids
	}
	rows, err := s.cfg.Alarmer.Deliveries(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list alarm messages: %w", err)
	}
	jobs, err := s.jobNames(ctx, p, db.IDs(rows, func(r *alarm.Delivery) int64 { return r.JobID }))
	if err != nil {
		return nil, err
	}
	list := make([]AlarmMessage, len(rows))
	for i, d := range rows {
		list[i] = AlarmMessage{Delivery: d, Channel: names[d.ChannelID], Job: jobs[d.JobID]}
	}
	return list, nil
}

// Retry sends a message that waits, or was given up, at once.
func (s *Channels) Retry(ctx context.Context, p auth.Principal, id int64) error {
	if err := s.allowed(p); err != nil {
		return err
	}
	if !p.Admin {
		channel, err := s.cfg.Alarmer.ChannelOf(ctx, id)
		if errors.Is(err, db.ErrNotFound) {
			return problem.New(problem.NotFound, "problem.channel.gone")
		} else if err != nil {
			return fmt.Errorf("read alarm message: %w", err)
		}
		if _, err := s.get(ctx, p, channel); err != nil {
			return err
		}
	}
	err := s.cfg.Alarmer.Retry(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		return problem.New(problem.Conflict, "problem.message.sent").Because(err)
	}
	return err
}

// alarmProblem turns what the alarmer refuses into what a form shows.
func alarmProblem(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, db.ErrNotFound):
		return problem.New(problem.NotFound, "problem.channel.gone").Because(err)
	case errors.Is(err, alarm.ErrChanged):
		return problem.New(problem.Conflict, "problem.changed").Because(err)
	}
	return err
}
