// Command punctual-executor is a ready executor: it runs the scripts, commands and HTTP calls that an admin sends.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // zones and authorities must be known also in an image from nothing

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/builtin"
	"github.com/punctual-job/punctual/executor/environ"
	"github.com/punctual-job/punctual/executor/guard"
	"github.com/punctual-job/punctual/executor/logpipe"
	"github.com/punctual-job/punctual/executor/wire"
)

// Both are set when a release is built.
var version, commit = "", ""

type settings struct {
	Serve    serve       `cmd:"" default:"withargs" help:"Run jobs (the default)."`
	Health   health      `cmd:"" help:"Ask the executor on this machine how it is."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
	Licences licencesCmd `cmd:"" help:"Print the licences of what this program is made of."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// serve holds the settings, all of them also PUNCTUAL_EXECUTOR_… in the environment.
type serve struct {
	Admin           []string      `env:"PUNCTUAL_EXECUTOR_ADMIN" default:"http://127.0.0.1:8080" placeholder:"URL,…" help:"Base addresses of the admins."`
	AppName         string        `env:"PUNCTUAL_EXECUTOR_APP_NAME" default:"punctual-executor" help:"The executor group to register in."`
	AccessToken     string        `secret:"" env:"PUNCTUAL_EXECUTOR_ACCESS_TOKEN" help:"The secret shared with the admin. Better in a file: other programs can read a command line."`
	AccessTokenFile string        `env:"PUNCTUAL_EXECUTOR_ACCESS_TOKEN_FILE" placeholder:"FILE" help:"The same in a file; read again when it changes."`
	InsecureNoToken bool          `env:"PUNCTUAL_EXECUTOR_INSECURE_NO_TOKEN" help:"Run scripts and commands for anybody who reaches the port."`
	Listen          string        `env:"PUNCTUAL_EXECUTOR_LISTEN" default:":9999" placeholder:"HOST:PORT" help:"Where to listen; port 0 is the first free one from 9999 upwards."`
	Address         string        `env:"PUNCTUAL_EXECUTOR_ADDRESS" placeholder:"URL" help:"The address to register; found out when empty."`
	Pull            bool          `env:"PUNCTUAL_EXECUTOR_PULL" help:"Listen nowhere and ask the admins for what there is to do, where they cannot call."`
	Name            string        `env:"PUNCTUAL_EXECUTOR_NAME" placeholder:"NAME" help:"With --pull: its address is pull://NAME, of its own within the group; made when empty."`
	TLSCert         string        `name:"tls-cert" env:"PUNCTUAL_EXECUTOR_TLS_CERT" placeholder:"FILE" help:"Certificate (PEM): serve HTTPS. Read again when it changes."`
	TLSKey          string        `name:"tls-key" env:"PUNCTUAL_EXECUTOR_TLS_KEY" placeholder:"FILE" help:"The certificate's key."`
	TLSClientCA     string        `name:"tls-client-ca" env:"PUNCTUAL_EXECUTOR_TLS_CLIENT_CA" placeholder:"FILE" help:"Let in only callers with a certificate of these authorities."`
	AdminCA         string        `name:"admin-ca" env:"PUNCTUAL_EXECUTOR_ADMIN_CA" placeholder:"FILE" help:"Authorities (PEM) to trust for https admins, in place of the system's."`
	AdminCert       string        `name:"admin-cert" env:"PUNCTUAL_EXECUTOR_ADMIN_CERT" placeholder:"FILE" help:"Certificate to show to https admins that ask for one."`
	AdminKey        string        `name:"admin-key" env:"PUNCTUAL_EXECUTOR_ADMIN_KEY" placeholder:"FILE" help:"Its key."`
	AdminInsecure   bool          `name:"admin-insecure" env:"PUNCTUAL_EXECUTOR_ADMIN_INSECURE" help:"Accept any certificate of an admin: whoever is on the way can read the access token."`
	DataDir         string        `env:"PUNCTUAL_EXECUTOR_DATA_DIR" default:"data/executor" help:"Run logs, scripts and the journal."`
	Glue            bool          `env:"PUNCTUAL_EXECUTOR_GLUE" default:"true" negatable:"" help:"Run scripts that the admin sends."`
	Command         bool          `env:"PUNCTUAL_EXECUTOR_COMMAND" help:"Offer commandJobHandler, whose parameter is a command line: whoever may change it runs programs here."`
	RunAs           string        `env:"PUNCTUAL_EXECUTOR_RUN_AS" placeholder:"USER" help:"Run scripts and commands as this user; takes root."`
	HTTP            bool          `name:"http" env:"PUNCTUAL_EXECUTOR_HTTP" default:"true" negatable:"" help:"Offer httpJobHandler."`
	HTTPAllow       string        `name:"http-allow" env:"PUNCTUAL_EXECUTOR_HTTP_ALLOW" default:"public" placeholder:"LIST" help:"What httpJobHandler may call: host, host:port, .domain, 10.0.0.0/8, public, or *."`
	LogRetention    int           `env:"PUNCTUAL_EXECUTOR_LOG_RETENTION_DAYS" name:"log-retention-days" default:"30" help:"Days to keep run logs; below 3 for ever."`
	DrainTimeout    time.Duration `env:"PUNCTUAL_EXECUTOR_DRAIN_TIMEOUT" default:"30s" help:"How long running jobs may go on after SIGTERM."`
	Sync            bool          `env:"PUNCTUAL_EXECUTOR_SYNC" default:"true" negatable:"" help:"Sync the journal to the disk, so that a power failure loses nothing."`
	LogFormat       string        `env:"PUNCTUAL_EXECUTOR_LOG_FORMAT" default:"text" enum:"text,json" help:"text or json."`
	LogLevel        slog.Level    `env:"PUNCTUAL_EXECUTOR_LOG_LEVEL" default:"INFO" help:"DEBUG, INFO, WARN or ERROR."`
}

type versionCmd struct{}

// badSetting is an error the user can mend by starting the program differently.
type badSetting struct{ error }

func main() {
	if code, is := asFirst(); is {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments; it returns the exit code: 2 for a wrong setting, said in one line.
func run(args []string, stdout, stderr io.Writer) int {
	environ.DropEmpty("PUNCTUAL_")
	var s settings
	code := -1
	parser, err := kong.New(&s, kong.Name("punctual-executor"), kong.Vars{"version": wholeVersion()}, kong.Writers(stdout, stderr),
		kong.Description("Runs scripts, commands and HTTP calls for a Punctual or XXL-JOB admin."),
		kong.Exit(func(c int) { code = c }))
	if err != nil {
		fmt.Fprintln(stderr, "punctual-executor:", err)
		return 1
	}
	chosen, err := parser.Parse(args)
	if code >= 0 { // --help
		return code
	}
	log := logpipe.New(stderr, logpipe.Line(s.Serve.handler))
	defer log.Flush(lastLines)
	stderr = log
	protect(slog.New(slog.NewTextHandler(stderr, nil)))
	if err == nil {
		chosen.BindTo(stdout, (*io.Writer)(nil))
		err = chosen.Run(logOutput{stderr})
	}
	var parseError *kong.ParseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &parseError) || errors.As(err, new(badSetting)):
		fmt.Fprintln(stderr, "punctual-executor:", err)
		return 2
	}
	fmt.Fprintln(stderr, "punctual-executor:", err)
	return 1
}

// logOutput is where the program's log goes.
type logOutput struct{ io.Writer }

// lastLines is how long an end waits for its last lines to be taken.
const lastLines = time.Second

// handler writes the log.
func (s *serve) handler(to io.Writer) slog.Handler {
	return logpipe.Handler(func(to io.Writer) slog.Handler {
		options := &slog.HandlerOptions{Level: s.LogLevel}
		if s.LogFormat == "json" {
			return slog.NewJSONHandler(to, options)
		}
		return slog.NewTextHandler(to, options)
	}, to)
}

// Run runs jobs until SIGTERM or SIGINT, then drains; a second signal ends the program at once.
func (s *serve) Run(log logOutput) error {
	logpipe.OutliveReader()
	if _, err := guard.Secret(s.AccessToken, s.AccessTokenFile); err != nil {
		return badSetting{fmt.Errorf("PUNCTUAL_EXECUTOR_ACCESS_TOKEN_FILE (--access-token-file): %w", err)}
	}
	mode := executor.Push
	if s.Pull {
		mode, s.Listen = executor.Pull, ""
	}
	if s.AccessToken == "" && s.AccessTokenFile == "" && !s.InsecureNoToken && !s.Pull && (s.Glue || s.Command || s.HTTP) {
		return badSetting{errors.New("PUNCTUAL_EXECUTOR_ACCESS_TOKEN (--access-token) is empty, so that everybody who reaches the port could run code: " +
			"set it, or --no-glue --no-http without --command, or --insecure-no-token")}
	}
	rule, err := builtin.ParseAddressRule(s.HTTPAllow)
	if err != nil {
		return badSetting{fmt.Errorf("PUNCTUAL_EXECUTOR_HTTP_ALLOW (--http-allow): %w", err)}
	}
	if s.LogRetention < 3 {
		s.LogRetention = executor.KeepLogs
	}
	if s.DrainTimeout == 0 { // which the library takes for its default
		s.DrainTimeout = time.Nanosecond
	}
	logger := slog.New(s.handler(log))
	for _, stray := range environ.Strays(os.Environ(), "PUNCTUAL_EXECUTOR_", append(ownVariables(), adminVariables...)) {
		logger.Warn("this variable counts for nothing: there is none of its name", "variable", stray.Name, "meant", cmp.Or(stray.Meant, "unknown, see punctual-executor serve --help"))
	}
	ex, err := executor.New(executor.Config{
		AppName: s.AppName, Admins: s.Admin, Token: s.AccessToken, TokenFile: s.AccessTokenFile, InsecureNoToken: s.InsecureNoToken, Listen: s.Listen, Mode: mode, Name: s.Name,
		TLSCert: s.TLSCert, TLSKey: s.TLSKey, TLSClientCA: s.TLSClientCA,
		AdminTLS: wire.TLSOptions{CAFile: s.AdminCA, CertFile: s.AdminCert, KeyFile: s.AdminKey, Insecure: s.AdminInsecure},
		Address:  s.Address, DataDir: s.DataDir, GlueEnabled: s.Glue, RunAs: s.RunAs, LogRetentionDays: s.LogRetention,
		DrainTimeout: s.DrainTimeout, NoSync: !s.Sync, Logger: logger,
	})
	if err == nil {
		err = builtin.Register(ex, builtin.Options{Command: s.Command, HTTP: s.HTTP, HTTPAllow: rule})
	}
	if err != nil {
		return badSetting{err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // gives the second signal back its ordinary meaning
	if err := ex.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	if err := ex.Drain(context.Background()); err != nil {
		logger.Warn("stopped, not all went to its end", "error", err) // reported, or kept for the next start: no failure
	}
	return nil
}

// adminVariables are those of the admin that look like the executor's; both may share an environment.
var adminVariables = []string{"PUNCTUAL_EXECUTOR_ALLOW", "PUNCTUAL_EXECUTOR_DENY", "PUNCTUAL_EXECUTOR_CA", "PUNCTUAL_EXECUTOR_CLIENT_CERT", "PUNCTUAL_EXECUTOR_CLIENT_KEY"}

// ownVariables are the names of all variables that this program reads.
func ownVariables() []string {
	var names []string
	for field := range reflect.TypeFor[serve]().Fields() {
		names = append(names, field.Tag.Get("env"))
	}
	return names
}

// protect keeps the access token from the programs that run here.
func protect(logger *slog.Logger) {
	if err := errors.Join(guard.Forget("PUNCTUAL_EXECUTOR_ACCESS_TOKEN"), guard.Undumpable()); err != nil {
		logger.Warn("programs of the same user may read the access token", "error", err)
	}
}

// Run prints the version.
func (versionCmd) Run(out io.Writer) error {
	_, err := fmt.Fprintln(out, wholeVersion())
	return err
}

// wholeVersion is the version and the commit, where the build knows it.
func wholeVersion() string {
	v, of := version, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				of = cmp.Or(of, s.Value)
			}
		}
	}
	if of != "" {
		v += " (commit " + of + ")"
	}
	return "punctual-executor " + v
}
