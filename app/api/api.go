package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// Prefix is where the API is.
const Prefix = "/api/v1"

// maxBody bounds a request, but for that with files of jobs. The largest part is a script, as in the console.
const maxBody = 4 << 20

// Tokens find out for whom a token acts, [auth.APITokens].
type Tokens interface {
	Find(ctx context.Context, token, address string) (auth.Principal, error)
}

// Config is what the API is made of. Everything is required but Limit.
type Config struct {
	Manage    *manage.Service
	Files     *transfer.Service
	Tokens    Tokens
	Pool      *db.Pool
	Catalogue *locales.Catalogue
	Now       func() time.Time
	Logger    *slog.Logger
	Refused   func(echo.Context) // somebody asked for what they may not do
	Closing   <-chan struct{}    // closed when requests that wait are to end
	Streams   *live.Streams
	Engine    Engine
	// Conditions are what keeps the admin from its work, or what somebody should look at.
	Conditions func() []scheduler.Condition
	Limit      Limit // default [UsualLimit]
}

// Engine signals, merged, that runs changed on this admin ([scheduler.Engine]).
type Engine interface {
	Subscribe() (events <-chan struct{}, cancel func())
	SubscribeRun(logID int64) (events <-chan struct{}, cancel func())
}

// API serves API v1.
type API struct {
	Config
	routes   func() *echo.Echo // what requests go to, made when the first one comes
	huma     huma.API
	document func() []byte // made when it is first asked for: it takes a while and 12 MB
	limits   *limiter
	owed     sync.Map // the keys, as db.TakeBackIdempotencyParams, that are to be taken back
}

// Under says whether a path is the API's.
func Under(path string) bool { return path == Prefix || strings.HasPrefix(path, Prefix+"/") }

// Register adds the API to a router. Its own routes are made when somebody asks for one of them: they and what describes them take 3 MB and a
// quarter of the time of a start, and many installations never use them.
func Register(e *echo.Echo, cfg Config) *API {
	if cfg.Limit == (Limit{}) {
		cfg.Limit = UsualLimit
	}
	a := &API{Config: cfg, limits: newLimiter(cfg.Limit)}
	a.routes = sync.OnceValue(func() *echo.Echo {
		own := echo.New()
		own.HTTPErrorHandler, own.IPExtractor, own.Logger = e.HTTPErrorHandler, e.IPExtractor, e.Logger
		own.Use(compressed)
		a.register(own)
		return own
	})
	for _, path := range []string{Prefix, Prefix + "/*"} {
		pass := func(c echo.Context) error {
			a.routes().ServeHTTP(c.Response(), c.Request())
			return nil
		}
		e.Any(path, pass)
		e.RouteNotFound(path, pass) // of methods that nobody knows
	}
	return a
}

// Routes are those of the API.
func (a *API) Routes() []*echo.Route { return a.routes().Routes() }

// register makes the routes.
func (a *API) register(e *echo.Echo) {
	group := e.Group(Prefix)
	a.huma = humaecho.NewWithGroup(e, group, config())
	a.huma.UseMiddleware(a.open)
	for _, resource := range []func(){a.groups, a.addresses, a.accessTokens, a.jobs, a.scriptChanges, a.jobFiles, a.backfills, a.schedules, a.calendars, a.pauses, a.runs, a.notes, a.secrets, a.flows, a.live, a.liveLists, a.alarms, a.openAlarms, a.users, a.teams, a.settings, a.statistics, a.timeline, a.operations, a.devices, a.webhooks} {
		resource()
	}
	sayWhatNullIs(a.huma.OpenAPI())
	a.document = sync.OnceValue(func() []byte { return document(a.huma.OpenAPI()) })
	for path, raw := range a.documents() {
		group.GET(path, func(c echo.Context) error { return c.JSONBlob(http.StatusOK, raw()) })
	}
	a.refuseTheRest(group)
}

// config is huma's, without the pages and the links that it would add.
func config() huma.Config {
	c := huma.DefaultConfig("Punctual", "1")
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	c.RejectUnknownQueryParameters = true
	c.Formats = map[string]huma.Format{"application/json": {Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: readJSON}, "json": huma.DefaultJSONFormat}
	c.Components.Schemas = huma.NewMapRegistry(toSchema(""), schemaName)
	c.Servers = []*huma.Server{{URL: Prefix}}
	c.Info.Description = "Everything that the console does, for programs. See docs/api.md."
	c.Info.License = &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "An API token (pnc_...), made in the console under API tokens, or by punctual login."},
	}
	c.Security = []map[string][]string{{"token": {}}}
	for _, tag := range [][2]string{
		{"access tokens", "What admins and executors show each other, also a group's own."},
		{"alarms", "The alarms that are open, the channels that they are sent through, and their messages."},
		{"audit", "Who changed what."},
		{"backfills", "Runs of a job for times that have passed."},
		{"calendars", "The days that jobs keep to."},
		{"groups", "Groups of executors, and their addresses."},
		{"health", "Whether the admin does its work."},
		{"jobs", "What is run, when, and where; also as files."},
		{"nodes", "The admins that share the database."},
		{"notes", "What people and deployments wrote down at jobs and runs."},
		{"pauses", "Stretches of time in which schedules are held back."},
		{"runs", "What was run, is running, and waits to be."},
		{"secrets", "Passwords and keys that the jobs of a group use, and nobody is told again."},
		{"settings", "Those of the installation."},
		{"statistics", "What was run by the hour or day, and what is due."},
		{"teams", "Users who have rights together."},
		{"tokens", "The tokens that programs act with, and how one is got by a browser's approval."},
		{"users", "Who may log in, and the rights of each."},
		{"webhooks", "Addresses that are told of events."},
	} {
		c.Tags = append(c.Tags, &huma.Tag{Name: tag[0], Description: tag[1]})
	}
	return c
}

// sayWhatNullIs puts into the document what huma does: in a request, null is as if the field were not named.
func sayWhatNullIs(o *huma.OpenAPI) {
	var walk func(s *huma.Schema)
	seen := make(map[*huma.Schema]bool)
	walk = func(s *huma.Schema) {
		for s != nil && s.Ref != "" {
			s = o.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		walk(s.Items)
		for name, p := range s.Properties {
			walk(p)
			if !slices.Contains(s.Required, name) && p.Ref == "" {
				p.Nullable = true
				if len(p.Enum) > 0 && !slices.Contains(p.Enum, nil) {
					p.Enum = append(p.Enum, nil)
				}
			}
		}
	}
	for _, item := range o.Paths {
		for _, operation := range []*huma.Operation{item.Post, item.Put, item.Patch} {
			if operation != nil && operation.RequestBody != nil {
				for _, media := range operation.RequestBody.Content {
					walk(media.Schema)
				}
			}
		}
	}
}

// documents are what describes the interface and what goes through it. Nothing in them is of an installation, so they need no token.
func (a *API) documents() map[string]func() []byte {
	return map[string]func() []byte{"/openapi.json": a.document, "/flow.schema.json": flow.Schema, "/jobs.schema.json": a.jobsSchema}
}

// jobsSchema describes files of jobs, in English as the rest of what describes the interface.
func (a *API) jobsSchema() []byte { return jobfile.Schema(a.Catalogue.Printer("en").T) }

// refuseTheRest answers what is no operation: in problem documents, as everything else here.
func (a *API) refuseTheRest(group *echo.Group) {
	methods := make(map[string][]string)
	for path := range a.documents() {
		methods[path] = []string{http.MethodGet}
	}
	for path, item := range a.huma.OpenAPI().Paths {
		path = strings.NewReplacer("{", ":", "}", "").Replace(path)
		for method, operation := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if operation != nil {
				methods[path] = append(methods[path], method)
			}
		}
	}
	for path, has := range methods {
		if slices.Contains(has, http.MethodGet) {
			has = append(has, http.MethodHead) // which comes here as GET
		}
		slices.Sort(has)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodTrace} {
			if !slices.Contains(has, method) {
				group.Add(method, path, func(c echo.Context) error {
					c.Response().Header().Set("Allow", strings.Join(has, ", "))
					return &problem.Error{Kind: problem.NoMethod}
				})
			}
		}
	}
	for _, path := range []string{"", "/*"} {
		group.Any(path, func(echo.Context) error { return &problem.Error{Kind: problem.NotFound} })
	}
}

// Error answers with a problem document what no operation answered: for the router's error handler.
func (a *API) Error(c echo.Context, p *problem.Error) {
	doc := newProblem(a.printer(c.Request()), p, nil)
	c.Response().Header().Set(echo.HeaderContentType, problemType)
	c.Response().WriteHeader(doc.Status)
	_ = json.NewEncoder(c.Response()).Encode(doc) // the client is gone if this fails
}

// op is an operation.
type op struct {
	method, path string
	id           string // of the operation, as clients that are made of the document call their functions
	tag          string // the resource
	summary      string
	text         string // what there is to know beyond the summary
	status       int    // of success; default 200
	also         []int  // statuses of errors beyond those that all have
	open         bool   // without a token
	body         int64  // bounds its request; default maxBody
	makes        bool   // it replaces what there is, or makes it: then nothing can be matched, and the operation asks for the If-Match itself
	media        string // what it answers with, if not with JSON
	names        map[string]string
}

// everyErrors are the statuses that any operation may answer with.
var everyErrors = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusServiceUnavailable}

// bodyErrors are those of operations that have a body.
var bodyErrors = []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}

// errors are the statuses of the refusals of an operation; matches says whether it takes an If-Match.
func (o op) errors(matches bool) []int {
	list := slices.Concat(everyErrors, o.also)
	if matches {
		list = append(list, http.StatusPreconditionFailed)
		if o.replaces() {
			list = append(list, http.StatusPreconditionRequired)
		}
	}
	if strings.Contains(o.path, "{") || o.status == http.StatusCreated { // what was made may be gone before it is read for the answer
		list = append(list, http.StatusNotFound)
	}
	if o.method == http.MethodPost || o.method == http.MethodPut || o.method == http.MethodPatch {
		list = append(list, bodyErrors...)
	}
	if o.method != http.MethodGet {
		list = append(list, http.StatusConflict)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// replaces says whether everything there was is said anew.
func (o op) replaces() bool { return o.method == http.MethodPut || o.makes }

// add registers an operation that does its work for the bearer of a token.
func add[I, O any](a *API, o op, do func(ctx context.Context, p auth.Principal, in *I) (*O, error)) {
	_, matches := any(*new(I)).(matching)
	huma.Register(a.huma, o.operation(matches), func(ctx context.Context, in *I) (*O, error) {
		out, err := a.answer(ctx, o, in, func(ctx context.Context, p auth.Principal) (any, error) { return do(ctx, p, in) }, new(O))
		if err != nil {
			return nil, err
		}
		return out.(*O), nil
	})
	if matches && o.replaces() && !o.makes { // after huma, which would answer 422
		a.needsMatch(o.path)
	}
}

// operation is what huma is told of an operation. It and the next two are no part of add, of which the program has one for each.
func (o op) operation(matches bool) huma.Operation {
	operation := huma.Operation{
		Method: o.method, Path: o.path, OperationID: o.id, Tags: []string{o.tag}, Summary: o.summary, Description: o.text,
		DefaultStatus: o.status, Errors: o.errors(matches), MaxBodyBytes: cmp.Or(o.body, maxBody), BodyReadTimeout: -1, // app sets one for every request
	}
	if o.open {
		operation.Security = noToken
	}
	if o.media != "" {
		operation.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{o.media: {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	}
	return operation
}

// answer does an operation, and refuses it as its caller reads it.
func (a *API) answer(ctx context.Context, o op, in any, do func(context.Context, auth.Principal) (any, error), empty any) (any, error) {
	r := requestOf(ctx)
	out, err := a.onceOnly(ctx, o, in, func(ctx context.Context) (any, error) { return do(ctx, r.principal) }, empty)
	if err != nil {
		if p := problem.From(err); r.done && (p.Kind == problem.Internal || p.Kind == problem.Unavailable) {
			err = problem.New(p.Kind, onceUnread).Because(err)
		}
		return nil, a.refusal(r, err, o)
	}
	return out, nil
}

// needsMatch has the document say that nothing is replaced at a path without If-Match.
func (a *API) needsMatch(path string) {
	for _, p := range a.huma.OpenAPI().Paths[path].Put.Parameters {
		if p.Name == ifMatch {
			p.Required, p.Schema.MinLength = true, new(1)
		}
	}
}

// refusal is an error of a use case as its caller reads it, noted where the console notes one.
func (a *API) refusal(r *request, err error, o op) error {
	p := problem.From(err)
	problem.Log(a.Logger, p, r.echo.Request(), r.echo.Response().Header().Get(echo.HeaderXRequestID))
	if p.Kind == problem.Forbidden {
		a.Refused(r.echo)
	}
	doc := newProblem(r.printer, err, o.names)
	if o.method == http.MethodGet { // which has no body
		for i := range doc.Errors {
			doc.Errors[i].In, doc.Errors[i].Pointer = "query", ""
		}
	}
	switch {
	case p.Key == onceRunning:
		return huma.ErrorWithHeaders(doc, http.Header{"Retry-After": {"1"}})
	case p.Kind == problem.TooMany, p.Kind == problem.Unavailable && p.Key != problem.Unconfirmed && p.Key != onceUnread: // which are not to be repeated unseen
		return huma.ErrorWithHeaders(doc, http.Header{"Retry-After": {"5"}})
	}
	return doc
}
