package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// An asynchronous HTTP call hands its target the address of a callback. If the target takes the work (202), the handler returns without
// a result and the run stays open: no executor works on it, so none is asked about it, and whichever admin gets the report ends the run.
// What is known of that is a row of punctual_callback, so that it outlives every admin:
//
//	handed out ──▶ awaited ──▶ over
//	     └────────────────────▶
//
// "Over" is written in the transaction that ends the run, whatever ended it, which makes the address count once.

// The states of the column of that name.
const (
	callbackHandedOut int64 = iota
	callbackAwaited
	callbackOver
)

// lateReports is how long a report that comes too late is told so.
const lateReports = 7 * 24 * time.Hour

// The errors of a report.
var (
	ErrNoCallback      = errors.New("no run waits for a report under this address")
	ErrCallbackUsed    = errors.New("the run of this address has ended")
	ErrCallbackExpired = errors.New("the time for a report is over")
)

// Callbacks are the reports that runs wait for.
type Callbacks struct {
	cfg     callbacksConfig
	queries *db.Queries
}

// callbacksConfig is what [Callbacks] are made of.
type callbacksConfig struct {
	Pool     *db.Pool
	Now      func() time.Time
	Mine     func() func(job int64) bool
	Complete func(ctx context.Context, results []finishing) error // by the way of all results
	Changed  func(runs ...int64)
}

// Callback is the address that a target gets for one run.
type Callback struct {
	LogID, JobID int64
	Token        string // its hash
	Expires      time.Time
}

// HandOut notes an address before the call that carries it is made.
func (c *Callbacks) HandOut(ctx context.Context, handed Callback) error {
	return db.Error(c.queries.InsertCallback(ctx, c.cfg.Pool, db.InsertCallbackParams{LogID: handed.LogID, Token: handed.Token, JobID: handed.JobID, ExpiresAt: handed.Expires.UnixMilli()}))
}

// Await notes that the target of a run took the work. One that has ended, perhaps by a quick report, stays as it is.
func (c *Callbacks) Await(ctx context.Context, logID int64) error {
	err := c.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := c.queries.AwaitCallback(ctx, tx, logID)
		if err != nil || n == 0 {
			return err
		}
		row, err := c.queries.GetCallbackOfRun(ctx, tx, logID)
		if err != nil {
			return err
		}
		told := event.List{event.New(c.cfg.Now(), event.Awaits, time.UnixMilli(row.ExpiresAt))}
		return db.AddEvents(ctx, tx, []db.Told{{ID: logID, Events: told.Stored()}})
	})
	if err != nil {
		return db.Error(err)
	}
	c.cfg.Changed(logID)
	return nil
}

// Report is what a target says under its address.
type Report struct {
	Token   string // its hash
	Code    int    // wire.CodeSuccess, wire.CodeFail, or 0: the work goes on
	Message string
	From    string        // an address
	Waited  time.Duration // since the work ended, where its target says so: an earlier report did not arrive
}

// Report ends the run of a callback, or notes how far it is. The errors are [ErrNoCallback], [ErrCallbackUsed], [ErrCallbackExpired], or
// the database's.
func (c *Callbacks) Report(ctx context.Context, r Report) error {
	row, err := c.queries.GetCallback(ctx, c.cfg.Pool, r.Token)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return ErrNoCallback
	} else if err != nil {
		return err
	}
	now := c.cfg.Now()
	switch {
	case row.State == callbackOver:
		return ErrCallbackUsed
	case row.ExpiresAt <= now.UnixMilli():
		return ErrCallbackExpired
	case r.Code == 0:
		n, err := c.queries.NoteProgress(ctx, c.cfg.Pool, db.NoteProgressParams{Token: r.Token, Progress: r.Message, ProgressAt: now.UnixMilli()})
		if err != nil {
			return db.Error(err)
		}
		if n == 0 {
			return ErrCallbackUsed
		}
		c.cfg.Changed(row.LogID)
		return nil
	}
	used := false
	err = c.cfg.Complete(ctx, []finishing{{
		id: row.LogID, code: r.Code, msg: r.Message, callback: r.Token, used: &used, received: now, waited: r.Waited,
		why: event.List{event.New(now, event.Reported, r.From)},
	}})
	if err == nil && !used {
		err = ErrCallbackUsed
	}
	return err
}

// Awaited is what a run waits for.
type Awaited struct {
	Until      time.Time
	Progress   string // what the target said last; may be empty
	ProgressAt time.Time
}

// Of says whether an open run waits for the report of its target.
func (c *Callbacks) Of(ctx context.Context, logID int64) (a Awaited, ok bool, err error) {
	row, err := c.queries.GetCallbackOfRun(ctx, c.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return a, false, nil
	} else if err != nil {
		return a, false, err
	}
	a = Awaited{Until: time.UnixMilli(row.ExpiresAt), Progress: row.Progress, ProgressAt: db.Instant(row.ProgressAt)}
	return a, row.State == callbackAwaited, nil
}

// take takes those results out of a batch that do not count: of a target whose address is used up, and of an executor that was
// started anew and gives up a run whose work its target has. Those that do count use the addresses of their runs up.
func (c *Callbacks) take(ctx context.Context, tx *sql.Tx, open []db.ListRunsToEndRow, byID map[int64]*finishing) ([]db.ListRunsToEndRow, error) {
	var ids []int64
	for i := range open {
		if open[i].ExecutorHandler == httpcall.Handler {
			ids = append(ids, open[i].ID)
		}
	}
	if len(ids) == 0 {
		return open, nil
	}
	rows, err := c.queries.ListCallbacksOfRuns(ctx, tx, ids)
	if err != nil || len(rows) == 0 {
		return open, err
	}
	of := make(map[int64]db.ListCallbacksOfRunsRow, len(rows))
	for _, r := range rows {
		of[r.LogID] = r
	}
	counts, ids := open[:0], ids[:0]
	for _, r := range open {
		row, has := of[r.ID]
		f := byID[r.ID]
		if f.callback != "" && (row.Token != f.callback || row.State == callbackOver) || f.by != nil && has && row.State == callbackAwaited {
			continue
		}
		if has {
			ids = append(ids, r.ID)
		}
		counts = append(counts, r)
	}
	if len(ids) > 0 {
		_, err = c.queries.EndCallbacks(ctx, tx, ids)
	}
	return counts, err
}

// awaited are the runs that wait for their targets, and which of them do so in vain: no report has come in time.
func (c *Callbacks) awaited(ctx context.Context) (runs map[int64]bool, late []finishing, err error) {
	const page = 1000
	runs = make(map[int64]bool)
	mine, now := c.cfg.Mine(), c.cfg.Now()
	for after := int64(0); ; {
		rows, err := c.queries.ListAwaited(ctx, c.cfg.Pool, db.ListAwaitedParams{AfterID: after, Limit: page})
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			runs[r.LogID] = true
			if r.ExpiresAt <= now.UnixMilli() && mine(r.JobID) {
				late = append(late, finishing{id: r.LogID, code: wire.CodeTimeout, given: event.TimedOut, why: event.List{event.New(now, event.NoReport)}})
			}
		}
		if len(rows) < page {
			return runs, late, nil
		}
		after = rows[len(rows)-1].LogID
	}
}

// end ends runs that wait in vain.
func (c *Callbacks) end(ctx context.Context, late []finishing) error {
	if len(late) == 0 {
		return nil
	}
	if err := c.cfg.Complete(ctx, late); err != nil {
		return err
	}
	// The runs of some may have been deleted with their job.
	_, err := c.queries.EndCallbacks(ctx, c.cfg.Pool, db.IDs(late, func(r *finishing) int64 { return r.id }))
	return err
}
