package app

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/console"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor/builtin"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// SampleMode says whether the sample executor and its jobs are wanted.
type SampleMode string

// The modes. SampleAuto is on for an embedded database that this start creates, and stays on for it. In options, on may also be written
// true, yes or 1, and off false, no or 0.
const (
	SampleAuto SampleMode = "auto"
	SampleOn   SampleMode = "on"
	SampleOff  SampleMode = "off"
)

// read takes the other words for on and off.
func (m *SampleMode) read(of string) error {
	switch *m {
	case SampleAuto, SampleOn, SampleOff:
	case "true", "1", "yes":
		*m = SampleOn
	case "false", "0", "no":
		*m = SampleOff
	default:
		return wrong("%s %q must be auto, on (true) or off (false)", of, string(*m))
	}
	return nil
}

// Options is how an admin process behaves. The zero value, completed by [New], is what a newcomer gets.
type Options struct {
	Listen   string       // host:port; default :8080
	Listener net.Listener // takes the place of Listen, for tests

	DatabaseURL string         // empty: the embedded database in DataDir
	DataDir     string         // default ./data
	Zone        *time.Location // of cron texts and of the database's wall-clock times; default the process's
	MaxConns    int            // of the database; 0 lets db choose
	UnsafeDB    bool           // the embedded database does not wait for the disk, for tests only

	readOnly     bool             // the embedded database is only read
	existing     bool             // and not made where there is none
	apiLimit     api.Limit        // of requests, for tests; default that of api
	clock        func() time.Time // of all admins, for tests; default the database's
	lastWrite    time.Duration    // of a stop, each, for tests; default that of scheduler
	loginNow     func() time.Time // of what a login takes: attempts come back by it, and sign-ins end; for tests; default the engine's
	auditTargets []auditlog.Target
	proxies      []*net.IPNet
	outputs      archive.Place
	measuredJobs scheduler.MeasuredJobs
	traces       tracing.Options

	// AccessToken is the secret shared with executors. Empty: a random one, made at the first start and kept.
	AccessToken string
	// NoAccessToken lets executors in without one and sends them none. Everybody who reaches the port can then report
	// results and register addresses.
	NoAccessToken bool
	// AdminPassword is the first administrator's; empty: a random one. It counts only while there is no user.
	AdminPassword string
	// PasswordCost is what a hash of a password costs; zero: OWASP's floor.
	PasswordCost auth.Cost

	// SecretKeys seal the secrets of alarm channels; see [ParseSecretKeys]. None: the key lies in the database with them.
	SecretKeys []string

	// SignIn says where people are known who have no password here; the zero value: nowhere.
	SignIn directory.Config

	Sample      SampleMode      // default SampleAuto
	HTTPJobs    SampleMode      // the executor for HTTP jobs inside; default SampleAuto: in new installations, and those that began with it
	ExecutorTLS wire.TLSOptions // towards executors with https addresses
	TLSCert     string          // files of a certificate and its key: the admin then serves HTTPS
	TLSKey      string
	TrustProxy  bool // take the client's address from X-Forwarded-For, for the login limits
	// TrustedProxies are the only ones whose X-Forwarded-For is believed: addresses and ranges. It takes the place of TrustProxy.
	TrustedProxies string
	// AdminListen is a listener of its own for /metrics, health and profiles; without a host on this machine alone. The metrics are
	// then not served to others. Empty: none, unless Pprof wants one.
	AdminListen  string
	MetricsToken string // /metrics asks for it; empty: for none
	MetricsJobs  string // jobs that the metrics tell apart: ids, or "all"; empty: none
	// Tracing says where traces of runs go, in OpenTelemetry's own words; the zero value: nowhere.
	Tracing tracing.Settings
	Pprof   bool // serve /debug/pprof, on the listener AdminListen only

	// What follows takes a decision away from the settings page, where administrators take it otherwise; see
	// [manage.AllSettings]. A zero value leaves it to them.
	PublicURL        string        // how people and other admins reach this one; derived from Listen if nobody says so
	Glue             *bool         // whether scripts may be written
	RetentionDays    int           // for how many days runs are kept; below 0: for ever
	CallTimeout      time.Duration // of one call to an executor
	Allow            string        // addresses that may be called although no executor registered them; see [netrule.Parse]
	Deny             string        // addresses at which no executor is called, in the same form
	HTTPAllow        string        // addresses that HTTP jobs may call; see [builtin.ParseAddressRule]
	AlarmLanguage    string        // of messages whose channel chooses none, one of [locales.Languages]
	MailDomains      string        // to which alarm mails may go, separated by commas
	AlarmDenyPrivate *bool         // whether webhooks on this machine and in private networks are refused

	// Startup is what this process was started with, for the settings page.
	Startup []console.StartupOption

	// AuditShip says where the audit log is shipped to; see [auditlog.ParseTargets].
	AuditShip string

	// OutputStore says where outputs of runs are kept; see [archive.ParsePlace].
	OutputStore string

	DrainTimeout time.Duration // how long Stop waits for runs to be sent; default 20 s
	Version      string
	Logger       *slog.Logger
	// LogLost is how many lines of the log could not be written; nil: nobody counts them.
	LogLost func() int64
}

// fixed are the settings that the options decide.
func (o Options) fixed() map[string]string {
	f := make(map[string]string)
	text := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	boolean := func(name string, value *bool) {
		if value != nil && *value {
			f[name] = manage.SettingOn
		} else if value != nil {
			f[name] = manage.SettingOff
		}
	}
	text(manage.SettingPublicURL, o.PublicURL)
	text(manage.SettingAllow, o.Allow)
	text(manage.SettingDeny, o.Deny)
	text(manage.SettingHTTPAllow, o.HTTPAllow)
	text(manage.SettingAlarmLanguage, o.AlarmLanguage)
	text(manage.SettingMailDomains, o.MailDomains)
	boolean(manage.SettingGlue, o.Glue)
	boolean(manage.SettingAlarmDenyPrivate, o.AlarmDenyPrivate)
	if o.RetentionDays != 0 {
		f[manage.SettingRetention] = strconv.Itoa(max(0, o.RetentionDays))
	}
	if o.CallTimeout != 0 {
		f[manage.SettingCallTimeout] = strconv.FormatInt(o.CallTimeout.Milliseconds(), 10)
	}
	return f
}

// minPassword is the least length of a password that somebody chooses.
const minPassword = auth.MinPasswordBytes

// OptionsError is a wrong setting, in words for the person who set it.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *OptionsError) Unwrap() error { return e.Err }

func wrong(format string, args ...any) error { return &OptionsError{Err: fmt.Errorf(format, args...)} }

func (o Options) withDefaults() (_ Options, err error) {
	o.Listen = cmp.Or(o.Listen, ":8080")
	o.DataDir = cmp.Or(o.DataDir, "data")
	o.Sample = cmp.Or(o.Sample, SampleAuto)
	o.HTTPJobs = cmp.Or(o.HTTPJobs, SampleAuto)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 20*time.Second)
	o.Version = cmp.Or(o.Version, "dev")
	if o.LogLost == nil {
		o.LogLost = func() int64 { return 0 }
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if _, port, err := net.SplitHostPort(o.Listen); err != nil || port == "" {
		return o, wrong("listen address %q must be host:port or :port", o.Listen)
	}
	if err := o.Sample.read("sample"); err != nil {
		return o, err
	}
	if err := o.HTTPJobs.read("HTTP jobs"); err != nil {
		return o, err
	}
	if o.AdminPassword != "" && len(o.AdminPassword) < minPassword {
		return o, wrong("the administrator's password must have at least %d characters", minPassword)
	}
	if o.AccessToken != "" && o.NoAccessToken {
		return o, wrong("there is an access token and the wish to have none: choose one")
	}
	if o.CallTimeout != 0 && o.CallTimeout < 100*time.Millisecond || o.CallTimeout > time.Minute {
		return o, wrong("call timeout %s must lie between 100ms and 1m", o.CallTimeout)
	}
	if o.RetentionDays > 0 && o.RetentionDays < upkeep.MinRetentionDays {
		return o, wrong("log retention of %d days is too short: at least %d, or -1 for ever", o.RetentionDays, upkeep.MinRetentionDays)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return o, wrong("a TLS certificate and its key go together: only one of them is set")
	}
	if o.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey); err != nil {
			return o, wrong("TLS certificate: %w", err)
		}
	}
	if o.AlarmLanguage != "" && !slices.Contains(locales.Languages(), o.AlarmLanguage) {
		return o, wrong("alarm language %q must be one of %s", o.AlarmLanguage, strings.Join(locales.Languages(), ", "))
	}
	if o.DrainTimeout < 0 {
		return o, wrong("drain timeout %s must not be negative", o.DrainTimeout)
	}
	if _, err := netrule.Parse(o.Allow); err != nil {
		return o, wrong("executor allow rule %w", err)
	}
	if _, err := builtin.ParseAddressRule(o.HTTPAllow); err != nil {
		return o, wrong("HTTP allow rule %w", err)
	}
	if _, err := netrule.Parse(o.Deny); err != nil {
		return o, wrong("executor deny rule %w", err)
	}
	if o.AdminListen, err = adminAddress(o.AdminListen, o.Pprof); err != nil {
		return o, err
	}
	if o.proxies, err = parseProxies(o.TrustedProxies); err != nil {
		return o, err
	}
	if o.measuredJobs, err = scheduler.ParseMeasuredJobs(o.MetricsJobs); err != nil {
		return o, wrong("jobs of the metrics: %q must be ids of jobs, such as 12,48, or all", o.MetricsJobs)
	}
	if o.traces, err = o.Tracing.Parse(); err != nil {
		return o, wrong("traces: %w", err)
	}
	if o.outputs, err = archive.ParsePlace(o.OutputStore); err != nil {
		return o, wrong("output store: %w", err)
	}
	host, _ := os.Hostname()
	if o.auditTargets, err = auditlog.ParseTargets(o.AuditShip, host); err != nil {
		return o, wrong("audit log: %w", err)
	}
	if o.PublicURL != "" {
		if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return o, wrong("public URL %q must begin with http:// or https://, and have neither a user nor a query", o.PublicURL)
		}
	}
	return o, nil
}

// errStopped is what Start says after Stop: a new App is cheap, and this one has closed its database.
var errStopped = errors.New("the app was stopped")
