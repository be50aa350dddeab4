package app

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// Names in punctual_setting: what an installation decided once, and every admin of it must agree on.
const (
	settingCookieKeys   = "cookie_keys"
	settingAlarmKey     = "alarm_key"
	settingSample       = "sample"
	settingHTTPJobs     = "http_jobs"
	settingSampleListen = "sample_listen"
	settingFirstLogin   = "first_login"
	settingZone         = "time_zone"
)

// settings reads and writes punctual_setting.
type settings struct {
	pool    *db.Pool
	queries *db.Queries
	now     func() time.Time
	logger  *slog.Logger
}

// ensure reads a setting and makes it if it is not there. Of several admins that start together one decides.
func (s settings) ensure(ctx context.Context, name string, create func() string) (string, error) {
	value, err := s.get(ctx, name)
	if err != nil || value != "" {
		return value, err
	}
	_, err = s.queries.InsertSettingIfAbsent(ctx, s.pool, db.InsertSettingIfAbsentParams{
		Name: name, Value: create(), UpdatedAt: s.now().UnixMilli(),
	})
	if err != nil {
		return "", fmt.Errorf("keep setting %s: %w", name, db.Error(err))
	}
	return s.get(ctx, name)
}

// set writes a setting.
func (s settings) set(ctx context.Context, name, value string) error {
	err := s.queries.SetSetting(ctx, s.pool, db.SetSettingParams{Name: name, Value: value, UpdatedAt: s.now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("keep setting %s: %w", name, db.Error(err))
	}
	return nil
}

// get is a setting's value, "" if it is not there.
func (s settings) get(ctx context.Context, name string) (string, error) {
	row, err := s.queries.GetSetting(ctx, s.pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return row.Value, nil
}

// cookieKeys are the keys that sign and encrypt cookies, 32 bytes each.
func (s settings) cookieKeys(ctx context.Context) (sign, encrypt []byte, err error) {
	keys, err := s.key(ctx, settingCookieKeys, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("%w, which logs everybody out", err)
	}
	return keys[:32], keys[32:], nil
}

// key is a random key of so many bytes, made at the first start.
func (s settings) key(ctx context.Context, name string, size int) ([]byte, error) {
	text, err := s.ensure(ctx, name, func() string { return base64.StdEncoding.EncodeToString(newKey(size)) })
	if err != nil {
		return nil, err
	}
	return readKey(name, text, size)
}

func newKey(size int) []byte {
	key := make([]byte, size)
	_, _ = rand.Read(key) // never fails: the program ends when there is no randomness
	return key
}

func readKey(name, text string, size int) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("setting %s is damaged; delete its row", name)
	}
	return key, nil
}

// administratorName is the first user's.
const administratorName = "admin"

// ensureAdministrator makes the first user of an installation that has none. first says that it did; password is what
// it was given if it was made up here, and known to nobody else. With an error of db.ErrUnconfirmed it may have been made.
func (s settings) ensureAdministrator(ctx context.Context, passwords *auth.Passwords, chosen string) (first bool, password string, err error) {
	users, err := s.queries.CountPeople(ctx, s.pool)
	if err != nil {
		return false, "", fmt.Errorf("count users: %w", db.Error(err))
	}
	if users > 0 {
		return false, "", nil
	}
	if chosen == "" {
		password = auth.NewPassword()
		chosen = password
	} else if auth.CheckPassword(chosen, administratorName) != nil {
		return false, "", wrong("the administrator's password is easy to guess: choose one that is on no list of common passwords, such as some unrelated words")
	}
	hash, err := passwords.Hash(ctx, chosen)
	if err != nil {
		return false, "", err
	}
	err = s.pool.Tx(ctx, func(tx *sql.Tx) error { // an administrator without it would be there at the next start, which says no password
		id, err := s.queries.InsertUser(ctx, tx, db.InsertUserParams{Username: administratorName, Password: hash, Role: auth.RoleAdmin})
		if err != nil {
			return err
		}
		return s.queries.SetPasswordDue(ctx, tx, db.SetPasswordDueParams{ID: id, PasswordDue: 1})
	})
	if err = db.Error(err); errors.Is(err, db.ErrDuplicate) {
		return false, "", nil // another admin started at the same moment, and has said its password
	} else if errors.Is(err, db.ErrUnconfirmed) {
		return true, password, fmt.Errorf("create administrator: whether it was made is not known: %w", err)
	} else if err != nil {
		return false, "", fmt.Errorf("create administrator: %w", err)
	}
	return true, password, nil
}
