package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// alarmPages are where alarms go, when, and what was sent.
type alarmPages struct {
	*frame
	jobs *manage.Jobs
}

func (c *alarmPages) routes(g *echo.Group) {
	g.GET("/alarms", c.channelList)
	g.GET("/alarms/new", c.channelNew)
	g.POST("/alarms", c.channelSave)
	g.POST("/alarms/preview", c.channelPreview)
	g.GET("/alarms/messages", c.messageList)
	g.POST("/alarms/messages/:id/retry", c.messageRetry)
	g.GET("/alarms/:id", c.channelDetail)
	g.GET("/alarms/:id/edit", c.channelEdit)
	g.POST("/alarms/:id", c.channelSave)
	g.GET("/alarms/:id/delete", c.channelDeleteForm)
	g.POST("/alarms/:id/delete", c.channelDelete)
	g.POST("/alarms/:id/preview", c.channelPreview)
	g.POST("/alarms/:id/test", c.channelTest)
	g.GET("/alarms/:id/routes/new", c.routeNew)
	g.GET("/alarms/:id/jobs", c.routeJobs)
	g.POST("/alarms/:id/routes", c.routeSave)
	g.GET("/alarms/:id/routes/:route/edit", c.routeEdit)
	g.POST("/alarms/:id/routes/:route", c.routeSave)
	g.POST("/alarms/:id/routes/:route/delete", c.routeDelete)
}

// latestMessages is how many messages a page that is about something else shows.
const latestMessages = 8

func (c *alarmPages) channelList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	channels, routes, err := c.channels.List(ctx, p)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := alarms.ListPage{Page: c.pageWithFlash(ec)}
	for _, ch := range channels {
		page.Channels = append(page.Channels, c.channel(page.Page, groups, ch, routes[ch.ID]))
		page.Channels[len(page.Channels)-1].Before = escalating(ch.ID, channels, routes)
	}
	if page.Messages, err = c.latest(ec, page.Page, 0); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.List(page), alarms.FragmentList)
}

// escalating are the names of the channels whose routes tell a channel of what nobody looks after.
func escalating(to int64, channels []alarm.Channel, routes map[int64][]manage.AlarmRoute) (names []string) {
	for _, ch := range channels {
		if slices.ContainsFunc(routes[ch.ID], func(r manage.AlarmRoute) bool { return r.EscalateTo == to }) {
			names = append(names, ch.Name)
		}
	}
	return names
}

// channel is a channel as lists and pages show it.
func (c *alarmPages) channel(page layout.Page, groups groupTitles, ch alarm.Channel, routes []manage.AlarmRoute) alarms.Channel {
	v := alarms.Channel{
		ID: ch.ID, Name: ch.Name, Kind: alarmKind(ch.Kind), State: channelState(ch), ForJobs: ch.ForJobs, OKAt: c.at(page, ch.LastOKAt),
		ErrorAt: c.at(page, ch.LastErrorAt), Error: ch.LastError.In(page.Printer),
	}
	if ch.GroupID != 0 {
		v.Group = groups.title(ch.GroupID)
	}
	v.Target = cmp.Or(strings.Join(ch.Settings.Recipients, ", "), ch.Settings.Host, ch.Settings.Chat)
	if ch.QuietFrom != ch.QuietTo {
		v.Quiet = clock(ch.QuietFrom) + "–" + clock(ch.QuietTo)
	}
	for _, r := range routes {
		v.Routes = append(v.Routes, alarms.Route{
			ID: r.ID, Scope: string(r.Scope), ScopeID: r.ScopeID, Name: r.Name, Of: v.Group, Causes: texts(r.Causes), Usual: slices.Equal(r.Causes, manage.DefaultCauses()), After: r.EscalateAfter, Second: r.Second,
		})
	}
	return v
}

func channelState(ch alarm.Channel) alarms.State {
	switch {
	case !ch.Enabled:
		return alarms.StateOff
	case ch.Broken():
		return alarms.StateBroken
	case ch.LastOKAt.IsZero():
		return alarms.StateNew
	default:
		return alarms.StateOK
	}
}

// clock writes minutes after midnight as a form takes them.
func clock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func (c *alarmPages) channelDetail(ec echo.Context) error {
	page, err := c.channelPage(ec)
	if err != nil {
		return err
	}
	page.Flashes = c.pageWithFlash(ec).Flashes
	return renderPart(ec, http.StatusOK, alarms.Detail(page), alarms.FragmentDetail)
}

func (c *alarmPages) channelPage(ec echo.Context) (alarms.DetailPage, error) {
	channelID, err := id(ec)
	if err != nil {
		return alarms.DetailPage{}, err
	}
	ch, routes, err := c.channels.Get(ec.Request().Context(), who(ec), channelID)
	if err != nil {
		return alarms.DetailPage{}, err
	}
	channels, all, err := c.channels.List(ec.Request().Context(), who(ec))
	if err != nil {
		return alarms.DetailPage{}, err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return alarms.DetailPage{}, err
	}
	page := alarms.DetailPage{Page: c.Page(ec)}
	page.Channel = c.channel(page.Page, groups, ch, routes)
	page.Channel.Before = escalating(ch.ID, channels, all)
	page.Messages, err = c.latest(ec, page.Page, channelID)
	return page, err
}

// channelTest answers in the page: a test that failed is a result, not an error.
func (c *alarmPages) channelTest(ec echo.Context) error {
	channelID, err := id(ec)
	if err != nil {
		return err
	}
	to := ec.FormValue(alarms.FieldTo)
	failure, err := c.channels.Test(ec.Request().Context(), who(ec), channelID, to)
	status, wrong := http.StatusOK, ""
	if err != nil {
		errs, ok := fieldErrors(c.Page(ec), err)
		if !ok {
			return err
		}
		status, wrong = http.StatusUnprocessableEntity, errs[manage.TestTo]
	}
	page, err := c.channelPage(ec) // after the test: it has changed the channel's state
	if err != nil {
		return err
	}
	page.Path = link.Alarm(channelID)
	page.Test = alarms.Test{Done: wrong == "", Error: failure.In(page.Printer), To: to, Wrong: wrong}
	return renderPart(ec, status, alarms.Detail(page), alarms.FragmentTest)
}

func (c *alarmPages) channelDeleteForm(ec echo.Context) error {
	page, err := c.channelPage(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.Delete(alarms.DeletePage{
		Page: page.Page, ID: page.Channel.ID, Name: page.Channel.Name, Routes: len(page.Channel.Routes),
	}), ui.FragmentDialog)
}

func (c *alarmPages) channelDelete(ec echo.Context) error {
	page, err := c.channelPage(ec)
	if err != nil {
		return err
	}
	if err := c.channels.Delete(ec.Request().Context(), who(ec), page.Channel.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.AlarmsPath, done("alarms.flash.deleted", "Name", page.Channel.Name))
}

const messagesPerPage = 50

func (c *alarmPages) messageList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	f := link.MessagesFrom(ec.QueryParams())
	channels, err := c.channels.Own(ctx, p)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(channels, func(ch alarm.Channel) bool { return ch.ID == f.Channel }) {
		f.Channel = 0
	}
	page := alarms.MessagesPage{Page: c.pageOfList(ec, link.Messages(f)), Filter: f}
	for _, ch := range channels {
		page.Channels = append(page.Channels, ui.Option{Value: fmt.Sprint(ch.ID), Label: ch.Name, Selected: ch.ID == f.Channel})
	}
	rows, err := c.messages(ec, page.Page, alarm.DeliveryFilter{
		BeforeID: f.Before, ChannelID: f.Channel, State: deliveryState(f.State), Limit: messagesPerPage + 1,
	})
	if err != nil {
		return err
	}
	first := f
	first.Before = 0
	if f.Before > 0 {
		page.Pager.Previous = link.Messages(first) // the newest: a list that only grows at its head has no other way back
	}
	if len(rows) > messagesPerPage {
		rows = rows[:messagesPerPage]
		f.Before = rows[len(rows)-1].ID
		page.Pager.Next = link.Messages(f)
	}
	page.Rows = rows
	return renderPart(ec, http.StatusOK, alarms.Messages(page), ui.FragmentResults)
}

// latest are the last messages of a channel, or with 0 of all.
func (c *alarmPages) latest(ec echo.Context, page layout.Page, channelID int64) ([]alarms.Message, error) {
	return c.messages(ec, page, alarm.DeliveryFilter{ChannelID: channelID, State: alarm.AnyState, Limit: latestMessages})
}

func (c *alarmPages) messages(ec echo.Context, page layout.Page, f alarm.DeliveryFilter) ([]alarms.Message, error) {
	list, err := c.channels.Messages(ec.Request().Context(), who(ec), f)
	if err != nil {
		return nil, err
	}
	rows := make([]alarms.Message, len(list))
	for i, m := range list {
		rows[i] = alarms.Message{
			ID: m.ID, Channel: m.Channel, ChannelID: m.ChannelID, Recipient: m.Recipient, State: messageState(m.State), Tries: m.Tries,
			NextAt: c.at(page, m.NextAt), Error: m.Error.In(page.Printer), At: c.at(page, m.CreatedAt), Cause: string(m.Cause), Acked: m.Acked, Escalated: m.Escalated, Count: m.Count, JobID: m.JobID,
			Job: m.Job, LogID: m.LogID, CanRetry: m.Channel != "" && (m.State == alarm.Waiting || m.State == alarm.GivenUp),
		}
	}
	return rows, nil
}

func messageState(s alarm.DeliveryState) string {
	switch s {
	case alarm.Sending:
		return link.MessageSending
	case alarm.Sent:
		return link.MessageSent
	case alarm.GivenUp:
		return link.MessageGivenUp
	case alarm.Waiting, alarm.AnyState:
		return link.MessageWaiting
	default:
		return link.MessageWaiting
	}
}

func deliveryState(s string) alarm.DeliveryState {
	for _, state := range []alarm.DeliveryState{alarm.Waiting, alarm.Sending, alarm.Sent, alarm.GivenUp} {
		if messageState(state) == s {
			return state
		}
	}
	return alarm.AnyState
}

func (c *alarmPages) messageRetry(ec echo.Context) error {
	messageID, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.channels.Retry(ec.Request().Context(), who(ec), messageID); err != nil {
		return err
	}
	back := link.Local(ec.FormValue(layout.FieldNext))
	if back == "" {
		back = link.AlarmMessages
	}
	return c.goTo(ec, back, done("alarms.flash.retried"))
}
