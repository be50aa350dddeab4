package alarm

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

// TestAChannelOfAGroupHearsOfThatGroupAlone sends everything to a group's channel: only what its jobs raise arrives, also when one of
// them moves away afterwards. It goes with its group.
func TestAChannelOfAGroupHearsOfThatGroupAlone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		s := newMailServer(t, mailServerOptions{})
		other, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "other", Title: "Other"})
		if err != nil {
			t.Fatal(err)
		}
		foreign := b.addJob("foreign", "")
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET job_group = ? WHERE id = ?", other, foreign); err != nil {
			t.Fatal(err)
		}
		c := b.mailChannel(s, "ours@example.com")
		c.Name, c.Enabled, c.GroupID = "ours", true, b.group
		id, err := b.a.CreateChannel(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Route{{ChannelID: id, Scope: ScopeAll}, {ChannelID: id, Scope: ScopeJob, ScopeID: b.job}} {
			if _, err := b.a.CreateRoute(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range []Route{{ChannelID: id, Scope: ScopeGroup, ScopeID: other}, {ChannelID: id, Scope: ScopeJob, ScopeID: foreign}} {
			if _, err := b.a.CreateRoute(ctx, r); err == nil {
				t.Errorf("a route to what others have: %+v", r)
			}
		}
		c.ID, c.ForJobs = id, true
		if err := b.a.UpdateChannel(ctx, c); err == nil || !strings.Contains(err.Error(), string(CodeNotOfGroup)) {
			t.Errorf("it carries the mails of all jobs: %v", err)
		}
		told := func() int { b.work(); return len(s.take()) }
		b.raise(b.job, scheduler.AlarmFailed, "x")
		if n := told(); n != 1 {
			t.Errorf("%d mails of its own job", n)
		}
		b.raise(foreign, scheduler.AlarmFailed, "x")
		if n := told(); n != 0 {
			t.Errorf("%d mails of another group's job", n)
		}
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET job_group = ? WHERE id = ?", other, b.job); err != nil {
			t.Fatal(err)
		}
		b.raise(b.job, scheduler.AlarmTimeout, "x")
		if n := told(); n != 0 {
			t.Errorf("%d mails of a job that moved away", n)
		}
		if err := pool.Tx(ctx, func(tx *sql.Tx) error { return b.a.ForgetGroup(ctx, tx, b.group) }); err != nil {
			t.Fatal(err)
		}
		routes, err := b.a.Routes(ctx)
		if _, gone := b.a.Channel(ctx, id); !errors.Is(gone, db.ErrNotFound) || err != nil || len(routes) != 0 {
			t.Errorf("it outlives its group: %v, %d routes, %v", gone, len(routes), err)
		}
	})
}

// TestAKeptPasswordStaysWithItsServer changes the server of a group's channel, whose editors need not know the password.
func TestAKeptPasswordStaysWithItsServer(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for group, wants := range map[int64]string{0: "", b.group: string(CodePasswordAgain)} {
			c := Channel{Name: "mail" + itoa(group), GroupID: group, Kind: KindMail, Settings: Settings{Host: "mail.example.com", Port: 587, Security: SecurityStartTLS, Username: "u", Password: "secret-1", From: "a@example.com"}}
			id, err := b.a.CreateChannel(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			for name, change := range map[string]func(*Channel){
				"host":     func(c *Channel) { c.Settings.Host = "evil.example" },
				"port":     func(c *Channel) { c.Settings.Port = 2525 },
				"security": func(c *Channel) { c.Settings.Security = SecurityNone },
				"verify":   func(c *Channel) { c.Settings.SkipVerify = true },
			} {
				kept, err := b.a.Channel(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				before := kept
				change(&kept)
				if err := b.a.UpdateChannel(ctx, kept); (wants == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), wants) {
					t.Errorf("group %d, another %s: %v", group, name, err)
				}
				before.Settings.Password, before.Version = "secret-1", 0
				if err := b.a.UpdateChannel(ctx, before); err != nil {
					t.Errorf("group %d, with the password: %v", group, err)
				}
			}
		}
	})
}

// TestMailServersOfGroupsStayOutside keeps editors from reaching the inside through a mail server, where that is set.
func TestMailServersOfGroupsStayOutside(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Defaults = func() Defaults { return Defaults{DenyPrivate: true} } })
		s := newMailServer(t, mailServerOptions{})
		for group, ok := range map[int64]bool{0: true, b.group: false} {
			c := b.mailChannel(s, "a@example.com")
			c.Name, c.GroupID = "mail"+itoa(group), group
			id, err := b.a.CreateChannel(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.a.Test(t.Context(), id); (err == nil) != ok {
				t.Errorf("group %d: %v", group, err)
			}
		}
	})
}
