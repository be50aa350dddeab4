package console

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/securecookie"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// frame is what the pages of every family have around them.
type frame struct {
	catalogue *locales.Catalogue
	zone      *time.Location
	now       func() time.Time
	wall      *db.Pool // for its zone and its wall clock only
	version   string
	held      func() bool                // whether this admin waits for somebody to say go
	weakness  func() auth.Weakness       // why the common token keeps nobody out; nil: it does
	cookie    *securecookie.SecureCookie // the message that a redirect carries
	settings  *manage.Settings
	channels  *manage.Channels
	webhooks  *manage.Webhooks
	open      *manage.OpenAlarms
	notes     *manage.Notes
	groups    *manage.Groups
	adoption  *manage.Adoption
	calendars *manage.Calendars
}

// Page is the frame of a request: its language, its theme, its user. It works without a session too, for error pages.
func (c *frame) Page(ec echo.Context) layout.Page {
	r, p := ec.Request(), who(ec)
	lang := c.catalogue.Match([]string{p.Lang, cookieValue(r, layout.FieldLang)}, r.Header.Get("Accept-Language"), c.settings.Language())
	page := layout.Page{
		Printer: c.catalogue.Printer(lang),
		Theme:   layout.ThemeFrom(cmp.Or(p.Theme, cookieValue(r, layout.FieldTheme))),
		Path:    r.URL.RequestURI(),
		User:    layout.User{Name: p.Name, Admin: p.Admin, Audits: p.Audits(), Blind: blind(p), Alarms: c.channels.For(p)},
		Times:   c.zoneFor(p),
		Home:    zoneName(c.zone, c.now()),
		NoKeys:  p.Preferences.NoKeys,
		Start:   p.Preferences.Start,
	}
	page.Drawn = format.ISO(c.now().In(c.timesOf(page)))    // in which it may be another year by now
	ec.Response().Header().Set("Punctual-Time", page.Drawn) // for parts of a page, which are drawn anew
	page.Zone = zoneName(page.Times, c.now())
	if !p.Zero() {
		page.Zones = c.zonesFor(p)
	}
	if !p.Zero() && c.held() {
		alert := layout.Alert{Text: page.T("alert.hold")}
		if p.Admin {
			alert.URL, alert.URLText = link.NodesPath, page.T("alert.hold.way")
		}
		page.Alerts = append(page.Alerts, alert)
	}
	if p.Admin && c.weakness != nil {
		if weak := c.weakness(); weak != auth.WeakNone {
			page.Alerts = append(page.Alerts, layout.Alert{Text: page.T("alert.token." + string(weak)), URL: link.ExecutorToken + "#groups", URLText: page.T("alert.token.way")})
		}
	}
	if p.Admin {
		if n := c.channels.Unheard(r.Context()); n > 0 {
			page.Alerts = append(page.Alerts, layout.Alert{Text: page.T("alert.mail", "Count", n, "N", format.Number(n)), URL: link.AlarmsPath, URLText: page.T("alert.mail.way"), Mild: true})
		}
		if n, id, name := c.webhooks.Failing(r.Context()); n > 0 {
			alert := layout.Alert{Text: page.T("alert.webhook", "Count", n, "N", format.Number(int64(n)), "Name", name), URL: link.WebhooksPath, URLText: page.T("alert.webhook.way"), Mild: true}
			if n == 1 {
				alert.URL = link.Webhook(id, "", 0)
			}
			page.Alerts = append(page.Alerts, alert)
		}
		if e := c.calendars.Ending(r.Context()); e.Name != "" {
			page.Alerts = append(page.Alerts, layout.Alert{Text: page.T("alert.calendar", "Count", e.Jobs, "N", format.Number(e.Jobs), "Name", e.Name, "Year", strconv.Itoa(e.Year)), URL: link.Calendar(e.Name, 0), URLText: page.T("alert.calendar.way"), Mild: true})
		}
	}
	if !p.Zero() {
		page.Version = c.version // strangers need not know how old the program is
	}
	return page
}

// blind says whether somebody may see no executor's jobs.
func blind(p auth.Principal) bool {
	groups, all := p.Groups()
	return !all && len(groups) == 0
}

// pageOfList is pageWithFilter of a list, with a link to it.
func (c *frame) pageOfList(ec echo.Context, address string) layout.Page {
	page := c.pageWithFilter(ec, address)
	page.Parts = []layout.Part{{ID: "results", Name: page.T("layout.list")}}
	return page
}

// pageWithFilter is pageWithFlash with what the query has that the page at an address does not know.
func (c *frame) pageWithFilter(ec echo.Context, address string) layout.Page {
	page := c.pageWithFlash(ec)
	page.Ignored = link.Ignored(ec.Request().URL.RawQuery, address)
	return page
}

// pageWithFlash is Page with the message that the redirect before this request left.
func (c *frame) pageWithFlash(ec echo.Context) layout.Page {
	page := c.Page(ec)
	if isPartial(ec.Request()) {
		return page // a part has no place for it; the page that is on its way does
	}
	if f, ok := c.takeFlash(ec); ok {
		page.Flashes = append(page.Flashes, f.drawn(page))
	}
	return page
}

func cookieValue(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// isPartial says that htmx wants the changing part alone. A boosted link and a restored history entry want whole pages.
func isPartial(r *http.Request) bool {
	h := r.Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Boosted") != "true" && h.Get("HX-History-Restore-Request") != "true"
}

// render draws into a buffer first, so that a template's error is still a clean answer.
func render(ec echo.Context, status int, component templ.Component) error {
	var buf bytes.Buffer
	if err := component.Render(ec.Request().Context(), &buf); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	ec.Response().Header().Add("Vary", "HX-Request")
	return writeHTML(ec, status, buf.Bytes())
}

// renderPart draws the whole page, or for htmx only its named fragment.
func renderPart(ec echo.Context, status int, component templ.Component, fragment string) error {
	if !isPartial(ec.Request()) {
		return render(ec, status, component)
	}
	var buf bytes.Buffer
	if err := templ.RenderFragments(ec.Request().Context(), &buf, component, fragment); err != nil {
		return fmt.Errorf("render fragment: %w", err)
	}
	ec.Response().Header().Add("Vary", "HX-Request")
	return writeHTML(ec, status, buf.Bytes())
}

// goTo ends a form that succeeded: the browser goes on to a page and finds the message there.
func (c *frame) goTo(ec echo.Context, to string, f flash) error {
	if err := c.leaveFlash(ec, f); err != nil {
		return err
	}
	if isPartial(ec.Request()) {
		if isHere(ec.Request(), to) {
			ec.Response().Header().Set("HX-Refresh", "true")
		} else {
			ec.Response().Header().Set("HX-Redirect", to)
		}
		return ec.NoContent(http.StatusNoContent)
	}
	return ec.Redirect(http.StatusSeeOther, to)
}

// isHere says that to is a place of the page the browser shows: going there would only scroll, and load nothing anew.
func isHere(r *http.Request, to string) bool {
	page, _, place := strings.Cut(to, "#")
	at, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return place && err == nil && at.RequestURI() == page
}

// notFound answers that there is no such thing, or none that concerns whoever asks.
func notFound() error { return &problem.Error{Kind: problem.NotFound} }

// id reads the number in the path. Something else names nothing that exists.
func id(ec echo.Context) (int64, error) {
	n, err := strconv.ParseInt(ec.Param("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, notFound()
	}
	return n, nil
}

// isForm says that a form was posted, but for one with files.
func isForm(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	return r.Method == http.MethodPost && kind == echo.MIMEApplicationForm
}

// readForm reads a posted form before its handler asks for a field.
func readForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		if isForm(ec.Request()) {
			if err := parseForm(ec); err != nil {
				return err
			}
		}
		return next(ec)
	}
}

// parseForm reads a posted form whole, so that one that is too large is refused as such. Browsers send line ends as CR LF, which
// no script and no comparison wants; what is no UTF-8 no browser sends, and MySQL refuses it.
func parseForm(ec echo.Context) error {
	if err := ec.Request().ParseForm(); err != nil {
		p := problem.From(err)
		if p.Kind == problem.Internal {
			p = (&problem.Error{Kind: problem.Malformed}).Because(err)
		}
		return p
	}
	for _, values := range ec.Request().Form {
		for i := range values {
			values[i] = strings.ToValidUTF8(strings.ReplaceAll(values[i], "\r\n", "\n"), "\uFFFD")
		}
	}
	return nil
}

// bind reads a posted form into the fields of a struct that have a form tag, as they were typed. Nothing else is bound: the binder
// would fill untagged fields from JSON.
func bind(ec echo.Context, to any) error {
	if !isForm(ec.Request()) {
		return &problem.Error{Kind: problem.Malformed}
	}
	if err := new(echo.DefaultBinder).BindBody(ec, to); err != nil {
		return (&problem.Error{Kind: problem.Malformed}).Because(err)
	}
	return nil
}

// fieldErrors are a problem's faults by field, in the page's language. ok is false for a problem that is no matter of the
// form's values.
func fieldErrors(page layout.Page, err error) (errs map[string]string, ok bool) {
	p := problem.From(err)
	if p.Kind != problem.Invalid || len(p.Fields) == 0 {
		return nil, false
	}
	errs = make(map[string]string, len(p.Fields))
	for _, f := range p.Fields {
		if _, first := errs[f.Name]; !first {
			errs[f.Name] = f.Text(page.Printer)
		}
	}
	return errs, true
}

// refused is why a form comes back: what is wrong with its fields, or what stands against it as a whole, which is a problem of a
// kind. ok is false for another error.
func refused(page layout.Page, err error, whole problem.Kind) (errs map[string]string, why string, ok bool) {
	if errs, ok = fieldErrors(page, err); ok {
		return errs, "", true
	}
	p := problem.From(err)
	return nil, p.Text(page.Printer), p.Kind == whole
}

// newer takes over, into a form that comes back, the version that somebody else stored while it was open: saving again is the answer to it.
// It gives what differs between the two; why becomes what the form says.
func newer(page layout.Page, err error, version, why *string) []ui.Differing {
	e, ok := errors.AsType[*manage.ChangedError](err)
	if !ok {
		return nil
	}
	changes := auditChanges(page, e.Stored, e.Wanted)
	*version, *why = e.Version, page.T("problem.changed.compare")
	if len(changes) == 0 {
		*why = page.T("problem.changed.same")
	}
	list := make([]ui.Differing, len(changes))
	for i, c := range changes {
		list[i] = ui.Differing{Label: c.Field, Theirs: c.Before, Mine: c.After}
	}
	return list
}

// at is an instant in the page's zone, ready to print.
func (c *frame) at(page layout.Page, t time.Time) format.Time {
	if t.IsZero() {
		return format.Time{}
	}
	return format.At(page.Printer, t.In(c.timesOf(page)), c.now())
}

// clock is a time of today in the page's zone, or one with its date.
func (c *frame) clock(page layout.Page, t time.Time) string {
	zone := c.timesOf(page)
	return format.Clock(t.In(zone), c.now().In(zone))
}

// zoneFor is the zone in which somebody sees times and types those of a filter: their own, or the installation's.
func (c *frame) zoneFor(p auth.Principal) *time.Location {
	if zone, err := jobspec.Location(p.Zone); err == nil && zone != nil {
		return zone
	}
	return c.zone
}

// zonesFor are the zones that somebody is offered; the one they have is among them.
func (c *frame) zonesFor(p auth.Principal) []string {
	if p.Zone == "" || slices.Contains(commonZones, p.Zone) {
		return commonZones
	}
	return append([]string{p.Zone}, commonZones...)
}

func (c *frame) timesOf(page layout.Page) *time.Location { return cmp.Or(page.Times, c.zone) }

func (c *frame) teller(page layout.Page) event.Teller {
	return event.Teller{Printer: page.Printer, Zone: c.timesOf(page)}
}

// fromMillis is an instant of a BIGINT column, in which 0 stands for none.
func fromMillis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// zoneName names a zone for people. The process's own has no name but "Local".
func zoneName(zone *time.Location, now time.Time) string {
	if zone.String() != "Local" {
		return zone.String()
	}
	name, _ := now.In(zone).Zone()
	offset := now.In(zone).Format("UTC-07:00")
	if name == "UTC" || strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return offset
	}
	return name + " (" + offset + ")"
}

// ownCookie is a cookie of a preference.
func ownCookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: auth.IsHTTPS(r),
	}
}

// reachable are the addresses of a group that a run may be sent to by hand: the live ones, and those that were typed.
func (c *frame) reachable(page layout.Page, p auth.Principal, group int64) []groups.Address {
	return slices.DeleteFunc(c.addresses(page, p, group), func(a groups.Address) bool {
		return a.State == groups.AddressOffline && a.Asked.IsZero()
	})
}
