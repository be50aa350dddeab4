package auditlog

import (
	"encoding/json"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Line is an entry as programs read it, in exports and where it is shipped to.
type Line struct {
	Seq     int64           `json:"seq"` // 0: it has no place in the chain yet
	ID      int64           `json:"id"`
	At      string          `json:"at"` // RFC 3339, UTC, milliseconds
	User    string          `json:"user"`
	UserID  int64           `json:"userId"`
	Address string          `json:"address"`
	Action  string          `json:"action"`
	Kind    string          `json:"kind"`
	Object  int64           `json:"object"`
	Name    string          `json:"name"`
	Group   int64           `json:"group"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Cut     bool            `json:"cut,omitempty"` // what changed is too long for where this goes
	Hash    string          `json:"hash"`
}

func LineOf(e db.AuditEntry) Line {
	return Line{
		Seq: e.Seq, ID: e.ID, At: time.UnixMilli(e.MadeAt).UTC().Format("2006-01-02T15:04:05.000Z"), User: e.UserName, UserID: e.UserID,
		Address: e.Address, Action: e.Action, Kind: e.ObjectKind, Object: e.ObjectID, Name: e.ObjectName, Group: e.GroupID,
		Before: raw(e.BeforeJSON), After: raw(e.AfterJSON), Hash: e.Hash,
	}
}

// JSON is the line without its end.
func (l Line) JSON() []byte {
	text, err := json.Marshal(l)
	if err != nil { // what is stored is no JSON, so somebody else wrote it
		l.Before, l.After = nil, nil
		text, _ = json.Marshal(l)
	}
	return text
}

func raw(t db.Text) json.RawMessage {
	if t == "" || !json.Valid([]byte(t)) {
		return nil
	}
	return json.RawMessage(t)
}
