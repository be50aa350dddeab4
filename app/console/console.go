// Package console serves the htmx pages. A handler makes four moves: it reads the request, calls a use case, turns what
// comes back into a page struct of views, and renders it. It holds no SQL and no rule about jobs.
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

	"github.com/gorilla/securecookie"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/views/help"
	"github.com/punctual-job/punctual/views/link"
)

// Engine is what live pages need of the scheduler.
type Engine interface {
	Subscribe() (events <-chan struct{}, cancel func())
	SubscribeRun(logID int64) (events <-chan struct{}, cancel func())
	Pulse() scheduler.Pulse
}

// Config is what the console is made of. Everything is required but Now and FirstTime.
type Config struct {
	Manage    *manage.Service
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
	Closing    <-chan struct{} // closed when open streams are to end
	Logger     *slog.Logger
	About      func() About // facts about this process, for administrators

	Shipping func() []auditlog.Trouble // targets that take no entries of the audit log at the moment
	Weakness func() auth.Weakness      // why the common token keeps nobody out; nil: it does

	Now       func() time.Time
	FirstTime func(ctx context.Context) bool // nobody has ever logged in
}

// Console serves the pages.
type Console struct {
	cfg     Config
	cookie  *securecookie.SecureCookie
	flows   *securecookie.SecureCookie
	streams *streamLimit
}

// New makes the console.
func New(cfg Config) *Console {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.FirstTime == nil {
		cfg.FirstTime = func(context.Context) bool { return false }
	}
	return &Console{
		cfg: cfg, cookie: securecookie.New(cfg.SignKey, nil).MaxAge(int(flashLife / time.Second)), streams: newStreamLimit(),
		flows: securecookie.New(cfg.SignKey, cfg.EncryptKey).MaxAge(int(directory.FlowLife / time.Second)),
	}
}

// Register adds the console's routes. Everything but the login needs a session; everything is protected against forms on
// other sites.
func (c *Console) Register(e *echo.Echo) {
	open := e.Group("", c.sameSite, c.identify)
	open.GET(link.Login, c.loginForm)
	open.POST(link.Login, c.login)
	open.GET(link.SignInRoute, c.signInBegin)
	open.GET(link.SignInCallbackRoute, c.signInFinish)
	open.POST(link.Logout, c.logout)
	open.POST(link.Preferences, c.preferences)
	c.stepRoutes(open)

	g := e.Group("", c.sameSite, c.identify, c.requireLogin)
	g.GET(link.Root, c.dashboard)
	c.jobRoutes(g)
	c.glueRoutes(g)
	c.bulkRoutes(g)
	c.transferRoutes(g)
	c.paletteRoutes(g)
	c.runRoutes(g)
	c.groupRoutes(g)
	c.alarmRoutes(g)
	g.GET("/nodes", c.nodeList)
	g.GET(link.SettingsPath, c.settings)
	g.POST(link.SettingsPath, c.settingsSave)
	c.userRoutes(g)
	c.teamRoutes(g)
	c.secondRoutes(g)
	c.tokenRoutes(g)
	c.secretRoutes(g)
	c.viewRoutes(g)
	g.GET(link.HelpPath, func(ec echo.Context) error {
		return render(ec, http.StatusOK, help.Show(help.Page{Page: c.pageWithFlash(ec)}))
	})
	// Whatever else is asked for: strangers learn nothing about which pages exist.
	g.GET("/*", func(echo.Context) error { return notFound() })
}

func (c *Console) jobRoutes(g *echo.Group) {
	g.GET("/jobs", c.jobList)
	g.GET("/jobs/count", c.jobCount)
	g.GET("/jobs/new", c.jobNew)
	g.POST("/jobs", c.jobCreate)
	g.POST("/jobs/schedule-preview", c.schedulePreview)
	g.GET(link.JobChildrenPath, c.jobChildren)
	g.GET("/jobs/:id/edit", c.jobEdit)
	g.GET("/jobs/:id/account", c.jobAccount)
	g.POST("/jobs/:id", c.jobUpdate)
	g.POST("/jobs/:id/start", c.jobStart)
	g.POST("/jobs/:id/stop", c.jobStop)
	g.GET("/jobs/:id/delete", c.jobDeleteForm)
	g.POST("/jobs/:id/delete", c.jobDelete)
	g.GET("/jobs/:id/run", c.jobRunForm)
	g.POST("/jobs/:id/run", c.jobRun)
}

func (c *Console) runRoutes(g *echo.Group) {
	g.GET("/runs", c.runList)
	g.GET("/runs/events", c.runListEvents)
	g.GET(link.ClearPath, c.clearPage)
	g.POST(link.ClearPath, c.clear)
	g.GET(link.ClearProgressPath, c.clearProgress)
	g.POST("/runs/clear/:id/stop", c.clearStop)
	g.GET("/runs/:id", c.runDetail)
	g.GET("/runs/:id/log", c.runLog)
	g.GET("/runs/:id/events", c.runEvents)
	g.GET("/runs/:id/kill", c.runKillForm)
	g.POST("/runs/:id/kill", c.runKill)
}

func (c *Console) groupRoutes(g *echo.Group) {
	g.GET("/executors", c.groupList)
	g.GET("/executors/new", c.groupNew)
	g.POST("/executors", c.groupCreate)
	g.GET("/executors/:id", c.groupDetail)
	g.POST("/executors/:id/addresses", c.addressSwitch)
	g.GET("/executors/token", c.tokenPage)
	for _, of := range []string{"/executors", "/executors/:id"} { // of the installation, and of a group
		g.GET(of+"/token/rotate", c.tokenRotateForm)
		g.POST(of+"/token/rotate", c.tokenRotate)
	}
	g.GET("/executors/:id/token/drop", c.tokenDropForm)
	g.POST("/executors/:id/token/drop", c.tokenDrop)
	g.GET("/executors/:id/edit", c.groupEdit)
	g.POST("/executors/:id", c.groupUpdate)
	g.GET("/executors/:id/delete", c.groupDeleteForm)
	g.POST("/executors/:id/delete", c.groupDelete)
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
		find := c.cfg.Sessions.Find
		if goesOnByItself(r) {
			find = c.cfg.Sessions.Look
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
