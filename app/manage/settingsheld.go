package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// Settings keep what administrators decide for the installation, and tell the rest of the program what holds now. Every admin
// of a cluster reads them again every few seconds and for each request of a person or a program ([Settings.Load]): what another
// admin has taken holds at once for who asks, and soon for what goes on by itself. What the environment of a process says wins in that process.
type Settings struct {
	pool    *db.Pool
	queries *db.Queries
	now     func() time.Time
	logger  *slog.Logger
	audit   *Audit
	fixed   map[string]string
	own     func(netip.AddrPort) bool // the admin's own listeners; nil: not known
	inside  func(address string) bool // executors in this process; nil: not known
	held    atomic.Pointer[held]
	began   atomic.Int64 // readings

	mu     sync.Mutex
	loaded int64 // which of them is held
}

// held are the values that hold, read once for many uses.
type held struct {
	values map[string]string
	rows   map[string]db.Setting
	broken map[string]bool // what is stored cannot be read, so the default holds
	allow  Allow
	denied Allow
	limits scheduler.Limits
	signIn auth.Policy
	alarms alarm.Defaults
}

// SettingSource says who decided a setting.
type SettingSource string

const (
	SourceDefault     SettingSource = "default"
	SourceStored      SettingSource = "stored"
	SourceEnvironment SettingSource = "environment"
)

// SettingState is a setting with what holds now.
type SettingState struct {
	Setting
	Value     string
	Source    SettingSource
	Broken    bool  // what is stored cannot be read, so the default holds
	ChangedAt int64 // epoch ms; 0 if nobody decided
}

// NewSettings makes settings that are at their defaults until [Settings.Load]. fixed holds what the environment decides, by
// name.
func NewSettings(pool *db.Pool, logger *slog.Logger, now func() time.Time, fixed map[string]string) (*Settings, error) {
	s := &Settings{pool: pool, queries: db.New(), now: now, logger: logger, fixed: make(map[string]string)}
	s.audit = &Audit{pool: pool, queries: s.queries, now: now, logger: logger, settings: s, search: usualSearch}
	for _, def := range AllSettings() {
		value, ok := fixed[def.Name]
		if !ok {
			continue
		}
		clean, bad := def.clean(value)
		if bad != nil {
			return nil, fmt.Errorf("setting %s: %q is not allowed", def.Name, value)
		}
		s.fixed[def.Name] = clean
	}
	s.held.Store(s.inForce(nil))
	return s, nil
}

// maxSettings bounds the rows that are read; there are a few dozen.
const maxSettings = 1000

// Load reads what is stored, and puts it into force.
func (s *Settings) Load(ctx context.Context) error {
	turn := s.began.Add(1)
	h, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn < s.loaded { // one that began later came first
		return nil
	}
	s.loaded = turn
	old := s.held.Load()
	for name := range h.broken {
		if h.broken[name] && !old.broken[name] {
			s.logger.Error("a setting in the database cannot be read, so its default holds; save it anew on the settings page", "setting", name)
		}
	}
	s.held.Store(h)
	return nil
}

func (s *Settings) read(ctx context.Context) (*held, error) {
	rows, err := s.queries.ListSettings(ctx, s.pool, maxSettings)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", db.Error(err))
	}
	return s.inForce(rows), nil
}

// inForce is what holds with what is stored.
func (s *Settings) inForce(rows []db.Setting) *held {
	h := &held{values: make(map[string]string), rows: make(map[string]db.Setting), broken: make(map[string]bool)}
	for _, r := range rows {
		h.rows[r.Name] = r
	}
	for _, def := range AllSettings() {
		h.values[def.Name] = def.Default
		if row, ok := h.rows[def.Name]; ok {
			clean, bad := def.clean(row.Value)
			if h.broken[def.Name] = bad != nil; bad == nil {
				h.values[def.Name] = clean
			}
		}
		if value, ok := s.fixed[def.Name]; ok {
			h.values[def.Name] = value
		}
	}
	h.allow.List, _ = netrule.Parse(h.values[SettingAllow]) // was checked
	h.denied.List, _ = netrule.Parse(h.values[SettingDeny])
	seconds := func(name string) time.Duration { return time.Duration(h.number(name)) * time.Second }
	h.limits = scheduler.Limits{
		MisfireAfter: seconds(SettingMisfire), LostAfter: seconds(SettingLost), IdleAfter: seconds(SettingForgotten),
		CallTimeout: time.Duration(h.number(SettingCallTimeout)) * time.Millisecond,
	}
	h.alarms = alarm.Defaults{
		Language: h.values[SettingAlarmLanguage], DenyPrivate: h.values[SettingAlarmDenyPrivate] == SettingOn,
		MailDomains: strings.FieldsFunc(h.values[SettingMailDomains], func(r rune) bool { return r == ',' }),
		Window:      time.Duration(h.number(SettingAlarmWindow)) * time.Minute,
	}
	h.signIn = auth.Policy{
		Idle: time.Duration(h.number(SettingSessionIdle)) * time.Minute, Absolute: time.Duration(h.number(SettingSessionLife)) * time.Hour,
		Remember: time.Duration(h.number(SettingRemember)) * 24 * time.Hour, ChangeGiven: h.values[SettingChangeGiven] == SettingOn,
		SecondFactor: auth.Whom(h.values[SettingSecond]),
	}
	return h
}

func (h *held) number(name string) int64 {
	n, _ := strconv.ParseInt(h.values[name], 10, 64) // was checked
	return n
}

// Limits are the engine's.
func (s *Settings) Limits() scheduler.Limits { return s.held.Load().limits }

// Watching says whether addresses that somebody typed are asked whether they are there.
func (s *Settings) Watching() bool { return s.held.Load().values[SettingWatch] == SettingOn }

// Outputs says which outputs of runs are kept, and how much of them.
func (s *Settings) Outputs() archive.Limits {
	h := s.held.Load()
	return archive.Limits{
		Keep: jobspec.Keep(h.values[SettingOutputKeep]), RunBytes: int(h.number(SettingOutputRun)) << 10, ByteRate: h.number(SettingOutputRate) << 10, MaxUncopy: maxUncopied,
		Shared: h.shared(),
	}
}

// maxUncopied is how many runs may wait for their output to be copied; of more it is not kept, and that is counted.
const maxUncopied = 1_000_000

// SignIn is what was decided about signing in.
func (s *Settings) SignIn() auth.Policy { return s.held.Load().signIn }

// AlarmDefaults are the alarmer's.
func (s *Settings) AlarmDefaults() alarm.Defaults { return s.held.Load().alarms }

// AlarmEditors says whether who may edit the jobs of a group looks after that group's alarm channels.
func (s *Settings) AlarmEditors() bool { return s.held.Load().values[SettingAlarmEditors] == SettingOn }

// Allow says which addresses may be called although no executor registered them.
func (s *Settings) Allow() Allow { return s.held.Load().allow }

// deny says which addresses are never called.
func (s *Settings) deny() Allow { return s.held.Load().denied }

// HTTPAllow says which addresses HTTP jobs may call, as [builtin.ParseAddressRule] reads it.
func (s *Settings) HTTPAllow() string { return s.held.Load().values[SettingHTTPAllow] }

// Glue says whether people may write scripts.
func (s *Settings) Glue() bool { return s.held.Load().values[SettingGlue] == SettingOn }

// FilesHold says whether jobs that are kept in files are changed there only.
func (s *Settings) FilesHold() bool { return s.held.Load().values[SettingFilesHold] == SettingOn }

// Language is the console's for a browser that asks for none it speaks.
func (s *Settings) Language() string { return s.held.Load().values[SettingLanguage] }

// PublicURL is how people reach the installation; empty: nobody said so.
func (s *Settings) PublicURL() string { return s.held.Load().values[SettingPublicURL] }

// auditLife is how long entries of the audit log are kept.
func (s *Settings) auditLife() time.Duration {
	return time.Duration(s.held.Load().number(SettingAuditDays)) * 24 * time.Hour
}

// ErrUnreadable means that a setting's row does not hold what it may.
var ErrUnreadable = errors.New("the stored setting cannot be read")

// Retention is for how many days runs are kept. It is an error if what is stored cannot be read: nothing is deleted on a guess.
func (s *Settings) Retention(context.Context) (upkeep.Retention, error) {
	h := s.held.Load()
	for _, name := range []string{SettingRetention, SettingRetentionSuccess} {
		if _, fixed := s.fixed[name]; h.broken[name] && !fixed {
			return upkeep.Retention{}, fmt.Errorf("%s: %w", name, ErrUnreadable)
		}
	}
	return upkeep.Retention{Days: int(h.number(SettingRetention)), Succeeded: int(h.number(SettingRetentionSuccess))}, nil
}

// List is every setting with what holds now, for administrators.
func (s *Settings) List(ctx context.Context, p auth.Principal) ([]SettingState, error) {
	if err := requireAuditor(p); err != nil {
		return nil, err
	}
	h, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var list []SettingState
	for _, def := range AllSettings() {
		state := SettingState{Setting: def, Value: h.values[def.Name], Source: SourceDefault, Broken: h.broken[def.Name]}
		if row, ok := h.rows[def.Name]; ok {
			state.Source, state.ChangedAt = SourceStored, row.UpdatedAt
		}
		if _, ok := s.fixed[def.Name]; ok {
			state.Source, state.Broken, state.ChangedAt = SourceEnvironment, false, 0
		}
		list = append(list, state)
	}
	return list, nil
}

// SettingsVersion changes with every change of a setting.
func SettingsVersion(list []SettingState) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s=%q %t;", s.Name, s.Value, s.Broken)
	}
	return digest(b.String())
}

// Save changes the settings that are named and differ, all of them or none, and returns how many. A value that is the default
// is not stored: whoever has it follows the program. version is what [SettingsVersion] said when the form was drawn.
func (s *Settings) Save(ctx context.Context, p auth.Principal, values map[string]string, version string) (changed int, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	err = s.pool.InTurn(ctx, ObjectSetting, func(ctx context.Context, tx *sql.Tx) error {
		changed, err = s.save(ctx, tx, p, values, version)
		return err
	})
	if err != nil || changed == 0 {
		return 0, err
	}
	return changed, s.Load(ctx)
}

func (s *Settings) save(ctx context.Context, tx *sql.Tx, p auth.Principal, values map[string]string, version string) (changed int, err error) {
	list, err := s.List(ctx, p)
	if err != nil {
		return 0, err
	}
	var faults []problem.Field
	wanted := make(map[string]string)
	for _, state := range list {
		value, named := values[state.Name]
		if !named || state.Source == SourceEnvironment {
			continue
		}
		clean, bad := state.clean(value)
		switch {
		case bad != nil:
			faults = append(faults, *bad)
		case clean != state.Value || state.Broken:
			wanted[state.Name] = clean
		}
	}
	switch {
	case len(faults) > 0:
		return 0, problem.InvalidFields(faults...)
	case version != "" && version != SettingsVersion(list):
		return 0, problem.New(problem.Conflict, "settings.changed")
	case len(wanted) == 0:
		return 0, nil
	}
	for _, state := range list {
		value, ok := wanted[state.Name]
		if !ok {
			continue
		}
		if value == state.Default {
			_, err = s.queries.DeleteSetting(ctx, tx, state.Name)
		} else {
			err = s.queries.SetSetting(ctx, tx, db.SetSettingParams{Name: state.Name, Value: value, UpdatedAt: s.now().UnixMilli()})
		}
		if err != nil {
			return 0, fmt.Errorf("save settings: %w", db.Error(err))
		}
		entry := Entry{Action: ActionUpdate, Kind: ObjectSetting, Name: state.Name, Before: Snapshot{"value": state.Value}, After: Snapshot{"value": value}}
		if state.Broken {
			entry.Before = nil
		}
		if err := s.audit.Record(ctx, tx, p, entry); err != nil {
			return 0, err
		}
	}
	return len(wanted), nil
}
