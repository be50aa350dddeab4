package legacy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
)

// Config is what the endpoints are made of. Everything is required.
type Config struct {
	Manage    *manage.Service
	Sessions  *auth.Sessions
	Logins    *auth.Logins
	SignIns   *auth.SignIns
	Pool      *db.Pool // for its zone and its wall clock only
	Catalogue *locales.Catalogue
	Now       func() time.Time
	Logger    *slog.Logger
	Refused   func(echo.Context) // somebody asked for what they may not do; may be nil
}

// Legacy serves the endpoints.
type Legacy struct{ cfg Config }

// New makes the endpoints.
func New(cfg Config) *Legacy { return &Legacy{cfg: cfg} }

// Prefix is upstream's context path until 3.4.0.
const Prefix = "/xxl-job-admin"

// multipartMemory is how much of a multipart form is held; the body as a whole is bounded by whoever calls.
const multipartMemory = 4 << 20

// route is an endpoint.
type route struct {
	path string     // without the prefix
	gen  generation // the only one that had it, or either
	read bool       // changes nothing, and may be asked for with GET
	open bool       // without a session
	do   func(*call) (any, error)
}

// routes lists every endpoint (docs/compat.md §5.3).
func (l *Legacy) routes() []route {
	return []route{
		{path: "/login", gen: first, open: true, do: l.login(auth.FormerCookie)},
		{path: "/logout", gen: first, open: true, do: l.logout},
		{path: "/auth/doLogin", gen: second, open: true, do: l.login(auth.FormerCookie2)},
		{path: "/auth/logout", gen: second, open: true, do: l.logout},
		{path: "/auth/updatePwd", gen: second, do: l.updatePassword},

		{path: "/chartInfo", read: true, do: l.chart},

		{path: "/jobinfo/pageList", read: true, do: l.jobList},
		{path: "/jobinfo/nextTriggerTime", read: true, do: l.nextTimes},
		{path: "/jobinfo/add", gen: first, do: l.jobAdd},
		{path: "/jobinfo/insert", gen: second, do: l.jobAdd},
		{path: "/jobinfo/update", do: l.jobUpdate},
		{path: "/jobinfo/remove", gen: first, do: l.jobDo(l.cfg.Manage.Jobs.Delete)},
		{path: "/jobinfo/delete", gen: second, do: l.jobDo(l.cfg.Manage.Jobs.Delete)},
		{path: "/jobinfo/start", do: l.jobDo(l.cfg.Manage.Jobs.Start)},
		{path: "/jobinfo/stop", do: l.jobDo(l.cfg.Manage.Jobs.Stop)},
		{path: "/jobinfo/trigger", do: l.jobTrigger},
		{path: "/jobcode/save", do: l.codeSave},

		{path: "/joblog/pageList", read: true, do: l.logList},
		{path: "/joblog/getJobsByGroup", gen: first, read: true, do: l.jobsOfGroup},
		{path: "/joblog/logDetailCat", read: true, do: l.logCat},
		{path: "/joblog/logKill", do: l.logKill},
		{path: "/joblog/clearLog", do: l.logClear},

		{path: "/jobgroup/pageList", read: true, do: l.groupList},
		{path: "/jobgroup/loadById", read: true, do: l.groupLoad},
		{path: "/jobgroup/save", gen: first, do: l.groupAdd},
		{path: "/jobgroup/insert", gen: second, do: l.groupAdd},
		{path: "/jobgroup/update", do: l.groupUpdate},
		{path: "/jobgroup/remove", gen: first, do: l.groupRemove},
		{path: "/jobgroup/delete", gen: second, do: l.groupRemove},

		{path: "/user/pageList", read: true, do: l.userList},
		{path: "/user/add", gen: first, do: l.userAdd},
		{path: "/user/insert", gen: second, do: l.userAdd},
		{path: "/user/update", do: l.userUpdate},
		{path: "/user/remove", gen: first, do: l.userRemove},
		{path: "/user/delete", gen: second, do: l.userRemove},
		{path: "/user/updatePwd", gen: first, do: l.updatePassword},
	}
}

// ours are the endpoints whose path under / is one of our console's. The login is told apart by its form, see [Legacy.Login].
var ours = map[string]bool{"/login": true, "/logout": true}

// Register adds the routes. GET for what changes something is answered with a refusal that says so, because XXL-JOB let it
// pass.
func (l *Legacy) Register(e *echo.Echo) {
	for _, r := range l.routes() {
		handler := l.handler(r)
		under := []string{Prefix}
		if !ours[r.path] {
			under = append(under, "")
		}
		for _, prefix := range under {
			e.POST(prefix+r.path, handler)
			if !r.open {
				e.GET(prefix+r.path, handler)
			}
		}
	}
	for path := range pages {
		if path != "" {
			e.GET("/"+path, formerPage)
		}
	}
	e.GET(Prefix, formerPage)
	e.GET(Prefix+"/*", formerPage)
	e.POST(Prefix+"/*", l.unknown)
}

// Login takes the logins that are posted to the console's own login page in the words of XXL-JOB: since 3.4.1 there is no
// context path, and programs are told to look at the root.
func (l *Legacy) Login(next echo.HandlerFunc) echo.HandlerFunc {
	handler := l.handler(route{path: "/login", gen: first, open: true, do: l.login(auth.FormerCookie)})
	return func(ec echo.Context) error {
		r := ec.Request()
		if r.Method != http.MethodPost || r.URL.Path != "/login" {
			return next(ec)
		}
		if err := parse(r); err != nil {
			return err
		}
		if r.Form.Has("userName") {
			return handler(ec)
		}
		return next(ec)
	}
}

func (l *Legacy) unknown(ec echo.Context) error {
	if err := crossOrigin.Check(ec.Request()); err != nil {
		return l.failAs(ec, second, http.StatusForbidden, problem.New(problem.Forbidden, "problem.crossorigin").Because(err))
	}
	return l.failAs(ec, second, http.StatusNotFound, problem.New(problem.NotFound, "legacy.error.path", "Path", ec.Request().URL.Path))
}

// call is a request on its way.
type call struct {
	form
	ec  echo.Context
	ctx context.Context
	who auth.Principal
	gen generation
}

// crossOrigin refuses requests that another site makes a browser send. These programs are no browsers and send no token.
var crossOrigin = http.NewCrossOriginProtection()

func (l *Legacy) handler(r route) echo.HandlerFunc {
	return func(ec echo.Context) error {
		req, gen := ec.Request(), r.gen
		if err := parse(req); err != nil {
			return l.fail(ec, gen, err)
		}
		if gen == either {
			gen = generationOf(req.Form, req)
		}
		if err := crossOrigin.Check(req); err != nil {
			return l.failAs(ec, gen, http.StatusForbidden, problem.New(problem.Forbidden, "problem.crossorigin").Because(err))
		}
		if req.Method != http.MethodPost && !r.read {
			return l.fail(ec, gen, problem.New(problem.NoMethod, "legacy.error.get", "Path", r.path))
		}
		c := &call{form: form{values: req.Form}, ec: ec, ctx: req.Context(), gen: gen}
		if !r.open {
			who, err := l.cfg.Sessions.FindFormer(req)
			switch {
			case errors.Is(err, auth.ErrNoSession):
				return l.stranger(ec, gen)
			case err != nil:
				return l.fail(ec, gen, err)
			}
			who.Address = ec.RealIP()
			c.who, c.ctx = who, auth.NewContext(c.ctx, who)
			ec.SetRequest(req.WithContext(c.ctx))
		}
		result, err := r.do(c)
		if err != nil {
			return l.fail(ec, gen, err)
		}
		return write(ec, http.StatusOK, spell(gen, result))
	}
}

// stranger sends somebody who is not logged in where their generation was sent.
func (l *Legacy) stranger(ec echo.Context, gen generation) error {
	r := ec.Request()
	if gen == first && !hasCookie(r, auth.FormerCookie2) {
		return ec.Redirect(http.StatusFound, strings.TrimSuffix(prefixOf(r), "/")+"/toLogin")
	}
	return l.fail(ec, gen, problem.New(problem.Unauthenticated, "legacy.error.login", "Path", strings.TrimPrefix(r.URL.Path, Prefix)))
}

func prefixOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, Prefix+"/") {
		return Prefix
	}
	return ""
}

// parse reads the parameters of a request, also those of a multipart form. As in XXL-JOB, whose server reads them as UTF-8, what is none is
// a character that says so: MySQL would refuse it.
func parse(r *http.Request) error {
	err := r.ParseForm()
	if err == nil && strings.HasPrefix(r.Header.Get(echo.HeaderContentType), echo.MIMEMultipartForm) {
		err = r.ParseMultipartForm(multipartMemory)
	}
	if err != nil {
		if p := problem.From(err); p.Kind == problem.TooLarge {
			return p
		}
		return (&problem.Error{Kind: problem.Malformed}).Because(err)
	}
	if r.Form == nil {
		r.Form = url.Values{}
	}
	for _, values := range r.Form {
		for i := range values {
			values[i] = strings.ToValidUTF8(values[i], "\uFFFD")
		}
	}
	return nil
}

// printer speaks the language of the user or the one that a caller asks for, and else the installation's: programs ask for
// none.
func (l *Legacy) printer(ec echo.Context) *locales.Printer {
	r := ec.Request()
	lang := l.cfg.Catalogue.Match([]string{auth.FromContext(r.Context()).Lang}, r.Header.Get("Accept-Language"), l.cfg.Manage.Settings.Language())
	return l.cfg.Catalogue.Printer(lang)
}
