package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Action is what somebody did, as the audit log keeps it.
type Action string

const (
	ActionCreate   Action = "create"
	ActionUpdate   Action = "update"
	ActionDelete   Action = "delete"
	ActionStart    Action = "start"
	ActionStop     Action = "stop"
	ActionRun      Action = "run"
	ActionBackfill Action = "backfill" // runs for planned times that are over, begun or changed
	ActionKill     Action = "kill"
	ActionClear    Action = "clear"
	ActionGlue     Action = "glue"     // a new version of a script
	ActionTry      Action = "try"      // a script was run before it was saved
	ActionPassword Action = "password" // a changed or reset password
	ActionSignOut  Action = "signout"  // somebody's sessions were ended
	ActionLogin    Action = "login"
	// ActionLoginSingle is no action of its own: it picks the logins that had no second factor ([AuditFilter]).
	ActionLoginSingle Action = "login_single"
	ActionRotate      Action = "rotate" // a new access token
	ActionTest        Action = "test"
	ActionShow        Action = "show" // a secret was looked at
	ActionLogout      Action = "logout"
	ActionExport      Action = "export"
	ActionRegister    Action = "register" // an executor came from an address that is not on record
	// ActionLoginRefused is somebody who was not let in; the name is what they typed.
	ActionLoginRefused Action = "login_refused"
	ActionRefused      Action = "refused" // somebody asked for what they may not do
	ActionSecond       Action = "second"  // a second factor was added, dropped or reset
	ActionPropose      Action = "propose" // a script waits for a second person
	ActionApprove      Action = "approve"
	ActionReject       Action = "reject"
	ActionRestore      Action = "restore" // a backup was put in the place of the database
	ActionFinish       Action = "finish"  // there is no way back to XXL-JOB any more
	ActionMove         Action = "move"    // a group's jobs are Punctual's, beside XXL-JOB
	ActionReturn       Action = "return"  // and XXL-JOB's again

	ActionAcknowledge   Action = "acknowledge" // somebody looks after the alarms of a job
	ActionUnacknowledge Action = "unacknowledge"

	ActionSkip    Action = "skip"    // a step of a flow was left out
	ActionSucceed Action = "succeed" // a step of a flow was taken for a success
	ActionRerun   Action = "rerun"   // a part of a run of a flow is done again
)

// Actions lists every action in the order the filter shows them.
func Actions() []Action {
	return []Action{ActionCreate, ActionUpdate, ActionDelete, ActionStart, ActionStop, ActionRun, ActionBackfill, ActionKill, ActionClear, ActionGlue, ActionTry,
		ActionPassword, ActionSecond, ActionSignOut, ActionLogin, ActionLoginSingle, ActionLoginRefused, ActionLogout, ActionRefused, ActionRotate, ActionShow, ActionExport, ActionRegister, ActionTest, ActionPropose, ActionApprove, ActionReject, ActionRestore, ActionFinish, ActionMove, ActionReturn, ActionAcknowledge, ActionUnacknowledge, ActionSkip, ActionSucceed, ActionRerun}
}

// Kinds of things that are changed.
const (
	ObjectJob     = "job"
	ObjectRun     = "run"
	ObjectGroup   = "group"
	ObjectUser    = "user"
	ObjectToken   = "token"
	ObjectChannel = "channel"
	ObjectSetting = "setting"
	ObjectView    = "view"    // a kept filter that is shared
	ObjectAddress = "address" // of an executor; its id is a fingerprint of it
	ObjectRequest = "request" // a route that was asked for
	ObjectAudit   = "audit"   // the audit log itself
	// ObjectAPIToken is a token with which a program acts for somebody, and no executor's.
	ObjectAPIToken = "apitoken"
	ObjectSecret   = "secret" // its id is the group's
	ObjectTeam     = "team"
	ObjectAdoption = "adoption"
	ObjectCalendar = "calendar" // it has no id, but a name
	ObjectPause    = "pause"
	ObjectWebhook  = "webhook"
	ObjectNote     = "note"
	ObjectDatabase = "database"
)

// Objects lists every kind of thing in the order the filter shows them.
func Objects() []string {
	return []string{ObjectJob, ObjectRun, ObjectGroup, ObjectUser, ObjectToken, ObjectChannel, ObjectSetting, ObjectView, ObjectAddress, ObjectRequest, ObjectAudit, ObjectAPIToken, ObjectSecret, ObjectTeam, ObjectAdoption, ObjectCalendar, ObjectPause, ObjectWebhook, ObjectNote, ObjectDatabase}
}

// Snapshot is what the audit log keeps of a thing before or after a change: fields by name. What is secret is never put in.
type Snapshot map[string]any

// Entry is one thing that somebody did. Of Before and After only what differs is kept; a nil one stands for nothing there.
type Entry struct {
	Action Action
	Kind   string // ObjectJob …
	ID     int64
	Name   string
	Group  int64 // the executor group that it is about; 0 for none, and for groups and tokens the id says it
	Before Snapshot
	After  Snapshot
}

// Audit keeps who did what, and shows it to administrators.
type Audit struct {
	pool     *db.Pool
	queries  *db.Queries
	now      func() time.Time
	logger   *slog.Logger
	settings *Settings
	search   search
	chain    *auditlog.Chain // nil where nobody looks after it
	flood    *flood
	webhooks *webhook.Service
}

// Chain is the chain of the entries.
func (a *Audit) Chain() *auditlog.Chain { return a.chain }

// Record writes an entry. Given the transaction of the change, both happen or neither.
func (a *Audit) Record(ctx context.Context, tx db.DBTX, p auth.Principal, e Entry) error {
	before, after := changed(e.Before, e.After)
	if e.Action == ActionUpdate && len(before) == 0 && len(after) == 0 {
		return nil // saved without a change
	}
	if e.Group == 0 && (e.Kind == ObjectGroup || e.Kind == ObjectToken || e.Kind == ObjectSecret) {
		e.Group = e.ID
	}
	_, err := a.queries.InsertAudit(ctx, tx, db.InsertAuditParams{
		MadeAt: a.now().UnixMilli(), UserID: p.UserID, UserName: cut(p.Name, 64), Address: cut(p.Address, 64), Action: string(e.Action),
		ObjectKind: e.Kind, ObjectID: e.ID, ObjectName: cut(e.Name, 255), GroupID: e.Group, BeforeJSON: encode(before), AfterJSON: encode(after),
	})
	if err != nil {
		return fmt.Errorf("write audit log: %w", db.Error(err))
	}
	if a.chain != nil {
		a.chain.Wake()
	}
	return a.tell(ctx, tx, p, e)
}

// jobEvents are the deeds on jobs that programs are told of.
var jobEvents = map[Action]webhook.Type{
	ActionCreate: webhook.JobCreated, ActionUpdate: webhook.JobUpdated, ActionDelete: webhook.JobDeleted, ActionStart: webhook.JobStarted, ActionStop: webhook.JobStopped,
	ActionGlue: webhook.JobUpdated, ActionApprove: webhook.JobUpdated,
}

// tell tells programs of what was done to a job.
func (a *Audit) tell(ctx context.Context, tx db.DBTX, p auth.Principal, e Entry) error {
	what, ok := jobEvents[e.Action]
	if !ok || e.Kind != ObjectJob || a.webhooks.Idle() {
		return nil
	}
	defer a.webhooks.Wake()              // the next look finds it, should this come before the commit
	tags, _ := e.Before["tags"].(string) // of a job that is gone its row does not tell them, nor which an edit took away
	from, _ := e.Before["job_group"].(int64)
	return a.webhooks.Write(ctx, tx, webhook.Event{
		Type: what, Group: e.Group, From: from, Job: e.ID, At: a.now(), Facts: webhook.Facts{Name: cut(e.Name, 255), By: cut(p.Name, 64), Tags: tags},
	})
}

// Note records what has happened outside a transaction (a run was started, a run was ended). That it cannot be written
// does not undo it, so it is said in the log.
func (a *Audit) Note(ctx context.Context, p auth.Principal, e Entry) {
	if err := a.Record(context.WithoutCancel(ctx), a.pool, p, e); err != nil {
		a.logger.Error("an action is missing in the audit log", "action", string(e.Action), "object", e.Kind, "id", e.ID, "user", p.Name, "error", err)
	}
}

// changed leaves of two descriptions what differs, and of a single one what says something.
func changed(before, after Snapshot) (Snapshot, Snapshot) {
	if before == nil || after == nil {
		return told(before), told(after)
	}
	b, a := Snapshot{}, Snapshot{}
	for name, old := range before {
		if now, ok := after[name]; !ok || now != old {
			b[name] = old
		}
	}
	for name, now := range after {
		if old, ok := before[name]; !ok || now != old {
			a[name] = now
		}
	}
	return b, a
}

func told(f Snapshot) Snapshot {
	kept := Snapshot{}
	for name, v := range f {
		if v != "" && v != int64(0) && v != 0 && v != false {
			kept[name] = v
		}
	}
	return kept
}

// maxFact bounds one value: a script's versions are kept beside it anyway.
const maxFact = 100_000

func encode(f Snapshot) db.Text {
	if len(f) == 0 {
		return ""
	}
	for name, v := range f {
		if s, ok := v.(string); ok && len(s) > maxFact {
			f[name] = strings.ToValidUTF8(s[:maxFact], "") + "…"
		}
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return "" // plain values always encode
	}
	return db.Text(raw)
}

func cut(s string, characters int) string {
	s = strings.ToValidUTF8(s, "")
	if utf8.RuneCountInString(s) <= characters {
		return s
	}
	return string([]rune(s)[:characters])
}

// AuditFilter narrows the log. Zero values stand for "any".
type AuditFilter struct {
	User   string
	Action string
	Kind   string
	ID     int64  // of the object
	Group  int64  // the executor group that it is about
	Text   string // in the object's name, or in the address
	Since  time.Time
	Until  time.Time
	Before int64         // the page of entries below this id
	After  int64         // or the page next above this id
	Deep   bool          // somebody waits: search for longer before giving up
	Look   time.Duration // or as long as they say; 0: they do not
	Limit  int
}

// AuditList is one page, newest first.
type AuditList struct {
	Entries []db.AuditRow
	Newer   int64 // AuditFilter.After of the page above this one; 0: this is the topmost
	Older   int64 // AuditFilter.Before of the page below; 0: this is the last
	// Searched says that the page ends at Older because the search took too long, and not because it is full; Reached is
	// the time of the last entry that was looked at.
	Searched bool
	Reached  time.Time
}

// query is the filter as the database has it.
func (f AuditFilter) query() db.AuditFilter {
	q := db.AuditFilter{User: f.User, Action: f.Action, Kind: f.Kind, ObjectID: f.ID, GroupID: f.Group, UntilMs: db.Millis(f.Until)}
	if Action(f.Action) == ActionLoginSingle {
		q.Action, q.After = string(ActionLogin), contains(`"factor":"`+SingleFactor+`"`)
	}
	if f.Text != "" {
		q.Text = contains(f.Text)
	}
	return q
}

// auditSlack is how far apart the clocks of two admins may be, which give times to entries whose ids the database gives.
const auditSlack = time.Minute

// List is one page of the log, for administrators.
func (a *Audit) List(ctx context.Context, p auth.Principal, f AuditFilter) (AuditList, error) {
	var list AuditList
	if err := requireAuditor(p); err != nil {
		return list, err
	}
	q := f.query()
	from, before, err := a.bounds(ctx, f)
	if err != nil {
		return list, fmt.Errorf("find ends of the audit log: %w", err)
	}
	left := a.search.time(f.Deep, f.Look)
	switch {
	case f.After != 0: // find where the page above begins, then read down from there
		began := time.Now()
		if before, list.Newer, err = a.above(ctx, q, max(from, f.After+1), before, f.Limit, left/2); err != nil {
			return list, fmt.Errorf("find newer audit entries: %w", err)
		}
		left = max(left-time.Since(began), left/3)
	case f.Before != 0 && f.Before < before:
		before, list.Newer = f.Before, f.Before-1
	}
	reached, err := a.search.walk(from, before, left, true, func(from, before int64) (bool, error) {
		rows, err := db.FindAudit(ctx, a.pool, q, from, before, f.Limit+1-len(list.Entries))
		list.Entries = append(list.Entries, rows...)
		return len(list.Entries) > f.Limit, db.Error(err)
	})
	if err != nil {
		return list, fmt.Errorf("list audit entries: %w", err)
	}
	switch {
	case len(list.Entries) > f.Limit:
		list.Entries = list.Entries[:f.Limit]
		list.Older = list.Entries[f.Limit-1].ID
	case reached > from:
		list.Older, list.Searched = reached, true
		at, err := a.queries.AuditTimeFrom(ctx, a.pool, reached)
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			return list, fmt.Errorf("find how far the search came: %w", err)
		}
		if err == nil {
			list.Reached = time.UnixMilli(at)
		}
	}
	return list, nil
}

// bounds finds the ids from which on and below which the entries of a time lie.
func (a *Audit) bounds(ctx context.Context, f AuditFilter) (from, before int64, err error) {
	ends, err := a.queries.AuditIDs(ctx, a.pool)
	if err != nil {
		return 0, 0, db.Error(err)
	}
	from, before = ends.FirstID, ends.LastID+1
	// since is the first entry since a moment; where there is none yet, the one that will be written next.
	since := func(at time.Time) (int64, error) {
		id, err := a.queries.FirstAuditIDSince(ctx, a.pool, at.UnixMilli())
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return before, nil
		}
		return id, err
	}
	if !f.Since.IsZero() {
		if from, err = since(f.Since); err != nil {
			return 0, 0, err
		}
	}
	if !f.Until.IsZero() {
		before, err = since(f.Until.Add(auditSlack))
	}
	return from, before, err
}

// above finds where the page above begins, and from where on there may be another one above that; 0: nowhere.
func (a *Audit) above(ctx context.Context, q db.AuditFilter, from, before int64, limit int, left time.Duration) (top, newer int64, err error) {
	var ids []int64
	reached, err := a.search.walk(from, before, left, false, func(from, before int64) (bool, error) {
		found, err := db.FindAuditIDs(ctx, a.pool, q, from, before, limit+1-len(ids))
		ids = append(ids, found...)
		return len(ids) > limit, db.Error(err)
	})
	switch {
	case err != nil:
		return 0, 0, err
	case len(ids) > limit:
		return ids[limit-1] + 1, ids[limit-1], nil
	case reached < before:
		return reached, reached - 1, nil
	}
	return before, 0, nil
}

// Get is one entry with what it changed.
func (a *Audit) Get(ctx context.Context, p auth.Principal, id int64) (e db.AuditEntry, before, after Snapshot, err error) {
	if err := requireAuditor(p); err != nil {
		return e, nil, nil, err
	}
	e, err = a.queries.GetAudit(ctx, a.pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return e, nil, nil, problem.New(problem.NotFound, "problem.audit.gone")
	} else if err != nil {
		return e, nil, nil, fmt.Errorf("read audit entry: %w", err)
	}
	return e, decode(e.BeforeJSON), decode(e.AfterJSON), nil
}

// decode reads a stored snapshot; what cannot be read is shown as nothing.
func decode(text db.Text) Snapshot {
	var f Snapshot
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // ids stay whole
	if err := d.Decode(&f); err != nil {
		return nil
	}
	return f
}

// maxAuditUsers bounds the names in the filter that are no user's now: of who is gone, of tokens, and whatever strangers typed at the login.
const maxAuditUsers = 200

// Users are the names of all users, and of others who did anything; what nobody did, such as an executor's registration, has none.
func (a *Audit) Users(ctx context.Context, p auth.Principal) ([]string, error) {
	if err := requireAuditor(p); err != nil {
		return nil, err
	}
	names, err := db.ListAuditUsers(ctx, a.pool, maxAuditUsers)
	if err != nil {
		return nil, db.Error(err)
	}
	users, err := everybody(ctx, a.queries, a.pool)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		names = append(names, u.Username)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" }), nil
}

// Clean forgets entries that are older than anybody has to keep them.
func (a *Audit) Clean(ctx context.Context) error {
	return a.chain.Forget(ctx, a.now().Add(-a.settings.auditLife()))
}
