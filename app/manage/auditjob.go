package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

// JobChange is one thing that somebody did to a job, without the values: those are for administrators.
type JobChange struct {
	ID     int64 // of the entry in the audit log
	At     time.Time
	User   string
	Action Action
	Fields []string // the columns that changed, sorted
}

// changesLooked bounds how far back the changes of a job are looked for among the runs by hand.
const changesLooked = 40

// JobChanges are the newest changes of a job, newest first, without its runs by hand. The job must be one the principal may see.
func (a *Audit) JobChanges(ctx context.Context, jobID int64, n int) ([]JobChange, error) {
	return a.JobChangesBetween(ctx, jobID, time.UnixMilli(0), time.UnixMilli(math.MaxInt64), n)
}

// JobChangesBetween are [Audit.JobChanges] after one moment, up to another.
func (a *Audit) JobChangesBetween(ctx context.Context, jobID int64, after, until time.Time, n int) ([]JobChange, error) {
	rows, err := a.queries.ListAuditOfObject(ctx, a.pool, db.ListAuditOfObjectParams{
		ObjectKind: ObjectJob, ObjectID: jobID, AfterMs: after.UnixMilli(), UntilMs: until.UnixMilli(), Limit: changesLooked,
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", db.Error(err))
	}
	var changes []JobChange
	for _, r := range rows {
		action := Action(r.Action)
		if action == ActionRun || action == ActionExport || len(changes) == n {
			continue
		}
		c := JobChange{ID: r.ID, At: time.UnixMilli(r.MadeAt), User: r.UserName, Action: action}
		if action == ActionUpdate {
			c.Fields = slices.Compact(slices.Sorted(slices.Values(append(fieldNames(r.BeforePart), fieldNames(r.AfterPart)...))))
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// fieldNames are the names in the beginning of a snapshot as it is stored, as far as it goes.
func fieldNames(part string) (names []string) {
	d := json.NewDecoder(strings.NewReader(part))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for {
		name, err := d.Token()
		text, isName := name.(string)
		if err != nil || !isName {
			return names
		}
		names = append(names, text)
		if _, err := d.Token(); err != nil {
			return names
		}
	}
}
