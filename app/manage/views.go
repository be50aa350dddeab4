package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Views are filters of lists that people keep under a name. Everybody sees their own and those that administrators share. A
// view shows nobody more than their rights do: it is an address, and the list behind it judges for itself.
type Views struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The lists whose filters can be kept.
const (
	ViewJobs      = "jobs"
	ViewRuns      = "runs"
	ViewExecutors = "executors"
	ViewAudit     = "audit" // for administrators and auditors
)

// View is a kept filter as somebody sees it.
type View struct {
	ID     int64
	Page   string // ViewJobs …
	Name   string
	Params string // the query of the list's address
	Shared bool
	Edit   bool // they may change it
}

// ViewInput is a view as somebody wants to keep it.
type ViewInput struct {
	Page    string // of a new one
	Name    string
	Params  string // of a new one
	Shared  bool
	Replace bool // the filter of a view with the same name becomes this one
}

// ViewName is the name of a view's field, by which a problem.Field finds its place in a form.
const ViewName = "name"

// What a view's name, its filter and a user's views are limited to.
const (
	MaxViewName = 40
	maxViewText = 2000
	maxViews    = 100
	maxListed   = 1000
)

// List is what somebody sees on one list, by name; with an empty page on all of them.
func (s *Views) List(ctx context.Context, p auth.Principal, page string) ([]View, error) {
	if p.Zero() {
		return nil, forbidden()
	}
	rows, err := s.queries.ListViews(ctx, s.cfg.Pool, db.ListViewsParams{UserID: p.UserID, Limit: maxListed})
	if err != nil {
		return nil, fmt.Errorf("list views: %w", db.Error(err))
	}
	var list []View
	for _, r := range rows {
		if page != "" && r.Page != page || r.Page == ViewAudit && !p.Audits() {
			continue
		}
		list = append(list, seenView(p, r))
	}
	slices.SortStableFunc(list, func(a, b View) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return list, nil
}

func seenView(p auth.Principal, r db.View) View {
	mine := r.UserID == p.UserID
	shared := r.Shared != 0
	return View{ID: r.ID, Page: r.Page, Name: r.Name, Params: r.Params, Shared: shared, Edit: mine && (!shared || p.Admin) || shared && p.Admin}
}

// Get is a view that somebody may change. What belongs to somebody else does not exist for them.
func (s *Views) Get(ctx context.Context, p auth.Principal, id int64) (View, error) {
	return s.get(ctx, s.cfg.Pool, p, id)
}

func (s *Views) get(ctx context.Context, tx db.DBTX, p auth.Principal, id int64) (View, error) {
	gone := problem.New(problem.NotFound, "problem.view.gone")
	if p.Zero() {
		return View{}, gone
	}
	r, err := s.queries.GetView(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return View{}, gone
	} else if err != nil {
		return View{}, fmt.Errorf("read view: %w", err)
	}
	if v := seenView(p, r); v.Edit {
		return v, nil
	}
	return View{}, gone
}

// check judges an input and cleans its name.
func (s *Views) check(p auth.Principal, in *ViewInput) error {
	in.Name = strings.TrimSpace(in.Name)
	switch {
	case in.Shared && !p.Admin:
		return forbidden()
	case in.Name == "":
		return problem.InvalidFields(problem.Field{Name: ViewName, Key: "job.error.required"})
	case utf8.RuneCountInString(in.Name) > MaxViewName:
		return problem.InvalidFields(problem.Field{Name: ViewName, Key: "job.error.too_long", Args: []any{"Max", MaxViewName}})
	case !invalid.IsLine(in.Name):
		return problem.InvalidFields(problem.Field{Name: ViewName, Key: "job.error.characters"})
	}
	return nil
}

// Create keeps a filter.
func (s *Views) Create(ctx context.Context, p auth.Principal, in ViewInput) (int64, error) {
	if p.Zero() || in.Page == ViewAudit && !p.Audits() {
		return 0, forbidden()
	}
	if err := s.check(p, &in); err != nil {
		return 0, err
	}
	if !slices.Contains([]string{ViewJobs, ViewRuns, ViewExecutors, ViewAudit}, in.Page) {
		return 0, &problem.Error{Kind: problem.Malformed}
	}
	if in.Params == "" || len(in.Params) > maxViewText {
		return 0, problem.InvalidFields(problem.Field{Name: ViewName, Key: "views.error.filter"})
	}
	id := int64(0)
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		own, err := s.ownNamed(ctx, tx, p, in)
		switch {
		case err != nil:
			return err
		case own != nil && (!in.Replace || !seenView(p, *own).Edit):
			return problem.InvalidFields(problem.Field{Name: ViewName, Key: "views.error.taken"})
		case own != nil:
			id = own.ID
			return s.change(ctx, tx, p, seenView(p, *own), View{Name: in.Name, Params: in.Params, Shared: in.Shared})
		}
		n, err := s.queries.CountViewsOf(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		if n >= maxViews {
			return problem.InvalidFields(problem.Field{Name: ViewName, Key: "views.error.many", Args: []any{"Max", maxViews}})
		}
		id, err = s.queries.InsertView(ctx, tx, db.InsertViewParams{
			UserID: p.UserID, Page: in.Page, Name: in.Name, Params: in.Params, Shared: flag(in.Shared), CreatedAt: s.cfg.Now().UnixMilli(),
		})
		if err = db.Error(err); errors.Is(err, db.ErrDuplicate) { // by the same user in another window
			return problem.InvalidFields(problem.Field{Name: ViewName, Key: "views.error.taken"})
		} else if err != nil {
			return err
		}
		return s.record(ctx, tx, p, ActionCreate, id, View{}, View{Page: in.Page, Name: in.Name, Params: in.Params, Shared: in.Shared})
	})
	return id, during("keep view", err)
}

// ownNamed is the principal's own view of a name, nil if there is none.
func (s *Views) ownNamed(ctx context.Context, tx db.DBTX, p auth.Principal, in ViewInput) (*db.View, error) {
	rows, err := s.queries.ListViews(ctx, tx, db.ListViewsParams{UserID: p.UserID, Limit: maxListed})
	if err != nil {
		return nil, db.Error(err)
	}
	for i, r := range rows {
		if r.UserID == p.UserID && r.Page == in.Page && strings.EqualFold(r.Name, in.Name) {
			return &rows[i], nil
		}
	}
	return nil, nil
}

// Update renames a view, shares it, or keeps it to its owner again.
func (s *Views) Update(ctx context.Context, p auth.Principal, id int64, in ViewInput) error {
	if err := s.check(p, &in); err != nil {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		v, err := s.get(ctx, tx, p, id)
		if err != nil {
			return err
		}
		err = s.change(ctx, tx, p, v, View{Name: in.Name, Params: v.Params, Shared: in.Shared})
		if errors.Is(db.Error(err), db.ErrDuplicate) {
			return problem.InvalidFields(problem.Field{Name: ViewName, Key: "views.error.taken"})
		}
		return err
	})
	return during("change view", err)
}

func (s *Views) change(ctx context.Context, tx *sql.Tx, p auth.Principal, old, now View) error {
	if old.Shared && !now.Shared { // of somebody who is deleted it would be nobody's
		if _, err := s.queries.OwnView(ctx, tx, db.OwnViewParams{UserID: p.UserID, ID: old.ID}); err != nil {
			return err
		}
	}
	_, err := s.queries.UpdateView(ctx, tx, db.UpdateViewParams{ID: old.ID, Name: now.Name, Params: now.Params, Shared: flag(now.Shared)})
	if err != nil {
		return err
	}
	now.Page = old.Page
	return s.record(ctx, tx, p, ActionUpdate, old.ID, old, now)
}

// Delete forgets a view.
func (s *Views) Delete(ctx context.Context, p auth.Principal, id int64) (View, error) {
	var v View
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) (err error) {
		if v, err = s.get(ctx, tx, p, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteView(ctx, tx, id); err != nil {
			return err
		}
		return s.record(ctx, tx, p, ActionDelete, id, v, View{})
	})
	return v, during("delete view", err)
}

// record tells the audit log what happened to a view that others see. One's own are nobody else's business.
func (s *Views) record(ctx context.Context, tx db.DBTX, p auth.Principal, action Action, id int64, old, now View) error {
	if !old.Shared && !now.Shared {
		return nil
	}
	e := Entry{Action: action, Kind: ObjectView, ID: id, Name: now.Name, Before: old.snapshot(), After: now.snapshot()}
	e.Name = cmp.Or(e.Name, old.Name)
	return s.audit.Record(ctx, tx, p, e)
}

func (v View) snapshot() Snapshot {
	if v.Name == "" {
		return nil
	}
	return Snapshot{"page": v.Page, "name": v.Name, "filter": v.Params, "shared": v.Shared}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
