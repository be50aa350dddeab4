package manage

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// MaxAuditExport bounds an export; whoever wants more narrows the time.
const MaxAuditExport = 200_000

// auditExportBatch bounds what an export holds of entries, which may have whole scripts in them.
const auditExportBatch = 200

// Export hands over the entries under a filter, newest first, to an administrator, and says whether it stopped at MaxAuditExport.
// That somebody has them is on record before they have the first.
func (a *Audit) Export(ctx context.Context, p auth.Principal, f AuditFilter, format string, take func(db.AuditEntry) error) (more bool, err error) {
	if err := requireAuditor(p); err != nil {
		return false, err
	}
	from, before, err := a.bounds(ctx, f)
	if err != nil {
		return false, fmt.Errorf("find ends of the audit log: %w", err)
	}
	snapshot := Snapshot{"format": format, "user": f.User, "action": f.Action, "kind": f.Kind, "target": f.ID, "text": f.Text, "group": f.Group}
	if !f.Since.IsZero() {
		snapshot["since"] = f.Since.Format(time.RFC3339)
	}
	if !f.Until.IsZero() {
		snapshot["until"] = f.Until.Format(time.RFC3339)
	}
	if err := a.Record(ctx, a.pool, p, Entry{Action: ActionExport, Kind: ObjectAudit, After: snapshot}); err != nil {
		return false, err
	}
	q := f.query()
	for n := 0; ; {
		list, err := db.FindWholeAudit(ctx, a.pool, q, from, before, auditExportBatch)
		if err != nil {
			return false, fmt.Errorf("export audit log: %w", db.Error(err))
		}
		for _, e := range list {
			if n == MaxAuditExport {
				return true, nil
			}
			if err := take(e); err != nil {
				return false, err
			}
			n++
		}
		if len(list) < auditExportBatch {
			return false, nil
		}
		before = list[len(list)-1].ID
	}
}

// Exported notes that somebody took jobs away in a file.
func (a *Audit) Exported(ctx context.Context, p auth.Principal, jobs int) {
	a.Note(ctx, p, Entry{Action: ActionExport, Kind: ObjectJob, After: Snapshot{"jobs": jobs}})
}

// SingleFactor is what the entry of a login says that had no second factor.
const SingleFactor = "none"

// LoggedIn notes that somebody has a session, and how they have shown who they are.
func (a *Audit) LoggedIn(ctx context.Context, in auth.SignIn) {
	after := Snapshot{"way": string(in.Way), "factor": cmp.Or(string(in.Second), SingleFactor), "provider": in.Provider}
	a.Note(ctx, in.Who, Entry{Action: ActionLogin, Kind: ObjectUser, ID: in.Who.UserID, Name: in.Who.Name, After: after})
}

// LoggedOut notes that somebody ended their session.
func (a *Audit) LoggedOut(ctx context.Context, p auth.Principal) {
	if !p.Zero() {
		a.Note(ctx, p, Entry{Action: ActionLogout, Kind: ObjectUser, ID: p.UserID, Name: p.Name})
	}
}
