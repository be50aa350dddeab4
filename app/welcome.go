package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

// Welcome is what an operator wants to know at the start.
type Welcome struct {
	URL      string // of the console
	Database string // where it is
	Zone     string // in which times are read
	// FirstUser is set at the first start of all; FirstPassword too, unless somebody chose it. It is said once and kept
	// nowhere.
	FirstUser     string
	FirstPassword string
	Sample        string // address of the sample executor; empty without one
}

// welcomeFirst makes the first administrator of a new installation.
func (a *App) welcomeFirst(ctx context.Context) (err error) {
	if err := a.beginWithoutScripts(ctx); err != nil {
		return err
	}
	a.isNew, a.welcome.FirstPassword, err = a.settings.ensureAdministrator(ctx, a.passwords, a.opts.AdminPassword)
	if a.isNew {
		a.welcome.FirstUser = administratorName
	}
	return err
}

// beginWithoutScripts switches scripts off in a new installation that others reach: the right to write them is the right to the
// executors' machines, so somebody decides for it. On this machine alone a newcomer may try them out.
func (a *App) beginWithoutScripts(ctx context.Context) error {
	if a.opts.Glue != nil || a.opts.local() {
		return nil
	}
	users, err := db.New().CountPeople(ctx, a.pool)
	if err != nil {
		return fmt.Errorf("count users: %w", db.Error(err))
	}
	if users > 0 {
		return nil
	}
	if _, err := a.settings.ensure(ctx, manage.SettingGlue, func() string { return manage.SettingOff }); err != nil {
		return err
	}
	a.logger.Info("a new installation begins with scripts switched off; switch them on in the settings")
	return a.held.Load(ctx)
}

// publicURL is how people reach the installation: as set, or by where this admin listens.
func (a *App) publicURL() string { return cmp.Or(a.held.PublicURL(), a.ownURL()) }

// ownURL is how this admin is reached, which others of its cluster are not.
func (a *App) ownURL() string {
	if a.opts.PublicURL != "" {
		return strings.TrimRight(a.opts.PublicURL, "/")
	}
	at := a.opts.Listen
	if a.listener != nil {
		at = a.listener.Addr().String()
	}
	return a.localURL(at, "localhost")
}

// localURL is the address of a listener for somebody on this machine; anywhere stands for an unspecified host.
func (a *App) localURL(listen, anywhere string) string {
	scheme := "http://"
	if a.opts.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return scheme + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = anywhere
	}
	return scheme + net.JoinHostPort(host, port)
}

func (a *App) warnAboutToken() {
	switch {
	case a.opts.NoAccessToken:
		a.logger.Warn("there is no access token: everybody who reaches this port can report results and register executors")
	case a.tokens.Weakness() == auth.WeakKnown:
		a.logger.Warn("the access token is one that everybody knows or guesses; give the groups tokens of their own, then choose another")
	}
}

// refuseWeakToken keeps a new installation from beginning with a token that keeps nobody out. One that works with it already goes
// on, with a banner: its executors have to be moved first.
func (a *App) refuseWeakToken(ctx context.Context) error {
	weak := a.tokens.Weakness()
	if weak == auth.WeakNone || weak == auth.WeakEmpty && a.opts.local() {
		return nil
	}
	users, err := db.New().CountPeople(ctx, a.pool)
	switch {
	case err != nil:
		return fmt.Errorf("count users: %w", db.Error(err))
	case users > 0:
		return nil
	case weak == auth.WeakEmpty:
		return wrong("a new installation does not begin without an access token, unless only this machine reaches it (PUNCTUAL_LISTEN=127.0.0.1:8080)")
	}
	return wrong("the access token is one that everybody knows or guesses: leave PUNCTUAL_ACCESS_TOKEN out, and a random one is made")
}

// local says that only this machine reaches the admin.
func (o Options) local() bool {
	if o.behindProxy() {
		return false
	}
	if o.Listener != nil {
		return isLoopback(o.Listener.Addr())
	}
	host, _, err := net.SplitHostPort(o.Listen)
	ip := net.ParseIP(host)
	return err == nil && (strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback())
}

// firstTime says whether nobody has ever logged in.
func (a *App) firstTime(ctx context.Context) bool {
	at, err := a.settings.get(ctx, settingFirstLogin)
	return err == nil && at == ""
}

// signedIn notes that somebody has a session now.
func (a *App) signedIn(ctx context.Context, in auth.SignIn) {
	a.audit.LoggedIn(ctx, in)
	// A note that fails is made at the next login.
	_, _ = a.settings.ensure(ctx, settingFirstLogin, func() string { return time.Now().UTC().Format(time.RFC3339) })
}

// Welcome tells what an operator wants to know, after the start.
func (a *App) Welcome() Welcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.welcome
}
