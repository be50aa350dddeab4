package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// sealPurpose binds sealed settings to the column they are for.
const sealPurpose = "punctual_webhook.config"

// Settings are what of a webhook is secret.
type Settings struct {
	URL    string `json:"url"`
	Secret string `json:"secret"` // as Standard Webhooks have it: whsec_ and base64
	// Old is the secret before, which signs too until OldUntil, so that a receiver may be changed in its own time.
	Old      string    `json:"old,omitempty"`
	OldUntil time.Time `json:"oldUntil,omitzero"`
}

// NewSecret makes a secret.
func NewSecret() string {
	key := make([]byte, 32)
	rand.Read(key) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// Place is where a webhook is, without what may be secret in its address.
func (s *Settings) Place() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Close seals settings for a row.
func (s *Service) Close(settings Settings) (string, error) {
	text, err := json.Marshal(settings)
	return s.seal.Close(text, sealPurpose), err
}

// Open reads the settings of a row.
func (s *Service) Open(h *db.Webhook) (Settings, error) {
	var settings Settings
	text, err := s.seal.Open(h.Config, sealPurpose)
	if err != nil {
		return settings, err
	}
	return settings, json.Unmarshal(text, &settings)
}

// Reseal puts the settings of all webhooks under another key, in the transaction in which that key takes the other's place. What
// cannot be opened, or was changed meanwhile, stays as it is; it counts how many did.
func Reseal(ctx context.Context, tx db.DBTX, from, to []byte) (left int, err error) {
	queries := db.New()
	rows, err := queries.ListWebhooks(ctx, tx)
	if err != nil {
		return 0, err
	}
	texts := make(map[int64]string, len(rows))
	for i := range rows {
		texts[rows[i].ID] = rows[i].Config
	}
	return seal.Rekey(from, to, sealPurpose, texts, func(id int64, was, is string) (int64, error) {
		return queries.ResealWebhook(ctx, tx, db.ResealWebhookParams{ID: id, OldConfig: was, NewConfig: is})
	})
}
