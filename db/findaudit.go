package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// AuditRow is an entry of the audit log as the list shows it.
type AuditRow struct {
	ID         int64
	MadeAt     int64
	UserID     int64
	UserName   string
	Address    string
	Action     string
	ObjectKind string
	ObjectID   int64
	ObjectName string
}

// AuditFilter says which entries are looked for. The zero value is all of them. As with [RunFilter], only what is asked for
// becomes a condition: beside "or anything" no index on a user or an object is used.
type AuditFilter struct {
	User     string
	Action   string
	Kind     string // of the object
	ObjectID int64
	GroupID  int64  // the executor group that it is about
	Text     string // a LIKE pattern for the object's name or the address, in which ! escapes the wildcards
	After    string // a pattern of that kind for what the entry says of afterwards
	UntilMs  int64  // 0: of any time
}

func (f *AuditFilter) where(from, before int64) *where {
	w := new(where)
	if f.User != "" {
		w.and("user_name = ?", f.User)
	}
	switch {
	case f.ObjectID != 0:
		if f.Kind != "" {
			w.and("object_kind = ?", f.Kind)
		}
		w.and("object_id = ?", f.ObjectID)
	case f.Kind != "":
		// Out of reach of the index on objects, which would give all of a kind, and those in another order.
		w.and("COALESCE(object_kind, '') = ?", f.Kind)
	}
	if f.Action != "" {
		w.and("action = ?", f.Action)
	}
	if f.Text != "" {
		w.and("(object_name LIKE ? ESCAPE '!' OR address LIKE ? ESCAPE '!')", f.Text, f.Text)
	}
	if f.After != "" {
		w.and("after_json LIKE ? ESCAPE '!'", f.After)
	}
	if f.GroupID != 0 {
		w.and("group_id = ?", f.GroupID)
	}
	if f.UntilMs != 0 {
		w.and("made_at <= ?", f.UntilMs)
	}
	w.and("id >= ?", from)
	w.and("id < ?", before)
	return w
}

// hint is as that of [RunFilter].
func (f *AuditFilter) hint() string {
	switch {
	case f.User != "":
		return " FORCE INDEX (i_audit_user)"
	case f.ObjectID != 0 && f.Kind != "":
		return " FORCE INDEX (i_audit_object)"
	}
	return ""
}

const auditRowColumns = "id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name"

// statement reads columns of the entries with ids from one on and below another.
func (f *AuditFilter) statement(columns string, from, before int64, limit int, down bool) (query string, args []any) {
	w, order := f.where(from, before), " ORDER BY id LIMIT ?"
	if down {
		order = " ORDER BY id DESC LIMIT ?"
	}
	return "SELECT " + columns + " FROM punctual_audit" + f.hint() + w.String() + order, append(w.args, limit)
}

// FindAudit reads entries with ids from one on and below another, newest first, at most so many.
func FindAudit(ctx context.Context, tx DBTX, f AuditFilter, from, before int64, limit int) ([]AuditRow, error) {
	query, args := f.statement(auditRowColumns, from, before, limit, true)
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find audit entries: %w", err)
	}
	defer rows.Close()
	var list []AuditRow
	for rows.Next() {
		var r AuditRow
		if err := rows.Scan(&r.ID, &r.MadeAt, &r.UserID, &r.UserName, &r.Address, &r.Action, &r.ObjectKind, &r.ObjectID, &r.ObjectName); err != nil {
			return nil, fmt.Errorf("read audit entry: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// ListAuditUsers are the names of those who did anything, in their order, at most so many: one seek in an index for each, where
// DISTINCT would have SQLite read all of it.
func ListAuditUsers(ctx context.Context, tx DBTX, limit int) ([]string, error) {
	var names []string
	query, args := "SELECT user_name FROM punctual_audit ORDER BY user_name LIMIT 1", []any(nil)
	for len(names) < limit {
		var name string
		err := tx.QueryRowContext(ctx, query, args...).Scan(&name)
		if errors.Is(err, sql.ErrNoRows) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list users of the audit log: %w", err)
		}
		names = append(names, name)
		query, args = "SELECT user_name FROM punctual_audit WHERE user_name > ? ORDER BY user_name LIMIT 1", []any{name}
	}
	return names, nil
}

// FindAuditIDs is FindAudit for the ids alone, oldest first.
func FindAuditIDs(ctx context.Context, tx DBTX, f AuditFilter, from, before int64, limit int) ([]int64, error) {
	query, args := f.statement("id", from, before, limit, false)
	return findIDs(ctx, tx, "audit entries", query, args)
}

// FindWholeAudit is FindAudit with everything that an entry says, for exports.
func FindWholeAudit(ctx context.Context, tx DBTX, f AuditFilter, from, before int64, limit int) ([]AuditEntry, error) {
	query, args := f.statement(auditRowColumns+", COALESCE(before_json, ''), COALESCE(after_json, ''), group_id, seq, hash", from, before, limit, true)
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find audit entries: %w", err)
	}
	defer rows.Close()
	var list []AuditEntry
	for rows.Next() {
		var e AuditEntry
		if err := rows.Scan(&e.ID, &e.MadeAt, &e.UserID, &e.UserName, &e.Address, &e.Action, &e.ObjectKind, &e.ObjectID, &e.ObjectName,
			&e.BeforeJSON, &e.AfterJSON, &e.GroupID, &e.Seq, &e.Hash); err != nil {
			return nil, fmt.Errorf("read audit entry: %w", err)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}
