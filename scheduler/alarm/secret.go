package alarm

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// sealed is how a sealed text begins, so that another way can follow this one.
const sealed = "v1:"

func newSeal(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, errors.New("alarm: the key must have 32 bytes")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Reseal puts the settings of all channels under another key, in the transaction in which that key takes the other's place.
// What cannot be opened, or was changed meanwhile, stays as it is; it counts how many did.
func Reseal(ctx context.Context, tx db.DBTX, from, to []byte) (left int, err error) {
	old, err := newSeal(from)
	if err != nil {
		return 0, err
	}
	seal, err := newSeal(to)
	if err != nil {
		return 0, err
	}
	queries := db.New()
	rows, err := queries.ListAlarmChannels(ctx, tx)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		plain, err := openText(old, row.Config, sealPurpose)
		if err != nil {
			left++
			continue
		}
		n, err := queries.ResealAlarmChannel(ctx, tx, db.ResealAlarmChannelParams{
			ID: row.ID, OldConfig: row.Config, NewConfig: sealText(seal, plain, sealPurpose),
		})
		if err != nil {
			return 0, err
		}
		if n == 0 {
			left++
		}
	}
	return left, nil
}

// sealText encrypts what is in the settings of a channel. The purpose is bound to it, so that a value of another table
// cannot be put in its place.
func sealText(seal cipher.AEAD, plain []byte, purpose string) string {
	return sealed + base64.StdEncoding.EncodeToString(seal.Seal(nil, nil, plain, []byte(purpose)))
}

func openText(seal cipher.AEAD, text, purpose string) ([]byte, error) {
	raw, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return nil, troubled(sealOdd)
	}
	data, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return nil, fmt.Errorf("read sealed settings: %w", err)
	}
	plain, err := seal.Open(nil, nil, data, []byte(purpose))
	if err != nil {
		return nil, troubled(sealOther)
	}
	return plain, nil
}

// scrub takes secrets out of a text that people will see: an error may repeat what was sent. Very short secrets are left,
// since cutting them out would tear other words apart and tell more than it hides.
func scrub(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(x, y string) int { return len(y) - len(x) }) // a whole before its parts
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}

// secrets are the texts of a channel's settings that must not be shown, in the spellings in which they travel.
func (s *Settings) secrets() []string {
	var all []string
	add := func(text string) {
		if text != "" {
			all = append(all, text, url.QueryEscape(text), base64.StdEncoding.EncodeToString([]byte(text)))
		}
	}
	if s.URL != "" {
		all = append(all, s.URL)
		if u, err := url.Parse(s.URL); err == nil {
			all = append(all, u.RequestURI())
			add(u.RawQuery)
			for _, values := range u.Query() {
				for _, v := range values {
					add(v)
				}
			}
			for part := range strings.SplitSeq(u.Path, "/") {
				if len(part) >= 16 { // a token, not a word
					add(part)
				}
			}
			if u.User != nil {
				password, _ := u.User.Password()
				add(password)
			}
		}
	}
	add(s.Secret)
	add(s.Password)
	if s.Password != "" {
		add("\x00" + s.Username + "\x00" + s.Password)
	}
	return all
}

// newHolder names one try to send, in the row that only this try may settle.
func newHolder() string { return rand.Text() }
