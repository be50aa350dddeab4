// Package console serves the htmx pages. A handler makes four moves: it reads the request, calls a use case, turns what
// comes back into a page struct of views, and renders it. It holds no SQL and no rule about jobs.
//
// Pages that belong together are the methods of one type (jobPages, runPages, entrance …), which stands with its routes at the
// top of the family's file and names the use cases it needs. What all of them have in common is the frame (page.go).
//
// Every page works as a whole page. To htmx the part that changes is sent alone (results of a filter, a dialog's panel),
// and after a form that succeeded the browser is sent on with HX-Redirect instead of a 303.
package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/views/help"
	"github.com/punctual-job/punctual/views/link"
)

// Engine is what live pages need of the scheduler.
type Engine interface {
	Subscribe() (events <-chan struct{}, cancel func())
	SubscribeRun(logID int64) (events <-chan struct{}, cancel func())
	Pulse() scheduler.Pulse
	Held() bool
}

// Config is what the console is made of. Everything is required but Now and FirstTime.
type Config struct {
	Manage    *manage.Service
	Files     *transfer.Service
	Engine    Engine
	Sessions  *auth.Sessions
	Logins    *auth.Logins
	SignIns   *auth.SignIns
	Places    *auth.Places
	Factors   *auth.Factors
	Pool      *db.Pool // for its zone and its wall clock only
	Catalogue *locales.Catalogue
	SignKey   []byte // signs the message that a redirect carries
	// EncryptKey seals, with SignKey, what a browser keeps of a sign-in that has gone to a provider.
	EncryptKey []byte
	PublicURL  func() string // how people reach the installation, without a slash at the end
	Version    string
	Zone       *time.Location
	Streams    *live.Streams
	Logger     *slog.Logger
	About      func() About // facts about this process, for administrators

	Shipping func() []auditlog.Trouble // targets that take no entries of the audit log at the moment
	Weakness func() auth.Weakness      // why the common token keeps nobody out; nil: it does

	Now       func() time.Time
	FirstTime func(ctx context.Context) bool // nobody has ever logged in
}

// Console serves the pages. Each family of them is a type of its own, which names what it needs; they share the [frame].
type Console struct {
	*frame
	sessions *auth.Sessions
	entrance *entrance
	families []family
}

// family are pages that belong together, for who is logged in.
type family interface {
	routes(g *echo.Group)
}

func New(cfg Config) *Console {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.FirstTime == nil {
		cfg.FirstTime = func(context.Context) bool { return false }
	}
	m := cfg.Manage
	f := &frame{
		catalogue: cfg.Catalogue, zone: cfg.Zone, now: cfg.Now, wall: cfg.Pool, version: cfg.Version, weakness: cfg.Weakness, held: func() bool { return cfg.Engine.Held() },
		cookie:   ageless(cfg.SignKey, nil),
		settings: m.Settings, channels: m.Channels, webhooks: m.Webhooks, open: m.OpenAlarms, notes: m.Notes, groups: m.Groups, adoption: m.Adoption, calendars: m.Calendars,
	}
	forms := &factorForms{factors: cfg.Factors, users: m.Users}
	views := &savedViews{frame: f, views: m.Views}
	told := &timelines{frame: f, runs: m.Runs, jobs: m.Jobs, audit: m.Audit}
	ofJobs := &jobPages{frame: f, jobs: m.Jobs, runs: m.Runs, figures: m.Dashboard, pauses: m.Pauses, saved: views, keys: m.Secrets, audit: m.Audit, backfills: m.Backfills}
	people := &userPages{frame: f, users: m.Users, directories: m.Directories, factors: cfg.Factors}
	return &Console{
		frame: f, sessions: cfg.Sessions,
		entrance: &entrance{
			frame: f, factorForms: forms, logins: cfg.Logins, sessions: cfg.Sessions, signIns: cfg.SignIns, places: cfg.Places, directories: m.Directories,
			audit: m.Audit, logger: cfg.Logger, firstTime: cfg.FirstTime, publicURL: cfg.PublicURL,
			flows: ageless(cfg.SignKey, cfg.EncryptKey), // what is in it says when it was begun
		},
		families: []family{
			&dashboardPages{frame: f, figures: m.Dashboard, jobs: m.Jobs, runs: m.Runs, pauses: m.Pauses, engine: cfg.Engine},
			ofJobs,
			&minePages{frame: f, jobs: m.Jobs, runs: m.Runs, figures: m.Dashboard},
			&jobPage{jobPages: ofJobs},
			&chainPages{frame: f, jobs: m.Jobs},
			&backfillPages{frame: f, jobs: m.Jobs, backfills: m.Backfills, pauses: m.Pauses},
			&accountPages{frame: f, accounts: m.Accounts, jobs: m.Jobs},
			&gluePages{timelines: told, jobs: m.Jobs, runs: m.Runs},
			&transferPages{frame: f, files: cfg.Files, audit: m.Audit},
			&palettePages{frame: f, jobs: m.Jobs, runs: m.Runs, saved: views},
			&runPages{timelines: told, runs: m.Runs, jobs: m.Jobs, saved: views, engine: cfg.Engine, sessions: cfg.Sessions, streams: cfg.Streams},
			&clearPages{frame: f, runs: m.Runs, jobs: m.Jobs},
			&groupPages{frame: f, tokens: m.Tokens, pauses: m.Pauses, figures: m.Dashboard, saved: views},
			&alarmPages{frame: f, jobs: m.Jobs},
			&openAlarmPages{frame: f},
			&notePages{frame: f, jobs: m.Jobs, runs: m.Runs},
			&nodePages{frame: f, nodes: m.Nodes},
			&adoptionPages{frame: f},
			&settingsPages{frame: f, nodes: m.Nodes, sessions: cfg.Sessions, about: cfg.About},
			people,
			&teamPages{frame: f, teams: m.Teams, people: people},
			&auditPages{frame: f, audit: m.Audit, saved: views, shipping: cfg.Shipping},
			&factorPages{frame: f, factorForms: forms},
			&tokenPages{frame: f, tokens: m.APITokens, devices: m.Devices},
			&calendarPages{frame: f, calendars: m.Calendars},
			&secretPages{frame: f, secrets: m.Secrets},
			&lineagePages{frame: f, jobs: m.Jobs},
			&pausePages{frame: f, pauses: m.Pauses, jobs: m.Jobs},
			&webhookPages{frame: f},
			&timePages{frame: f, timelines: m.Timelines, jobs: m.Jobs},
			&docPages{frame: f},
			views,
		},
	}
}

// Register adds the console's routes. Everything but the login needs a session; everything is protected against forms on
// other sites.
func (c *Console) Register(e *echo.Echo) {
	open := e.Group("", c.sameSite, c.identify, readForm)
	c.entrance.routes(open)
	(&alarmLinkPages{c.frame}).routes(open)
	g := e.Group("", c.sameSite, c.identify, c.requireLogin, readForm)
	for _, of := range c.families {
		of.routes(g)
	}
	g.GET(link.HelpPath, func(ec echo.Context) error {
		return render(ec, http.StatusOK, help.Show(help.Page{Page: c.pageWithFlash(ec), Rights: auth.RightNames(auth.AllRights), Causes: texts(alarm.Causes())}))
	})
	// Whatever else is asked for: strangers learn nothing about which pages exist.
	g.GET("/*", func(echo.Context) error { return notFound() })
}

// crossOrigin refuses requests that another site makes a browser send.
var crossOrigin = http.NewCrossOriginProtection()

func (c *Console) sameSite(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		if err := crossOrigin.Check(ec.Request()); err != nil {
			return problem.New(problem.Forbidden, "problem.crossorigin").Because(err)
		}
		return next(ec)
	}
}

// identify finds out who makes the request, if anybody.
func (c *Console) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		r := ec.Request()
		find := c.sessions.Find
		if goesOnByItself(r) {
			find = c.sessions.Look
		}
		p, err := find(r)
		if err != nil && !errors.Is(err, auth.ErrNoSession) {
			return err
		}
		p.Address = ec.RealIP()
		ec.SetRequest(r.WithContext(auth.NewContext(r.Context(), p)))
		return next(ec)
	}
}

// liveHeader marks what a page asks for without anybody having done something.
const liveHeader = "Punctual-Live"

// goesOnByItself says that an open page makes a request, and nobody at it: a stream, or a part of the page drawn anew.
func goesOnByItself(r *http.Request) bool {
	return r.Header.Get(liveHeader) != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

func (c *Console) requireLogin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		if who(ec).Zero() {
			return &problem.Error{Kind: problem.Unauthenticated}
		}
		return next(ec)
	}
}

// who is logged in.
func who(ec echo.Context) auth.Principal { return auth.FromContext(ec.Request().Context()) }
