package manage

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// TestWhatWasChangedMeanwhileStays: what somebody changes between the look of a request and its transaction is neither deleted nor replaced.
func TestWhatWasChangedMeanwhileStays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := withAlarms(t, pool)
		ctx := t.Context()
		team := must(b.Teams.Save(ctx, b.admin, 0, TeamInput{Name: "night"}))(t)
		channel := must(b.Channels.Save(ctx, b.admin, alarm.Channel{Name: "chat", Kind: alarm.KindDingTalk, Enabled: true, Settings: alarm.Settings{URL: "http://127.0.0.1:1/"}}, nil))(t)
		plant := &calendar.Calendar{Name: "plant", Week: []string{"sun"}}
		if err := b.Calendars.Put(ctx, b.admin, plant); err != nil {
			t.Fatal(err)
		}
		wasTeam := must(b.Teams.Get(ctx, b.admin, team))(t)
		wasChannel, _, err := b.Channels.Get(ctx, b.admin, channel)
		if err != nil {
			t.Fatal(err)
		}
		wasPlant := must(b.Calendars.Get(ctx, b.admin, "plant"))(t)

		plant.Title = "changed"
		for _, err := range []error{
			second(b.Teams.Save(ctx, b.admin, team, TeamInput{Name: "changed"})),
			second(b.Channels.Save(ctx, b.admin, alarm.Channel{ID: channel, Name: "changed", Enabled: true}, nil)),
			b.Calendars.Put(ctx, b.admin, plant),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for what, err := range map[string]error{
			"delete team":      b.Teams.DeleteVersion(ctx, b.admin, team, wasTeam.Version()),
			"save channel":     second(b.Channels.Save(ctx, b.admin, alarm.Channel{ID: channel, Version: wasChannel.Version, Name: "again"}, nil)),
			"delete calendar":  b.Calendars.DeleteVersion(ctx, b.admin, "plant", wasPlant.Version()),
			"replace calendar": b.Calendars.PutVersion(ctx, b.admin, plant, wasPlant.Version()),
		} {
			if got := kind(err); got != "409 problem.changed" {
				t.Errorf("%s: %s", what, got)
			}
		}
		newTeam, newest := must(b.Teams.Get(ctx, b.admin, team))(t), must(b.Calendars.Get(ctx, b.admin, "plant"))(t)
		for what, do := range map[string]func(context.Context) error{
			"team": func(ctx context.Context) error { return b.Teams.DeleteVersion(ctx, b.admin, team, newTeam.Version()) },
			"calendar": func(ctx context.Context) error {
				return b.Calendars.DeleteVersion(ctx, b.admin, "plant", newest.Version())
			},
			"channel": func(ctx context.Context) error { return b.Channels.Delete(ctx, b.admin, channel) },
		} {
			if err := do(ctx); err != nil {
				t.Errorf("%s as it is now: %v", what, err)
			}
		}
	})
}

func TestAUserChangedMeanwhileStays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "bertha"})
		if err != nil {
			t.Fatal(err)
		}
		was := must(b.Users.Get(ctx, b.admin, id))(t)
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Disabled: true}); err != nil {
			t.Fatal(err)
		}
		if got := kind(b.Users.DeleteVersion(ctx, b.admin, id, was.Version())); got != "409 problem.changed" {
			t.Error(got)
		}
		now := must(b.Users.Get(ctx, b.admin, id))(t)
		if err := b.Users.DeleteVersion(ctx, b.admin, id, now.Version()); err != nil {
			t.Errorf("as it is now: %v", err)
		}
	})
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// TestTwoGiveAPasswordAtOnce: the second is told of the first, as with all that administrators change of a user.
func TestTwoGiveAPasswordAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "mina"})
		if err != nil {
			t.Fatal(err)
		}
		was := must(b.Users.Get(ctx, b.admin, id))(t)
		for i, want := range []string{"ok", "409 problem.changed"} {
			in := UserInput{Password: []string{"tall-hedge-3-lantern", "wide-river-8-copper"}[i], Version: was.Version()}
			if got := kind(b.Users.Update(ctx, b.admin, id, in)); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
	})
}

// TestTheVersionOfAUserTellsNoPassword: auditors read it too, and XXL-JOB's hashes have no salt, so that whoever could work the version out
// of a guess could try millions of them a second without asking here.
func TestTheVersionOfAUserTellsNoPassword(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "mina"})
		if err != nil {
			t.Fatal(err)
		}
		sum := md5.Sum([]byte("123456"))
		stored := hex.EncodeToString(sum[:])
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_user SET password = ? WHERE id = ?", stored, id); err != nil {
			t.Fatal(err)
		}
		u := must(b.Users.Get(ctx, b.admin, id))(t)
		guess := u
		guess.password = stored
		if guess.Version() == u.Version() {
			t.Error("the version is made of the stored hash alone: a guessed password can be compared with it")
		}
	})
}

// TestARoleThatIsNotSavedIsShown: the form that comes back says what of it differs from what somebody else saved.
func TestARoleThatIsNotSavedIsShown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "mina"})
		if err != nil {
			t.Fatal(err)
		}
		was := must(b.Users.Get(ctx, b.admin, id))(t)
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Disabled: true}); err != nil {
			t.Fatal(err)
		}
		err = b.Users.Update(ctx, b.admin, id, UserInput{Auditor: true, Version: was.Version()})
		e, ok := errors.AsType[*ChangedError](err)
		if !ok || fmt.Sprint(e.Wanted["role"]) != "2" || fmt.Sprint(e.Stored["role"]) != "0" {
			t.Errorf("%v: %+v", err, e)
		}
	})
}
