package alarm

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

func goodMail() Channel {
	return Channel{Name: " ops mail ", Kind: KindMail, Enabled: true, Settings: Settings{
		Host: "smtp.example.com", From: "Alarms <alarms@example.com>", Username: "alarms", Password: "mail-pass-1",
		Recipients: []string{" a@example.com ", "", "A@example.com", "b@example.com"},
	}}
}

func goodHook() Channel {
	return Channel{Name: "hook", Kind: KindWebhook, Enabled: true, Settings: Settings{URL: "https://hook.example.com/t0ken-0123456789", Secret: "hmac-key-1"}}
}

func TestChannelsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id, err := b.a.CreateChannel(t.Context(), goodMail())
		if err != nil {
			t.Fatal(err)
		}
		hook, err := b.a.CreateChannel(t.Context(), goodHook())
		if err != nil {
			t.Fatal(err)
		}
		var stored string
		rows, err := pool.QueryContext(t.Context(), "SELECT config FROM punctual_alarm_channel")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var one string
			if err := rows.Scan(&one); err != nil {
				t.Fatal(err)
			}
			stored += one
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stored, "example") || strings.Contains(stored, "mail-pass") {
			t.Errorf("settings are readable in the table: %s", stored)
		}
		want := Channel{ID: id, Name: "ops mail", Kind: KindMail, Enabled: true, QuietMode: QuietQueue, HasPassword: true, Settings: Settings{
			Host: "smtp.example.com", Port: 587, Security: SecurityStartTLS, From: "Alarms <alarms@example.com>", Username: "alarms",
			Recipients: []string{"a@example.com", "b@example.com"},
		}}
		list, err := b.a.Channels(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Channel{{ID: hook, Name: "hook", Kind: KindWebhook, Enabled: true, QuietMode: QuietQueue, HasURL: true, HasSecret: true}, want}, list, cmpopts.IgnoreFields(Channel{}, "Version")); diff != "" {
			t.Errorf("channels (-want +got):\n%s", diff)
		}
		// A form that comes back without them keeps them, unless it says otherwise.
		got, err := b.a.Channel(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got.Settings.Port = 2525
		if err := b.a.UpdateChannel(t.Context(), got); err != nil {
			t.Fatal(err)
		}
		if err := b.a.UpdateChannel(t.Context(), got); !errors.Is(err, ErrChanged) {
			t.Errorf("a change of what was read before another: %v", err)
		}
		c, err := b.a.readChannel(t.Context(), id)
		if err != nil || c.settings.Password != "mail-pass-1" || c.settings.Port != 2525 {
			t.Errorf("after an update: %+v, %v", c.settings, err)
		}
		h, _ := b.a.Channel(t.Context(), hook)
		h.RemoveSecret = true
		if err := b.a.UpdateChannel(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		if c, err = b.a.readChannel(t.Context(), hook); err != nil || c.settings.Secret != "" || c.settings.URL != goodHook().Settings.URL {
			t.Errorf("after an update: %+v, %v", c.settings, err)
		}
	})
}

func TestAnotherKeyOpensNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	id := b.addChannel(b.mailChannel(s, "a@example.com"))
	other := b.alarmer(func(c *Config) { c.Key = bytes.Repeat([]byte{8}, 32) })
	list, err := other.Channels(t.Context())
	if err != nil || len(list) != 1 || !strings.Contains(list[0].LastError.English(), "another key") {
		t.Errorf("channels: %+v, %v", list, err)
	}
	if err := other.Test(t.Context(), id); err == nil || len(s.received()) != 0 {
		t.Errorf("test message: %v", err)
	}
	// Saving it anew, with everything typed again, repairs it.
	c := b.mailChannel(s, "a@example.com")
	c.ID, c.Enabled = id, true
	if err := other.UpdateChannel(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := other.Test(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := New(Config{Pool: b.pool, Logger: b.a.log, Printer: catalogue, Key: []byte("short")}); err == nil {
		t.Error("a short key is accepted")
	}
}

func TestChannelsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	if _, err := b.a.CreateChannel(t.Context(), Channel{Name: "taken", Kind: KindSlack, Settings: Settings{URL: "https://hook.example.com/x"}}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		of     func() Channel
		change func(*Channel)
		field  string
		code   string
	}{
		{"no name", goodMail, func(c *Channel) { c.Name = " " }, FieldName, CodeRequired},
		{"a long name", goodMail, func(c *Channel) { c.Name = strings.Repeat("名", 65) }, FieldName, CodeTooLong},
		{"a name that exists", goodMail, func(c *Channel) { c.Name = "Taken" }, FieldName, CodeTaken},
		{"an unknown kind", goodMail, func(c *Channel) { c.Kind = "pager" }, FieldKind, CodeUnknown},
		{"an unknown language", goodMail, func(c *Channel) { c.Language = "fr" }, FieldLanguage, CodeUnknown},
		{"a quiet hour that is none", goodMail, func(c *Channel) { c.QuietTo = 24 * 60 }, FieldQuiet, CodeOutOfRange},
		{"quiet hours that begin after the day", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = 24*60, 7*60 }, FieldQuiet, CodeOutOfRange},
		{"quiet hours that begin before it", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = NoTime-1, 7*60 }, FieldQuiet, CodeOutOfRange},
		{"quiet hours that end before it", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = 22*60, NoTime-1 }, FieldQuiet, CodeOutOfRange},
		{"no quiet hour at all", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = minutesADay, minutesADay }, FieldQuiet, CodeOutOfRange},
		{"quiet hours without a beginning", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = NoTime, 7*60 }, FieldQuiet, CodeHalf},
		{"quiet hours without an end", goodMail, func(c *Channel) { c.QuietFrom, c.QuietTo = 22*60, NoTime }, FieldQuiet, CodeHalf},
		{"an unknown quiet mode", goodMail, func(c *Channel) { c.QuietMode = "drop" }, FieldQuietMode, CodeUnknown},
		{"no host", goodMail, func(c *Channel) { c.Settings.Host = "" }, FieldHost, CodeRequired},
		{"a host with a path", goodMail, func(c *Channel) { c.Settings.Host = "smtp://x" }, FieldHost, CodeUnknown},
		{"a port that is none", goodMail, func(c *Channel) { c.Settings.Port = 70000 }, FieldPort, CodeOutOfRange},
		{"an unknown security", goodMail, func(c *Channel) { c.Settings.Security = "ssl3" }, FieldSecurity, CodeUnknown},
		{"a login without a password", goodMail, func(c *Channel) { c.Settings.Password = "" }, FieldPassword, CodeNoPassword},
		{"no sender", goodMail, func(c *Channel) { c.Settings.From = "" }, FieldFrom, CodeRequired},
		{"a sender that is no address", goodMail, func(c *Channel) { c.Settings.From = "alarms" }, FieldFrom, CodeEmail},
		{"a recipient that is no address", goodMail, func(c *Channel) { c.Settings.Recipients = []string{"x"} }, FieldRecipients, CodeEmail},
		{"two recipients in one", goodMail, func(c *Channel) { c.Settings.Recipients = []string{"\"a,b\"@example.com"} }, FieldRecipients, CodeEmail},
		{"too many recipients", goodMail, func(c *Channel) { c.Settings.Recipients = recipients(101) }, FieldRecipients, CodeOutOfRange},
		{"no address", goodHook, func(c *Channel) { c.Settings.URL = "" }, FieldURL, CodeRequired},
		{"an address of another sort", goodHook, func(c *Channel) { c.Settings.URL = "file:///etc/passwd" }, FieldURL, CodeURL},
		{"an address without a host", goodHook, func(c *Channel) { c.Settings.URL = "https:///x" }, FieldURL, CodeURL},
		{"a template that is not JSON", goodHook, func(c *Channel) { c.Settings.Template = "{{title}}" }, FieldTemplate, CodeTemplate},
		{"a template with a name nobody knows", goodHook, func(c *Channel) { c.Settings.Template = `{"a":"{{password}}"}` }, FieldTemplate, CodePlaceholder},
		{"a webhook for the jobs' mails", goodHook, func(c *Channel) { c.ForJobs = true }, FieldForJobs, CodeMailOnly},
	}
	for _, test := range tests {
		c := test.of()
		test.change(&c)
		_, err := b.a.CreateChannel(t.Context(), c)
		refused, ok := errors.AsType[invalid.Fields](err)
		if !ok || len(refused) != 1 || refused[0].Name != test.field || refused[0].Key != test.code {
			t.Errorf("%s: %v, want %s: %s", test.name, err, test.field, test.code)
			continue
		}
		if text := catalogue("en").T(test.code, refused[0].Args...); strings.Contains(text, "<no value>") || strings.HasPrefix(text, "!") {
			t.Errorf("%s: the message is %q", test.name, text)
		}
	}
	for _, err := range []error{
		b.a.UpdateChannel(t.Context(), Channel{ID: 99}), b.a.DeleteChannel(t.Context(), 99), b.a.Test(t.Context(), 99),
		b.a.UpdateRoute(t.Context(), Route{ID: 99}), b.a.DeleteRoute(t.Context(), 99), b.a.Retry(t.Context(), 99),
	} {
		if !errors.Is(err, db.ErrNotFound) {
			t.Errorf("of something that is not there: %v", err)
		}
	}
	mail := goodMail()
	mail.Settings.Recipients = nil
	id, err := b.a.CreateChannel(t.Context(), mail)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.a.Test(t.Context(), id); !errors.Is(err, ErrNoRecipient) {
		t.Errorf("test without recipients: %v", err)
	}
	mail.ID, mail.QuietFrom, mail.QuietTo = id, NoTime, NoTime
	mail.Settings.Username, mail.Settings.Password, mail.Settings.Recipients = "", "of nobody", recipients(100)
	if err := b.a.UpdateChannel(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	row, err := b.a.queries.GetAlarmChannel(t.Context(), b.pool, id)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := b.a.channelOf(&row); err != nil || row.QuietFrom != 0 || row.QuietTo != 0 || c.settings.Password != "" || len(c.settings.Recipients) != 100 {
		t.Errorf("stored: %+v, %v", c, err)
	}
	mail.Name = "of another name"
	if err := b.a.UpdateChannel(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if c, err := b.a.Channel(t.Context(), id); err != nil || c.Name != mail.Name {
		t.Errorf("with another name alone: %q, %v", c.Name, err)
	}
}

func recipients(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("user%d@example.com", i)
	}
	return list
}

func TestOneChannelCarriesTheMailsOfJobs(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	var ids []int64
	for i := range 2 {
		c := goodMail()
		c.Name, c.ForJobs = fmt.Sprint("mail ", i), true
		id, err := b.a.CreateChannel(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	first, _ := b.a.Channel(t.Context(), ids[0])
	second, _ := b.a.Channel(t.Context(), ids[1])
	if first.ForJobs || !second.ForJobs {
		t.Errorf("for jobs: %v, %v; the last that asked has it", first.ForJobs, second.ForJobs)
	}
}

func TestRoutesChooseWhoIsTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		channel := func(name string) int64 {
			c := b.mailChannel(s, name+"@example.com")
			c.Name, c.Enabled = name, true
			id, err := b.a.CreateChannel(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		other, err := db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "other", Title: "Other"})
		if err != nil {
			t.Fatal(err)
		}
		second := b.addJob("second", "")
		all, group, elsewhere, one, slow := channel("all"), channel("group"), channel("elsewhere"), channel("one"), channel("slow")
		for _, r := range []Route{
			{ChannelID: all, Scope: ScopeAll}, {ChannelID: all, Scope: ScopeGroup, ScopeID: b.group}, // told once all the same
			{ChannelID: group, Scope: ScopeGroup, ScopeID: b.group},
			{ChannelID: elsewhere, Scope: ScopeGroup, ScopeID: other},
			{ChannelID: one, Scope: ScopeJob, ScopeID: second},
			{ChannelID: slow, Scope: ScopeAll, Causes: []scheduler.AlarmCause{scheduler.AlarmSlow, scheduler.AlarmMisfire}},
		} {
			if _, err := b.a.CreateRoute(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		told := func() string {
			b.work()
			var names []string
			for _, m := range s.take() {
				names = append(names, strings.TrimSuffix(m.to, "@example.com"))
			}
			return strings.Join(names, " ")
		}
		inOrder := func(got, want string) {
			t.Helper()
			if g, w := strings.Fields(got), strings.Fields(want); len(g) != len(w) || !sameSet(g, w) {
				t.Errorf("told %q, want %q", got, want)
			}
		}
		b.raise(b.job, scheduler.AlarmFailed, "x")
		inOrder(told(), "all group")
		b.raise(second, scheduler.AlarmFailed, "x")
		inOrder(told(), "all group one")
		b.raise(second, scheduler.AlarmMisfire, "x")
		inOrder(told(), "slow")
		b.raise(second, scheduler.AlarmSlow, "x")
		inOrder(told(), "all group one slow")
		// A channel that is switched off hears nothing, and what waited for it is given up.
		c, _ := b.a.Channel(t.Context(), all)
		c.Enabled = false
		if err := b.a.UpdateChannel(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := b.a.DeleteChannel(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		b.raise(b.job, scheduler.AlarmTimeout, "x")
		inOrder(told(), "")
		err = pool.Tx(t.Context(), func(tx *sql.Tx) error {
			return errors.Join(b.a.ForgetJob(t.Context(), tx, second), b.a.ForgetGroup(t.Context(), tx, other))
		})
		if err != nil {
			t.Fatal(err)
		}
		routes, err := b.a.Routes(t.Context())
		if err != nil || len(routes) != 3 {
			t.Errorf("routes left: %+v, %v", routes, err)
		}
	})
}

func sameSet(a, b []string) bool {
	seen := make(map[string]int)
	for i := range a {
		seen[a[i]]++
		seen[b[i]]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestRoutesAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	id, err := b.a.CreateChannel(t.Context(), goodHook())
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.a.CreateRoute(t.Context(), Route{ChannelID: id, Scope: ScopeJob, ScopeID: b.job, Causes: []scheduler.AlarmCause{"recovered", "failed"}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		route Route
		field string
		code  string
	}{
		{"an unknown channel", Route{ChannelID: 99, Scope: ScopeAll}, FieldChannel, CodeUnknown},
		{"an unknown scope", Route{ChannelID: id, Scope: "x"}, FieldScope, CodeUnknown},
		{"an unknown group", Route{ChannelID: id, Scope: ScopeGroup, ScopeID: 99}, FieldScope, CodeNoGroup},
		{"an unknown job", Route{ChannelID: id, Scope: ScopeJob, ScopeID: 99}, FieldScope, CodeNoJob},
		{"an unknown cause", Route{ChannelID: id, Scope: ScopeAll, Causes: []scheduler.AlarmCause{"x"}}, FieldCauses, CodeUnknown},
		{"a route that exists", Route{ChannelID: id, Scope: ScopeJob, ScopeID: b.job}, FieldScope, CodeTwice},
	}
	for _, test := range tests {
		_, err := b.a.CreateRoute(t.Context(), test.route)
		refused, ok := errors.AsType[invalid.Fields](err)
		if !ok || len(refused) != 1 || refused[0].Name != test.field || refused[0].Key != test.code {
			t.Errorf("%s: %v, want %s: %s", test.name, err, test.field, test.code)
		}
	}
	if err := b.a.UpdateRoute(t.Context(), Route{ID: first, Scope: ScopeAll, ScopeID: 5, EscalateTo: 99, Causes: []scheduler.AlarmCause{"lost"}}); err != nil {
		t.Fatal(err)
	}
	routes, err := b.a.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if routes[0].EscalateTo != 0 {
		t.Errorf("a second channel that is told never: %+v", routes[0])
	}
	was := Route{ID: first, Version: routes[0].Version, Scope: ScopeAll, Causes: []scheduler.AlarmCause{"lost"}}
	now := Route{ID: first, Scope: ScopeAll, Causes: []scheduler.AlarmCause{"failed"}}
	if err := b.a.UpdateRoute(t.Context(), now); err != nil { // whatever it is
		t.Fatal(err)
	}
	if err := b.a.UpdateRoute(t.Context(), was); !errors.Is(err, ErrChanged) {
		t.Errorf("a route that was changed since: %v", err)
	}
	if routes, err = b.a.Routes(t.Context()); err != nil || routes[0].Version == was.Version {
		t.Fatalf("after a change: %+v, %v", routes, err)
	}
	was.Version = routes[0].Version
	if err := b.a.UpdateRoute(t.Context(), was); err != nil {
		t.Fatal(err)
	}
	if routes, err = b.a.Routes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Route{{ID: first, Version: routes[0].Version, ChannelID: id, Scope: ScopeAll, Causes: []scheduler.AlarmCause{"lost"}}}, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestWantedKnowsWithoutAsking(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	b.work()
	if b.a.Wanted(scheduler.AlarmFailed, b.job) || b.a.Wanted(scheduler.AlarmMisfire, b.job) {
		t.Error("something is wanted without a channel")
	}
	id := b.addChannel(goodHook())
	if !b.a.Wanted(scheduler.AlarmFailed, b.job) || b.a.Wanted(scheduler.AlarmMisfire, b.job) {
		t.Error("with a channel failures are wanted, and skipped fires are not")
	}
	if _, err := b.a.CreateRoute(t.Context(), Route{ChannelID: id, Scope: ScopeGroup, ScopeID: b.group, Causes: []scheduler.AlarmCause{scheduler.AlarmMisfire}}); err != nil {
		t.Fatal(err)
	}
	if !b.a.Wanted(scheduler.AlarmMisfire, b.job) {
		t.Error("a skipped fire that a route asks for is not wanted")
	}
	// Another admin learns of it, and of open alarms, within seconds.
	other := b.alarmer(nil)
	if _, err := other.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.raise(b.job, scheduler.AlarmFailed, "x")
	if _, err := b.a.gather(t.Context(), b.clock.now()); err != nil {
		t.Fatal(err)
	}
	b.clock.add(rememberEvery)
	if err := other.remember(t.Context(), b.clock.now()); err != nil {
		t.Fatal(err)
	}
	if !other.Wanted(scheduler.AlarmRecovered, b.job) || !other.Wanted(scheduler.AlarmMisfire, b.job) {
		t.Error("the other admin does not know")
	}
}

func TestQuietUntil(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, berlin) }
	tests := []struct {
		name     string
		now      time.Time
		from, to int64
		want     time.Time
	}{
		{"none", at(2, 3, 0), 0, 0, time.Time{}},
		{"the night, before midnight", at(2, 23, 0), 1320, 420, at(3, 7, 0)},
		{"the night, after midnight", at(3, 6, 59), 1320, 420, at(3, 7, 0)},
		{"its first minute", at(2, 22, 0), 1320, 420, at(3, 7, 0)},
		{"its end", at(3, 7, 0), 1320, 420, time.Time{}},
		{"the day", at(3, 12, 0), 1320, 420, time.Time{}},
		{"within a day", at(3, 12, 30), 720, 780, at(3, 13, 0)},
		{"after it", at(3, 13, 0), 720, 780, time.Time{}},
		{"the night that lacks an hour", at(28, 23, 0), 1320, 420, at(29, 7, 0)},
		{"an end inside of the hour that is missing", at(28, 23, 0), 1320, 150, time.Date(2026, 3, 29, 2, 30, 0, 0, berlin)},
	}
	for _, test := range tests {
		if got := quietUntil(test.now, test.from, test.to); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestOneLineIsOneLine: what a form has one line for holds no line ends, or an untouched save of the form would change it.
func TestOneLineIsOneLine(t *testing.T) {
	t.Parallel()
	mail := goodMail()
	mail.Settings.Username, mail.Settings.From = "ala\r\nrms\n", "Alarms\r\n <alarms@example.com>"
	chat := Channel{Name: "bot", Kind: KindTelegram, Settings: Settings{Secret: "123:abc", Chat: " @ops\r\nteam\n"}}
	for _, c := range []*Channel{&mail, &chat} {
		if err := (&Alarmer{}).validChannel(c); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, text := range []string{c.Settings.Username, c.Settings.From, c.Settings.Chat} {
			if strings.ContainsAny(text, "\r\n") {
				t.Errorf("%s keeps %q", c.Name, text)
			}
		}
	}
}

// TestWhatIsSavedStaysAsItIs: what was saved is saved once more as it is. A character of control at an end left the space before it there.
func TestWhatIsSavedStaysAsItIs(t *testing.T) {
	t.Parallel()
	mail := goodMail()
	mail.Name, mail.Settings.Subject, mail.Settings.Username = "\x07 A  \x07", "\x07 {{title}} \x07", " ann \x07"
	mail.Settings.From = "\x07 a@example.com \x07"
	chat := Channel{Name: "bot \x85", Kind: KindTelegram, Settings: Settings{Secret: "123:abc", Chat: "\x07 @ops \x07"}}
	for _, c := range []*Channel{&mail, &chat} {
		if err := (&Alarmer{}).validChannel(c); err != nil {
			t.Fatalf("%q: %v", c.Name, err)
		}
		once := *c
		if err := (&Alarmer{}).validChannel(c); err != nil {
			t.Fatalf("%q: %v", c.Name, err)
		}
		if d := cmp.Diff(once, *c); d != "" {
			t.Errorf("saved again (-once +twice):\n%s", d)
		}
	}
	if mail.Name != "A" || chat.Settings.Chat != "@ops" {
		t.Errorf("saved as %q and %q", mail.Name, chat.Settings.Chat)
	}
}

// TestARouteOfTheUsualCausesNamesNone: a cause that a later version knows is told of too.
func TestARouteOfTheUsualCausesNamesNone(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	id, err := b.a.CreateChannel(t.Context(), Channel{Name: "hook", Kind: KindWebhook, Enabled: true, Settings: Settings{URL: "https://example.com/"}})
	if err != nil {
		t.Fatal(err)
	}
	usual := slices.DeleteFunc(Causes(), func(c scheduler.AlarmCause) bool { return c == scheduler.AlarmMisfire })
	if _, err := b.a.CreateRoute(t.Context(), Route{ChannelID: id, Scope: ScopeAll, Causes: usual}); err != nil {
		t.Fatal(err)
	}
	if routes, err := b.a.Routes(t.Context()); err != nil || len(routes) != 1 || len(routes[0].Causes) != 0 {
		t.Errorf("%+v, %v", routes, err)
	}
}
