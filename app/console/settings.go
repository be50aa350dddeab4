package console

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/settings"
)

// settingsPages are what administrators decide for the installation, and what this process is.
type settingsPages struct {
	*frame
	nodes    *manage.Nodes
	sessions *auth.Sessions
	about    func() About
}

func (c *settingsPages) routes(g *echo.Group) {
	g.GET(link.SettingsPath, c.show)
	g.POST(link.SettingsPath, c.save)
}

// About is what only a start of this process can change, and what came of it.
type About struct {
	Go       string
	Database string // product and version
	Where    string // the database is
	DataDir  string
	Address  string // this process listens at
	TLS      bool
	Token    TokenSource
	Options  []StartupOption
}

// TokenSource says where the installation's access token comes from.
type TokenSource string

const (
	TokenNone  TokenSource = "none"  // executors need none
	TokenKnown TokenSource = "known" // it is the one XXL-JOB ships with
	TokenFixed TokenSource = "fixed" // the environment says it
	TokenKept  TokenSource = "kept"  // it was made here and can be rotated
)

// StartupOption is a variable that only a start can change.
type StartupOption struct {
	Name   string
	Value  string // empty if it is secret
	Set    bool   // somebody chose it
	Secret bool
}

func (c *settingsPages) show(ec echo.Context) error {
	list, err := c.settings.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	return c.settingsPage(ec, http.StatusOK, settings.Page{Page: c.pageWithFlash(ec), Version: manage.SettingsVersion(list)}, list, settingsForm{})
}

func (c *settingsPages) save(ec echo.Context) error {
	ctx := ec.Request().Context()
	typed, was := make(map[string]string), make(map[string]string)
	for _, s := range manage.AllSettings() {
		value, before := ec.FormValue(s.Name), ec.FormValue(settings.FieldWas+s.Name)
		if form := ec.Request().PostForm; form.Has(s.Name) && (value != before || !form.Has(settings.FieldWas+s.Name)) {
			typed[s.Name], was[s.Name] = value, before // the others stay as they are, also as somebody else has made them since
		}
	}
	version := ec.FormValue(settings.FieldVersion)
	changed, err := c.settings.Save(ctx, who(ec), typed, version)
	if err == nil {
		if changed == 0 {
			return c.goTo(ec, link.SettingsPath, done("settings.flash.same"))
		}
		return c.goTo(ec, link.SettingsPath, done("settings.flash.saved"))
	}
	page := settings.Page{Page: c.Page(ec), Version: version}
	form := settingsForm{typed: typed}
	errs, ok := fieldErrors(page.Page, err)
	switch {
	case ok:
		form.errs = errs
		page.Problem = page.T("form.errors", "Count", len(errs))
	case problem.From(err).Kind == problem.Conflict:
		page.Problem = problem.From(err).Text(page.Printer)
	default:
		return err
	}
	list, listErr := c.settings.List(ctx, who(ec))
	if listErr != nil {
		return listErr
	}
	if !ok {
		page.Version = manage.SettingsVersion(list) // saving again is the answer to the conflict
		form.was = was
	}
	return c.settingsPage(ec, http.StatusUnprocessableEntity, page, list, form)
}

// settingsForm is what somebody sent of the settings that they have touched, by name.
type settingsForm struct {
	typed map[string]string
	was   map[string]string // what these were when they were drawn; nil: nobody else has changed any
	errs  map[string]string
}

// settingsPage draws the settings with what was typed in the place of what holds.
func (c *settingsPages) settingsPage(ec echo.Context, status int, page settings.Page, list []manage.SettingState, form settingsForm) error {
	single, err := c.singleSessions(ec, page.Page)
	if err != nil {
		return err
	}
	for _, name := range manage.SettingSections() {
		section := settings.Section{Name: name}
		for _, s := range list {
			if s.Section != name {
				continue
			}
			item := settings.Item{
				Name: s.Name, Kind: string(s.Kind), Value: s.Value, Default: s.Default, Unit: s.Unit, Choices: s.Choices, Error: form.errs[s.Name], Was: s.Value,
				Stored: s.Source == manage.SourceStored, Broken: s.Broken, Changed: c.at(page.Page, fromMillis(s.ChangedAt)),
			}
			if s.Name == manage.SettingSecond {
				item.Note = single
			}
			if s.Source == manage.SourceEnvironment {
				item.Env = cmp.Or(s.Env, s.Name)
			} else if value, ok := form.typed[s.Name]; ok {
				item.Value = value
				item.Both = form.was != nil && form.was[s.Name] != s.Value && value != s.Value
			}
			section.Items = append(section.Items, item)
		}
		page.Sections = append(page.Sections, section)
	}
	if err := c.ownProcess(ec, &page); err != nil {
		return err
	}
	return render(ec, status, settings.Show(page))
}

// singleSessions says how many sessions end when a second factor is required.
func (c *settingsPages) singleSessions(ec echo.Context, page layout.Page) (string, error) {
	n, err := c.sessions.Single(ec.Request().Context(), who(ec))
	switch {
	case err != nil || n.All == 0 || c.settings.SignIn().SecondFactor == auth.Everybody:
		return "", err
	case n.Own:
		return page.T("settings.second.single.own", "Admins", n.Admins, "All", n.All), nil
	}
	return page.T("settings.second.single", "Admins", n.Admins, "All", n.All), nil
}

// ownProcess adds the facts about this process.
func (c *settingsPages) ownProcess(ec echo.Context, page *settings.Page) error {
	cluster, err := c.nodes.Cluster(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	live := 0
	for _, n := range cluster.Nodes {
		if n.State == manage.NodeLive {
			live++
		}
	}
	a := c.about()
	tls := page.T("settings.about.tls.off")
	if a.TLS {
		tls = page.T("settings.about.tls.on")
	}
	page.About = []settings.Fact{
		{Name: page.T("settings.about.version"), Value: c.version, Note: a.Go},
		{Name: page.T("settings.about.database"), Value: a.Database, Note: a.Where},
		{Name: page.T("settings.about.datadir"), Value: a.DataDir},
		{Name: page.T("settings.about.zone"), Value: zoneName(c.zone, c.now()), Note: page.T("settings.about.zone.note")},
		{Name: page.T("settings.about.address"), Value: a.Address, Note: tls},
		{Name: page.T("settings.about.token"), Value: page.T("settings.token." + string(a.Token)), URL: link.ExecutorToken},
		{Name: page.T("settings.about.nodes"), Value: page.T("settings.about.nodes.live", "Count", live, "N", strconv.Itoa(live)), URL: link.NodesPath},
	}
	for _, o := range a.Options {
		page.Options = append(page.Options, settings.Option(o))
	}
	return nil
}
