package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// ChannelID names the alarm channel of an operation.
type ChannelID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the channel."`
}

// RouteID names a route of a channel.
type RouteID struct {
	ChannelID
	Route int64 `path:"route" minimum:"1" doc:"The number of the route."`
}

// MessageID names the message of an operation.
type MessageID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the message."`
}

// alarmRoute says which jobs' alarms come to a channel.
type alarmRoute struct {
	ID      int64                  `json:"id" minimum:"1"`
	Scope   alarm.Scope            `json:"scope" enum:"all,group,job"`
	ScopeID int64                  `json:"scope_id" doc:"The number of the group or job; 0 for all."`
	Name    string                 `json:"name" doc:"Of the group or job, if the token may see it."`
	Causes  []scheduler.AlarmCause `json:"causes"`
	After   int                    `json:"escalate_after_minutes" doc:"How long an alarm may be open before another channel is told of it, if nobody looks after it; 0: none is."`
	To      int64                  `json:"escalate_to" doc:"The number of that channel."`
}

// newAlarmRoute is a route as somebody wants it.
type newAlarmRoute struct {
	Scope   alarm.Scope `json:"scope" enum:"all,group,job" doc:"Of a group's channel, all are those of its group."`
	ScopeID int64       `json:"scope_id,omitempty" minimum:"1" doc:"The number of the group or job."`
	Causes  []string    `json:"causes,omitempty" minItems:"1" enum:"failed,timeout,lost,dispatch,misfire,slow,silent,deadline,approval,recovered" doc:"Without them all but misfire."`
	After   int         `json:"escalate_after_minutes,omitempty" minimum:"0" maximum:"10080" doc:"Tell another channel of an alarm that is open for so long and that nobody looks after; 0: tell none."`
	To      int64       `json:"escalate_to,omitempty" minimum:"1" doc:"The number of that channel. It belongs to whom this one belongs to."`
}

// ChannelFields are those of a channel that are no secret.
type ChannelFields struct {
	Name       string   `json:"name"`
	Enabled    bool     `json:"enabled"`
	ForJobs    bool     `json:"for_jobs" doc:"It carries the mails to the addresses that jobs name. One mail channel does at most."`
	Language   string   `json:"language" doc:"Of its messages; empty: that of the installation."`
	QuietFrom  string   `json:"quiet_from" doc:"When quiet hours begin, as in 22:00; empty: there are none."`
	QuietTo    string   `json:"quiet_to"`
	QuietMode  string   `json:"quiet_mode" doc:"queue: what comes in them is told at their end; count: only how many there were."`
	Host       string   `json:"host" doc:"Of mail, as those up to recipients."`
	Port       int      `json:"port"`
	Security   string   `json:"security" doc:"starttls, tls or none."`
	SkipVerify bool     `json:"skip_verify" doc:"Accept any certificate."`
	Username   string   `json:"username"`
	From       string   `json:"from"`
	Recipients []string `json:"recipients"`
	Chat       string   `json:"chat" doc:"Whom a bot writes to."`
	Template   string   `json:"template" doc:"Of the body of a webhook."`
	Subject    string   `json:"subject" doc:"Of messages about one alarm, with placeholders in double braces; empty: the usual one. The kind webhook has its template instead."`
	Text       string   `json:"text" doc:"As the subject."`
}

// channel is a way to tell people of alarms. What is secret of it goes in and never comes out.
type channel struct {
	ID    int64  `json:"id" minimum:"1"`
	Kind  string `json:"kind" doc:"One of those that a new channel may have."`
	Group int64  `json:"group_id" doc:"Whose jobs' alarms it carries, and no others; 0: of all."`
	ChannelFields
	HasURL      bool         `json:"has_url"`
	HasSecret   bool         `json:"has_secret"`
	HasPassword bool         `json:"has_password"`
	LastOKAt    *time.Time   `json:"last_ok_at"`
	LastErrorAt *time.Time   `json:"last_error_at"`
	LastError   string       `json:"last_error"`
	Routes      []alarmRoute `json:"routes"`
}

// ChannelChange is what may be said of a channel at any time.
type ChannelChange struct {
	Enabled    *bool     `json:"enabled,omitempty"`
	ForJobs    *bool     `json:"for_jobs,omitempty"`
	Language   *string   `json:"language,omitempty"`
	QuietFrom  *string   `json:"quiet_from,omitempty" pattern:"^(|([01][0-9]|2[0-3]):[0-5][0-9])$" example:"22:00"`
	QuietTo    *string   `json:"quiet_to,omitempty" pattern:"^(|([01][0-9]|2[0-3]):[0-5][0-9])$" example:"07:00"`
	QuietMode  *string   `json:"quiet_mode,omitempty" enum:"queue,count"`
	Host       *string   `json:"host,omitempty" maxLength:"255"`
	Port       *int      `json:"port,omitempty" minimum:"1" maximum:"65535"`
	Security   *string   `json:"security,omitempty" enum:"starttls,tls,none"`
	SkipVerify *bool     `json:"skip_verify,omitempty"`
	Username   *string   `json:"username,omitempty" maxLength:"255"`
	From       *string   `json:"from,omitempty" maxLength:"255"`
	Recipients *[]string `json:"recipients,omitempty" maxItems:"100"`
	Chat       *string   `json:"chat,omitempty" maxLength:"128"`
	Template   *string   `json:"template,omitempty" maxLength:"10000"`
	Subject    *string   `json:"subject,omitempty" maxLength:"200"`
	Text       *string   `json:"text,omitempty" maxLength:"4000"`
	URL        *string   `json:"url,omitempty" maxLength:"2000" doc:"Of a webhook or a bot. It is not told again."`
	Secret     *string   `json:"secret,omitempty" maxLength:"1000" doc:"What signs the messages, or a bot's token; empty: none any more. It is not told again."`
	Password   *string   `json:"password,omitempty" maxLength:"1000" doc:"Of the mail server; empty: none any more. It is not told again."`
}

// channelKind is a kind of [alarm.Kinds].
type channelKind string

// Schema implements [huma.SchemaProvider].
func (channelKind) Schema(huma.Registry) *huma.Schema {
	var kinds []alarm.Kind
	for _, i := range alarm.Kinds() {
		kinds = append(kinds, i.Kind)
	}
	return oneOf(kinds)
}

// newChannel is a channel as somebody wants it.
type newChannel struct {
	Name     string      `json:"name" minLength:"1" maxLength:"64"`
	Kind     channelKind `json:"kind" doc:"It does not change."`
	Group    int64       `json:"group_id,omitempty" minimum:"1" doc:"Whose jobs' alarms it carries, and no others; without it of all. It does not change."`
	EveryJob bool        `json:"every_job,omitempty" doc:"It begins with a route for all jobs."`
	ChannelChange
}

// channelPatch is a part of one.
type channelPatch struct {
	Name *string `json:"name,omitempty" minLength:"1" maxLength:"64"`
	ChannelChange
}

type channelAnswer struct {
	ETag string `header:"ETag"`
	Body channel
}

type channelCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     channel
}

// channelNames are what a channel's fields are called in JSON.
var channelNames = map[string]string{manage.ChannelGroup: fieldGroup, alarm.FieldQuiet: "quiet_from"}

// testMessage says where a test goes.
type testMessage struct {
	To string `json:"to,omitempty" maxLength:"255" doc:"Of mail: to whom; without it to the channel's recipients."`
}

// channelTest is what became of a test message.
type channelTest struct {
	Taken bool   `json:"taken" doc:"The server took the message."`
	Error string `json:"error" doc:"What the server had against it."`
}

// alarmMessage is a message to one recipient.
type alarmMessage struct {
	ID        int64                `json:"id"`
	Channel   int64                `json:"channel_id"`
	Name      string               `json:"channel" doc:"Empty when it has been deleted."`
	Recipient string               `json:"recipient"`
	State     string               `json:"state" enum:"waiting,sending,sent,given_up"`
	Tries     int                  `json:"tries"`
	NextAt    *time.Time           `json:"next_at"`
	Error     string               `json:"error" doc:"Of the latest try."`
	CreatedAt *time.Time           `json:"created_at"`
	DoneAt    *time.Time           `json:"done_at"`
	Job       int64                `json:"job_id"`
	JobName   string               `json:"job" doc:"Empty when it has been deleted, or the token may not see it."`
	Group     int64                `json:"group_id"`
	Run       int64                `json:"run_id" doc:"The newest of those that it tells of; 0: it is about no run."`
	Cause     scheduler.AlarmCause `json:"cause"`
	Count     int                  `json:"count" doc:"How many events it tells of."`
	Acked     bool                 `json:"acknowledges" doc:"It tells a service that keeps incidents that somebody looks after the alarm."`
	Escalated bool                 `json:"escalates" doc:"It tells a second channel that nobody looks after the alarm."`
}

// messageStates are the states of messages, in the order of their numbers.
var messageStates = []string{"waiting", "sending", "sent", "given_up"}

type messageQuery struct {
	Page
	Channel int64  `query:"channel_id" minimum:"1" doc:"Only those of this channel."`
	State   string `query:"state" enum:"waiting,sending,sent,given_up" doc:"Only those in this state."`
}

func (a *API) alarms() {
	const tag = "alarms"
	add(a, op{method: http.MethodGet, path: "/alarms/channels", id: "listAlarmChannels", tag: tag, summary: "List the alarm channels with their routes, by name"},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*listOf[channel], error) {
			channels, routes, err := a.Manage.Channels.List(ctx, p)
			return listed(channels, err, func(c alarm.Channel) channel { return a.readChannel(requestOf(ctx), c, routes[c.ID]) })
		})
	add(a, op{method: http.MethodGet, path: "/alarms/channels/{id}", id: "getAlarmChannel", tag: tag, summary: "Get an alarm channel"},
		func(ctx context.Context, p auth.Principal, in *ChannelID) (*channelAnswer, error) {
			return a.channelAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/alarms/channels", id: "createAlarmChannel", tag: tag, summary: "Create an alarm channel", status: http.StatusCreated, names: channelNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newChannel
		}) (*channelCreated, error) {
			c := alarm.Channel{Name: in.Body.Name, Kind: alarm.Kind(in.Body.Kind), GroupID: in.Body.Group, Enabled: true}
			in.Body.over(&c)
			var first *alarm.Route
			if in.Body.EveryJob {
				first = &alarm.Route{Scope: alarm.ScopeAll}
			}
			id, err := a.Manage.Channels.Save(ctx, p, c, first)
			if err != nil {
				return nil, err
			}
			did(ctx)
			answer, err := a.channelAnswer(ctx, p, id)
			if err != nil {
				return nil, err
			}
			return &channelCreated{Location: address("alarms/channels", id), ETag: answer.ETag, Body: answer.Body}, nil
		})
	add(a, op{method: http.MethodPatch, path: "/alarms/channels/{id}", id: "patchAlarmChannel", tag: tag, summary: "Change fields of an alarm channel", names: channelNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			ChannelID
			IfMatch
			Body channelPatch `contentType:"application/merge-patch+json"`
		}) (*channelAnswer, error) {
			return a.changeChannel(ctx, p, in.ID, in.IfMatch, func(ctx context.Context, c alarm.Channel, _ []manage.AlarmRoute) error {
				set(&c.Name, in.Body.Name)
				in.Body.over(&c)
				_, err := a.Manage.Channels.Save(ctx, p, c, nil)
				return err
			})
		})
	add(a, op{method: http.MethodDelete, path: "/alarms/channels/{id}", id: "deleteAlarmChannel", tag: tag, summary: "Delete an alarm channel with its routes", text: "What waits for it is given up."},
		func(ctx context.Context, p auth.Principal, in *struct {
			ChannelID
			IfMatch
			DryRun
		}) (out *deletionAnswer, err error) {
			err = a.Manage.Channels.Change(ctx, p, in.ID, func(ctx context.Context, c alarm.Channel, routes []manage.AlarmRoute) error {
				out, err = in.delete(in.IfMatch, channelVersion(c, routes), deletion{ID: in.ID, Name: c.Name}, func(string) error { return a.Manage.Channels.Delete(ctx, p, in.ID) })
				return err
			})
			return out, err
		})
	add(a, op{method: http.MethodPost, path: "/alarms/channels/{id}/test", id: "testAlarmChannel", tag: tag, summary: "Send a test message", text: "It comes back when the server has taken it, or refused it."},
		func(ctx context.Context, p auth.Principal, in *struct {
			ChannelID
			Body *testMessage
		}) (*struct{ Body channelTest }, error) {
			to := ""
			if in.Body != nil {
				to = in.Body.To
			}
			failure, err := a.Manage.Channels.Test(ctx, p, in.ID, to)
			return &struct{ Body channelTest }{channelTest{Taken: failure == "", Error: failure.In(requestOf(ctx).printer)}}, err
		})
	add(a, op{method: http.MethodPost, path: "/alarms/preview", id: "previewAlarmWords", tag: tag, summary: "Preview a channel's own words", names: map[string]string{alarm.FieldText: "text", alarm.FieldSubject: "subject"}, also: []int{http.StatusNotFound},
		text: "Of the channel's latest message, or else of an invented failure. Nothing is sent or kept."},
		func(ctx context.Context, p auth.Principal, in *struct{ Body alarmWords }) (*struct{ Body wordsPreview }, error) {
			b := in.Body
			c := alarm.Channel{Kind: alarm.Kind(cmp.Or(b.Kind, channelKind(alarm.KindMail)))}
			if b.Channel != 0 {
				stored, _, err := a.Manage.Channels.Get(ctx, p, b.Channel)
				if err != nil {
					return nil, err
				}
				c = stored
			}
			for _, set := range []struct{ from, to *string }{{b.Language, &c.Language}, {b.Subject, &c.Settings.Subject}, {b.Text, &c.Settings.Text}} {
				if set.from != nil {
					*set.to = *set.from
				}
			}
			drawn, err := a.Manage.Channels.Preview(ctx, p, c)
			return &struct{ Body wordsPreview }{wordsPreview{Subject: drawn.Title, Text: drawn.Text, Of: moment(drawn.At)}}, err
		})
	a.alarmRoutes(tag)
	a.alarmMessages(tag)
}

// alarmWords are words of a channel as somebody typed them.
type alarmWords struct {
	Channel  int64       `json:"channel_id,omitempty" minimum:"1" doc:"The channel whose words are to be changed: what is left out here is as it has it."`
	Kind     channelKind `json:"kind,omitempty" doc:"Without a channel: what it will be; mail if it is left out."`
	Language *string     `json:"language,omitempty" doc:"Of the message; empty: that of the installation."`
	Subject  *string     `json:"subject,omitempty" maxLength:"200" doc:"With placeholders in double braces; empty: the usual one."`
	Text     *string     `json:"text,omitempty" maxLength:"4000" doc:"As the subject."`
}

// wordsPreview is a message in these words.
type wordsPreview struct {
	Subject string     `json:"subject"`
	Text    string     `json:"text"`
	Of      *time.Time `json:"message_at" doc:"When the message was made that is shown; null: it is an invented failure."`
}

// routeNames are what a route's fields are called in JSON.
var routeNames = map[string]string{alarm.FieldEscalateAfter: "escalate_after_minutes"}

func (a *API) alarmRoutes(tag string) {
	save := func(ctx context.Context, p auth.Principal, old alarm.Route, in newAlarmRoute) error {
		r := alarm.Route{ID: old.ID, ChannelID: old.ChannelID, Version: old.Version, Scope: in.Scope, ScopeID: in.ScopeID, Causes: manage.DefaultCauses(), EscalateAfter: in.After, EscalateTo: in.To}
		if in.Causes != nil {
			r.Causes = nil
			for _, cause := range in.Causes {
				r.Causes = append(r.Causes, scheduler.AlarmCause(cause))
			}
		}
		return a.Manage.Channels.SaveRoute(ctx, p, r)
	}
	add(a, op{method: http.MethodPost, path: "/alarms/channels/{id}/routes", id: "createAlarmRoute", tag: tag, summary: "Lead alarms to a channel", status: http.StatusCreated, names: routeNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			ChannelID
			Once
			Body newAlarmRoute
		}) (*channelAnswer, error) {
			if err := save(ctx, p, alarm.Route{ChannelID: in.ID}, in.Body); err != nil {
				return nil, err
			}
			did(ctx)
			return a.channelAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPut, path: "/alarms/channels/{id}/routes/{route}", id: "replaceAlarmRoute", tag: tag, summary: "Change which alarms a route leads to its channel", names: routeNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			RouteID
			IfMatch
			Body newAlarmRoute
		}) (*channelAnswer, error) {
			return a.changeRoute(ctx, p, in.RouteID, in.IfMatch, func(ctx context.Context, old alarm.Route) error { return save(ctx, p, old, in.Body) })
		})
	add(a, op{method: http.MethodDelete, path: "/alarms/channels/{id}/routes/{route}", id: "deleteAlarmRoute", tag: tag, summary: "Take a route to a channel away"},
		func(ctx context.Context, p auth.Principal, in *struct {
			RouteID
			IfMatch
		}) (*channelAnswer, error) {
			return a.changeRoute(ctx, p, in.RouteID, in.IfMatch, func(ctx context.Context, old alarm.Route) error {
				return a.Manage.Channels.DeleteRoute(ctx, p, in.ID, old.ID)
			})
		})
}

func (a *API) alarmMessages(tag string) {
	add(a, op{method: http.MethodGet, path: "/alarms/messages", id: "listAlarmMessages", tag: tag, summary: "List the messages that were sent or wait, the newest first"},
		func(ctx context.Context, p auth.Principal, in *messageQuery) (*listOf[alarmMessage], error) {
			return a.listMessages(ctx, requestOf(ctx), p, in)
		})
	add(a, op{method: http.MethodPost, path: "/alarms/messages/{id}/retry", id: "retryAlarmMessage", tag: tag, summary: "Send a message that waits, or was given up, at once", status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *MessageID) (*struct{}, error) {
			return nil, a.Manage.Channels.Retry(ctx, p, in.ID)
		})
}

// quietHours writes the ends that are named over those of a channel. One that has no quiet hours has neither end.
func (in ChannelChange) quietHours(c *alarm.Channel) {
	if in.QuietFrom == nil && in.QuietTo == nil {
		return
	}
	if c.QuietFrom == c.QuietTo {
		c.QuietFrom, c.QuietTo = alarm.NoTime, alarm.NoTime
	}
	if in.QuietFrom != nil {
		c.QuietFrom = minuteOf(*in.QuietFrom)
	}
	if in.QuietTo != nil {
		c.QuietTo = minuteOf(*in.QuietTo)
	}
	if c.QuietFrom == alarm.NoTime && in.QuietFrom != nil {
		c.QuietTo = alarm.NoTime // there are none, wherever they ended
	}
}

// over writes what is named over a channel. An empty secret of a channel is one that stays.
func (in ChannelChange) over(c *alarm.Channel) {
	set(&c.Enabled, in.Enabled)
	set(&c.ForJobs, in.ForJobs)
	set(&c.Language, in.Language)
	in.quietHours(c)
	if in.QuietMode != nil {
		c.QuietMode = alarm.QuietMode(*in.QuietMode)
	}
	s := &c.Settings
	set(&s.Host, in.Host)
	set(&s.Port, in.Port)
	if in.Security != nil {
		s.Security = alarm.Security(*in.Security)
	}
	set(&s.SkipVerify, in.SkipVerify)
	set(&s.Username, in.Username)
	set(&s.From, in.From)
	set(&s.Recipients, in.Recipients)
	set(&s.Chat, in.Chat)
	set(&s.Template, in.Template)
	set(&s.Subject, in.Subject)
	set(&s.Text, in.Text)
	set(&s.URL, in.URL)
	set(&s.Secret, in.Secret)
	set(&s.Password, in.Password)
	c.RemoveSecret = in.Secret != nil && *in.Secret == ""
	c.RemovePassword = in.Password != nil && *in.Password == ""
}

// minuteOf is a time of day in minutes after midnight. The schema has seen to its form.
func minuteOf(text string) int {
	if text == "" {
		return alarm.NoTime
	}
	hour, minute, _ := strings.Cut(text, ":")
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h*60 + m
}

func clockOf(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func (a *API) channelAnswer(ctx context.Context, p auth.Principal, id int64) (*channelAnswer, error) {
	c, routes, err := a.Manage.Channels.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &channelAnswer{ETag: etag(channelVersion(c, routes)), Body: a.readChannel(requestOf(ctx), c, routes)}, nil
}

// channelVersion changes with every change of a channel or of a route to it.
func channelVersion(c alarm.Channel, routes []manage.AlarmRoute) string {
	version := strconv.FormatInt(c.Version, 10)
	for _, r := range routes {
		version += "-" + r.Version
	}
	return version
}

// changeChannel changes a channel, or a route to it, that is still what a request was made for.
func (a *API) changeChannel(ctx context.Context, p auth.Principal, id int64, match IfMatch, change func(context.Context, alarm.Channel, []manage.AlarmRoute) error) (*channelAnswer, error) {
	err := a.Manage.Channels.Change(ctx, p, id, func(ctx context.Context, c alarm.Channel, routes []manage.AlarmRoute) error {
		if _, err := match.current(channelVersion(c, routes)); err != nil {
			return err
		}
		return match.changed(change(ctx, c, routes))
	})
	if err != nil {
		return nil, err
	}
	did(ctx)
	return a.channelAnswer(ctx, p, id)
}

// changeRoute is changeChannel for one of its routes.
func (a *API) changeRoute(ctx context.Context, p auth.Principal, id RouteID, match IfMatch, change func(context.Context, alarm.Route) error) (*channelAnswer, error) {
	return a.changeChannel(ctx, p, id.ID, match, func(ctx context.Context, _ alarm.Channel, routes []manage.AlarmRoute) error {
		i := slices.IndexFunc(routes, func(r manage.AlarmRoute) bool { return r.ID == id.Route })
		if i < 0 {
			return problem.New(problem.NotFound, "problem.route.gone")
		}
		return change(ctx, routes[i].Route)
	})
}

func (a *API) readChannel(r *request, c alarm.Channel, routes []manage.AlarmRoute) channel {
	s := c.Settings
	out := channel{ID: c.ID, Kind: string(c.Kind), Group: c.GroupID, HasURL: c.HasURL, HasSecret: c.HasSecret, HasPassword: c.HasPassword,
		LastOKAt: moment(c.LastOKAt), LastErrorAt: moment(c.LastErrorAt), LastError: c.LastError.In(r.printer), Routes: []alarmRoute{},
		ChannelFields: ChannelFields{Name: c.Name, Enabled: c.Enabled, ForJobs: c.ForJobs, Language: c.Language, QuietMode: string(c.QuietMode), Host: s.Host, Port: s.Port,
			Security: string(s.Security), SkipVerify: s.SkipVerify, Username: s.Username, From: s.From, Recipients: append([]string{}, s.Recipients...), Chat: s.Chat, Template: s.Template, Subject: s.Subject, Text: s.Text}}
	if c.QuietFrom != c.QuietTo {
		out.QuietFrom, out.QuietTo = clockOf(c.QuietFrom), clockOf(c.QuietTo)
	}
	for _, route := range routes {
		out.Routes = append(out.Routes, alarmRoute{ID: route.ID, Scope: route.Scope, ScopeID: route.ScopeID, Name: route.Name, Causes: append([]scheduler.AlarmCause{}, route.Causes...), After: route.EscalateAfter, To: route.EscalateTo})
	}
	return out
}

func (a *API) readMessage(r *request, m manage.AlarmMessage) alarmMessage {
	out := alarmMessage{ID: m.ID, Channel: m.ChannelID, Name: m.Channel, Recipient: m.Recipient, Tries: m.Tries, NextAt: moment(m.NextAt), Error: m.Error.In(r.printer),
		CreatedAt: moment(m.CreatedAt), DoneAt: moment(m.DoneAt), Job: m.JobID, JobName: m.Job, Group: m.GroupID, Run: m.LogID, Cause: m.Cause, Count: m.Count, Acked: m.Acked, Escalated: m.Escalated}
	if i := int(m.State - alarm.Waiting); i >= 0 && i < len(messageStates) {
		out.State = messageStates[i]
	}
	return out
}

func (a *API) listMessages(ctx context.Context, r *request, p auth.Principal, in *messageQuery) (*listOf[alarmMessage], error) {
	before, err := in.after()
	if err != nil {
		return nil, err
	}
	f := alarm.DeliveryFilter{BeforeID: before, ChannelID: in.Channel, State: alarm.AnyState, Limit: in.Limit}
	for i, name := range messageStates {
		if name == in.State {
			f.State = alarm.Waiting + alarm.DeliveryState(i)
		}
	}
	rows, err := a.Manage.Channels.Messages(ctx, p, f)
	out, err := listed(rows, err, func(m manage.AlarmMessage) alarmMessage { return a.readMessage(r, m) })
	if len(rows) == in.Limit {
		out.Body.Next = strconv.FormatInt(rows[len(rows)-1].ID, 10)
	}
	return out, err
}
