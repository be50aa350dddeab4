package app

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// SampleMode says whether the sample executor and its jobs are wanted.
type SampleMode string

// The modes. SampleAuto is on for an embedded database that this start creates, and stays on for it.
const (
	SampleAuto SampleMode = "auto"
	SampleOn   SampleMode = "on"
	SampleOff  SampleMode = "off"
)

// Options is how an admin process behaves. The zero value, completed by [New], is what a newcomer gets.
type Options struct {
	Listen   string       // host:port; default :8080
	Listener net.Listener // takes the place of Listen, for tests

	DatabaseURL string         // empty: the embedded database in DataDir
	DataDir     string         // default ./data
	Zone        *time.Location // of cron texts and of the database's wall-clock times; default the process's
	MaxConns    int            // of the database; 0 lets db choose
	UnsafeDB    bool           // the embedded database does not wait for the disk, for tests only

	// AccessToken is the secret shared with executors. Empty: a random one, made at the first start and kept.
	AccessToken string
	// NoAccessToken lets executors in without one and sends them none. Everybody who reaches the port can then report
	// results and register addresses.
	NoAccessToken bool
	// AdminPassword is the first administrator's; empty: a random one. It counts only while there is no user.
	AdminPassword string

	// SecretKeys seal the secrets of alarm channels; see [ParseSecretKeys]. None: the key lies in the database with them.
	SecretKeys []string

	Sample      SampleMode      // default SampleAuto
	NoScripts   bool            // no new GLUE scripts and no changes to those there are
	Allow       manage.Allow    // addresses that may be called although no executor registered them
	CallTimeout time.Duration   // of one call to an executor; default 3 s
	ExecutorTLS wire.TLSOptions // towards executors with https addresses
	TLSCert     string          // files of a certificate and its key: the admin then serves HTTPS
	TLSKey      string
	TrustProxy  bool   // take the client's address from X-Forwarded-For, for the login limits
	PublicURL   string // how people and other admins reach this one; default derived from Listen
	Pprof       bool   // serve /debug/pprof to callers on this machine

	AlarmLanguage    string // of messages whose channel chooses none: zh-CN or en; default zh-CN
	AlarmDenyPrivate bool   // refuse webhooks on this machine and in private networks

	RetentionDays int // for how many days runs are kept; default 30, below 0: for ever

	DrainTimeout time.Duration // how long Stop waits for runs to be sent; default 20 s
	Version      string
	Logger       *slog.Logger
}

// minPassword is the least length of a password that somebody chooses.
const minPassword = auth.MinPasswordBytes

// OptionsError is a wrong setting, in words for the person who set it.
type OptionsError struct{ Err error }

// Error implements error.
func (e *OptionsError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *OptionsError) Unwrap() error { return e.Err }

func wrong(format string, args ...any) error { return &OptionsError{Err: fmt.Errorf(format, args...)} }

func (o Options) withDefaults() (Options, error) {
	o.Listen = cmp.Or(o.Listen, ":8080")
	o.DataDir = cmp.Or(o.DataDir, "data")
	o.Sample = cmp.Or(o.Sample, SampleAuto)
	o.CallTimeout = cmp.Or(o.CallTimeout, 3*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 20*time.Second)
	o.Version = cmp.Or(o.Version, "dev")
	o.AlarmLanguage = cmp.Or(o.AlarmLanguage, "zh-CN")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if _, port, err := net.SplitHostPort(o.Listen); err != nil || port == "" {
		return o, wrong("listen address %q must be host:port or :port", o.Listen)
	}
	switch o.Sample {
	case SampleAuto, SampleOn, SampleOff:
	default:
		return o, wrong("sample %q must be auto, on or off", string(o.Sample))
	}
	if o.AdminPassword != "" && len(o.AdminPassword) < minPassword {
		return o, wrong("the administrator's password must have at least %d characters", minPassword)
	}
	if o.AccessToken != "" && o.NoAccessToken {
		return o, wrong("there is an access token and the wish to have none: choose one")
	}
	if o.CallTimeout < 100*time.Millisecond || o.CallTimeout > time.Minute {
		return o, wrong("call timeout %s must lie between 100ms and 1m", o.CallTimeout)
	}
	if o.RetentionDays > 0 && o.RetentionDays < scheduler.MinRetentionDays {
		return o, wrong("log retention of %d days is too short: at least %d, or -1 for ever", o.RetentionDays, scheduler.MinRetentionDays)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return o, wrong("a TLS certificate and its key go together: only one of them is set")
	}
	if o.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey); err != nil {
			return o, wrong("TLS certificate: %w", err)
		}
	}
	if o.AlarmLanguage != "zh-CN" && o.AlarmLanguage != "en" {
		return o, wrong("alarm language %q must be zh-CN or en", o.AlarmLanguage)
	}
	if o.DrainTimeout < 0 {
		return o, wrong("drain timeout %s must not be negative", o.DrainTimeout)
	}
	if o.PublicURL != "" {
		if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return o, wrong("public URL %q must begin with http:// or https://", o.PublicURL)
		}
	}
	return o, nil
}

// errStopped is what Start says after Stop: a new App is cheap, and this one has closed its database.
var errStopped = errors.New("the app was stopped")
