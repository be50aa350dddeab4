package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Webhooks are the use cases of events for programs. They tell of everybody's jobs, so they are the administrators' alone.
type Webhooks struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
	failing failing
}

// The names of a webhook's fields that can be wrong.
const (
	WebhookName   = "name"
	WebhookURL    = "url"
	WebhookTypes  = "types"
	WebhookGroups = "groups"
	WebhookTags   = "tags"
)

const (
	maxWebhooks = 50
	// webhookCounted is how far waiting deliveries are counted.
	webhookCounted = 10_000
	// webhookOldSecret is how long the secret before signs too.
	webhookOldSecret = 24 * time.Hour
)

// Webhook is a webhook as administrators see it.
type Webhook struct {
	ID           int64
	Name         string
	Place        string // scheme and host of its address; the rest may be secret
	Types        []webhook.Type
	Groups       []int64
	Tags         []string
	State        webhook.State
	Waiting      int64 // up to webhookCounted
	More         bool  // and more than that
	GivenUp      int64
	Oldest       time.Time // of what waits
	FailingSince time.Time // it is down, or refuses whatever it is sent; zero: neither
	RestUntil    time.Time
	LastOK       time.Time
	Reason       webhook.Reason // of the last failure
	Status       int
	Dropped      int64
	MadeBy       string
	Version      int64
}

// Unsealed says whether its settings can be read with this installation's key.
func (w *Webhook) Unsealed() bool { return w.Place != "" }

// WebhookInput is a webhook as somebody wants it.
type WebhookInput struct {
	Name   string
	URL    string // empty: as it is
	Types  []webhook.Type
	Groups []int64
	Tags   []string
	Off    bool
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	db.WebhookDelivery
	Job string // what its job is called; empty: it is gone
	Run bool   // its run is still there
}

// List is all webhooks by name.
func (s *Webhooks) List(ctx context.Context, p auth.Principal) ([]Webhook, error) {
	if err := requireAdmin(p); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListWebhooks(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", db.Error(err))
	}
	var list []Webhook
	for i := range rows {
		if webhook.State(rows[i].State) == webhook.Deleted {
			continue
		}
		w, err := s.view(ctx, &rows[i])
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// failingFor is how long a webhook fails until administrators are told on every page: a receiver that is begun again takes less.
const failingFor = 5 * time.Minute

// failing are webhooks that have failed for so long, as of the latest look. Every page of an administrator asks.
type failing struct {
	mu    sync.Mutex
	until time.Time // the figures count; by the monotonic clock
	count int
	first db.Webhook
}

// Failing is how many webhooks have failed for minutes, with the id and the name of the first of them by name. 0 where that cannot be found out,
// which is no reason to show no page.
func (s *Webhooks) Failing(ctx context.Context) (n int, id int64, name string) {
	f := &s.failing
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); !now.Before(f.until) {
		rows, err := s.queries.ListWebhooks(ctx, s.cfg.Pool)
		if err != nil {
			s.cfg.Logger.Debug("count webhooks that fail", "error", db.Error(err))
			return 0, 0, ""
		}
		rows = slices.DeleteFunc(rows, func(r db.Webhook) bool {
			return webhook.State(r.State) != webhook.On || r.FailingSince == 0 || s.cfg.Now().Sub(time.UnixMilli(r.FailingSince)) < failingFor
		})
		f.until, f.count, f.first = now.Add(unheardFor), len(rows), db.Webhook{}
		if len(rows) > 0 {
			f.first = rows[0]
		}
	}
	return f.count, f.first.ID, f.first.Name
}

// Get is one webhook.
func (s *Webhooks) Get(ctx context.Context, p auth.Principal, id int64) (Webhook, error) {
	if err := requireAdmin(p); err != nil {
		return Webhook{}, err
	}
	row, err := s.row(ctx, s.cfg.Pool, id)
	if err != nil {
		return Webhook{}, err
	}
	return s.view(ctx, &row)
}

func (s *Webhooks) row(ctx context.Context, tx db.DBTX, id int64) (db.Webhook, error) {
	row, err := s.queries.GetWebhook(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) || err == nil && webhook.State(row.State) == webhook.Deleted {
		return row, problem.New(problem.NotFound, "problem.webhook.gone")
	}
	return row, err
}

func (s *Webhooks) view(ctx context.Context, r *db.Webhook) (Webhook, error) {
	w := Webhook{
		ID: r.ID, Name: r.Name, Groups: db.ReadIDs(r.GroupIds), Tags: webhook.Words(r.Tags), State: webhook.State(r.State), FailingSince: moment(r.FailingSince), RestUntil: moment(r.RestUntil),
		LastOK: moment(r.LastOkAt), Reason: webhook.Reason(r.LastReason), Status: int(r.LastStatus), Dropped: r.Dropped, MadeBy: r.MadeBy, Version: r.UpdatedAt,
	}
	for _, t := range webhook.Words(r.Types) {
		w.Types = append(w.Types, webhook.Type(t))
	}
	if settings, err := s.cfg.Webhooks.Open(r); err == nil {
		w.Place = settings.Place()
	}
	var err error
	if w.Waiting, err = s.queries.CountDeliveries(ctx, s.cfg.Pool, db.CountDeliveriesParams{WebhookID: r.ID, State: webhook.Waiting, Limit: webhookCounted + 1}); err != nil {
		return w, fmt.Errorf("count deliveries: %w", db.Error(err))
	}
	if w.More = w.Waiting > webhookCounted; w.More {
		w.Waiting = webhookCounted
	}
	if w.GivenUp, err = s.queries.CountDeliveries(ctx, s.cfg.Pool, db.CountDeliveriesParams{WebhookID: r.ID, State: webhook.GivenUp, Limit: webhookCounted}); err != nil {
		return w, fmt.Errorf("count deliveries: %w", db.Error(err))
	}
	if w.Waiting > 0 {
		first, err := s.queries.ListFreshDeliveries(ctx, s.cfg.Pool, db.ListFreshDeliveriesParams{WebhookID: r.ID, Limit: 1})
		if err != nil {
			return w, fmt.Errorf("read the oldest delivery: %w", db.Error(err))
		}
		if len(first) > 0 {
			w.Oldest = moment(first[0].HappenedAt)
		}
	}
	return w, nil
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// check is what is wrong with an input, and puts it into the one order that all ways of saving have. needsURL says whether an address must be
// there; had are the groups that the webhook has already, which stay, also where one is gone: without it, it would be told of all jobs.
func (s *Webhooks) check(ctx context.Context, in *WebhookInput, needsURL bool, had []int64) ([]problem.Field, error) {
	var fields []problem.Field
	wrong := func(name, key string, args ...any) {
		fields = append(fields, problem.Field{Name: name, Key: key, Args: args})
	}
	in.Name, in.URL = strings.TrimSpace(in.Name), strings.TrimSpace(in.URL)
	switch {
	case in.Name == "":
		wrong(WebhookName, "job.error.required")
	case utf8.RuneCountInString(in.Name) > 64:
		wrong(WebhookName, "job.error.too_long", "Max", 64)
	case !invalid.IsLine(in.Name):
		wrong(WebhookName, "job.error.characters")
	}
	if needsURL || in.URL != "" {
		u, err := url.Parse(in.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(in.URL) > 2000 {
			wrong(WebhookURL, "webhooks.error.url")
		}
	}
	for _, t := range in.Types {
		if !slices.Contains(webhook.Types(), t) {
			wrong(WebhookTypes, "webhooks.error.types", "Type", cut(string(t), 64))
			break
		}
	}
	in.Types = slices.Compact(slices.SortedStableFunc(slices.Values(in.Types), func(a, b webhook.Type) int {
		return slices.Index(webhook.Types(), a) - slices.Index(webhook.Types(), b)
	}))
	in.Groups = slices.Compact(slices.Sorted(slices.Values(in.Groups)))
	if len(in.Groups) > 0 {
		all, err := s.queries.ListGroups(ctx, s.cfg.Pool)
		if err != nil {
			return nil, fmt.Errorf("list groups: %w", db.Error(err))
		}
		for _, id := range in.Groups {
			if !slices.Contains(had, id) && !slices.ContainsFunc(all, func(g db.Group) bool { return g.ID == id }) {
				wrong(WebhookGroups, "webhooks.error.group", "ID", id)
				break
			}
		}
		if len(db.IDList(in.Groups)) > 2000 {
			wrong(WebhookGroups, "webhooks.error.groups_many")
		}
	}
	for i, tag := range in.Tags {
		in.Tags[i] = strings.TrimSpace(tag)
		if in.Tags[i] == "" || strings.ContainsAny(tag, ",，") {
			wrong(WebhookTags, "pauses.error.tag")
			break
		}
		if !invalid.IsLine(in.Tags[i]) {
			wrong(WebhookTags, "job.error.characters")
			break
		}
	}
	if utf8.RuneCountInString(strings.Join(in.Tags, ",")) > 500 {
		wrong(WebhookTags, "job.error.too_long", "Max", 500)
	}
	return fields, nil
}

func joinTypes(types []webhook.Type) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = string(t)
	}
	return strings.Join(parts, ",")
}

func webhookSnapshot(name, place, types, groups, tags, state string) Snapshot {
	return Snapshot{"name": name, "place": place, "types": types, "groups": groups, "tags": tags, "state": state}
}

// Create makes a webhook. Its secret is told this once.
func (s *Webhooks) Create(ctx context.Context, p auth.Principal, in WebhookInput) (id int64, secret string, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, "", err
	}
	fields, err := s.check(ctx, &in, true, nil)
	if err != nil {
		return 0, "", err
	}
	if len(fields) > 0 {
		return 0, "", problem.InvalidFields(fields...)
	}
	settings := webhook.Settings{URL: in.URL, Secret: webhook.NewSecret()}
	sealed, err := s.cfg.Webhooks.Close(settings)
	if err != nil {
		return 0, "", err
	}
	state := webhook.On
	if in.Off {
		state = webhook.Off
	}
	row := db.InsertWebhookParams{
		Name: in.Name, Config: sealed, Types: joinTypes(in.Types), GroupIds: db.IDList(in.Groups), Tags: strings.Join(in.Tags, ","), State: string(state), MadeBy: cut(p.Name, 64),
		UpdatedAt: s.cfg.Now().UnixMilli(),
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		all, err := s.queries.ListWebhooks(ctx, tx)
		if err != nil {
			return err
		}
		// One that was deleted is there until its deliveries are gone.
		if all = slices.DeleteFunc(all, func(h db.Webhook) bool { return h.State == string(webhook.Deleted) }); len(all) >= maxWebhooks {
			return problem.New(problem.Conflict, "problem.webhook.many", "Max", maxWebhooks)
		}
		if id, err = s.queries.InsertWebhook(ctx, tx, row); err != nil {
			return nameTaken(err)
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectWebhook, ID: id, Name: in.Name,
			After: webhookSnapshot(in.Name, settings.Place(), row.Types, row.GroupIds, row.Tags, row.State)})
	})
	if err != nil {
		return 0, "", fmt.Errorf("make webhook: %w", err)
	}
	s.changed(ctx)
	return id, settings.Secret, nil
}

// changed has the next page of an administrator know too.
func (s *Webhooks) changed(ctx context.Context) {
	s.failing.mu.Lock()
	s.failing.until = time.Time{}
	s.failing.mu.Unlock()
	s.cfg.reloadWebhooks(ctx)
}

// reloadWebhooks has those who write events know at once what was changed. They read it every second anyway, so that it fails is no fault of the
// change, whose secret is told once.
func (c *Config) reloadWebhooks(ctx context.Context) {
	if err := c.Webhooks.Reload(context.WithoutCancel(ctx)); err != nil {
		c.Logger.Warn("read the webhooks anew", "error", err)
	}
}

func nameTaken(err error) error {
	if errors.Is(db.Error(err), db.ErrDuplicate) {
		return problem.InvalidFields(problem.Field{Name: WebhookName, Key: "webhooks.error.name_taken"})
	}
	return err
}

// Update changes a webhook, guarded by the version that was read. What it failed with is forgotten: it is tried at once.
func (s *Webhooks) Update(ctx context.Context, p auth.Principal, id, version int64, in WebhookInput) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	old, err := s.Get(ctx, p, id)
	if err != nil {
		return err
	}
	fields, err := s.check(ctx, &in, false, old.Groups)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	return s.change(ctx, p, id, version, ActionUpdate, func(row *db.Webhook, settings *webhook.Settings) {
		if in.URL != "" {
			settings.URL = in.URL
		}
		row.Name, row.Types, row.GroupIds, row.Tags = in.Name, joinTypes(in.Types), db.IDList(in.Groups), strings.Join(in.Tags, ",")
		switch {
		case !in.Off:
			row.State = string(webhook.On)
		case row.State == string(webhook.On): // one that is gone stays so
			row.State = string(webhook.Off)
		}
	})
}

// change reads a webhook, changes it and writes it, in one transaction.
func (s *Webhooks) change(ctx context.Context, p auth.Principal, id, version int64, action Action, set func(*db.Webhook, *webhook.Settings)) error {
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		row, err := s.row(ctx, tx, id)
		if err != nil {
			return err
		}
		settings, err := s.cfg.Webhooks.Open(&row)
		if err != nil {
			settings = webhook.Settings{Secret: webhook.NewSecret()} // of another key: it needs its address again, and a new secret
		}
		was, had := row, settings
		set(&row, &settings)
		before := webhookSnapshot(was.Name, had.Place(), was.Types, was.GroupIds, was.Tags, was.State)
		after := webhookSnapshot(row.Name, settings.Place(), row.Types, row.GroupIds, row.Tags, row.State)
		if was.UpdatedAt != version {
			return changedSince(strconv.FormatInt(was.UpdatedAt, 10), before, after)
		}
		if settings.URL == "" {
			return problem.InvalidFields(problem.Field{Name: WebhookURL, Key: "webhooks.error.url"})
		}
		sealed, err := s.cfg.Webhooks.Close(settings)
		if err != nil {
			return err
		}
		updated := row.UpdatedAt
		if !reflect.DeepEqual(row, was) || settings != had { // who saves it as it is tells nobody that it was changed
			updated = max(s.cfg.Now().UnixMilli(), row.UpdatedAt+1)
		}
		n, err := s.queries.UpdateWebhook(ctx, tx, db.UpdateWebhookParams{
			ID: id, Name: row.Name, Config: sealed, Types: row.Types, GroupIds: row.GroupIds, Tags: row.Tags, State: row.State,
			UpdatedAt: updated, Version: version,
		})
		if err != nil {
			return nameTaken(err)
		}
		if n == 0 {
			return problem.New(problem.Conflict, "problem.changed")
		}
		entry := Entry{Action: action, Kind: ObjectWebhook, ID: id, Name: row.Name, Before: before, After: after}
		if settings.URL != had.URL { // of the address no more is told than this
			entry.After["given"] = WebhookURL
		}
		return s.audit.Record(ctx, tx, p, entry)
	})
	if err != nil {
		return fmt.Errorf("change webhook: %w", err)
	}
	s.changed(ctx)
	return nil
}

// Rotate gives a webhook a new secret, which is told this once. The one before signs too for a day.
func (s *Webhooks) Rotate(ctx context.Context, p auth.Principal, id, version int64) (secret string, err error) {
	if err := requireAdmin(p); err != nil {
		return "", err
	}
	secret = webhook.NewSecret()
	return secret, s.change(ctx, p, id, version, ActionRotate, func(_ *db.Webhook, settings *webhook.Settings) {
		settings.Old, settings.OldUntil, settings.Secret = settings.Secret, s.cfg.Now().Add(webhookOldSecret), secret
	})
}

// Delete forgets a webhook and what waits for it.
func (s *Webhooks) Delete(ctx context.Context, p auth.Principal, id int64) error {
	return s.DeleteVersion(ctx, p, id, 0)
}

// DeleteVersion is Delete for a webhook of a version; 0 asks for no check.
func (s *Webhooks) DeleteVersion(ctx context.Context, p auth.Principal, id int64, version int64) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		row, err := s.row(ctx, tx, id)
		if err != nil {
			return err
		}
		// Nobody can give the name that it has until its deliveries are gone.
		n, err := s.queries.SetWebhookState(ctx, tx, db.SetWebhookStateParams{
			ID: id, State: string(webhook.Deleted), Name: "\n" + strconv.FormatInt(id, 10), UpdatedAt: row.UpdatedAt + 1, Version: cmp.Or(version, row.UpdatedAt),
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "problem.changed")
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectWebhook, ID: id, Name: row.Name,
			Before: webhookSnapshot(row.Name, "", row.Types, row.GroupIds, row.Tags, row.State)})
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	s.changed(ctx)
	return nil
}

// Test sends an event of the type punctual.webhook.test, by the same way as any other: it waits behind what waits.
func (s *Webhooks) Test(ctx context.Context, p auth.Principal, id int64) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		row, err := s.row(ctx, tx, id)
		if err != nil {
			return err
		}
		if webhook.State(row.State) != webhook.On {
			return problem.New(problem.Conflict, "problem.webhook.off")
		}
		if err := s.cfg.Webhooks.WriteTo(ctx, tx, id, webhook.Event{Type: webhook.WebhookTest, At: s.cfg.Now(), Facts: webhook.Facts{By: cut(p.Name, 64)}}); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionTest, Kind: ObjectWebhook, ID: id, Name: row.Name})
	})
	s.cfg.Webhooks.Wake()
	return err
}

// Deliveries are those of a webhook in a state, the newest first, below an id where there is one. Those that are tried again come first.
func (s *Webhooks) Deliveries(ctx context.Context, p auth.Principal, id, state, below int64, limit int) ([]Delivery, error) {
	if err := requireAdmin(p); err != nil {
		return nil, err
	}
	if _, err := s.row(ctx, s.cfg.Pool, id); err != nil {
		return nil, err
	}
	if below == 0 {
		below = math.MaxInt64
	}
	rows, err := s.queries.ListDeliveries(ctx, s.cfg.Pool, db.ListDeliveriesParams{WebhookID: id, State: state, Below: below, Limit: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", db.Error(err))
	}
	if state == webhook.Waiting {
		again, err := s.queries.ListRefusedDeliveries(ctx, s.cfg.Pool, db.ListRefusedDeliveriesParams{WebhookID: id, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("list deliveries: %w", db.Error(err))
		}
		rows = append(rows, slices.DeleteFunc(again, func(d db.WebhookDelivery) bool { return d.ID >= below })...)
		slices.SortFunc(rows, func(a, b db.WebhookDelivery) int { return int(min(max(b.ID-a.ID, -1), 1)) })
		rows = rows[:min(len(rows), limit)]
	}
	return s.named(ctx, rows)
}

// named adds to deliveries what there still is of what they tell of.
func (s *Webhooks) named(ctx context.Context, rows []db.WebhookDelivery) ([]Delivery, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	jobIDs, runIDs := make([]int64, len(rows)), make([]int64, len(rows))
	for i := range rows {
		jobIDs[i], runIDs[i] = rows[i].JobID, rows[i].LogID
	}
	jobs, err := s.queries.ListJobsToTell(ctx, s.cfg.Pool, jobIDs)
	if err != nil {
		return nil, fmt.Errorf("read the jobs of deliveries: %w", db.Error(err))
	}
	names := make(map[int64]string)
	for _, j := range jobs {
		names[j.ID] = j.JobDesc
	}
	there, err := s.queries.ListRunIDs(ctx, s.cfg.Pool, runIDs)
	if err != nil {
		return nil, fmt.Errorf("read the runs of deliveries: %w", db.Error(err))
	}
	list := make([]Delivery, len(rows))
	for i := range rows {
		list[i] = Delivery{WebhookDelivery: rows[i], Job: names[rows[i].JobID], Run: slices.Contains(there, rows[i].LogID)}
	}
	return list, nil
}

// SendAgain puts a delivery back that was taken or given up, or with delivery 0 all that were given up. It bears the same id.
func (s *Webhooks) SendAgain(ctx context.Context, p auth.Principal, id, delivery int64) (n int64, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		row, err := s.row(ctx, tx, id)
		if err != nil {
			return err
		}
		if delivery == 0 {
			n, err = s.queries.SendGivenUpAgain(ctx, tx, id)
		} else {
			n, err = s.queries.SendDeliveryAgain(ctx, tx, db.SendDeliveryAgainParams{ID: delivery, WebhookID: id})
		}
		if err != nil {
			return err
		}
		if n == 0 && delivery != 0 {
			if _, err := s.queries.GetDelivery(ctx, tx, db.GetDeliveryParams{ID: delivery, WebhookID: id}); errors.Is(db.Error(err), db.ErrNotFound) {
				return problem.New(problem.NotFound, "problem.webhook.delivery_gone")
			}
			return problem.New(problem.Conflict, "problem.webhook.delivery_waits")
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionRun, Kind: ObjectWebhook, ID: id, Name: row.Name, After: Snapshot{"deliveries": n}})
	})
	s.cfg.Webhooks.Wake()
	return n, err
}
