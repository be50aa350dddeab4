package legacy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// userNames are upstream's names of a user's fields.
var userNames = map[string]string{manage.UserName: "username", manage.UserOldPassword: "oldPassword"}

// userRow is a user as XXL-JOB's lists have it. The password is always null.
type userRow struct {
	ID         int64   `json:"id"`
	Username   string  `json:"username"`
	Password   *string `json:"password"`
	Role       int64   `json:"role"`
	Permission string  `json:"permission"`
}

func newUserRow(u manage.User) userRow {
	row := userRow{ID: u.ID, Username: u.Name, Permission: permissionOf(u)}
	if u.Admin {
		row.Role = auth.RoleAdmin
	}
	return row
}

// permissionOf are the groups in which a user may do everything: that is what XXL-JOB's list means.
func permissionOf(u manage.User) string {
	var ids []int64
	for group, rights := range u.Rights {
		if rights.Has(auth.AllRights) {
			ids = append(ids, group)
		}
	}
	slices.Sort(ids)
	return db.IDList(ids)
}

// userList filters in memory: an installation has hundreds of users at most.
func (l *Legacy) userList(c *call) (any, error) {
	const anyRole = -1
	role := c.oneOf("role", anyRole, auth.RoleUser, auth.RoleAdmin)
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	all, err := l.cfg.Manage.Users.List(c.ctx, c.who)
	if err != nil {
		return nil, err
	}
	matching := []userRow{}
	for _, u := range all {
		row := newUserRow(u)
		if strings.Contains(strings.ToLower(u.Name), strings.ToLower(c.text("username"))) && (role == anyRole || role == row.Role) {
			matching = append(matching, row)
		}
	}
	return rows{list: slice(matching, p), total: int64(len(matching)), page: p}, nil
}

func (l *Legacy) userAdd(c *call) (any, error) {
	in := manage.UserInput{Name: c.text("username"), Password: c.values.Get("password"), Admin: c.role(auth.RoleUser), Rights: c.rights(nil)}
	if in.Password == "" {
		c.fault("password", jobspec.CodeRequired) // a random one would be known to nobody
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	_, _, err := l.cfg.Manage.Users.Create(c.ctx, c.who, in)
	return nil, named(err, userNames)
}

// userUpdate changes a user; an empty password stays as it was.
func (l *Legacy) userUpdate(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	var err error
	for range tries {
		var u manage.User
		if u, err = l.cfg.Manage.Users.Get(c.ctx, c.who, id); err != nil {
			return nil, err
		}
		in := manage.UserInput{Disabled: u.Disabled, Left: u.Left, BreakGlass: u.BreakGlass, Password: c.values.Get("password"), Version: u.Version(), Rights: c.rights(u.Rights)}
		in.Admin = c.role(newUserRow(u).Role)
		in.Auditor = u.Auditor && !in.Admin
		if err := c.err(); err != nil {
			return nil, err
		}
		if err = l.cfg.Manage.Users.Update(c.ctx, c.who, id, in); !isChanged(err) {
			break
		}
	}
	return nil, named(err, userNames)
}

// role says whether the role is an administrator's.
func (c *call) role(otherwise int64) bool {
	if !c.has("role") {
		return otherwise == auth.RoleAdmin
	}
	return c.oneOf("role", auth.RoleUser, auth.RoleAdmin) == auth.RoleAdmin
}

// rights are those of the list that was sent, if one was, besides the finer ones that the user has and no such list can name.
func (c *call) rights(have map[int64]auth.Rights) map[int64]auth.Rights {
	if !c.has("permission") {
		return have
	}
	rights := make(map[int64]auth.Rights)
	for group, r := range have {
		if !r.Has(auth.AllRights) {
			rights[group] = r
		}
	}
	for _, value := range c.values["permission"] {
		for _, text := range list(value) {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil || id < 1 {
				c.fault("permission", "legacy.error.number", "Value", text)
				continue
			}
			rights[id] = auth.AllRights
		}
	}
	return rights
}

func (l *Legacy) userRemove(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, l.cfg.Manage.Users.Delete(c.ctx, c.who, id)
}
