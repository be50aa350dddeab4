// Package manage holds the use cases that every face of the program shares: what the console does with a click and the job
// API with a request. Each takes the [auth.Principal] who asks and enforces what it may do, so that no face can forget it.
// Refusals are [problem.Error]s, which say a kind and a message; how they are drawn is for the faces.
//
// # Two people at one job
//
// A form of a job is open for minutes, and somebody else may save meanwhile. What it holds is then merged with what is stored, part by
// part: what only one of the two changed is taken from that one, and of what both changed the form's is kept and told of. Nothing is
// saved by that: two changes that do not touch may still not go together, so the form is shown again, filled with what came out.
//
// A merge has to know what both began with. It is not in the database: the audit log leaves long values out, goes after its time, and
// knows nothing of an XXL-JOB admin beside ours. Nor is it needed: whether a part was changed can be told from a mark of what it was. So
// the form carries a short digest of each part, some 300 characters whatever the length of a script. Two values with one mark would take
// a change for none; of 48 bits a mark that does not happen by chance, and nobody can do it to another, since who posts a form made it.
//
// Programs have no part in this: who writes by API v1 says with If-Match what was read, and is refused when it is no more.
//
// # Two people at one script
//
// The editor of a script is open for longer still, and a script is one field, of which a mark would say that both changed it. It is merged line
// by line ([MergeScripts]): lines that only one of the two changed are taken from that one, and of a place that both changed the text has
// what was typed, and all three are shown. As with a form, nothing is saved by it, and what is stored can be taken at each place.
//
// Here what both began with is in the database: every save of a script leaves a version, the first one with the job, and thirty are kept.
// The form's version says which ([Jobs.ScriptOf]), so that a page carries no second copy of a text of up to 16 MB. Where it is not kept (a job that
// an XXL-JOB admin made, before its first change) there is nothing to merge by, and both texts are shown beside each other.
//
// Changes that touch count as one place, as git has it: which of two lines comes first nobody knows. Markers in the text were left out, since
// a script with them could be saved, and run.
package manage

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/secret"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Engine is what the use cases need of the scheduler.
type Engine interface {
	Trigger(ctx context.Context, r scheduler.TriggerRequest) ([]int64, error)
	Kill(ctx context.Context, logID int64, user string) error
	Archive() *archive.Service
	Addresses(groupID int64) []scheduler.AddressState
	GroupSlots(ctx context.Context, groupID int64) (scheduler.SlotsTaken, error)
	JobSlots(ctx context.Context, row *db.Job) (scheduler.SlotsTaken, error)
	WhenBusy(row *db.Job) scheduler.WhenBusy
	RefusedCalls(ctx context.Context) ([]scheduler.RefusedCalls, error)
	SetAddressDisabled(ctx context.Context, groupID int64, address string, disabled bool) error
	Load() scheduler.Load
	JobsChanged()
	StartWaiting(groupID int64)
	GroupsChanged(ctx context.Context) error
	PausesChanged(ctx context.Context) error
}

// Flows is what the use cases of runs of flows need of the scheduler.
type Flows interface {
	Approve(ctx context.Context, d scheduler.StepDeed, yes bool) error
	SkipStep(ctx context.Context, d scheduler.StepDeed) error
	SetStepSuccess(ctx context.Context, d scheduler.StepDeed) error
	Repeat(ctx context.Context, r scheduler.Repeat) (int64, error)
}

// Outputs is what the use cases of runs need of what runs write.
type Outputs interface {
	Read(ctx context.Context, run *db.Run, fromLine int) (scheduler.Piece, error)
	StoreSilent() time.Duration
}

// RunCallbacks is what the use cases of asynchronous calls need of the scheduler.
type RunCallbacks interface {
	HandOut(ctx context.Context, c scheduler.Callback) error
	Report(ctx context.Context, r scheduler.Report) error
	Of(ctx context.Context, logID int64) (a scheduler.Awaited, ok bool, err error)
}

// Config is what the use cases are made of.
type Config struct {
	Pool   *db.Pool
	Engine Engine
	Upkeep Upkeep
	Zone   *time.Location   // in which cron texts are read; default the pool's
	Now    func() time.Time // default time.Now
	// Flows, Outputs and Callbacks are parts of the engine; without them runs of flows are not changed, outputs not read, and nobody reports.
	Flows     Flows
	Outputs   Outputs
	Callbacks RunCallbacks
	// Passwords, Logins, Sessions and Factors are for the use cases of users; without them these cannot be looked after.
	Passwords *auth.Passwords
	Logins    *auth.Logins
	Sessions  *auth.Sessions
	Factors   *auth.Factors
	Logger    *slog.Logger // default slog.Default
	// Settings are what administrators decide for the installation; without them everything is at its default.
	Settings *Settings
	// Alarms forgets what was set up for jobs and groups that are deleted; nil without alarms.
	Alarms Alarms
	// Alarmer keeps the settings of alarms; nil without alarms.
	Alarmer Alarmer
	// Directories are those where people are known who have no password here; nil: none are.
	Directories *directory.Directories
	// Tokens are the access tokens of executors; nil where nobody looks after them.
	Tokens TokenKeeper
	// Secrets keeps what jobs use without knowing it; nil: nothing.
	Secrets *secret.Store
	// Webhooks tells programs what happens; nil: nobody does.
	Webhooks *webhook.Service
}

// Alarms is what deleting needs of the alarmer.
type Alarms interface {
	ForgetJob(ctx context.Context, tx db.DBTX, jobID int64) error
	ForgetGroup(ctx context.Context, tx db.DBTX, groupID int64) error
}

// noAlarms is an installation without.
type noAlarms struct{}

func (noAlarms) ForgetJob(context.Context, db.DBTX, int64) error   { return nil }
func (noAlarms) ForgetGroup(context.Context, db.DBTX, int64) error { return nil }

func (c Config) withDefaults() Config {
	c.Zone = cmp.Or(c.Zone, c.Pool.Zone())
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Alarms == nil {
		c.Alarms = noAlarms{}
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Settings == nil {
		c.Settings, _ = NewSettings(c.Pool, c.Logger, c.Now, nil) // fails for fixed values only
	}
	if c.Directories == nil {
		c.Directories, _ = directory.New(directory.Config{}, c.Now) // fails for what is configured only
	}
	if c.Secrets == nil {
		c.Secrets = secret.NewStore(nil)
	}
	if c.Tokens == nil {
		c.Tokens = noTokens{}
	}
	return c
}

// Service is every use case; [Service.Jobs] and the others share its parts.
type Service struct {
	Jobs   *Jobs
	Groups *Groups
	Runs   *Runs
	Nodes  *Nodes
	Users  *Users
	Teams  *Teams
	Audit  *Audit
	Tokens *Tokens
	// Directories let people in who are known elsewhere.
	Directories *Directories
	// APITokens are those of people and service accounts, and no executors'.
	APITokens *APITokens
	// Devices are programs that ask for such a token.
	Devices *DeviceLogins
	// Callbacks are the reports of targets of asynchronous HTTP calls.
	Callbacks *Callbacks
	// Dashboard reads only, of everything.
	Dashboard *dashboard.Dashboard
	Channels  *Channels
	// OpenAlarms are those that have not recovered.
	OpenAlarms *OpenAlarms
	// Notes are what people write down at jobs and runs.
	Notes *Notes
	// Adoption is about a database that was XXL-JOB's.
	Adoption  *Adoption
	Settings  *Settings
	Views     *Views
	Secrets   *Secrets
	Calendars *Calendars
	Pauses    *Pauses
	Webhooks  *Webhooks
	// Accounts and Timelines read only.
	Accounts  *Accounts
	Timelines *Timelines
	Backfills *Backfills
}

// New makes the use cases.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	q := db.New()
	audit := &Audit{pool: cfg.Pool, queries: q, now: cfg.Now, logger: cfg.Logger, settings: cfg.Settings, search: usualSearch,
		chain: auditlog.New(cfg.Pool, cfg.Logger), flood: newFlood(), webhooks: cfg.Webhooks}
	cfg.Settings.audit.chain = audit.chain
	groups := &Groups{cfg: cfg, queries: q, audit: audit}
	users := &Users{cfg: cfg, queries: q, audit: audit}
	schedules := db.NewSchedules(cfg.Pool, cfg.Pool.Zone(), cfg.Now)
	figures := dashboard.New(dashboard.Config{Pool: cfg.Pool, Zone: cfg.Zone, Now: cfg.Now, Open: func() []int64 { return cfg.Engine.Load().Open }})
	jobs := &Jobs{cfg: cfg, queries: q, schedules: schedules, groups: groups, audit: audit, figures: figures, pauses: &Pauses{cfg: cfg, queries: q, audit: audit}, names: new(jobNames), last: new(lastRuns), usual: &usualTimes{cfg: cfg, queries: q}}
	runs := &Runs{cfg: cfg, queries: q, audit: audit, search: usualSearch, figures: figures}
	channels := &Channels{cfg: cfg, queries: q, audit: audit}
	apiTokens := &APITokens{cfg: cfg, queries: q, audit: audit}
	return &Service{
		Dashboard: figures,
		Groups:    groups, Jobs: jobs, Runs: runs, Backfills: &Backfills{cfg: cfg, queries: q, jobs: jobs, runs: runs, audit: audit},
		Nodes: &Nodes{cfg: cfg, queries: q}, Users: users, Teams: &Teams{cfg: cfg, queries: q, audit: audit}, Directories: &Directories{cfg: cfg, queries: q, audit: audit, users: users}, Audit: audit,
		Tokens: &Tokens{cfg: cfg, groups: groups, audit: audit}, APITokens: apiTokens, Devices: &DeviceLogins{cfg: cfg, queries: q, tokens: apiTokens}, Callbacks: &Callbacks{cfg: cfg, queries: q, guesses: auth.NewGuesses(guessPause, guessBurst)}, Secrets: &Secrets{cfg: cfg, queries: q, audit: audit}, Pauses: jobs.pauses, Channels: channels,
		Notes:      &Notes{cfg: cfg, queries: q, audit: audit},
		OpenAlarms: &OpenAlarms{cfg: cfg, queries: q, audit: audit, guesses: auth.NewGuesses(guessPause, guessBurst)},
		Adoption:   &Adoption{cfg: cfg, queries: q, audit: audit, channels: channels},
		Settings:   cfg.Settings, Views: &Views{cfg: cfg, queries: q, audit: audit},
		Calendars: &Calendars{cfg: cfg, queries: q, audit: audit},
		Webhooks:  &Webhooks{cfg: cfg, queries: q, audit: audit},
		Accounts:  &Accounts{cfg: cfg, queries: q, schedules: schedules},
		Timelines: &Timelines{cfg: cfg, queries: q, jobs: jobs, runs: runs, figures: figures},
	}
}

// during says what failed with an error; nil stays nil.
func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, db.Error(err))
}

// forbidden refuses what the principal may not do.
func forbidden() error { return &problem.Error{Kind: problem.Forbidden} }

// requireAdmin refuses everybody but administrators.
func requireAdmin(p auth.Principal) error {
	if !p.Admin {
		return forbidden()
	}
	return nil
}

// requireAuditor refuses everybody but administrators and auditors.
func requireAuditor(p auth.Principal) error {
	if !p.Audits() {
		return forbidden()
	}
	return nil
}

// scope turns "one group, or 0 for all" into what the list queries take. A group that p may not use gives an empty list
// rather than a refusal: a link with a filter in it then shows nothing, and tells nothing either.
func scope(p auth.Principal, groupID int64) (all int64, ids []int64) {
	if groupID != 0 {
		if p.CanUseGroup(groupID) {
			return 0, []int64{groupID}
		}
		return 0, nil
	}
	ids, everything := p.Groups()
	if everything {
		return 1, nil
	}
	return 0, ids
}

var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// maxSought is how many bytes of a text are looked for: the embedded database takes a pattern of 50,000, in which each may be escaped. What is
// longer is found nowhere but in a message, and there by its beginning.
const maxSought = 24_000

// contains is the pattern that finds a text anywhere; ! escapes the wildcards, which have no meaning to people.
func contains(text string) string {
	return "%" + likeEscaper.Replace(strings.ToValidUTF8(text[:min(len(text), maxSought)], "")) + "%"
}

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: true} }
