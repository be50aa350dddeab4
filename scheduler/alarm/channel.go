package alarm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/punctual-job/punctual/db"
)

// Security is how the connection to a mail server is protected.
type Security string

const (
	SecurityStartTLS Security = "starttls" // begin plain, refuse to go on without TLS; usually port 587
	SecurityTLS      Security = "tls"      // TLS from the first byte; usually port 465
	SecurityNone     Security = "none"     // for a relay on the same machine or network
)

// Settings are what a channel needs to reach its server. Which fields matter depends on the kind.
type Settings struct {
	// Mail.
	Host       string   `json:"host,omitempty"`
	Port       int      `json:"port,omitempty"`
	Security   Security `json:"security,omitempty"`
	SkipVerify bool     `json:"skipVerify,omitempty"` // accept any certificate: for relays that sign their own
	Username   string   `json:"username,omitempty"`   // empty: no login
	Password   string   `json:"password,omitempty"`   // secret
	From       string   `json:"from,omitempty"`
	Recipients []string `json:"recipients,omitempty"` // of what routes bring; jobs bring their own

	// Of messages about one alarm, with placeholders; empty: as usual. Not of a kind with a Template.
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`

	// Webhooks.
	URL      string `json:"url,omitempty"`      // secret: it carries the token
	Secret   string `json:"secret,omitempty"`   // secret: what [SecretUse] says
	Chat     string `json:"chat,omitempty"`     // whom a bot writes to
	Template string `json:"template,omitempty"` // of the generic kind's body; empty: everything as JSON
}

// equal says whether settings are the same, with what is secret of them.
func (s *Settings) equal(o *Settings) bool {
	a, b := *s, *o
	a.Recipients, b.Recipients = nil, nil
	return reflect.DeepEqual(a, b) && slices.Equal(s.Recipients, o.Recipients)
}

// channel is a row with its settings opened.
type channel struct {
	row      db.AlarmChannel
	settings Settings
}

func (c *channel) kind() Kind { return Kind(c.row.Kind) }

// sealPurpose binds sealed settings to the column they are for.
const sealPurpose = "punctual_alarm_channel.config"

func (a *Alarmer) channelOf(row *db.AlarmChannel) (*channel, error) {
	plain, err := openText(a.seal, row.Config, sealPurpose)
	if err != nil {
		return nil, err
	}
	c := &channel{row: *row}
	if err := json.Unmarshal(plain, &c.settings); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return c, nil
}

func (a *Alarmer) sealSettings(s *Settings) (string, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return a.seal.Close(plain, sealPurpose), nil
}

func (a *Alarmer) readChannel(ctx context.Context, id int64) (*channel, error) {
	row, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, id)
	if err != nil {
		return nil, db.Error(err)
	}
	return a.channelOf(&row)
}
