package app

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
)

// Welcome is what an operator wants to know at the start.
type Welcome struct {
	URL      string // of the console
	Database string // where it is
	// FirstUser is set at the first start of all; FirstPassword too, unless somebody chose it. It is said once and kept
	// nowhere.
	FirstUser     string
	FirstPassword string
	Sample        string // address of the sample executor; empty without one
}

// welcomeFirst makes the first administrator of a new installation.
func (a *App) welcomeFirst(ctx context.Context) (err error) {
	a.isNew, a.welcome.FirstPassword, err = a.settings.ensureAdministrator(ctx, a.passwords, a.opts.AdminPassword)
	if a.isNew {
		a.welcome.FirstUser = administratorName
	}
	return err
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
	case a.tokens.Common() == defaultToken:
		a.logger.Warn("the access token is the one XXL-JOB ships with, which everybody knows; choose another for the admin and its executors")
	}
}

// firstTime says whether nobody has ever logged in.
func (a *App) firstTime(ctx context.Context) bool {
	at, err := a.settings.get(ctx, settingFirstLogin)
	return err == nil && at == ""
}

// signedIn notes that somebody has a session now.
func (a *App) signedIn(ctx context.Context, in auth.SignIn) {
	a.audit.Note(ctx, in.Who, manage.Entry{Action: manage.ActionLogin, Kind: manage.ObjectUser, ID: in.Who.UserID, Name: in.Who.Name})
	// A note that fails is made at the next login.
	_, _ = a.settings.ensure(ctx, settingFirstLogin, func() string { return time.Now().UTC().Format(time.RFC3339) })
}

// Welcome tells what an operator wants to know, after the start.
func (a *App) Welcome() Welcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.welcome
}
