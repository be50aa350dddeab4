package app

import (
	"runtime"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/console"
)

// about tells administrators what this process is and was started with. No secret is in it.
func (a *App) about() console.About {
	about := console.About{
		Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, Database: a.pool.Product(), Where: a.pool.String(), DataDir: a.opts.DataDir,
		Address: a.opts.Listen, TLS: a.opts.TLSCert != "", Token: console.TokenKept, Options: a.opts.Startup,
	}
	switch {
	case a.opts.NoAccessToken:
		about.Token = console.TokenNone
	case a.tokens.Weakness() == auth.WeakKnown:
		about.Token = console.TokenKnown
	case a.opts.AccessToken != "":
		about.Token = console.TokenFixed
	}
	return about
}
