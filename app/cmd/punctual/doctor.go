package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/executor/guard"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
)

type doctorCmd struct {
	database
	TLSCert         string `env:"PUNCTUAL_TLS_CERT" placeholder:"FILE" help:"The admin's certificate, to see when it ends."`
	ExecutorCA      string `name:"executor-ca" env:"PUNCTUAL_EXECUTOR_CA" placeholder:"FILE" help:"The authorities that are trusted for executors."`
	ExecutorCert    string `name:"executor-cert" env:"PUNCTUAL_EXECUTOR_CLIENT_CERT" placeholder:"FILE" help:"The certificate that executors are shown."`
	ExecutorDeny    string `env:"PUNCTUAL_EXECUTOR_DENY" placeholder:"RULE,…" help:"Addresses that are not asked for a certificate, as the admin has them."`
	SignInFile      string `env:"PUNCTUAL_SIGN_IN_FILE" placeholder:"FILE" help:"Names the providers and directories whose certificates are looked at."`
	SecretKey       string `secret:"" env:"PUNCTUAL_SECRET_KEY" help:"Opens the passwords of mail servers, to try them."`
	SecretKeyFile   string `env:"PUNCTUAL_SECRET_KEY_FILE" placeholder:"FILE" help:"The same in a file."`
	OutputStore     string `secret:"" env:"PUNCTUAL_OUTPUT_STORE" placeholder:"WHERE" help:"Where outputs are kept, to try a bucket."`
	OutputStoreFile string `env:"PUNCTUAL_OUTPUT_STORE_FILE" placeholder:"FILE" help:"The same in a file."`
	Output          string `default:"text" enum:"text,json" help:"text or json."`
}

// codeFailed is the exit code where something cannot work.
const codeFailed checked = 5

// Run looks the installation over. Something to look at is exit code 4, something that cannot work 5.
func (c *doctorCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if _, err := netrule.Parse(c.ExecutorDeny); err != nil {
		return setting("PUNCTUAL_EXECUTOR_DENY", err)
	}
	o.Deny = c.ExecutorDeny
	o.TLSCert, o.ExecutorTLS = c.TLSCert, wire.TLSOptions{CAFile: c.ExecutorCA, CertFile: c.ExecutorCert}
	if o.SecretKeys, err = secretKeys(c.SecretKey, c.SecretKeyFile); err != nil {
		return err
	}
	if o.OutputStore, err = guard.Secret(c.OutputStore, c.OutputStoreFile); err != nil {
		return setting("PUNCTUAL_OUTPUT_STORE_FILE", err)
	}
	if c.SignInFile != "" {
		if o.SignIn, err = directory.Read(c.SignInFile); err != nil {
			return setting("PUNCTUAL_SIGN_IN_FILE", err)
		}
	}
	r, err := app.Doctor(context.Background(), o)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	} else {
		err = doctorText(s.out, r)
	}
	switch {
	case err != nil:
		return err
	case r.Verdict == app.CheckFailed:
		return codeFailed
	case r.Verdict == app.CheckLook:
		return codeLook
	}
	return nil
}

func doctorText(w io.Writer, r app.DoctorReport) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Database   %s (%s)", r.Database, r.Server)
	line("Time zone  %s", r.Zone)
	line("Version    %s", r.Version)
	line("Admins     %d", len(r.Nodes))
	line("Jobs       %d started", r.Jobs)
	if r.Unwatched > 0 {
		line("Addresses  %s", app.Counted("%d typed by hand {is|are} not watched", r.Unwatched))
	}
	if r.Certificates > 0 {
		line("TLS        %s", app.Counted("%d {certificate|certificates} looked at", r.Certificates))
	}
	if r.DatabaseTLS != "" {
		line("Encrypted  %s to the database", r.DatabaseTLS)
	}
	if n := r.MailServers + r.Proxies; n > 0 || r.OutputStore {
		line("Tried      %s, %s%s", app.Counted("%d mail {server|servers}", r.MailServers), app.Counted("%d {proxy|proxies}", r.Proxies), map[bool]string{true: ", the store of outputs"}[r.OutputStore])
	}
	line("Verdict    %s", r.Verdict)
	points(&b, r.Points)
	_, err := io.WriteString(w, b.String())
	return err
}
