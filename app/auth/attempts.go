package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
)

// limit is a token bucket of attempts: so many at once is a person who has forgotten which password it was; then one every so
// often.
type limit struct {
	key   string // what is limited; kept as a hash
	burst int
	pause time.Duration
}

func (l limit) id() string { return rowID(l.key) }

// mostMillis is the furthest that a bucket's time of being full may lie ahead if there is to be an attempt left.
func (l limit) mostMillis(now time.Time) int64 {
	return now.Add(time.Duration(l.burst-1) * l.pause).UnixMilli()
}

// ahead says that a bucket's time of being full is one of a clock that was put back since: it lies farther off than that of an empty one. Until it
// came, which may be days, nobody could log in.
func (l limit) ahead(fullAt int64, now time.Time) bool {
	return fullAt > now.Add(time.Duration(2*l.burst)*l.pause).UnixMilli()
}

// attempts are the limits of failed logins. They are in the database, so that the admins of a cluster share them, and a bucket is
// one number there: when it will be full again.
type attempts struct {
	pool    *db.Pool
	queries *db.Queries
}

// take takes an attempt of each limit, or of none if one of them has none left and a look is enough to tell. What was taken by
// name is given back when the name is.
func (a *attempts) take(ctx context.Context, name string, limits []limit, now time.Time) (ok bool, err error) {
	ids := make([]string, len(limits))
	byID := make(map[string]limit, len(limits))
	for i, l := range limits {
		ids[i] = l.id()
		byID[ids[i]] = l
	}
	rows, err := a.queries.ListFullAttempts(ctx, a.pool, ids)
	if err != nil {
		return false, fmt.Errorf("read login limits: %w", db.Error(err))
	}
	for _, row := range rows {
		switch l := byID[row.ID]; {
		case l.ahead(row.FullAt, now):
			a.forget(ctx, l)
		case row.FullAt > l.mostMillis(now):
			return false, nil
		}
	}
	for i, l := range limits {
		if ok, err := a.takeOne(ctx, name, l, now); err != nil || !ok {
			a.giveBack(ctx, limits[:i])
			return false, err
		}
	}
	return true, nil
}

func (a *attempts) takeOne(ctx context.Context, name string, l limit, now time.Time) (bool, error) {
	update := db.TakeAttemptParams{ID: l.id(), NowMs: now.UnixMilli(), PauseMs: l.pause.Milliseconds(), MostMs: l.mostMillis(now)}
	n, err := a.queries.TakeAttempt(ctx, a.pool, update)
	if err == nil && n == 0 {
		n, err = a.queries.InsertAttempt(ctx, a.pool, db.InsertAttemptParams{ID: l.id(), Name: name, FullAt: now.Add(l.pause).UnixMilli()})
	}
	if err == nil && n == 0 { // somebody else took the first attempt meanwhile, or there is none left
		n, err = a.queries.TakeAttempt(ctx, a.pool, update)
	}
	if err != nil {
		return false, fmt.Errorf("count a login: %w", db.Error(err))
	}
	return n > 0, nil
}

// giveBack undoes take. If it fails, somebody has one attempt less for a while.
func (a *attempts) giveBack(ctx context.Context, limits []limit) {
	for _, l := range limits {
		_ = a.queries.GiveAttemptBack(ctx, a.pool, db.GiveAttemptBackParams{ID: l.id(), PauseMs: l.pause.Milliseconds()})
	}
}

// forget gives a limit all its attempts back. If it fails, they come back by and by.
func (a *attempts) forget(ctx context.Context, l limit) {
	_ = a.queries.DeleteAttempt(ctx, a.pool, l.id())
}

// clean deletes what is worth nothing any more.
func (a *attempts) clean(ctx context.Context, now time.Time) error {
	for {
		n, err := a.queries.DeleteAttemptsBefore(ctx, a.pool, now.UnixMilli())
		if err != nil || n == 0 {
			return db.Error(err)
		}
	}
}

// ForgetAttempts gives a name all its attempts back, wherever they were made: whoever has a new password may use it.
func ForgetAttempts(ctx context.Context, tx db.DBTX, name string) error {
	if _, err := db.New().DeleteAttemptsOnName(ctx, tx, nameID(name)); err != nil {
		return fmt.Errorf("clear login limits: %w", db.Error(err))
	}
	return nil
}

// nameID is by which a name's attempts are found. People type passwords into the wrong field, so it is a hash.
func nameID(name string) string { return rowID("name|" + nameKey(name)) }
