package app

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

const (
	secretOne = "one one one one one one one one one"
	secretTwo = "two two two two two two two two two"
)

// channelPassword reads a channel as an admin with that key would.
func channelPassword(t *testing.T, pool *db.Pool, key []byte, create string) string {
	t.Helper()
	catalogue := locales.New()
	a, err := alarm.New(alarm.Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Key: key, Printer: func(lang string) alarm.Printer { return catalogue.Printer(lang) }})
	if err != nil {
		t.Fatal(err)
	}
	if create != "" {
		if _, err := a.CreateChannel(t.Context(), alarm.Channel{
			Name: "hook", Kind: alarm.KindWebhook, Enabled: true, Settings: alarm.Settings{URL: "https://example.com/" + create},
		}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.Channels(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("channels: %v, %v", list, err)
	}
	return list[0].Settings.URL
}

func TestASecretKeySealsWhatTheDatabaseKnows(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		s := settings{pool: pool, queries: db.New(), now: time.Now, logger: slog.New(slog.DiscardHandler)}
		read := func(secrets ...string) []byte {
			t.Helper()
			key, err := s.alarmKey(ctx, secrets)
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
		open := read()
		shown := channelPassword(t, pool, open, "token-of-the-channel")

		// Several admins are started with the key at once.
		keys := make([][]byte, 3)
		var starts sync.WaitGroup
		for i := range keys {
			starts.Go(func() {
				var err error
				if keys[i], err = s.alarmKey(ctx, []string{secretOne}); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		for _, key := range keys {
			if !bytes.Equal(key, keys[0]) || bytes.Equal(key, open) {
				t.Errorf("keys %x, the open one was %x: want one new key", keys, open)
			}
		}
		if got := channelPassword(t, pool, keys[0], ""); got != shown {
			t.Errorf("the channel reads %q, want %q", got, shown)
		}
		stored, err := s.get(ctx, settingAlarmKey)
		if err != nil || !strings.HasPrefix(stored, wrapped) {
			t.Errorf("stored %q, %v", stored, err)
		}

		for name, secrets := range map[string][]string{"none": nil, "another": {secretTwo}} {
			_, err := s.alarmKey(ctx, secrets)
			if _, ok := errors.AsType[*OptionsError](err); !ok {
				t.Errorf("with %s: %v", name, err)
			}
		}

		if got := read(secretTwo, secretOne); !bytes.Equal(got, keys[0]) {
			t.Errorf("a change of the secret key changed the key")
		}
		if got := read(secretTwo); !bytes.Equal(got, keys[0]) {
			t.Errorf("the new secret key gives another key")
		}
		if _, err := s.alarmKey(ctx, []string{secretOne}); err == nil {
			t.Error("the old secret key still opens")
		}
	})
}

func TestANewInstallationWithASecretKeyIsSealedFromTheStart(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := settings{pool: pool, queries: db.New(), now: time.Now, logger: slog.New(slog.DiscardHandler)}
		if _, err := s.alarmKey(t.Context(), []string{secretOne}); err != nil {
			t.Fatal(err)
		}
		if stored, err := s.get(t.Context(), settingAlarmKey); err != nil || !strings.HasPrefix(stored, wrapped) {
			t.Errorf("stored %q, %v", stored, err)
		}
	})
}

func TestSecretKeysAreRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		keys int
		err  string
	}{
		"none":               {"", 0, ""},
		"one":                {secretOne, 1, ""},
		"one with a newline": {secretOne + "\r\n", 1, ""},
		"a new and an old":   {secretTwo + "\n\n" + secretOne + "\n", 2, ""},
		"too short":          {"secret", 0, "at least 32"},
		"an empty file":      {"\n", 0, "no secret key"},
	}
	for name, tt := range tests {
		keys, err := ParseSecretKeys(tt.text)
		if len(keys) != tt.keys || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d keys, %v", name, len(keys), err)
		}
	}
}

// TestALostSecretKeyShutsNobodyOut logs in with a second factor after the key was replaced, as the message of a start without it says.
func TestALostSecretKeyShutsNobodyOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.SecretKeys, o.AccessToken = []string{secretOne}, ""
		a := start(t, o)
		secret, recovery := open(t, a).mustLogin().addSecond(testPassword)
		if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM punctual_setting WHERE name = ?", settingAlarmKey); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		var log executortest.Output
		again := testOptions(t)
		again.DataDir, again.DatabaseURL, again.AccessToken = o.DataDir, o.DatabaseURL, ""
		again.SecretKeys, again.Logger = []string{secretTwo}, slog.New(slog.NewTextHandler(&log, nil))
		a = start(t, again)

		b := open(t, a)
		for range 7 { // more than there are attempts: nobody guesses here
			if got := b.login("admin", testPassword); got.location() != "/login/second" {
				t.Fatalf("login: %d %s", got.status, got.location())
			}
			got := b.post("/login/second", url.Values{"code": {codeOf(t, secret, 0)}})
			if got.status != http.StatusServiceUnavailable || !strings.Contains(got.document(t).Find(".notice").Text(), "secret key of this installation is missing") {
				t.Fatalf("a code: %d %s", got.status, got.document(t).Find("main").Text())
			}
		}
		if n := strings.Count(log.String(), "codes of apps cannot be checked"); n != 1 {
			t.Errorf("said %d times in the log", n)
		}
		if got := audited(t, a, "login_refused"); len(got) != 1 || got[0] != `admin 127.0.0.1 user admin {"reason":"sealed"}` {
			t.Errorf("on record: %q", got)
		}
		if got := b.post("/login/second", url.Values{"code": {recovery[0]}}); got.location() != "/" {
			t.Fatalf("a recovery code: %d", got.status)
		}
		// An app that is added now works beside the one that does not.
		fresh := b.get("/profile/second/code").document(t)
		text, code := codeAt(t, fresh)
		token, _ := fresh.Find(`input[name="token"]`).Attr("value")
		if got := b.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {testPassword}}); got.status != http.StatusSeeOther {
			t.Fatalf("another app: %d", got.status)
		}
		other := open(t, a)
		other.login("admin", testPassword)
		if got := other.post("/login/second", url.Values{"code": {codeOf(t, text, 1)}}); got.location() != "/" {
			t.Errorf("the new app's code: %d", got.status)
		}
	})
}
