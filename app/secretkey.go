package app

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// The settings of alarm channels are sealed with a random key, which stands in punctual_setting, and executors' tokens and secrets
// of jobs with one derived from it, where there is a secret key. Unless the installation has a
// secret key of its own, whoever can read the database can read them. With [Options.SecretKeys] the random key is itself
// sealed, with a key that is derived from the first of them. The others only open: that is how a secret key is changed.

// minSecretKey is the least length of a secret key: 16 random bytes in hexadecimal.
const minSecretKey = 32

// wrapped is how an alarm key begins that is sealed.
const wrapped = "sealed:v1:"

// errReplaced means that another admin changed the alarm key meanwhile.
var errReplaced = errors.New("another admin changed the key")

// ParseSecretKeys reads secret keys, one a line. The first seals; the others open what was sealed before they were replaced.
func ParseSecretKeys(text string) ([]string, error) {
	var keys []string
	for line := range strings.Lines(text) {
		key := strings.TrimSpace(line)
		if key == "" {
			continue
		}
		if len(key) < minSecretKey {
			return nil, fmt.Errorf("a secret key has %d characters and needs at least %d; make one with: openssl rand -base64 32", len(key), minSecretKey)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && text != "" {
		return nil, errors.New("there is no secret key in it; make one with: openssl rand -base64 32")
	}
	return keys, nil
}

func wrapping(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "punctual alarm key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// wrap is an alarm key as it is stored: sealed when there is a secret key.
func wrap(key []byte, secrets []string) (string, error) {
	if len(secrets) == 0 {
		return base64.StdEncoding.EncodeToString(key), nil
	}
	seal, err := wrapping(secrets[0])
	if err != nil {
		return "", err
	}
	return wrapped + base64.StdEncoding.EncodeToString(seal.Seal(nil, nil, key, []byte(settingAlarmKey))), nil
}

// unwrap opens a stored alarm key, and tells which of the secret keys opened it; -1: it was not sealed.
func unwrap(text string, secrets []string) (key []byte, by int, err error) {
	raw, sealed := strings.CutPrefix(text, wrapped)
	if !sealed {
		key, err = readKey(settingAlarmKey, text, 32)
		return key, -1, err
	}
	if len(secrets) == 0 {
		return nil, 0, wrong("the settings of the alarm channels are sealed with a secret key: set PUNCTUAL_SECRET_KEY or PUNCTUAL_SECRET_KEY_FILE as it was")
	}
	data, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return nil, 0, fmt.Errorf("setting %s is damaged; delete its row", settingAlarmKey)
	}
	for i, secret := range secrets {
		seal, err := wrapping(secret)
		if err != nil {
			return nil, 0, err
		}
		if key, err := seal.Open(nil, nil, data, []byte(settingAlarmKey)); err == nil && len(key) == 32 {
			return key, i, nil
		}
	}
	return nil, 0, wrong("the secret key is not the one that the settings of the alarm channels are sealed with; "+
		"set the right one, or, if it is lost, delete the row %s of punctual_setting and enter what it sealed again: see docs/operations.md, What is stored sealed", settingAlarmKey)
}

// alarmKey is the key that seals the settings of alarm channels. Where it stands open although there is a secret key, a new one
// takes its place, since the old one may be in copies of the database, and the channels are put under that.
func (s settings) alarmKey(ctx context.Context, secrets []string) ([]byte, error) {
	for range 5 {
		fresh, err := wrap(newKey(32), secrets)
		if err != nil {
			return nil, err
		}
		text, err := s.ensure(ctx, settingAlarmKey, func() string { return fresh })
		if err != nil {
			return nil, err
		}
		key, by, err := unwrap(text, secrets)
		if _, setting := errors.AsType[*OptionsError](err); err != nil && !setting {
			return nil, fmt.Errorf("%w; the passwords of alarm channels must then be entered again", err)
		} else if err != nil {
			return nil, err
		}
		if by == 0 || len(secrets) == 0 {
			return key, nil
		}
		key, err = s.rewrap(ctx, text, key, by, secrets)
		if !errors.Is(err, errReplaced) {
			return key, err
		}
	}
	return nil, fmt.Errorf("seal setting %s: %w", settingAlarmKey, errReplaced)
}

// keys are the key of alarm channels, and what seals everything else. There is nothing of the latter without a secret key: what is
// sealed with a key that lies beside it is only harder to read for its owner.
func (a *App) keys(ctx context.Context) (alarmKey []byte, sealing *seal.Seal, err error) {
	if alarmKey, err = a.settings.alarmKey(ctx, a.opts.SecretKeys); err != nil || len(a.opts.SecretKeys) == 0 {
		return alarmKey, nil, err
	}
	derived, err := hkdf.Key(sha256.New, alarmKey, nil, "punctual seal", seal.KeyBytes)
	if err != nil {
		return nil, nil, err
	}
	sealing, err = seal.New(derived)
	return alarmKey, sealing, err
}

// rewrap seals the alarm key with the first secret key.
func (s settings) rewrap(ctx context.Context, text string, old []byte, by int, secrets []string) ([]byte, error) {
	key := old
	if by < 0 {
		key = newKey(32)
	}
	value, err := wrap(key, secrets)
	if err != nil {
		return nil, err
	}
	left := 0
	err = s.pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.ReplaceSetting(ctx, tx, db.ReplaceSettingParams{
			Name: settingAlarmKey, OldValue: text, NewValue: value, UpdatedAt: s.now().UnixMilli(),
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return errReplaced
		}
		if by < 0 {
			if left, err = alarm.Reseal(ctx, tx, old, key); err != nil {
				return err
			}
			n, err := webhook.Reseal(ctx, tx, old, key)
			left += n
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("seal setting %s: %w", settingAlarmKey, err)
	}
	s.logger.Info("the settings of alarm channels and webhooks are sealed with the secret key", "unreadable", left)
	return key, nil
}
