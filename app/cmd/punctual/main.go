// Command punctual is the scheduling centre: the console, the engine and the executor API in one process.
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
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // zones must be known also where the machine has no zone files

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // and authorities where it has none: an image from nothing

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/client"
	"github.com/punctual-job/punctual/app/cmd/punctual/bench"
	"github.com/punctual-job/punctual/executor/environ"
	"github.com/punctual-job/punctual/executor/guard"
	"github.com/punctual-job/punctual/executor/logpipe"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	runtracing "github.com/punctual-job/punctual/scheduler/tracing"
)

// Both are set when a release is built.
var version, commit = "", ""

// clientGroup is what the help calls the commands that speak to an admin's API, in their tags.
const clientGroup = "client"

type commands struct {
	Serve   serveCmd   `cmd:"" default:"withargs" help:"Run the scheduling centre (the default)."`
	Migrate migrateCmd `cmd:"" help:"Bring the database up to date, or go back to XXL-JOB."`
	Backup  backupCmd  `cmd:"" help:"Copy the embedded database into a file, also while it is in use."`
	Restore restoreCmd `cmd:"" help:"Put a backup in the place of the embedded database."`
	Hold    struct {
		Begin holdCmd    `cmd:"" default:"withargs" help:"Have the admins that start on this database from now on wait: they show everything, run nothing and send nothing."`
		End   holdEndCmd `cmd:"" help:"Let them begin."`
	} `cmd:"" help:"Hold a copy of a database still until somebody has looked at it."`
	Export   exportCmd `cmd:"" help:"For an emergency in which no admin runs: print the jobs as a file, straight from the database. Otherwise: punctual jobs export."`
	Import   importCmd `cmd:"" help:"For an emergency in which no admin runs: import jobs from a file straight into the database; without --apply only say what that would do. Otherwise: punctual apply."`
	Audit    auditCmd  `cmd:"" help:"Account for every fire that was planned for a time."`
	AuditLog struct {
		List   client.AuditLogCmd `cmd:"" default:"withargs" group:"client" help:"List what people and programs did, the newest first."`
		Verify auditVerifyCmd     `cmd:"" help:"Check that no entry of the audit log was changed, added or taken away."`
	} `cmd:"" name:"audit-log" help:"Look after the audit log."`
	Cron struct {
		Next       cronNextCmd       `cmd:"" help:"Print the next times of a cron expression."`
		Convert    cronConvertCmd    `cmd:"" help:"Make a file of jobs, for apply, out of a crontab."`
		Kubernetes cronKubernetesCmd `cmd:"" name:"convert-kubernetes" help:"Make a file of jobs, for apply, out of CronJobs of Kubernetes."`
	} `cmd:"" help:"Understand cron expressions and crontabs."`
	Log  logCmd `cmd:"" help:"Keep a big log of runs in partitions; MySQL and MariaDB."`
	User struct {
		ResetPassword     resetPasswordCmd     `cmd:"" help:"Give a user a new password."`
		ResetSecondFactor resetSecondFactorCmd `cmd:"" help:"Drop the second factors of a user who has lost theirs."`
		CreateToken       createTokenCmd       `cmd:"" help:"Make an API token for a service account on the database, the first one of an installation: no browser is needed."`
	} `cmd:"" help:"Manage users."`

	Login     client.LoginCmd     `cmd:"" group:"client" help:"Remember an admin and an API token, for the other commands that talk to one."`
	Context   client.ContextCmd   `cmd:"" group:"client" help:"Show the admins that are remembered, and change between them."`
	Jobs      client.JobsCmd      `cmd:"" group:"client" help:"List, show, start, stop and delete jobs."`
	Apply     client.ApplyCmd     `cmd:"" group:"client" help:"Make jobs be what files say: create, change and, with --prune, delete them, all or none."`
	Diff      client.DiffCmd      `cmd:"" group:"client" help:"Say what apply would do. Exit code 0: nothing, 1: something, 2: it cannot be told."`
	Run       client.RunCmd       `cmd:"" group:"client" help:"Run a job now, and wait for its end or not."`
	Backfills client.BackfillsCmd `cmd:"" group:"client" help:"Run jobs for planned times that are over."`
	Runs      client.RunsCmd      `cmd:"" group:"client" help:"List and show runs and their output, end and repeat them."`
	Executors client.ExecutorsCmd `cmd:"" group:"client" help:"List and show groups of executors."`
	Usage     client.UsageCmd     `cmd:"" group:"client" help:"Say how many runs each group of executors had in some days, and how long they took."`
	Calendars client.CalendarsCmd `cmd:"" group:"client" help:"List, show and import the calendars that jobs keep to."`
	Pauses    client.PausesCmd    `cmd:"" group:"client" help:"List, show, create and end times in which schedules hold still."`
	Notes     client.NotesCmd     `cmd:"" group:"client" help:"List, write and strike out notes at runs, jobs and groups."`
	Secrets   client.SecretsCmd   `cmd:"" group:"client" help:"List, set and delete the secrets of a group of executors."`
	Tokens    client.TokensCmd    `cmd:"" group:"client" help:"List, make and revoke API tokens."`
	Users     client.UsersCmd     `cmd:"" group:"client" help:"List users."`
	Alarms    client.AlarmsCmd    `cmd:"" group:"client" help:"List alarm channels and messages."`
	Webhooks  client.WebhooksCmd  `cmd:"" group:"client" help:"List, make, test and delete webhooks, and what was sent to them."`
	API       client.APICmd       `cmd:"" name:"api" group:"client" help:"Call an operation of API v1 by its path, for what has no command of its own."`
	MCP       client.MCPCmd       `cmd:"" name:"mcp" group:"client" help:"Serve assistants that speak the Model Context Protocol, with what an API token may do."`

	Bench         benchCmd          `cmd:"" help:"Measure how much this machine can do, with a temporary database or an empty one that is given. Takes some minutes of the whole machine."`
	BenchExecutor bench.ExecutorCmd `cmd:"" hidden:"" help:"The executor that bench starts."`

	Doctor     doctorCmd     `cmd:"" help:"Look an installation over: clocks, the database's settings and indexes, executors, jobs at risk, tokens, versions, mail servers, proxies; changes nothing. Exit code 4: there is something to look at, 5: something cannot work."`
	Completion completionCmd `cmd:"" help:"Print what makes a shell complete commands, flags and names: source <(punctual completion bash)."`
	Complete   completeCmd   `cmd:"" hidden:"" whole:"" help:"Print what a word can become; the scripts of completion ask it."`
	Health     healthCmd     `cmd:"" help:"Ask the admin on this machine how it is."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Licences   licencesCmd   `cmd:"" help:"Print the licences of what this program is made of."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// database are the settings of every command that opens the database.
type database struct {
	DatabaseURL     string `secret:"" env:"PUNCTUAL_DATABASE_URL" placeholder:"URL" help:"mysql://user:password@host:3306/name, a go-sql-driver DSN or XXL-JOB's jdbc URL; empty: the embedded database in the data directory."`
	DatabaseURLFile string `env:"PUNCTUAL_DATABASE_URL_FILE" placeholder:"FILE" help:"The same in a file."`
	DataDir         string `env:"PUNCTUAL_DATA_DIR" default:"data" placeholder:"DIR" help:"Where the embedded database and the sample executor keep their files."`
	TimeZone        string `env:"PUNCTUAL_TIME_ZONE" placeholder:"ZONE" help:"In which cron expressions are read, such as Asia/Shanghai; default the machine's."`
	LogFormat       string `env:"PUNCTUAL_LOG_FORMAT" default:"text" enum:"text,json" help:"text or json."`
	LogLevel        string `env:"PUNCTUAL_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
}

// serveCmd holds the settings of the process, all of them also PUNCTUAL_… in the environment. Those without a default here that
// are settings of [manage.AllSettings] too are left to the settings page unless they are set.
type serveCmd struct {
	database
	Listen            string        `env:"PUNCTUAL_LISTEN" default:":8080" placeholder:"HOST:PORT" help:"Where to listen."`
	PublicURL         string        `env:"PUNCTUAL_PUBLIC_URL" placeholder:"URL" help:"How people reach this admin, if not by the address it listens on."`
	AccessToken       string        `secret:"" env:"PUNCTUAL_ACCESS_TOKEN" help:"The secret shared with the executors; empty: a random one, made at the first start and kept."`
	AccessTokenFile   string        `env:"PUNCTUAL_ACCESS_TOKEN_FILE" placeholder:"FILE" help:"The same in a file."`
	InsecureNoToken   bool          `env:"PUNCTUAL_INSECURE_NO_TOKEN" help:"Take reports and registrations from anybody."`
	AdminPassword     string        `secret:"" env:"PUNCTUAL_ADMIN_PASSWORD" help:"The first administrator's password; empty: a random one, printed once."`
	AdminPasswordFile string        `env:"PUNCTUAL_ADMIN_PASSWORD_FILE" placeholder:"FILE" help:"The same in a file."`
	SecretKey         string        `secret:"" env:"PUNCTUAL_SECRET_KEY" help:"Seals the passwords and addresses of alarm channels, so that the database alone does not tell them. At least 32 characters; the same on every admin."`
	SecretKeyFile     string        `env:"PUNCTUAL_SECRET_KEY_FILE" placeholder:"FILE" help:"The secret key in a file. Further lines are keys that it replaces."`
	SignInFile        string        `env:"PUNCTUAL_SIGN_IN_FILE" placeholder:"FILE" help:"Describes where people are known who have no password here: OpenID Connect providers and LDAP directories, with rules for their rights; see docs/sign-in.md."`
	Sample            string        `env:"PUNCTUAL_SAMPLE" default:"auto" placeholder:"MODE" help:"Sample executor and jobs: auto (with a new embedded database), on or off; true and false are taken too."`
	HTTPJobs          string        `name:"http-jobs" env:"PUNCTUAL_HTTP_JOBS" default:"auto" placeholder:"MODE" help:"The executor for HTTP jobs inside this program: auto (in new installations, and those that began with it), on or off."`
	HTTPAllow         string        `name:"http-allow" env:"PUNCTUAL_HTTP_ALLOW" placeholder:"LIST" help:"What HTTP jobs may call: host, host:port, .domain, 10.0.0.0/8, public (the default), or *."`
	Glue              *bool         `name:"glue" env:"PUNCTUAL_GLUE" negatable:"" help:"Let people write scripts (GLUE) in the console."`
	ExecutorAllow     string        `env:"PUNCTUAL_EXECUTOR_ALLOW" placeholder:"RULE,…" help:"Addresses that a run by hand may be sent to although no executor registered them: host, host:port, .domain, 10.0.0.0/8 or *."`
	ExecutorDeny      string        `env:"PUNCTUAL_EXECUTOR_DENY" placeholder:"RULE,…" help:"Addresses at which no executor is called, however it is known."`
	CallTimeout       time.Duration `env:"PUNCTUAL_CALL_TIMEOUT" help:"How long one call to an executor may take."`
	AlarmLanguage     string        `env:"PUNCTUAL_ALARM_LANGUAGE" placeholder:"LANG" help:"Language of alarms whose channel chooses none: ${languages}."`
	MailDomains       string        `name:"alarm-mail-domains" env:"PUNCTUAL_ALARM_MAIL_DOMAINS" placeholder:"DOMAIN,…" help:"Send alarm mails to these domains only."`
	AlarmNoPrivate    *bool         `name:"alarm-deny-private" env:"PUNCTUAL_ALARM_DENY_PRIVATE" negatable:"" help:"Refuse webhooks on this machine and in private networks."`
	RetentionDays     int           `env:"PUNCTUAL_LOG_RETENTION_DAYS" placeholder:"DAYS" help:"For how many days runs are kept; -1: for ever."`
	OutputStore       string        `secret:"" env:"PUNCTUAL_OUTPUT_STORE" placeholder:"WHERE" help:"Where outputs of runs are kept beyond their executors: database (the default), a folder that all admins see, s3://KEY:SECRET@HOST/BUCKET/PREFIX, or off."`
	OutputStoreFile   string        `env:"PUNCTUAL_OUTPUT_STORE_FILE" placeholder:"FILE" help:"The same in a file."`
	DrainTimeout      time.Duration `env:"PUNCTUAL_DRAIN_TIMEOUT" default:"20s" help:"How long a stop waits for runs to be sent."`
	TLSCert           string        `env:"PUNCTUAL_TLS_CERT" placeholder:"FILE" help:"Serve HTTPS with this certificate (PEM)."`
	TLSKey            string        `env:"PUNCTUAL_TLS_KEY" placeholder:"FILE" help:"The certificate's key."`
	ExecutorCA        string        `name:"executor-ca" env:"PUNCTUAL_EXECUTOR_CA" placeholder:"FILE" help:"Authorities to trust for executors with https addresses; default the machine's."`
	ExecutorCert      string        `name:"executor-cert" env:"PUNCTUAL_EXECUTOR_CLIENT_CERT" placeholder:"FILE" help:"Certificate to show to executors that ask for one."`
	ExecutorKey       string        `name:"executor-key" env:"PUNCTUAL_EXECUTOR_CLIENT_KEY" placeholder:"FILE" help:"Its key."`
	AuditShip         string        `secret:"" env:"PUNCTUAL_AUDIT_SHIP" placeholder:"URL,…" help:"Where the audit log is shipped to: file:///path, syslog+udp://host:514, syslog+tcp://…, syslog+tls://…?ca=FILE, https://…."`
	AuditShipFile     string        `env:"PUNCTUAL_AUDIT_SHIP_FILE" placeholder:"FILE" help:"The same in a file."`
	TrustProxy        bool          `env:"PUNCTUAL_TRUST_PROXY" help:"Believe X-Forwarded-For from private addresses, behind a reverse proxy."`
	TrustedProxies    string        `env:"PUNCTUAL_TRUSTED_PROXIES" placeholder:"ADDRESS,…" help:"Believe X-Forwarded-For from these addresses and ranges only, such as 10.0.0.5,fd00::/8."`
	AdminListen       string        `env:"PUNCTUAL_ADMIN_LISTEN" placeholder:"HOST:PORT" help:"A listener of its own for /metrics, health and profiles; without a host on this machine alone. /metrics is then nowhere else."`
	MetricsToken      string        `secret:"" env:"PUNCTUAL_METRICS_TOKEN" help:"Ask for this bearer token at /metrics."`
	MetricsTokenFile  string        `env:"PUNCTUAL_METRICS_TOKEN_FILE" placeholder:"FILE" help:"The same in a file."`
	MetricsJobs       string        `env:"PUNCTUAL_METRICS_JOBS" placeholder:"ID,…" help:"Jobs that the metrics tell apart, beside executor groups: ids, or all."`
	Pprof             bool          `env:"PUNCTUAL_PPROF" help:"Serve /debug/pprof at the admin listener; its default is then 127.0.0.1:8081."`
	tracing
}

// tracing are OpenTelemetry's own variables, as far as they mean something here.
type tracing struct {
	OTLPEndpoint       string `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"Export OpenTelemetry traces of runs to this collector (OTLP over HTTP), such as http://localhost:4318; empty: none."`
	OTLPTracesEndpoint string `name:"otlp-traces-endpoint" env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" placeholder:"URL" help:"The same with its path, in place of the above."`
	OTLPProtocol       string `name:"otlp-protocol" env:"OTEL_EXPORTER_OTLP_PROTOCOL" placeholder:"NAME" help:"http/protobuf is the only one."`
	OTLPHeaders        string `secret:"" name:"otlp-headers" env:"OTEL_EXPORTER_OTLP_HEADERS" placeholder:"NAME=VALUE,…" help:"Headers that the collector wants, such as its key."`
	OTLPCertificate    string `name:"otlp-certificate" env:"OTEL_EXPORTER_OTLP_CERTIFICATE" placeholder:"FILE" help:"Authorities to trust for a collector with an https address; default the machine's."`
	ServiceName        string `name:"otel-service-name" env:"OTEL_SERVICE_NAME" placeholder:"NAME" help:"What traces call this installation; default punctual."`
	ResourceAttributes string `name:"otel-resource-attributes" env:"OTEL_RESOURCE_ATTRIBUTES" placeholder:"NAME=VALUE,…" help:"What else traces say of it, such as deployment.environment.name=prod."`
	TracesSampler      string `name:"otel-traces-sampler" env:"OTEL_TRACES_SAMPLER" placeholder:"NAME" help:"always_on, always_off or traceidratio (the default), with or without parentbased_ before it."`
	TracesSamplerArg   string `name:"otel-traces-sampler-arg" env:"OTEL_TRACES_SAMPLER_ARG" placeholder:"RATIO" help:"How many of the runs that succeed are traced, from 0 to 1; default 0.01. Those that fail all are."`
	OTelDisabled       bool   `name:"otel-disabled" env:"OTEL_SDK_DISABLED" help:"Trace nothing, whatever else is set."`
}

// settings are the variables as the tracer reads them.
func (t tracing) settings() runtracing.Settings {
	return runtracing.Settings{
		Endpoint: t.OTLPEndpoint, TracesEndpoint: t.OTLPTracesEndpoint, Protocol: t.OTLPProtocol, Headers: t.OTLPHeaders, Certificate: t.OTLPCertificate,
		ServiceName: t.ServiceName, ResourceAttributes: t.ResourceAttributes, Sampler: t.TracesSampler, SamplerArg: t.TracesSamplerArg, Disabled: t.OTelDisabled,
	}
}

type resetPasswordCmd struct {
	database
	Name     string `arg:"" help:"The user's name."`
	Password string `help:"The new password, which everybody on this machine can read in the list of processes while this runs; better --prompt or --stdin. Without any: a random one, printed."`
	Prompt   bool   `help:"Ask for the new password, twice."`
	Stdin    bool   `help:"Read the new password from the first line of standard input."`
}

type resetSecondFactorCmd struct {
	database
	Name string `arg:"" help:"The user's name."`
}

type holdCmd struct {
	database
	Reason string `help:"Why, for whoever looks."`
}

type holdEndCmd struct {
	database
	OwnStore bool `help:"No other installation uses the output store: delete from it what was kept before, when it is too old. Otherwise that stays there, as production may have it too."`
}

type createTokenCmd struct {
	database
	Account string   `arg:"" help:"The service account that the token is for. It is made if there is no user of that name, as an administrator for the scope admin."`
	Name    string   `arg:"" help:"What the token is for."`
	Scope   []string `default:"admin" enum:"view,run,schedule,edit,glue,admin" help:"The rights that it has at most: view, run, schedule, edit, glue (scripts) or admin; may be repeated."`
	Days    int      `default:"90" help:"How many days it counts; 0: until it is revoked."`
}

type versionCmd struct{}

// streams are where a command writes; the log goes to err, so that out can be read by programs.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// lastLines is how long an end waits for its last lines to be taken.
const lastLines = time.Second

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its surroundings as arguments. It returns the exit code: 2 for a wrong setting, 3 for an audit log that could not be
// checked, 4 and 5 for what a check of a database comes to, those of client.ExitError, 1 for everything else.
func run(args []string, stdout, stderr io.Writer) int { return runWith(args, os.Stdin, stdout, stderr) }

// words are what the descriptions of flags take from elsewhere, and what --version prints.
var words = kong.Vars{"languages": strings.Join(locales.Languages(), ", "), "version": wholeVersion()}

func runWith(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c commands
	c.MCP.Version = buildVersion()
	environ.DropEmpty("PUNCTUAL_", "OTEL_")
	code := -1
	parser, err := kong.New(narrowed(&c, args), words, kong.Name("punctual"), kong.Writers(stdout, stderr),
		kong.Description("Punctual schedules jobs and sends them to executors, XXL-JOB's included. Settings can be given as variables too, PUNCTUAL_… mostly, which their help names."),
		kong.ExplicitGroups([]kong.Group{{Key: clientGroup, Title: "Work with an admin from anywhere, through its API:"}}),
		values,
		kong.Exit(func(n int) { code = n }))
	if err != nil {
		fmt.Fprintln(stderr, "punctual:", err)
		return 1
	}
	chosen, err := parser.Parse(args)
	if code >= 0 { // --help
		return code
	}
	protect(stderr)
	if err != nil {
		err = missing(nearCommand(parser.Model.Node, args, err))
	} else if chosen.Command() == "serve" {
		serve := chosen.Selected().Target.Addr().Interface().(*serveCmd)
		log := logpipe.New(stderr, logpipe.Line(serve.handler))
		defer log.Flush(lastLines)
		stderr = log
		err = serve.Run(streams{stdin, stdout, stderr}, log.Lost) // and not by the parser, which would be kept as long as it runs
	} else {
		if err = chosen.BindToProvider(interruptible); err != nil {
			panic(err) // of its type
		}
		err = chosen.Run(streams{stdin, stdout, stderr}, client.Streams{In: stdin, Out: stdout, Err: stderr})
	}
	if err == nil {
		return 0
	}
	if code, said := errors.AsType[checked](err); said {
		return int(code)
	}
	_, unparsed := errors.AsType[*kong.ParseError](err)
	_, wrongSetting := errors.AsType[*app.OptionsError](err)
	fmt.Fprintln(stderr, "punctual:", err)
	if exit, own := errors.AsType[*client.ExitError](err); own {
		return exit.Code
	}
	_, nothingKnown := errors.AsType[unchecked](err)
	switch {
	case unparsed || wrongSetting:
		return 2
	case nothingKnown:
		return 3
	}
	return 1
}

// interruptible ends when somebody interrupts the program: for commands that only wait for others. The rest die of it, as usual.
func interruptible() (context.Context, error) {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:govet // until the program ends
	return ctx, nil
}

// protect keeps the secrets that the environment held from the programs that run here, the sample's scripts among them.
func protect(stderr io.Writer) {
	var names []string
	for _, v := range variables(reflect.ValueOf(serveCmd{})) {
		if v.secret {
			names = append(names, v.name)
		}
	}
	if err := errors.Join(guard.Forget(names...), guard.Undumpable()); err != nil {
		fmt.Fprintln(stderr, "punctual: programs of the same user may read secrets:", err)
	}
}

func (versionCmd) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, wholeVersion())
	return err
}

// buildVersion is what a release was built as, or what Go knows about the build.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// wholeVersion is the version and the commit, where the build knows it.
func wholeVersion() string {
	of := commit
	if info, ok := debug.ReadBuildInfo(); ok && of == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				of = s.Value
			}
		}
	}
	if of == "" {
		return buildVersion()
	}
	return buildVersion() + " (commit " + of + ")"
}

// handler writes the log, from [database.LogLevel] on.
func (d database) handler(to io.Writer) slog.Handler {
	var level slog.Level
	_ = level.UnmarshalText([]byte(d.LogLevel)) // see options
	return logpipe.Handler(func(to io.Writer) slog.Handler {
		options := &slog.HandlerOptions{Level: level}
		if d.LogFormat == "json" {
			return slog.NewJSONHandler(to, options)
		}
		return slog.NewTextHandler(to, options)
	}, to)
}

// options turns the database's settings into the app's.
func (d database) options(s streams) (app.Options, error) {
	o := app.Options{DataDir: d.DataDir, Version: buildVersion()}
	var err error
	if o.DatabaseURL, err = guard.Secret(d.DatabaseURL, d.DatabaseURLFile); err != nil {
		return o, setting("PUNCTUAL_DATABASE_URL_FILE", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(d.LogLevel)); err != nil {
		return o, setting("PUNCTUAL_LOG_LEVEL", fmt.Errorf("%q is not debug, info, warn or error", d.LogLevel))
	}
	handler := d.handler(s.err)
	if level > slog.LevelDebug {
		handler = newSeldom(handler)
	}
	o.Logger = slog.New(handler)
	for _, s := range environ.Strays(os.Environ(), "PUNCTUAL_", slices.Concat(ownVariables(), clientVariables())) {
		if s.Meant == "" && strings.HasPrefix(s.Name, "PUNCTUAL_EXECUTOR_") {
			continue // one of the executor's, which may share the environment
		}
		o.Logger.Warn("this variable counts for nothing: there is none of its name", "variable", s.Name, "meant", cmp.Or(s.Meant, "unknown, see punctual serve --help"))
	}
	if d.TimeZone != "" {
		zone, err := time.LoadLocation(d.TimeZone)
		if err != nil {
			return o, setting("PUNCTUAL_TIME_ZONE", fmt.Errorf("%q is not a time zone; write one such as Asia/Shanghai or UTC", d.TimeZone))
		}
		o.Zone = zone
	}
	return o, nil
}

// ownVariables are the names of all variables that this program reads.
func ownVariables() []string {
	var names []string
	for _, v := range variables(reflect.ValueOf(serveCmd{})) {
		names = append(names, v.name)
	}
	return names
}

// clientVariables are those of the commands that speak to an admin. Whoever has them in the environment may also start one.
func clientVariables() []string {
	names := []string{client.ContextsVariable}
	for _, part := range []any{client.Admin{}, client.ApplyCmd{}} {
		for _, v := range variables(reflect.ValueOf(part)) {
			names = append(names, v.name)
		}
	}
	return names
}

// setting says which setting is wrong.
func setting(name string, err error) error {
	return &app.OptionsError{Err: fmt.Errorf("%s: %w", name, err)}
}

func (c *serveCmd) options(s streams) (app.Options, error) {
	o, err := c.database.options(s)
	if err != nil {
		return o, err
	}
	if _, err := netrule.Parse(c.ExecutorAllow); err != nil {
		return o, setting("PUNCTUAL_EXECUTOR_ALLOW", err)
	}
	if o.SecretKeys, err = secretKeys(c.SecretKey, c.SecretKeyFile); err != nil {
		return o, err
	}
	if o.AccessToken, err = guard.Secret(c.AccessToken, c.AccessTokenFile); err != nil {
		return o, setting("PUNCTUAL_ACCESS_TOKEN_FILE", err)
	}
	if o.AdminPassword, err = guard.Secret(c.AdminPassword, c.AdminPasswordFile); err != nil {
		return o, setting("PUNCTUAL_ADMIN_PASSWORD_FILE", err)
	}
	if o.AuditShip, err = guard.Secret(c.AuditShip, c.AuditShipFile); err != nil {
		return o, setting("PUNCTUAL_AUDIT_SHIP_FILE", err)
	}
	if o.OutputStore, err = guard.Secret(c.OutputStore, c.OutputStoreFile); err != nil {
		return o, setting("PUNCTUAL_OUTPUT_STORE_FILE", err)
	}
	if _, err := netrule.Parse(c.ExecutorDeny); err != nil {
		return o, setting("PUNCTUAL_EXECUTOR_DENY", err)
	}
	if c.SignInFile != "" {
		if o.SignIn, err = directory.Read(c.SignInFile); err != nil {
			return o, setting("PUNCTUAL_SIGN_IN_FILE", err)
		}
	}
	o.Allow, o.Deny = c.ExecutorAllow, c.ExecutorDeny
	o.Listen, o.PublicURL = c.Listen, c.PublicURL
	o.NoAccessToken = c.InsecureNoToken
	o.Sample, o.Glue = app.SampleMode(c.Sample), c.Glue
	o.HTTPJobs, o.HTTPAllow = app.SampleMode(c.HTTPJobs), c.HTTPAllow
	o.RetentionDays, o.AlarmLanguage, o.AlarmDenyPrivate = c.RetentionDays, c.AlarmLanguage, c.AlarmNoPrivate
	o.TLSCert, o.TLSKey = c.TLSCert, c.TLSKey
	o.ExecutorTLS = wire.TLSOptions{CAFile: c.ExecutorCA, CertFile: c.ExecutorCert, KeyFile: c.ExecutorKey}
	o.CallTimeout, o.DrainTimeout, o.TrustProxy, o.Pprof = c.CallTimeout, c.DrainTimeout, c.TrustProxy, c.Pprof
	o.TrustedProxies, o.AdminListen, o.MailDomains = c.TrustedProxies, c.AdminListen, c.MailDomains
	if o.MetricsToken, err = guard.Secret(c.MetricsToken, c.MetricsTokenFile); err != nil {
		return o, setting("PUNCTUAL_METRICS_TOKEN_FILE", err)
	}
	o.MetricsJobs, o.Tracing = c.MetricsJobs, c.tracing.settings()
	o.Startup = c.startup()
	return o, nil
}

// secretKeys reads the secret key from the variable or from the file.
func secretKeys(key, file string) ([]string, error) {
	if file == "" {
		keys, err := app.ParseSecretKeys(key)
		if err != nil {
			return nil, setting("PUNCTUAL_SECRET_KEY", err)
		}
		return keys, nil
	}
	const name = "PUNCTUAL_SECRET_KEY_FILE"
	if key != "" {
		return nil, setting(name, errors.New("PUNCTUAL_SECRET_KEY is set too: choose one"))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, setting(name, err)
	}
	keys, err := app.ParseSecretKeys(string(text))
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%s is empty; fill it with: openssl rand -base64 32", file)
	}
	if err != nil {
		return nil, setting(name, err)
	}
	return keys, nil
}
