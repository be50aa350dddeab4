package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// request is what is known of a request before its operation.
type request struct {
	echo      echo.Context
	printer   *locales.Printer
	principal auth.Principal
	done      bool // see did
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// printer says messages in the language of a request.
func (a *API) printer(r *http.Request) *locales.Printer {
	return a.Catalogue.Printer(a.Catalogue.Match(nil, r.Header.Get("Accept-Language"), a.Manage.Settings.Language()))
}

// open lets a request in whose token counts, unless its owner asks too often.
func (a *API) open(hc huma.Context, next func(huma.Context)) {
	ec := humaecho.Unwrap(hc)
	r := &request{echo: ec, printer: a.printer(ec.Request())}
	hc = huma.WithValue(hc, requestKey{}, r)
	hc.AppendHeader("Vary", "Accept-Language")
	hc.SetHeader("Content-Language", r.printer.Lang())
	p, err := auth.Principal{Address: ec.RealIP()}, error(nil)
	if !isOpen(hc.Operation()) {
		if p, err = a.bearer(ec); err == nil {
			err = a.limits.take(hc, p.UserID, a.Now())
		}
	}
	r.principal = p
	if err == nil {
		err = cmp.Or(wrongParameter(hc), unmatched(hc))
	}
	if err != nil {
		if problem.From(err).Kind == problem.Unauthenticated {
			hc.SetHeader("WWW-Authenticate", `Bearer realm="punctual"`)
		}
		_ = huma.WriteErr(a.huma, hc, 0, "", a.refusal(r, err, op{})) // the client is gone if this fails
		return
	}
	nullIsNoBody(ec.Request())
	ctx := auth.NewContext(hc.Context(), p)
	ec.SetRequest(ec.Request().WithContext(ctx)) // for what is noted of refusals
	next(huma.WithContext(hc, ctx))
}

// noToken says in the document that an operation takes no token, and here that none is looked for.
var noToken = []map[string][]string{{}}

func isOpen(o *huma.Operation) bool { return len(o.Security) == 1 && len(o.Security[0]) == 0 }

// wrongParameter refuses what huma would not see: a parameter that cannot be read, or is without its value where nothing is none, which it
// would take for one that is not named, and the same one twice, of which only the first would count.
func wrongParameter(hc huma.Context) error {
	u := hc.URL()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			if _, err := url.ParseQuery(pair); err != nil {
				name, _, _ := strings.Cut(pair, "=")
				return newParameterError(name, "api.error.escape")
			}
		}
	}
	for _, p := range hc.Operation().Parameters {
		if p.In == "query" && len(query[p.Name]) > 1 {
			return newParameterError(p.Name, "api.error.twice")
		}
		if p.In == "query" && (p.Schema.Type != huma.TypeString || p.Schema.Format != "" || len(p.Schema.Enum) > 0) && query.Has(p.Name) && query.Get(p.Name) == "" {
			return newParameterError(p.Name, "api.error.empty")
		}
	}
	return nil
}

// nullIsNoBody takes a body that is null for none, as a field that is null is none: clients that Java's generator makes send it in place of a
// body that they were not given.
func nullIsNoBody(r *http.Request) {
	const null = "null"
	if r.ContentLength != int64(len(null)) {
		return
	}
	body := make([]byte, len(null))
	n, err := io.ReadFull(r.Body, body)
	if r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body[:n]), r.Body), r.Body}; err == nil && string(body) == null { // what cannot be read is said by who reads it next
		r.Body = http.NoBody
	}
}

// unmatched refuses a request without the If-Match that its operation needs.
func unmatched(hc huma.Context) error {
	for _, p := range hc.Operation().Parameters {
		if p.Name == ifMatch && p.Required && hc.Header(ifMatch) == "" {
			return newUnmatched()
		}
	}
	return nil
}

// tokenProblems are what a token may be refused for, as its bearer reads it.
var tokenProblems = []struct {
	err  error
	kind problem.Kind
	key  string
}{
	{auth.ErrTokenForm, problem.Unauthenticated, "api.token.form"},
	{auth.ErrTokenUnknown, problem.Unauthenticated, "api.token.unknown"},
	{auth.ErrTokenExpired, problem.Unauthenticated, "api.token.expired"},
	{auth.ErrTokenRevoked, problem.Unauthenticated, "api.token.revoked"},
	{auth.ErrTokenOwner, problem.Unauthenticated, "api.token.owner"},
	{auth.ErrTooManyTokens, problem.TooMany, "api.token.many"},
}

// bearer finds out for whom a request is made. Cookies say nothing here.
func (a *API) bearer(ec echo.Context) (auth.Principal, error) {
	kind, token, _ := strings.Cut(ec.Request().Header.Get(echo.HeaderAuthorization), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return auth.Principal{}, problem.New(problem.Unauthenticated, "api.token.missing")
	}
	p, err := a.Tokens.Find(ec.Request().Context(), strings.TrimSpace(token), ec.RealIP())
	for _, known := range tokenProblems {
		if errors.Is(err, known.err) {
			return p, problem.New(known.kind, known.key).Because(err)
		}
	}
	return p, err
}

// Limit is how often the owner of tokens may ask: Burst at once, and one more each Every.
type Limit struct {
	Burst int
	Every time.Duration
}

// UsualLimit is 100 requests a second, and 1000 at once.
var UsualLimit = Limit{Burst: 1000, Every: 10 * time.Millisecond}

// limiter counts requests by the owner of their token. There are as many as owners.
type limiter struct {
	Limit
	mu      sync.Mutex
	buckets map[int64]*rate.Limiter
}

func newLimiter(l Limit) *limiter { return &limiter{Limit: l, buckets: make(map[int64]*rate.Limiter)} }

// take counts a request, and says in its headers how many are left and in how many seconds all are there again.
func (l *limiter) take(hc huma.Context, owner int64, now time.Time) error {
	l.mu.Lock()
	bucket := l.buckets[owner]
	if bucket == nil {
		bucket = rate.NewLimiter(rate.Every(l.Every), l.Burst)
		l.buckets[owner] = bucket
	}
	l.mu.Unlock()
	ok := bucket.AllowN(now, 1)
	left := max(0, int(bucket.TokensAt(now)))
	until := time.Duration(l.Burst-left) * l.Every
	hc.SetHeader("RateLimit-Limit", strconv.Itoa(l.Burst))
	hc.SetHeader("RateLimit-Remaining", strconv.Itoa(left))
	hc.SetHeader("RateLimit-Reset", strconv.Itoa(int((until+time.Second-1)/time.Second)))
	if !ok {
		hc.SetHeader("Retry-After", strconv.Itoa(int((l.Every+time.Second-1)/time.Second)))
		return &problem.Error{Kind: problem.TooMany}
	}
	return nil
}
