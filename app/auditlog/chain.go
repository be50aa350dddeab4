package auditlog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"time"

	"github.com/punctual-job/punctual/db"
)

// The marks of the chain itself.
const (
	markHead = "head"
	markTail = "tail"
)

const (
	// extendBatch bounds a transaction of Extend, and readBatch what is in memory of entries that may hold whole scripts.
	extendBatch = 200
	readBatch   = 200
	// settle is how long an entry's transaction has to commit before somebody looks; what is later is found by the next look.
	settle  = 100 * time.Millisecond
	lookFor = 5 * time.Second // what another admin left, or committed late
)

// Chain is the chain of one database.
type Chain struct {
	pool     *db.Pool
	queries  *db.Queries
	logger   *slog.Logger
	wake     chan struct{}
	extended chan struct{} // to the shipper; nil without one
	paged    func()        // after each page that Verify reads; nil but in a test
}

// New makes the chain over a database. Nothing runs until [Chain.Run].
func New(pool *db.Pool, logger *slog.Logger) *Chain {
	return &Chain{pool: pool, queries: db.New(), logger: logger, wake: make(chan struct{}, 1)}
}

// Wake says that entries were written.
func (c *Chain) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run extends the chain until ctx ends.
func (c *Chain) Run(ctx context.Context) {
	look := time.NewTicker(lookFor)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(settle):
			}
		case <-look.C:
		}
		if err := c.ExtendAll(ctx); err != nil && ctx.Err() == nil {
			c.logger.Warn("chain audit log", "error", err)
		}
	}
}

// ExtendAll gives every entry that waits a place.
func (c *Chain) ExtendAll(ctx context.Context) error {
	for {
		n, err := c.Extend(ctx)
		if errors.Is(err, errMoved) {
			continue // another admin goes on as well
		}
		if err != nil {
			return err
		}
		if n > 0 && c.extended != nil {
			select {
			case c.extended <- struct{}{}:
			default:
			}
		}
		if n < extendBatch {
			return nil
		}
	}
}

// errMoved means that another admin extended the chain meanwhile.
var errMoved = errors.New("another admin has extended the chain")

// Extend gives places to some entries that wait and returns how many.
func (c *Chain) Extend(ctx context.Context) (int, error) {
	waiting, err := c.queries.ListUnchainedAudit(ctx, c.pool, extendBatch)
	if err != nil || len(waiting) == 0 {
		return 0, db.Error(err)
	}
	head, err := c.mark(ctx, markHead)
	if err != nil {
		return 0, err
	}
	seq, last := head.Seq, head.Hash
	for i := range waiting {
		seq++
		waiting[i].Seq = seq
		last = digest(last, waiting[i])
		waiting[i].Hash = last
	}
	err = c.pool.Tx(ctx, func(tx *sql.Tx) error {
		moved, err := c.queries.MoveAuditMark(ctx, tx, db.MoveAuditMarkParams{Name: markHead, OldSeq: head.Seq, NewSeq: seq, NewHash: last})
		if err != nil {
			return err
		}
		if moved != 1 {
			return errMoved
		}
		for _, e := range waiting {
			n, err := c.queries.ChainAudit(ctx, tx, db.ChainAuditParams{ID: e.ID, Seq: e.Seq, Hash: e.Hash})
			if err != nil {
				return err
			}
			if n != 1 {
				return errMoved // it has a place, or somebody took it away
			}
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, errMoved) {
			return 0, errMoved
		}
		return 0, fmt.Errorf("extend chain: %w", err)
	}
	return len(waiting), nil
}

// mark reads a mark and makes it at the beginning where there is none.
func (c *Chain) mark(ctx context.Context, name string) (db.AuditMark, error) {
	m, err := c.queries.GetAuditMark(ctx, c.pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		if err := c.queries.InsertAuditMarkIfAbsent(ctx, c.pool, db.InsertAuditMarkIfAbsentParams{Name: name}); err != nil {
			return m, db.Error(err)
		}
		m, err = c.queries.GetAuditMark(ctx, c.pool, name)
		return m, db.Error(err)
	}
	return m, err
}

// Forget takes the entries from the beginning of the chain that were made before a moment.
func (c *Chain) Forget(ctx context.Context, before time.Time) error {
	if err := c.ExtendAll(ctx); err != nil {
		return err
	}
	for {
		tail, err := c.mark(ctx, markTail)
		if err != nil {
			return err
		}
		rows, err := c.queries.ListChainedAudit(ctx, c.pool, db.ListChainedAuditParams{AfterSeq: tail.Seq, Limit: readBatch})
		if err != nil {
			return db.Error(err)
		}
		old := 0
		for old < len(rows) && rows[old].MadeAt < before.UnixMilli() {
			old++
		}
		if old == 0 {
			return nil
		}
		last := rows[old-1]
		err = c.pool.Tx(ctx, func(tx *sql.Tx) error {
			moved, err := c.queries.MoveAuditMark(ctx, tx, db.MoveAuditMarkParams{Name: markTail, OldSeq: tail.Seq, NewSeq: last.Seq, NewHash: last.Hash})
			if err != nil || moved != 1 {
				return err // another admin does it
			}
			_, err = c.queries.DeleteChainedAudit(ctx, tx, db.DeleteChainedAuditParams{AfterSeq: tail.Seq, ToSeq: last.Seq})
			return err
		})
		if err != nil {
			return fmt.Errorf("forget audit entries: %w", err)
		}
	}
}

// digest is the hash of an entry at its place: SHA-256 over the hash before it and every field, each preceded by its length.
func digest(before string, e db.AuditEntry) string {
	h := sha256.New()
	text(h, "punctual audit 1")
	text(h, before)
	for _, n := range []int64{e.Seq, e.ID, e.MadeAt, e.UserID, e.ObjectID, e.GroupID} {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	for _, s := range []string{e.UserName, e.Address, e.Action, e.ObjectKind, e.ObjectName, string(e.BeforeJSON), string(e.AfterJSON)} {
		text(h, s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func text(h hash.Hash, s string) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(len(s)))
	h.Write(b[:])
	h.Write([]byte(s))
}
