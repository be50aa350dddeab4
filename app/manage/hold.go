package manage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// settingHold is the row of punctual_setting by which admins that start on a database hold still. It is not among [AllSettings], because it is
// for one start and no wish of how to work.
const settingHold = "hold"

// settingShared is the row that says up to which object the output store may be used by the installation too of whose database this is a
// copy. It comes with the end of a hold, see [Settings.EndHold].
const settingShared = "output_shared"

// shared is that object; 0: none.
func (h *held) shared() int64 {
	n, _ := strconv.ParseInt(h.rows[settingShared].Value, 10, 64) // no row: ""
	return n
}

// maxHoldReason bounds why a database is held.
const maxHoldReason = 200

// Hold says who wants a database held, and why.
type Hold struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"-"`
}

// Hold is what admins that start on this database are to wait for the end of; false: nothing.
func (s *Settings) Hold() (h Hold, held bool) {
	row, held := s.held.Load().rows[settingHold]
	if !held {
		return h, false
	}
	_ = json.Unmarshal([]byte(row.Value), &h) // one that cannot be read holds too
	h.At = time.UnixMilli(row.UpdatedAt)
	return h, true
}

// HeldFromTheStart is what the settings of a database say that is held.
func HeldFromTheStart(by, reason string) (map[string]string, error) {
	value, err := json.Marshal(Hold{By: by, Reason: cut(reason, maxHoldReason)})
	return map[string]string{settingHold: string(value)}, err
}

// SetHold has the admins that start from now on hold still until [Settings.EndHold].
func (s *Settings) SetHold(ctx context.Context, p auth.Principal, reason string) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	settings, err := HeldFromTheStart(p.Name, reason)
	if err != nil {
		return err
	}
	value := settings[settingHold]
	return s.changeHold(ctx, p, Entry{Action: ActionUpdate, Kind: ObjectSetting, Name: settingHold, After: Snapshot{"value": value}}, func(ctx context.Context, tx *sql.Tx) error {
		return s.queries.SetSetting(ctx, tx, db.SetSettingParams{Name: settingHold, Value: value, UpdatedAt: s.now().UnixMilli()})
	})
}

// EndHold lets the admins that hold still begin. Without ownStore what is kept of outputs up to now stays where it is for ever, unless that is
// the database: in a folder or a bucket it may be what production has.
func (s *Settings) EndHold(ctx context.Context, p auth.Principal, ownStore bool) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	if err := s.Load(ctx); err != nil {
		return err
	}
	if _, held := s.Hold(); !held {
		return problem.New(problem.Conflict, "hold.none")
	}
	return s.changeHold(ctx, p, Entry{Action: ActionUpdate, Kind: ObjectSetting, Name: settingHold, Before: Snapshot{"value": s.held.Load().rows[settingHold].Value}}, func(ctx context.Context, tx *sql.Tx) error {
		n, err := s.queries.DeleteSetting(ctx, tx, settingHold)
		if err == nil && n == 0 { // somebody else was quicker
			err = problem.New(problem.Conflict, "hold.none")
		}
		if err != nil {
			return err
		}
		return s.share(ctx, tx, ownStore)
	})
}

// share notes which objects of the output store may be another installation's too.
func (s *Settings) share(ctx context.Context, tx *sql.Tx, ownStore bool) error {
	last, err := s.queries.MaxOutputObjectID(ctx, tx)
	if err != nil {
		return err
	}
	if ownStore || last == 0 {
		_, err = s.queries.DeleteSetting(ctx, tx, settingShared)
		return err
	}
	return s.queries.SetSetting(ctx, tx, db.SetSettingParams{Name: settingShared, Value: strconv.FormatInt(last, 10), UpdatedAt: s.now().UnixMilli()})
}

func (s *Settings) changeHold(ctx context.Context, p auth.Principal, entry Entry, change func(context.Context, *sql.Tx) error) error {
	err := s.pool.InTurn(ctx, ObjectSetting, func(ctx context.Context, tx *sql.Tx) error {
		if err := change(ctx, tx); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, entry)
	})
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return s.Load(ctx)
}
