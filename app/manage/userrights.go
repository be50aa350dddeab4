package manage

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// maxPermission is what XXL-JOB's column holds.
const maxPermission = 255

// rightsOf joins XXL-JOB's list and our finer rights.
func rightsOf(role int64, permission db.Text, finer []db.Permission) map[int64]auth.Rights {
	rights := make(map[int64]auth.Rights)
	if role == auth.RoleAdmin {
		return rights
	}
	for _, id := range auth.GroupIDs(permission) {
		rights[id] = auth.AllRights
	}
	for _, f := range finer {
		if r := auth.Rights(f.Rights & 0xff).Normal(); r != 0 {
			rights[f.GroupID] |= r
		}
	}
	return rights
}

// normal are rights as they are kept.
func normal(rights map[int64]auth.Rights) map[int64]auth.Rights {
	kept := make(map[int64]auth.Rights)
	for id, r := range rights {
		if r = r.Normal(); r != 0 {
			kept[id] = r
		}
	}
	return kept
}

// split parts rights into XXL-JOB's list, which stands for all of them, and the rest. What the list has no room for is
// written down as finely as the rest: nobody loses a group because there are many.
func split(in UserInput) (list string, finer map[int64]auth.Rights) {
	finer = make(map[int64]auth.Rights)
	if in.Admin {
		return "", finer // as upstream does
	}
	ids := make([]int64, 0, len(in.Rights))
	for id := range in.Rights {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		r := in.Rights[id].Normal()
		text := strconv.FormatInt(id, 10)
		if list != "" {
			text = "," + text
		}
		switch {
		case r == 0:
		case r == auth.AllRights && len(list)+len(text) <= maxPermission:
			list += text
		default:
			finer[id] = r
		}
	}
	return list, finer
}

// holdGroups refuses rights in a group that is not there, and keeps the others where they are until the end of the transaction. Whoever had
// such rights before keeps them: another program may have deleted the group, and what is saved may be about something else.
func holdGroups(ctx context.Context, tx *sql.Tx, wanted, had map[int64]auth.Rights) error {
	for _, id := range slices.Sorted(maps.Keys(normal(wanted))) {
		if had[id] != 0 {
			continue
		}
		if held, err := db.New().HoldGroup(ctx, tx, id); err != nil {
			return fmt.Errorf("hold group: %w", db.Error(err))
		} else if held == 0 {
			return problem.InvalidFields(problem.Field{Name: UserRights, Key: "rights.error.group", Args: []any{"ID", strconv.FormatInt(id, 10)}})
		}
	}
	return nil
}

func (s *Users) grant(ctx context.Context, tx *sql.Tx, id int64, finer map[int64]auth.Rights) error {
	if _, err := s.queries.DeletePermissionsOf(ctx, tx, id); err != nil {
		return err
	}
	for group, r := range finer {
		if err := s.queries.InsertPermission(ctx, tx, db.InsertPermissionParams{UserID: id, GroupID: group, Rights: int64(r)}); err != nil {
			return err
		}
	}
	return nil
}
