package manage

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	long := "https://" + strings.Repeat("x", 2000)
	tests := []struct{ name, value, clean, bad string }{
		{SettingRetention, " 90 ", "90", ""},
		{SettingRetention, "007", "7", ""},
		{SettingRetention, "0", "0", ""},
		{SettingRetention, "2", "", "settings.error.zero"},
		{SettingRetention, "-1", "", "settings.error.zero"},
		{SettingRetention, "36501", "", "settings.error.zero"},
		{SettingRetention, "soon", "", "settings.error.zero"},
		{SettingRetention, "", "", "settings.error.zero"},
		{SettingRetention, "99999999999999999999", "", "settings.error.zero"},
		{SettingMisfire, "0", "", "settings.error.number"},
		{SettingMisfire, "3600", "3600", ""},
		{SettingForgotten, "34", "", "settings.error.number"},
		{SettingGlue, "off", "off", ""},
		{SettingGlue, "true", "", "settings.error.choice"},
		{SettingLanguage, "zh-CN", "zh-CN", ""},
		{SettingLanguage, "fr", "", "settings.error.choice"},
		{SettingPublicURL, "", "", ""},
		{SettingPublicURL, "https://jobs.example.com/x/", "https://jobs.example.com/x", ""},
		{SettingPublicURL, "jobs.example.com", "", "settings.error.url"},
		{SettingPublicURL, "javascript:alert(1)", "", "settings.error.url"},
		{SettingPublicURL, "https://me:secret@jobs.example.com", "", "settings.error.url"},
		{SettingPublicURL, "https://jobs.example.com?a=b", "", "settings.error.url"},
		{SettingPublicURL, "https://jobs.example.com/?", "", "settings.error.url"},
		{SettingPublicURL, long, "", "job.error.too_long"},
		{SettingAllow, " 10.0.0.0/8 , .lab ,", "10.0.0.0/8,.lab", ""},
		{SettingAllow, "10.0.0.0/8,http://x", "", "settings.error.allow"},
	}
	defs := make(map[string]Setting)
	for _, s := range AllSettings() {
		defs[s.Name] = s
		if clean, bad := s.clean(s.Default); bad != nil || clean != s.Default {
			t.Errorf("%s: its own default %q is refused, or becomes %q", s.Name, s.Default, clean)
		}
	}
	for _, tt := range tests {
		clean, bad := defs[tt.name].clean(tt.value)
		key := ""
		if bad != nil {
			key = bad.Key
		}
		if clean != tt.clean || key != tt.bad || bad != nil && bad.Name != tt.name {
			t.Errorf("%s = %.40q: %q, %s; want %q, %s", tt.name, tt.value, clean, key, tt.clean, tt.bad)
		}
	}
}

// values are what holds, by name, and who decided it.
func (b *bundle) values(t *testing.T) map[string]string {
	t.Helper()
	list, err := b.Settings.List(t.Context(), b.admin)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, s := range list {
		if s.Source != SourceDefault || s.Broken {
			all[s.Name] = string(s.Source) + " " + s.Value
			if s.Broken {
				all[s.Name] += " broken"
			}
		}
	}
	return all
}

// TestWhatWasSavedHolds at once, and whoever reads the settings meanwhile does not bring back what held before.
func TestWhatWasSavedHolds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		defer dbtest.Meanwhile(t, func() error {
			_, err := b.Settings.List(t.Context(), b.admin)
			return errors.Join(err, b.Settings.Load(t.Context()))
		})()
		for i := range 60 {
			glue := []string{SettingOff, SettingOn}[i%2]
			if _, err := b.Settings.Save(t.Context(), b.admin, map[string]string{SettingGlue: glue}, ""); err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if b.Settings.Glue() != (glue == SettingOn) {
					t.Fatalf("change %d, to %s, was undone", i+1, glue)
				}
				runtime.Gosched()
			}
		}
	})
}

func TestSettingsAreSavedTogether(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Settings = fixed(t, pool, SettingAlarmLanguage, "en") })
		ctx := t.Context()
		save := func(p auth.Principal, version string, pairs ...string) (int, error) {
			values := make(map[string]string)
			for i := 0; i < len(pairs); i += 2 {
				values[pairs[i]] = pairs[i+1]
			}
			return b.Settings.Save(ctx, p, values, version)
		}
		expect := func(step string, want map[string]string) {
			t.Helper()
			want[SettingAlarmLanguage] = "environment en"
			if diff := cmp.Diff(want, b.values(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step, diff)
			}
		}
		expect("at first", map[string]string{})
		if _, err := save(b.user, "", SettingMisfire, "9"); kind(err) != "403" {
			t.Errorf("a normal user: %s", kind(err))
		}
		if _, err := b.Settings.List(ctx, b.user); kind(err) != "403" {
			t.Errorf("a normal user looks: %s", kind(err))
		}
		if _, err := save(b.admin, "", SettingMisfire, "9", SettingRetention, "2", SettingGlue, "x"); kind(err) != "422 glue:settings.error.choice log_retention_days:settings.error.zero" {
			t.Errorf("wrong values: %s", kind(err))
		}
		expect("after wrong values", map[string]string{})

		list, _ := b.Settings.List(ctx, b.admin)
		version := SettingsVersion(list)
		n, err := save(b.admin, version, SettingMisfire, "9", SettingRetention, "0", SettingLost, "15", SettingAlarmLanguage, "zh-CN", "cookie_keys", "stolen", SettingGlue, "off")
		if n != 3 || err != nil {
			t.Fatalf("save: %d, %v", n, err)
		}
		expect("saved", map[string]string{SettingMisfire: "stored 9", SettingRetention: "stored 0", SettingGlue: "stored off"})
		if got, want := b.Settings.Limits(), (scheduler.Limits{MisfireAfter: 9 * time.Second, CallTimeout: 3 * time.Second, LostAfter: 15 * time.Second, IdleAfter: 40 * time.Second}); got != want {
			t.Errorf("limits %+v, want %+v", got, want)
		}
		if keep, err := b.Settings.Retention(ctx); keep != (upkeep.Retention{}) || err != nil || b.Settings.Glue() || b.Settings.AlarmDefaults().Language != "en" {
			t.Errorf("kept for %+v (%v), scripts %v, alarms in %s", keep, err, b.Settings.Glue(), b.Settings.AlarmDefaults().Language)
		}
		if _, err := save(b.admin, version, SettingMisfire, "10"); kind(err) != "409 settings.changed" {
			t.Errorf("drawn before somebody else saved: %s", kind(err))
		}
		if n, err := save(b.admin, "", SettingMisfire, "9"); n != 0 || err != nil {
			t.Errorf("nothing new: %d, %v", n, err)
		}
		if n, err := save(b.admin, "", SettingMisfire, "5"); n != 1 || err != nil {
			t.Errorf("the default: %d, %v", n, err)
		}
		expect("one is at its default again", map[string]string{SettingRetention: "stored 0", SettingGlue: "stored off"})

		// Another admin of the cluster takes it in when it looks the next time.
		other, err := NewSettings(pool, slog.New(slog.DiscardHandler), time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := other.Glue()
		if err := other.Load(ctx); err != nil || !before || other.Glue() || other.AlarmDefaults().Language != "zh-CN" {
			t.Errorf("another admin: %v before, %v after, %v", before, other.Glue(), err)
		}

		list2, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectSetting, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, e := range list2.Entries {
			entry, was, is, err := b.Audit.Get(ctx, b.admin, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, entry.ObjectName+" "+was["value"].(string)+" "+is["value"].(string))
		}
		if diff := cmp.Diff([]string{"misfire_seconds 9 5", "misfire_seconds 5 9", "log_retention_days 30 0", "glue on off"}, said); diff != "" {
			t.Errorf("the audit log (-want +got):\n%s", diff)
		}
	})
}

func TestWhatCannotBeReadIsNoDecision(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
		ctx := t.Context()
		for name, value := range map[string]string{SettingRetention: "a month", SettingRetentionSuccess: "a day", SettingMisfire: "-7"} {
			if err := db.New().SetSetting(ctx, pool, db.SetSettingParams{Name: name, Value: value}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Settings.Load(ctx); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{SettingRetention: "stored 30 broken", SettingRetentionSuccess: "stored 0 broken", SettingMisfire: "stored 5 broken"}
		if diff := cmp.Diff(want, b.values(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, mend := range []map[string]string{{SettingRetention: "30", SettingMisfire: "5"}, {SettingRetentionSuccess: "7"}} {
			if _, err := b.Settings.Retention(ctx); !errors.Is(err, ErrUnreadable) {
				t.Errorf("runs would be deleted on a guess: %v", err)
			}
			if n, err := b.Settings.Save(ctx, b.admin, mend, ""); n != len(mend) || err != nil {
				t.Errorf("save anew: %d, %v", n, err)
			}
		}
		if r, err := b.Settings.Retention(ctx); r != (upkeep.Retention{Days: 30, Succeeded: 7}) || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
