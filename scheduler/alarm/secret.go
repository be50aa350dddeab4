package alarm

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// Reseal puts the settings of all channels under another key, in the transaction in which that key takes the other's place.
// What cannot be opened, or was changed meanwhile, stays as it is; it counts how many did.
func Reseal(ctx context.Context, tx db.DBTX, from, to []byte) (left int, err error) {
	queries := db.New()
	rows, err := queries.ListAlarmChannels(ctx, tx)
	if err != nil {
		return 0, err
	}
	texts := make(map[int64]string, len(rows))
	for i := range rows {
		texts[rows[i].ID] = rows[i].Config
	}
	return seal.Rekey(from, to, sealPurpose, texts, func(id int64, was, is string) (int64, error) {
		return queries.ResealAlarmChannel(ctx, tx, db.ResealAlarmChannelParams{ID: id, OldConfig: was, NewConfig: is})
	})
}

// openText is [seal.Seal.Open] with its failures as troubles that people are told.
func openText(with *seal.Seal, text, purpose string) ([]byte, error) {
	plain, err := with.Open(text, purpose)
	switch {
	case errors.Is(err, seal.ErrOdd):
		return nil, troubled(sealOdd)
	case errors.Is(err, seal.ErrOther):
		return nil, troubled(sealOther)
	}
	return plain, err
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
func newHolder() string { return rand.Text()[:16] } // 80 bits, which leave room for the node in its column
