package legacy

import (
	"strings"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// groupNames are upstream's names of a group's fields.
var groupNames = map[string]string{
	manage.GroupAppName: "appname", manage.GroupTitle: "title", manage.GroupType: "addressType", manage.GroupAddresses: "addressList",
}

// groupRow is a group as XXL-JOB's lists have it.
type groupRow struct {
	ID           int64    `json:"id"`
	AppName      string   `json:"appname"`
	Title        *string  `json:"title,omitempty"`
	Name         *string  `json:"name,omitempty"`
	AddressType  int64    `json:"addressType"`
	AddressList  *string  `json:"addressList"`
	UpdateTime   any      `json:"updateTime"`
	RegistryList []string `json:"registryList"`
	AccessToken  *string  `json:"accessToken,omitempty"` // since 3.5
}

// maskedToken stands for a token. The real one is on the executors' page.
const maskedToken = "********"

func (l *Legacy) groupRow(c *call, g db.Group) groupRow {
	before, since := c.naming("title")
	row := groupRow{
		ID: g.ID, AppName: g.AppName, Title: when(before, g.Title), Name: when(since, g.Title), AddressType: g.AddressType,
		UpdateTime: l.wall(c, g.UpdateTime), AccessToken: when(since, maskedToken),
	}
	if addresses := manage.GroupAddressList(g); len(addresses) > 0 {
		row.AddressList, row.RegistryList = when(true, str(g.AddressList)), addresses
	}
	return row
}

// groupList filters in memory: an installation has tens of groups.
func (l *Legacy) groupList(c *call) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	all, err := l.cfg.Manage.Groups.List(c.ctx, c.who)
	if err != nil {
		return nil, err
	}
	appName, title := strings.ToLower(c.text("appname")), strings.ToLower(c.text(c.orName("title")))
	var matching []db.Group
	for _, g := range all {
		if strings.Contains(strings.ToLower(g.AppName), appName) && strings.Contains(strings.ToLower(g.Title), title) {
			matching = append(matching, g)
		}
	}
	list := []groupRow{}
	for _, g := range slice(matching, p) {
		list = append(list, l.groupRow(c, g))
	}
	return rows{list: list, total: int64(len(matching)), page: p}, nil
}

func (l *Legacy) groupLoad(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	g, err := l.cfg.Manage.Groups.Get(c.ctx, c.who, id)
	if err != nil {
		return nil, err
	}
	return l.groupRow(c, g), nil
}

// groupAdd makes a group. Programs name them as they like; the form of our console is stricter.
func (l *Legacy) groupAdd(c *call) (any, error) {
	in := c.groupInput(manage.GroupInput{})
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := l.checkToken(c, 0); err != nil {
		return nil, err
	}
	_, err := l.cfg.Manage.Groups.Create(c.ctx, c.who, in)
	return nil, named(err, groupNames)
}

func (l *Legacy) groupUpdate(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	var err error
	for range tries {
		var g db.Group
		if g, err = l.cfg.Manage.Groups.Get(c.ctx, c.who, id); err != nil {
			return nil, err
		}
		var was manage.GroupOptions // what these programs do not know stays
		if was, err = l.cfg.Manage.Groups.Options(c.ctx, g.AppName); err != nil {
			return nil, err
		}
		in := c.groupInput(manage.GroupInput{
			AppName: g.AppName, Title: g.Title, Manual: g.AddressType == manage.AddressManual, Addresses: str(g.AddressList), GroupOptions: was, Version: manage.GroupVersion(g, was),
		})
		if err := c.err(); err != nil {
			return nil, err
		}
		if err := l.checkToken(c, id); err != nil {
			return nil, err
		}
		if err = l.cfg.Manage.Groups.Update(c.ctx, c.who, id, in); !isChanged(err) {
			break
		}
	}
	return nil, named(err, groupNames)
}

// groupInput changes a group by what was sent.
func (c *call) groupInput(in manage.GroupInput) manage.GroupInput {
	in.AnyName = true
	if c.has("appname") {
		in.AppName = c.text("appname")
	}
	if title := c.orName("title"); c.has(title) {
		in.Title = c.text(title)
	}
	if c.has("addressType") {
		in.Manual = c.oneOf("addressType", manage.AddressAuto, manage.AddressManual) == manage.AddressManual
	}
	if c.has("addressList") {
		in.Addresses = c.text("addressList")
	}
	return in
}

// checkToken looks at the token that a program of 3.5 sends along. Ours are made here; one that would not let an executor in
// must not seem to have been stored.
func (l *Legacy) checkToken(c *call, group int64) error {
	sent := c.values.Get("accessToken")
	if sent == "" || sent == maskedToken {
		return nil
	}
	state, err := l.cfg.Manage.Tokens.State(c.ctx, c.who, group)
	if err != nil {
		return err
	}
	if state.Token != "" && sent != state.Token { // where none is asked for, any will do
		return problem.InvalidFields(problem.Field{Name: "accessToken", Key: "legacy.error.token"})
	}
	return nil
}

func (l *Legacy) groupRemove(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, l.cfg.Manage.Groups.Delete(c.ctx, c.who, id)
}
