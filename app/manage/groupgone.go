package manage

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// A list of groups that is empty stands for all of them. So what is for a group alone that is deleted does not lose it, and ends: the id may be
// given again (by MySQL 5.7, which forgets at a restart how far it was), and another group is not what it was made for.

// dropMentions takes a group that is deleted out of the lists of users, tokens and webhooks. webhooks says whether one was changed.
func (s *Groups) dropMentions(ctx context.Context, tx *sql.Tx, p auth.Principal, id int64) (webhooks bool, err error) {
	users, err := s.queries.ListUsersPermitted(ctx, tx, db.Text(mention(id)))
	if err != nil {
		return false, err
	}
	for _, u := range users {
		err := s.queries.SetUserPermission(ctx, tx, db.SetUserPermissionParams{ID: u.ID, Permission: db.Text(db.IDList(without(u.Permission, id)))})
		if err != nil {
			return false, err
		}
	}
	if err := s.dropFromTokens(ctx, tx, p, id); err != nil {
		return false, err
	}
	return s.dropFromWebhooks(ctx, tx, p, id)
}

// mention is the pattern of a list in which a group is.
func mention(id int64) string { return "%," + strconv.FormatInt(id, 10) + ",%" }

func without(list db.Text, id int64) []int64 {
	return slices.DeleteFunc(auth.GroupIDs(list), func(other int64) bool { return other == id })
}

func (s *Groups) dropFromTokens(ctx context.Context, tx *sql.Tx, p auth.Principal, id int64) error {
	tokens, err := s.queries.ListAPITokensFor(ctx, tx, mention(id))
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if rest := without(db.Text(t.GroupIds), id); len(rest) > 0 {
			if err := s.queries.SetAPITokenGroups(ctx, tx, db.SetAPITokenGroupsParams{ID: t.ID, GroupIds: db.IDList(rest)}); err != nil {
				return err
			}
			continue
		}
		if _, err := s.queries.RevokeAPIToken(ctx, tx, db.RevokeAPITokenParams{ID: t.ID, RevokedAt: s.cfg.Now().UnixMilli()}); err != nil {
			return err
		}
		entry := Entry{Action: ActionDelete, Kind: ObjectAPIToken, ID: t.ID, Name: t.Name, Before: Snapshot{"owner": t.UserID}}
		if err := s.audit.Record(ctx, tx, p, entry); err != nil {
			return err
		}
	}
	return nil
}

func (s *Groups) dropFromWebhooks(ctx context.Context, tx *sql.Tx, p auth.Principal, id int64) (changed bool, err error) {
	rows, err := s.queries.ListWebhooks(ctx, tx)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if webhook.State(row.State) == webhook.Deleted || !slices.Contains(auth.GroupIDs(db.Text(row.GroupIds)), id) {
			continue
		}
		was := webhookSnapshot(row.Name, "", row.Types, row.GroupIds, row.Tags, row.State)
		if rest := without(db.Text(row.GroupIds), id); len(rest) > 0 {
			row.GroupIds = db.IDList(rest)
		} else {
			row.State = string(webhook.Off)
		}
		n, err := s.queries.UpdateWebhook(ctx, tx, db.UpdateWebhookParams{
			ID: row.ID, Name: row.Name, Config: row.Config, Types: row.Types, GroupIds: row.GroupIds, Tags: row.Tags, State: row.State,
			UpdatedAt: max(s.cfg.Now().UnixMilli(), row.UpdatedAt+1), Version: row.UpdatedAt,
		})
		if err != nil {
			return false, err
		}
		if n == 0 {
			return false, db.ErrMoved // it is looked at again
		}
		changed = true
		entry := Entry{Action: ActionUpdate, Kind: ObjectWebhook, ID: row.ID, Name: row.Name, Before: was, After: webhookSnapshot(row.Name, "", row.Types, row.GroupIds, row.Tags, row.State)}
		if err := s.audit.Record(ctx, tx, p, entry); err != nil {
			return false, err
		}
	}
	return changed, nil
}
