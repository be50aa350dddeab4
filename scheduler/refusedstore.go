package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
)

// An executor calls one admin, and its operator looks at another. So what each admin refused goes into punctual_refused with its
// sweeps, a row for each caller and reason. Strangers write there, in the end: there are about [maxRefused] rows at most, of bounded
// length, a sweep writes [savedPerSweep] of them, and they go [refusedFor] after the caller's last call.

const (
	savedPerSweep = 50
	savedRuns     = 100 // of which a caller's row tells that their results were refused
	maxCallerName = 64  // characters of an app name or an address that are kept
)

// name makes a caller's words fit to be kept: they are anything that a stranger sends.
func (by Caller) name() Caller {
	by.Address, by.AppName = callerName(by.Address), callerName(by.AppName)
	return by
}

func callerName(s string) string {
	if len(s) > 4*maxCallerName {
		s = s[:4*maxCallerName]
	}
	s = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""))
	if utf8.RuneCountInString(s) > maxCallerName {
		s = string([]rune(s)[:maxCallerName])
	}
	return s
}

// sweep writes down what this admin refused since the last sweep, and lets go what is long past.
func (r *refusals) sweep(ctx context.Context) error {
	rows, err := r.queries.ListRefused(ctx, r.cfg.Pool)
	if err != nil {
		return err
	}
	stored := make(map[refusedKey]db.RefusedCaller, len(rows))
	before := r.cfg.Now().Add(-refusedFor).UnixMilli()
	stale := false
	for _, row := range rows {
		stored[keyOfRefused(row)] = row
		stale = stale || row.LastAt < before
	}
	news := r.unsaved(stored)
	if len(news) == 0 && !stale {
		return nil
	}
	r.saving.Lock()
	defer r.saving.Unlock()
	err = r.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		for _, n := range news {
			if err := r.queries.AddRefused(ctx, tx, n.row); err != nil {
				return err
			}
		}
		if !stale {
			return nil
		}
		_, err := r.queries.DeleteRefusedBefore(ctx, tx, before)
		return err
	})
	if err == nil {
		r.noteSaved(news)
	}
	return err
}

// unsavedRefusal is what a row is to be told.
type unsavedRefusal struct {
	key   refusedKey
	count int64 // of the calls, when this is written
	row   db.AddRefusedParams
}

// unsaved are the callers whose rows lack something, in the order of their keys, so that admins lock them in one order. There is no
// new row when there are enough.
func (r *refusals) unsaved(stored map[refusedKey]db.RefusedCaller) []unsavedRefusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	var news []unsavedRefusal
	room := maxRefused - len(stored)
	for key, c := range r.callers {
		row, known := stored[key]
		if c.Count == c.saved || !known && room <= 0 || len(news) == savedPerSweep {
			continue
		}
		if !known {
			room--
		}
		news = append(news, unsavedRefusal{key, c.Count, db.AddRefusedParams{
			AppName: key.appName, Address: key.address, Why: string(key.why), Calls: c.Count - c.saved,
			LastAt: max(c.Last.UnixMilli(), row.LastAt), Runs: joinRuns(c.runs, db.ReadIDs(row.Runs)), Executor: c.Caller.Executor,
		}})
	}
	slices.SortFunc(news, func(a, b unsavedRefusal) int { return a.key.compare(b.key) })
	return news
}

func (r *refusals) noteSaved(news []unsavedRefusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range news {
		if c := r.callers[n.key]; c != nil {
			c.saved = n.count
		}
	}
}

func (k refusedKey) compare(o refusedKey) int {
	return cmp.Or(cmp.Compare(k.appName, o.appName), cmp.Compare(k.address, o.address), cmp.Compare(k.why, o.why))
}

func keyOfRefused(r db.RefusedCaller) refusedKey {
	return refusedKey{r.Address, strings.ToLower(r.AppName), Refusal(r.Why)}
}

// list are the calls that the admins refused lately, the newest first.
func (r *refusals) list(ctx context.Context) ([]RefusedCalls, error) {
	r.saving.RLock()
	defer r.saving.RUnlock()
	rows, err := r.queries.ListRefused(ctx, r.cfg.Pool)
	if err != nil {
		return nil, err
	}
	all := make(map[refusedKey]RefusedCalls, len(rows))
	for _, row := range rows {
		all[keyOfRefused(row)] = RefusedCalls{
			Caller: Caller{Address: row.Address, AppName: row.AppName, Executor: row.Executor}, Why: Refusal(row.Why), Count: row.Calls, Last: time.UnixMilli(row.LastAt),
		}
	}
	r.addUnsaved(all)
	oldest := r.cfg.Now().Add(-refusedFor)
	list := slices.DeleteFunc(slices.Collect(maps.Values(all)), func(c RefusedCalls) bool { return c.Last.Before(oldest) })
	slices.SortFunc(list, func(a, b RefusedCalls) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Caller.Address, b.Caller.Address), cmp.Compare(a.Caller.AppName, b.Caller.AppName), cmp.Compare(a.Why, b.Why))
	})
	return list, nil
}

// addUnsaved adds what this admin has not written down yet.
func (r *refusals) addUnsaved(all map[refusedKey]RefusedCalls) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range r.callers {
		known, ok := all[key]
		if !ok {
			known.Caller, known.Why = c.Caller, c.Why
		}
		known.Caller.AppName = c.Caller.AppName // as it is spelled
		known.Count += c.Count - c.saved
		if c.Last.After(known.Last) {
			known.Last = c.Last
		}
		all[key] = known
	}
}

// resultsOf are those of the runs whose results some admin did not take because of a wrong token.
func (r *refusals) resultsOf(ctx context.Context, ids []int64) map[int64]refusedResult {
	found := make(map[int64]refusedResult)
	rows, err := r.queries.ListRefused(ctx, r.cfg.Pool)
	if err != nil { // they are lost all the same
		r.cfg.Logger.Warn("look for results that were refused", "error", err)
	}
	for _, row := range rows {
		for _, id := range db.ReadIDs(row.Runs) {
			if slices.Contains(ids, id) {
				found[id] = refusedResult{row.Address, time.UnixMilli(row.LastAt)}
			}
		}
	}
	for _, id := range ids {
		if got, ok := r.result(id); ok {
			found[id] = got
		}
	}
	return found
}

// joinRuns lists runs for a row: the newest of this admin's, and of those in the row as many as there is room for.
func joinRuns(newest, stored []int64) string {
	var kept []int64
	for _, id := range slices.Concat(newest, stored) {
		if len(kept) < savedRuns && !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return db.IDList(kept)
}
