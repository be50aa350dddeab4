package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// withAlarms is a service whose alarms are the real ones. They do not run: what is sent is a test.
func withAlarms(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	catalogue := locales.New()
	alarmer, err := alarm.New(alarm.Config{
		Pool: pool, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Key: make([]byte, 32),
		Printer: func(lang string) alarm.Printer { return catalogue.Printer(lang) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return setup(t, pool, func(c *Config) { c.Alarms, c.Alarmer = alarmer, alarmer })
}

func TestChannelsAreForAdministrators(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		ctx := t.Context()
		tests := map[string]func(context.Context, auth.Principal) error{
			"list": func(ctx context.Context, p auth.Principal) error { _, _, err := b.Channels.List(ctx, p); return err },
			"own":  func(ctx context.Context, p auth.Principal) error { _, err := b.Channels.Own(ctx, p); return err },
			"get":  func(ctx context.Context, p auth.Principal) error { _, _, err := b.Channels.Get(ctx, p, 1); return err },
			"save": func(ctx context.Context, p auth.Principal) error {
				_, err := b.Channels.Save(ctx, p, alarm.Channel{}, &alarm.Route{Scope: alarm.ScopeAll})
				return err
			},
			"delete": func(ctx context.Context, p auth.Principal) error { return b.Channels.Delete(ctx, p, 1) },
			"test": func(ctx context.Context, p auth.Principal) error {
				_, err := b.Channels.Test(ctx, p, 1, "")
				return err
			},
			"route": func(ctx context.Context, p auth.Principal) error {
				return b.Channels.SaveRoute(ctx, p, alarm.Route{ChannelID: 1})
			},
			"unroute": func(ctx context.Context, p auth.Principal) error { return b.Channels.DeleteRoute(ctx, p, 1, 1) },
			"messages": func(ctx context.Context, p auth.Principal) error {
				_, err := b.Channels.Messages(ctx, p, alarm.DeliveryFilter{State: alarm.AnyState})
				return err
			},
			"retry": func(ctx context.Context, p auth.Principal) error { return b.Channels.Retry(ctx, p, 1) },
		}
		for name, do := range tests {
			if got := kind(do(ctx, b.user)); got != "403" {
				t.Errorf("%s by a normal user: %s", name, got)
			}
			if got := kind(do(ctx, b.admin)); strings.HasPrefix(got, "403") || strings.HasPrefix(got, "500") {
				t.Errorf("%s by an administrator: %s", name, got)
			}
		}
	})
}

func TestChannelsAndTheirRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		ctx := t.Context()
		answer := http.StatusOK
		hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(answer) }))
		t.Cleanup(hook.Close)

		if _, err := b.Channels.Save(ctx, b.admin, alarm.Channel{Kind: alarm.KindWebhook}, &alarm.Route{Scope: alarm.ScopeAll}); kind(err) != "422 name:alarm.error.required url:alarm.error.required" {
			t.Errorf("an empty channel: %s", kind(err))
		}
		secret := hook.URL + "/token-1234567890"
		channel := alarm.Channel{Name: "hook", Kind: alarm.KindWebhook, Enabled: true, Settings: alarm.Settings{URL: secret}}
		id, err := b.Channels.Save(ctx, b.admin, channel, &alarm.Route{Scope: alarm.ScopeAll})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Channels.Save(ctx, b.admin, channel, &alarm.Route{Scope: alarm.ScopeAll}); kind(err) != "422 name:alarm.error.taken" {
			t.Errorf("the same name twice: %s", kind(err))
		}
		c, routes, err := b.Channels.Get(ctx, b.admin, id)
		if err != nil || !c.HasURL || c.Settings.URL != "" || len(routes) != 1 || routes[0].Scope != alarm.ScopeAll {
			t.Fatalf("%+v %+v %v", c, routes, err)
		}
		if diff := cmp.Diff(DefaultCauses(), routes[0].Causes); diff != "" {
			t.Error(diff)
		}

		// A test says at once what the server says, and never the address with its token.
		if failure, err := b.Channels.Test(ctx, b.admin, id, ""); failure != "" || err != nil {
			t.Errorf("a test that works: %q %v", failure, err)
		}
		answer = http.StatusForbidden
		failure, err := b.Channels.Test(ctx, b.admin, id, "")
		if err != nil || failure == "" || strings.Contains(string(failure), "token-1234567890") {
			t.Errorf("a test that fails: %q %v", failure, err)
		}
		if c, _, _ := b.Channels.Get(ctx, b.admin, id); !c.Broken() {
			t.Error("the failure is not kept")
		}
		mail, err := b.Channels.Save(ctx, b.admin, alarm.Channel{Name: "mail", Kind: alarm.KindMail, Enabled: true, Settings: alarm.Settings{Host: "127.0.0.1", Port: 1, From: "a@example.com"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Channels.Test(ctx, b.admin, mail, ""); kind(err) != "422 to:job.error.required" {
			t.Errorf("a mail to nobody: %s", kind(err))
		}
		if _, err := b.Channels.Test(ctx, b.admin, mail, "nobody"); kind(err) != "422 to:job.error.email" {
			t.Errorf("a mail to no address: %s", kind(err))
		}

		// Routes belong to their channel and to things that exist.
		job := b.create(t, nil)
		failed := []scheduler.AlarmCause{scheduler.AlarmFailed}
		tests := []struct {
			name  string
			route alarm.Route
			want  string
		}{
			{"of a group", alarm.Route{ChannelID: id, Scope: alarm.ScopeGroup, ScopeID: b.group, Causes: failed}, "ok"},
			{"of a group twice", alarm.Route{ChannelID: id, Scope: alarm.ScopeGroup, ScopeID: b.group, Causes: failed}, "422 scope:alarm.error.twice"},
			{"of a job", alarm.Route{ChannelID: id, Scope: alarm.ScopeJob, ScopeID: job, Causes: failed}, "ok"},
			{"of a job that is none", alarm.Route{ChannelID: id, Scope: alarm.ScopeJob, ScopeID: 999, Causes: failed}, "422 scope:alarm.error.nojob"},
			{"without a cause", alarm.Route{ChannelID: id, Scope: alarm.ScopeAll}, "422 causes:alarm.error.nocause"},
			{"to a channel that is none", alarm.Route{ChannelID: 999, Scope: alarm.ScopeAll, Causes: failed}, "404 problem.channel.gone"},
			{"changed", alarm.Route{ID: routes[0].ID, ChannelID: id, Scope: alarm.ScopeAll, Causes: failed}, "ok"},
			{"changed under another channel", alarm.Route{ID: routes[0].ID, ChannelID: mail, Scope: alarm.ScopeAll, Causes: failed}, "404 problem.route.gone"},
		}
		for _, tt := range tests {
			if got := kind(b.Channels.SaveRoute(ctx, b.admin, tt.route)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		_, routes, err = b.Channels.Get(ctx, b.admin, id)
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[alarm.Scope]string)
		for _, r := range routes {
			names[r.Scope] = r.Name
		}
		if diff := cmp.Diff(map[alarm.Scope]string{alarm.ScopeAll: "", alarm.ScopeGroup: "ORDERS", alarm.ScopeJob: "close the day"}, names); diff != "" {
			t.Error(diff)
		}
		if got := kind(b.Channels.DeleteRoute(ctx, b.admin, mail, routes[0].ID)); got != "404 problem.route.gone" {
			t.Errorf("a route of another channel is taken away: %s", got)
		}
		if got := kind(b.Channels.DeleteRoute(ctx, b.admin, id, routes[0].ID)); got != "ok" {
			t.Errorf("take a route away: %s", got)
		}
		if got := kind(b.Channels.Retry(ctx, b.admin, 999)); got != "409 problem.message.sent" {
			t.Errorf("send nothing again: %s", got)
		}
		if got := kind(b.Channels.Delete(ctx, b.admin, id)); got != "ok" {
			t.Errorf("delete: %s", got)
		}
		if got := kind(b.Channels.Delete(ctx, b.admin, id)); got != "404 problem.channel.gone" {
			t.Errorf("delete twice: %s", got)
		}

		// All of it is in the audit log, none of the secrets is.
		rows, err := pool.QueryContext(ctx, "SELECT action, before_json, after_json FROM punctual_audit WHERE object_kind = 'channel' ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var actions []string
		for rows.Next() {
			var action, before, after string
			if err := rows.Scan(&action, &before, &after); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(before+after, "token-1234567890") {
				t.Errorf("%s keeps a secret: %s %s", action, before, after)
			}
			actions = append(actions, action)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(actions, " "), "create test test create test create create update delete delete"; got != want {
			t.Errorf("audit log %s, want %s", got, want)
		}
	})
}

// TestMailsToOtherDomainsAreNotSaved names addresses in jobs; those from before the setting stay.
func TestMailsToOtherDomainsAreNotSaved(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		mailed := func(to string) func(*JobInput) { return func(in *JobInput) { in.AlarmEmail = to } }
		old := b.create(t, mailed("old@elsewhere.example"))
		if _, err := b.Settings.Save(t.Context(), b.admin, map[string]string{SettingMailDomains: "example.com"}, ""); err != nil {
			t.Fatal(err)
		}
		const denied = "422 alarm_email:alarm.error.mail_domain"
		for to, want := range map[string]string{"a@example.com": "ok", "A@EXAMPLE.COM,b@example.com": "ok", "a@example.com,b@elsewhere.example": denied, "a@sub.example.com": denied} {
			if _, err := b.Jobs.Create(t.Context(), b.admin, b.job(mailed(to))); kind(err) != want {
				t.Errorf("a new job for %s: %s", to, kind(err))
			}
		}
		for to, want := range map[string]string{"new@elsewhere.example,old@elsewhere.example": denied, "a@example.com,old@elsewhere.example": "ok"} {
			if err := b.Jobs.Update(t.Context(), b.admin, old, b.job(mailed(to))); kind(err) != want {
				t.Errorf("a job from before, for %s: %s", to, kind(err))
			}
		}
	})
}

// meanwhile is an alarmer that does something else at the moment that it makes a channel.
type meanwhile struct {
	Alarmer
	do func(ctx context.Context)
}

func (m meanwhile) CreateChannel(ctx context.Context, c alarm.Channel) (int64, error) {
	m.do(ctx)
	return m.Alarmer.CreateChannel(ctx, c)
}

// TestNoChannelOutlivesAGroupThatGoesMeanwhile: the group is deleted at the moment that its first channel is made.
func TestNoChannelOutlivesAGroupThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		ctx := db.Patient(t.Context())
		deleted := make(chan error, 1)
		b.Channels.cfg.Alarmer = meanwhile{b.Channels.cfg.Alarmer, func(ctx context.Context) {
			go func() { deleted <- b.Groups.Delete(db.Patient(context.Background()), b.admin, b.closed) }()
			if !pool.Joined(ctx) { // else it waits for what is going on
				deleted <- <-deleted
			}
		}}
		c := alarm.Channel{Name: "hook", Kind: alarm.KindWebhook, Enabled: true, GroupID: b.closed, Settings: alarm.Settings{URL: "https://example.com/"}}
		_, err := b.Channels.Save(ctx, b.admin, c, &alarm.Route{Scope: alarm.ScopeAll})
		if err := errors.Join(err, <-deleted); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := pool.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM punctual_alarm_channel) + (SELECT COUNT(*) FROM punctual_alarm_route)").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d channels and routes are left of no group, %v", left, err)
		}
		if _, err := b.Channels.Save(ctx, b.admin, c, nil); kind(err) != "422 group:job.error.group" {
			t.Errorf("for one that is gone: %v", err)
		}
	})
}

// TestChannelsAreChangedWithTheirAudit: what the audit log does not take is not done.
func TestChannelsAreChangedWithTheirAudit(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		ctx := t.Context()
		failed := []scheduler.AlarmCause{scheduler.AlarmFailed}
		id := must(b.Channels.Save(ctx, b.admin, alarm.Channel{Name: "chat", Kind: alarm.KindDingTalk, Enabled: true, Settings: alarm.Settings{URL: "http://127.0.0.1:1/"}}, &alarm.Route{Scope: alarm.ScopeAll}))(t)
		state := func() string {
			t.Helper()
			c, routes, err := b.Channels.Get(ctx, b.admin, id)
			if err != nil {
				return err.Error()
			}
			text := c.Name
			for _, r := range routes {
				text += fmt.Sprint(" ", r.Scope, r.Causes)
			}
			return text
		}
		was := state()
		_, routes, err := b.Channels.Get(ctx, b.admin, id)
		if err != nil {
			t.Fatal(err)
		}
		rename := func(from, to string) {
			t.Helper()
			if _, err := pool.ExecContext(context.WithoutCancel(ctx), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("punctual_audit", "punctual_audit_away")
		t.Cleanup(func() { rename("punctual_audit_away", "punctual_audit") })
		for name, do := range map[string]func() error{
			"save": func() error {
				return second(b.Channels.Save(ctx, b.admin, alarm.Channel{ID: id, Name: "changed", Enabled: true}, nil))
			},
			"delete": func() error { return b.Channels.Delete(ctx, b.admin, id) },
			"new route": func() error {
				return b.Channels.SaveRoute(ctx, b.admin, alarm.Route{ChannelID: id, Scope: alarm.ScopeGroup, ScopeID: b.group, Causes: failed})
			},
			"change route": func() error {
				return b.Channels.SaveRoute(ctx, b.admin, alarm.Route{ChannelID: id, ID: routes[0].ID, Scope: alarm.ScopeAll, Causes: failed})
			},
			"delete route": func() error { return b.Channels.DeleteRoute(ctx, b.admin, id, routes[0].ID) },
		} {
			if err := do(); err == nil {
				t.Errorf("%s: no error", name)
			}
			if now := state(); now != was {
				t.Errorf("%s: %s, was %s", name, now, was)
			}
		}
	})
}

// TestChannelsAreReadOnce: their list also for its routes, and not for what a list of messages shows, which is drawn anew every five seconds.
func TestChannelsAreReadOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		if _, err := b.Channels.Save(t.Context(), b.admin, alarm.Channel{Name: "ops", Kind: alarm.KindWebhook, Settings: alarm.Settings{URL: "https://example.com/"}}, &alarm.Route{Scope: alarm.ScopeAll}); err != nil {
			t.Fatal(err)
		}
		for what, tt := range map[string]struct {
			read   func() (int, error)
			routes int
		}{
			"the list":    {func() (int, error) { list, _, err := b.Channels.List(t.Context(), b.admin); return len(list), err }, 1},
			"their names": {func() (int, error) { list, err := b.Channels.Own(t.Context(), b.admin); return len(list), err }, 0},
		} {
			sent := dbtest.Watch(t, pool)
			if n, err := tt.read(); err != nil || n != 1 {
				t.Errorf("%s: %d, %v", what, n, err)
			}
			if channels, routes := len(sent.Transactions("ListAlarmChannels")), len(sent.Transactions("ListAlarmRoutes")); channels != 1 || routes != tt.routes {
				t.Errorf("%s reads the channels %d times and the routes %d times", what, channels, routes)
			}
		}
	})
}
