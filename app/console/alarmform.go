package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

func (c *alarmPages) channelNew(ec echo.Context) error {
	page := alarms.FormPage{
		Page: c.pageWithFlash(ec), Kinds: alarmKinds(), Kind: alarmKind(alarm.Kind(ec.QueryParam(alarms.FieldKind))),
		Values: alarms.FormValues{Enabled: true, EveryJob: true, Security: string(alarm.SecurityStartTLS), QuietMode: string(alarm.QuietQueue)},
	}
	if !slices.Contains(page.Kinds, page.Kind) {
		page.Kind = alarmKind(alarm.KindMail)
	}
	if err := c.forNew(ec, &page, ec.QueryParam(alarms.FieldJob), 0); err != nil {
		return err
	}
	// That of the job, of a second channel for it with that of its kind, and of more with a number.
	kind := " " + page.T("alarms.kind."+page.Kind.Name)
	var err error
	page.Values.Name, err = c.channels.FreeName(ec.Request().Context(), who(ec), func(before int) string {
		var end string
		switch before {
		case 0:
		case 1:
			end = kind
		default:
			end = kind + " " + strconv.Itoa(before)
		}
		return strings.TrimSpace(firstRunes(page.Job.Name, alarms.NameLength-utf8.RuneCountInString(end))) + end
	})
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, alarms.Form(page))
}

// forNew fills in what the form of a new channel offers; job is the one that it is to tell of, if any.
func (c *alarmPages) forNew(ec echo.Context, page *alarms.FormPage, job string, owner int64) error {
	p, only := who(ec), int64(0)
	page.Owned = !p.Admin
	if job != "" {
		jobID, err := strconv.ParseInt(job, 10, 64)
		if err != nil {
			return notFound()
		}
		ctx := ec.Request().Context()
		j, err := c.jobs.Get(ctx, p, jobID)
		if err != nil {
			return err
		}
		channels, routes, err := c.channels.List(ctx, p)
		if err != nil {
			return err
		}
		page.Job, only = alarms.Job{ID: j.ID, Name: j.JobDesc}, j.JobGroup
		for _, ch := range channels {
			of := func(r manage.AlarmRoute) bool { return r.Covers(j.JobGroup, j.ID) }
			if (ch.GroupID == 0 || ch.GroupID == j.JobGroup) && !slices.ContainsFunc(routes[ch.ID], of) {
				page.Existing = append(page.Existing, alarms.Channel{ID: ch.ID, Name: ch.Name, Kind: alarmKind(ch.Kind)})
			}
		}
	}
	var err error
	page.Groups, err = c.channelOwners(ec, owner, only)
	return err
}

func alarmKinds() []alarms.Kind {
	var all []alarms.Kind
	for _, i := range alarm.Kinds() {
		all = append(all, alarmKind(i.Kind))
	}
	return all
}

// alarmKind is a kind as its form needs it. One that this version does not know has a name and no more.
func alarmKind(kind alarm.Kind) alarms.Kind {
	i, _ := kind.Info()
	return alarms.Kind{
		Name: string(kind), Icon: cmp.Or(i.Icon, "message-square"), Mail: kind == alarm.KindMail, Example: i.Example, Default: i.Default != "",
		Signs: i.Secret == alarm.SecretSigns, Token: i.Secret == alarm.SecretToken, Chat: i.Chat, Template: i.Template,
	}
}

// channelOwners are those whom a new channel may belong to: executors, or only one of them, and for administrators the installation.
func (c *alarmPages) channelOwners(ec echo.Context, chosen, only int64) ([]ui.Option, error) {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return nil, err
	}
	p, channels := who(ec), c.channels
	var options []ui.Option
	switch {
	case p.Admin && !c.settings.AlarmEditors():
		return nil, nil // nobody else would look after it
	case p.Admin:
		options = append(options, ui.Option{Value: "0", Label: c.Page(ec).T("alarms.group.none"), Selected: chosen == 0})
	}
	for _, o := range groups.options(chosen) {
		if id, _ := strconv.ParseInt(o.Value, 10, 64); channels.May(p, id) && (only == 0 || only == id) {
			options = append(options, o)
		}
	}
	return options, nil
}

func (c *alarmPages) channelEdit(ec echo.Context) error {
	page, ch, err := c.channelFormPage(ec)
	if err != nil {
		return err
	}
	s := ch.Settings
	page.Values = alarms.FormValues{
		Name: ch.Name, Language: ch.Language, Enabled: ui.Checked(ch.Enabled), ForJobs: ui.Checked(ch.ForJobs), QuietMode: string(ch.QuietMode), Host: s.Host,
		Port: strconv.Itoa(s.Port), Security: string(s.Security), SkipVerify: ui.Checked(s.SkipVerify), Username: s.Username, From: s.From,
		Recipients: strings.Join(s.Recipients, "\n"), Chat: s.Chat, Template: s.Template, Subject: s.Subject, Text: s.Text, Version: strconv.FormatInt(ch.Version, 10),
	}
	if ch.QuietFrom != ch.QuietTo {
		page.Values.QuietFrom, page.Values.QuietTo = clock(ch.QuietFrom), clock(ch.QuietTo)
	}
	return render(ec, http.StatusOK, alarms.Form(page))
}

// channelFormPage is the form of the channel that the path names, without its values; of a new one when it names none.
func (c *alarmPages) channelFormPage(ec echo.Context) (alarms.FormPage, alarm.Channel, error) {
	page := alarms.FormPage{Page: c.pageWithFlash(ec)}
	if ec.Param("id") == "" {
		page.Kinds = alarmKinds()
		return page, alarm.Channel{}, nil
	}
	channelID, err := id(ec)
	if err != nil {
		return page, alarm.Channel{}, err
	}
	ch, _, err := c.channels.Get(ec.Request().Context(), who(ec), channelID)
	page.ID, page.Name, page.Kind = channelID, ch.Name, alarmKind(ch.Kind)
	page.HasURL, page.HasSecret, page.HasPassword = ch.HasURL, ch.HasSecret, ch.HasPassword
	if err != nil || ch.GroupID == 0 {
		return page, ch, err
	}
	groups, err := c.groupTitles(ec)
	page.Group, page.Owned = groups.title(ch.GroupID), true
	return page, ch, err
}

// typedChannel is the form of a new channel and of a change as it was filled in.
func (c *alarmPages) typedChannel(ec echo.Context) (alarms.FormPage, alarm.Channel, error) {
	page, _, err := c.channelFormPage(ec)
	if err == nil {
		err = bind(ec, &page.Values)
	}
	if err != nil {
		return page, alarm.Channel{}, err
	}
	if page.ID == 0 {
		page.Kind = alarmKind(alarm.Kind(page.Values.Kind))
	}
	return page, channelInput(page), nil
}

// channelPreview draws the words of the form, and keeps what was typed.
func (c *alarmPages) channelPreview(ec echo.Context) error {
	page, input, err := c.typedChannel(ec)
	if err != nil {
		return err
	}
	status := http.StatusOK
	drawn, err := c.channels.Preview(ec.Request().Context(), who(ec), input)
	if err != nil {
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		status, page.Errors = http.StatusUnprocessableEntity, errs
	} else {
		page.Preview = &alarms.Preview{Title: drawn.Title, Text: drawn.Text, At: c.at(page.Page, drawn.At)}
	}
	if page.ID == 0 {
		owner, _ := strconv.ParseInt(page.Values.Group, 10, 64) // what is no number is the installation's
		if err := c.forNew(ec, &page, page.Values.Job, owner); err != nil {
			return err
		}
	}
	return renderPart(ec, status, alarms.Form(page), alarms.FragmentPreview)
}

// channelSave takes the form of a new channel and of a change.
func (c *alarmPages) channelSave(ec echo.Context) error {
	page, input, err := c.typedChannel(ec)
	if err != nil {
		return err
	}
	var first *alarm.Route
	if page.ID == 0 {
		input.GroupID, _ = strconv.ParseInt(page.Values.Group, 10, 64) // what is no number is the installation's
		first = firstRoute(page.Values)
	}
	channelID, err := c.channels.Save(ec.Request().Context(), who(ec), input, first)
	if err != nil {
		var ok bool
		if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
			return err
		}
		page.Differs = newer(page.Page, err, &page.Values.Version, &page.Problem)
		if !slices.Contains(alarmKinds(), page.Kind) {
			page.Kind = alarmKind(alarm.KindMail)
		}
		if page.ID == 0 {
			if err := c.forNew(ec, &page, page.Values.Job, input.GroupID); err != nil {
				return err
			}
		}
		return render(ec, http.StatusUnprocessableEntity, alarms.Form(page))
	}
	key := "alarms.flash.saved"
	if page.ID == 0 {
		key = "alarms.flash.created"
	}
	return c.goTo(ec, link.Alarm(channelID), done(key, "Name", strings.TrimSpace(page.Values.Name)))
}

// firstRoute is what a new channel tells of; nil: of nothing yet.
func firstRoute(v alarms.FormValues) *alarm.Route {
	switch {
	case v.Job != "":
		job, _ := strconv.ParseInt(v.Job, 10, 64) // what is no number is the id of nothing, which is refused as such
		return &alarm.Route{Scope: alarm.ScopeJob, ScopeID: job}
	case bool(v.EveryJob):
		return &alarm.Route{Scope: alarm.ScopeAll}
	}
	return nil
}

// channelInput reads what was typed. What cannot be read becomes a value that is refused beside its field.
func channelInput(page alarms.FormPage) alarm.Channel {
	v := page.Values
	ch := alarm.Channel{
		ID: page.ID, Name: v.Name, Kind: alarm.Kind(page.Kind.Name), Language: v.Language, Enabled: bool(v.Enabled), ForJobs: bool(v.ForJobs),
		QuietFrom: minutes(v.QuietFrom), QuietTo: minutes(v.QuietTo), QuietMode: alarm.QuietMode(v.QuietMode),
		RemoveSecret: bool(v.RemoveSecret), RemovePassword: bool(v.RemovePassword),
		Settings: alarm.Settings{
			Host: v.Host, Security: alarm.Security(v.Security), SkipVerify: bool(v.SkipVerify), Username: v.Username, Password: v.Password,
			From: v.From, Recipients: splitList(v.Recipients), URL: v.URL, Secret: v.Secret, Chat: v.Chat, Template: v.Template, Subject: v.Subject, Text: v.Text,
		},
	}
	ch.Version, _ = strconv.ParseInt(v.Version, 10, 64) // what is no number asks for no check, like none
	if port := strings.TrimSpace(v.Port); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n == 0 {
			n = -1
		}
		ch.Settings.Port = n
	}
	return ch
}

// minutes after midnight; what is no time of day lies outside of any day.
func minutes(text string) int {
	if text = strings.TrimSpace(text); text == "" {
		return alarm.NoTime
	}
	hour, minute, ok := strings.Cut(text, ":")
	h, err := strconv.Atoi(hour)
	m, bad := strconv.Atoi(minute)
	if !ok || err != nil || bad != nil || h < 0 || h > 23 || m < 0 || m > 59 {
		return 24 * 60
	}
	return h*60 + m
}

// splitList cuts a typed list of addresses. A blank is no separator: "Ann <ann@example.com>" has one.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' || r == '，' || r == '；' })
}

func (c *alarmPages) routeNew(ec echo.Context) error {
	r := alarm.Route{Scope: alarm.ScopeAll, Causes: manage.DefaultCauses()}
	if job, err := strconv.ParseInt(ec.QueryParam(alarms.FieldJob), 10, 64); err == nil && job > 0 {
		r.Scope, r.ScopeID = alarm.ScopeJob, job
	}
	page, err := c.routePage(ec, r)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.RouteForm(page), ui.FragmentDialog)
}

func (c *alarmPages) routeEdit(ec echo.Context) error {
	channelID, err := id(ec)
	if err != nil {
		return err
	}
	_, routes, err := c.channels.Get(ec.Request().Context(), who(ec), channelID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(routes, func(r manage.AlarmRoute) bool { return strconv.FormatInt(r.ID, 10) == ec.Param("route") })
	if at < 0 {
		return notFound()
	}
	page, err := c.routePage(ec, routes[at].Route)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.RouteForm(page), ui.FragmentDialog)
}

// routePage is the form of a route to the channel that the path names.
func (c *alarmPages) routePage(ec echo.Context, r alarm.Route) (alarms.RoutePage, error) {
	channelID, err := id(ec)
	if err != nil {
		return alarms.RoutePage{}, err
	}
	ctx, p := ec.Request().Context(), who(ec)
	ch, _, err := c.channels.Get(ctx, p, channelID)
	if err != nil {
		return alarms.RoutePage{}, err
	}
	titles, err := c.groupTitlesOf(ctx, p)
	if err != nil {
		return alarms.RoutePage{}, err
	}
	page := alarms.RoutePage{Page: c.Page(ec), ChannelID: channelID, Channel: ch.Name, ID: r.ID, Version: r.Version, Scope: string(r.Scope)}
	chosen := int64(0)
	if r.Scope == alarm.ScopeGroup {
		chosen = r.ScopeID
	}
	if page.Groups = titles.options(chosen); ch.GroupID != 0 {
		page.Group, page.Groups = titles.title(ch.GroupID), nil
	}
	if r.Scope == alarm.ScopeJob && r.ScopeID > 0 {
		page.Job = strconv.FormatInt(r.ScopeID, 10)
		if page.Picked, err = c.pickedJob(ec, c.jobs, page.Job); err != nil {
			return page, err
		}
	}
	if page.Seconds, err = c.seconds(ec, ch, r.EscalateTo); err != nil {
		return page, err
	}
	if r.EscalateAfter > 0 {
		page.After = strconv.Itoa(r.EscalateAfter)
	}
	for _, cause := range alarm.Causes() {
		page.Causes = append(page.Causes, alarms.Cause{Name: string(cause), Checked: slices.Contains(r.Causes, cause)})
	}
	return page, nil
}

// seconds are the channels that a route may tell of what nobody looks after.
func (c *alarmPages) seconds(ec echo.Context, first alarm.Channel, chosen int64) ([]ui.Option, error) {
	all, err := c.channels.Own(ec.Request().Context(), who(ec))
	var list []ui.Option
	for _, ch := range all {
		if ch.ID != first.ID && ch.GroupID == first.GroupID {
			list = append(list, ui.Option{Value: strconv.FormatInt(ch.ID, 10), Label: ch.Name, Selected: ch.ID == chosen})
		}
	}
	return list, err
}

// routeJobs answers the search for the job of a rule: those of the channel's executor, or else all that somebody may see.
func (c *alarmPages) routeJobs(ec echo.Context) error {
	channelID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	ch, _, err := c.channels.Get(ctx, p, channelID)
	if err != nil {
		return err
	}
	list, err := c.jobs.List(ctx, p, manage.JobFilter{Group: ch.GroupID, Status: manage.AnyStatus, Text: searched(ec), Limit: paletteHits})
	if err != nil {
		return err
	}
	hits := make([]manage.Child, len(list.Jobs))
	for i, j := range list.Jobs {
		hits[i] = manage.Child{ID: j.ID, Name: j.JobDesc, Group: j.JobGroup}
	}
	return c.jobHits(ec, "", hits)
}

// routeSave takes the form of a new route and of a change.
func (c *alarmPages) routeSave(ec echo.Context) error {
	channelID, err := id(ec)
	if err != nil {
		return err
	}
	r := alarm.Route{ChannelID: channelID, Version: ec.FormValue(alarms.FieldVersion), Scope: alarm.Scope(ec.FormValue(alarms.FieldScope))}
	if name := ec.Param("route"); name != "" {
		if r.ID, err = strconv.ParseInt(name, 10, 64); err != nil || r.ID < 1 {
			return notFound()
		}
	}
	field := map[alarm.Scope]string{alarm.ScopeGroup: alarms.FieldGroup, alarm.ScopeJob: alarms.FieldJob}[r.Scope]
	if field != "" {
		// What is no number is the id of nothing, which is refused as such.
		r.ScopeID, _ = strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(ec.FormValue(field)), "#"), 10, 64)
	}
	for _, cause := range ec.Request().Form[alarms.FieldCause] {
		r.Causes = append(r.Causes, scheduler.AlarmCause(cause))
	}
	after := strings.TrimSpace(ec.FormValue(alarms.FieldEscalateAfter))
	if after != "" {
		if r.EscalateAfter, err = strconv.Atoi(after); err != nil {
			r.EscalateAfter = -1 // refused as such
		}
		r.EscalateTo, _ = strconv.ParseInt(ec.FormValue(alarms.FieldEscalateTo), 10, 64) // what is no number is no channel
	}
	if err := c.channels.SaveRoute(ec.Request().Context(), who(ec), r); err != nil {
		errs, why, ok := refused(c.Page(ec), err, problem.Conflict)
		if !ok {
			return err
		}
		differs := newer(c.Page(ec), err, &r.Version, &why)
		page, err := c.routePage(ec, r)
		if err != nil {
			return err
		}
		page.Errors, page.Problem, page.Differs = errs, why, differs
		page.Job, page.After = ec.FormValue(alarms.FieldJob), after
		return renderPart(ec, http.StatusUnprocessableEntity, alarms.RouteForm(page), ui.FragmentDialog)
	}
	return c.goTo(ec, link.Alarm(channelID), done("alarms.flash.routed"))
}

func (c *alarmPages) routeDelete(ec echo.Context) error {
	channelID, err := id(ec)
	if err != nil {
		return err
	}
	routeID, err := strconv.ParseInt(ec.Param("route"), 10, 64)
	if err != nil || routeID < 1 {
		return notFound()
	}
	if err := c.channels.DeleteRoute(ec.Request().Context(), who(ec), channelID, routeID); err != nil {
		return err
	}
	return c.goTo(ec, link.Alarm(channelID), done("alarms.flash.unrouted"))
}

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// firstRunes is as much of a text as fits.
func firstRunes(text string, most int) string {
	r := []rune(text)
	return string(r[:min(len(r), most)])
}
