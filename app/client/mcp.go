package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MCPCmd serves assistants.
type MCPCmd struct {
	Admin
	Listen  string   `placeholder:"HOST:PORT" help:"Serve HTTP here, for assistants that bring API tokens of their own; without it one assistant through standard input and output. Without a host on this machine alone."`
	Host    []string `placeholder:"NAME" help:"A name by which the listener is reached, beside this machine's own; may be repeated. Requests for other names are refused."`
	Version string   `kong:"-"`
}

// The bounds of what assistants send.
const (
	maxMessage  = 1 << 20
	requestFor  = 2 * callFor
	shutdownFor = 5 * time.Second
)

// Run serves until the assistant goes, or somebody interrupts it.
func (c MCPCmd) Run(ctx context.Context, s Streams) error {
	if c.Listen != "" {
		return c.serve(ctx, s)
	}
	if len(c.Host) > 0 {
		return errors.New("--host is for --listen")
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	b, err := a.bearer(ctx)
	if err != nil {
		return err
	}
	l := newStdio(s.In, s.Out)
	err = newAssistant(ctx, c.Version, a, b).Run(ctx, &mcp.IOTransport{Reader: l, Writer: l, MaxLineLength: -1 /* stdio has it */})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serve listens for assistants.
func (c MCPCmd) serve(ctx context.Context, s Streams) error {
	a, err := c.reached()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q: write it as 127.0.0.1:8090: %w", c.Listen, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if !loopback(host) && len(c.Host) == 0 {
		return fmt.Errorf("--listen %s can be reached from other machines: say with --host by which name, and put TLS in front of it, because tokens go over it", c.Listen)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: overHTTP(c.Version, a, append(slices.Clone(c.Host), host)), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: requestFor,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	stopped := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownFor)
		defer cancel()
		_ = server.Shutdown(ending) // what has not ended by then is cut off with the program
	})
	defer stopped()
	fmt.Fprintf(s.Err, "Assistants are served at http://%s/ for %s.\n", l.Addr(), a.base)
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// loopback says whether a host is this machine alone.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

type assistantKey struct{}

// overHTTP serves assistants that bring a token, for an admin that is called as given but for the token. hosts are the names it goes by.
func overHTTP(version string, admin *api, hosts []string) http.Handler {
	// Stateless: a session would belong to whoever opened it, and each request has to show its own token anyway.
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(assistantKey{}).(*mcp.Server)
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true /* ownName does more */})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownName(r, hosts) {
			http.Error(w, "This name, or this origin, is none of this server's. If it is, say so with --host.", http.StatusForbidden)
			return
		}
		token, ok := bearerToken(r.Header.Get("Authorization"))
		if !ok {
			unauthorized(w, "An API token is needed: Authorization: Bearer pnc_…")
			return
		}
		own := &api{base: admin.base, token: token, lang: r.Header.Get("Accept-Language"), http: admin.http}
		b, err := own.bearer(r.Context())
		if refused, is := errors.AsType[*RefusedError](err); is && refused.Status == http.StatusUnauthorized {
			unauthorized(w, refused.Error())
			return
		} else if is {
			if refused.after != "" {
				w.Header().Set("Retry-After", refused.after)
			}
			http.Error(w, refused.Error(), refused.Status)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), assistantKey{}, newAssistant(r.Context(), version, own, b))))
	})
}

func bearerToken(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func unauthorized(w http.ResponseWriter, text string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="punctual"`)
	http.Error(w, text, http.StatusUnauthorized)
}

// ownName says whether a request was meant for this server: for one of its names, and, if a browser sends it, by a page of the same origin.
func ownName(r *http.Request, hosts []string) bool {
	host := hostOf(r.Host)
	if !loopback(host) && !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// hostOf is a Host header without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
