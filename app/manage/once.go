package manage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/db"
)

// within is done in the transaction that makes something, with the ids of what was made; nil for nothing.
type within = func(ctx context.Context, tx *sql.Tx, ids []int64) error

// NewBatch is any text that is new for each wish: a Rerun.Batch, or that of a use case whose name ends in Once.
func NewBatch() string { return rand.Text() }

// errRepeated means that a wish was carried out before.
var errRepeated = errors.New("it was done before")

// once makes what a batch asks for, unless the same batch has asked for the same before: then it returns what was made that time. The wish is
// remembered where that is made, so that nothing between them can be lost. Without a batch it is made each time.
func (c *Config) once(ctx context.Context, batch, what string, do func(context.Context, within) ([]int64, error)) (ids []int64, before bool, err error) {
	if batch == "" {
		ids, err = do(ctx, nil)
		return ids, false, err
	}
	h := sha256.Sum256([]byte(what + ":" + batch))
	wish := hex.EncodeToString(h[:])
	if ids, before, err = c.madeBefore(ctx, wish); before || err != nil {
		return ids, before, err
	}
	queries := db.New()
	remember := func(ctx context.Context, tx *sql.Tx, ids []int64) error {
		err := db.Error(queries.InsertIdempotency(ctx, tx, db.InsertIdempotencyParams{ID: wish, Request: wish, MadeAt: c.Now().UnixMilli()}))
		if errors.Is(err, db.ErrDuplicate) {
			return errRepeated
		} else if err != nil {
			return err
		}
		_, err = queries.AnswerIdempotency(ctx, tx, db.AnswerIdempotencyParams{ID: wish, Answer: db.IDList(ids)})
		return err
	}
	ids, err = do(context.WithoutCancel(ctx), remember) // who has gone will come again with the same wish
	if errors.Is(err, errRepeated) {
		return c.madeBefore(ctx, wish)
	}
	return ids, false, err
}

// onceOne is once for what makes one thing.
func (c *Config) onceOne(ctx context.Context, batch, what string, do func(context.Context, within) (int64, error)) (id int64, before bool, err error) {
	ids, before, err := c.once(ctx, batch, what, func(ctx context.Context, remember within) ([]int64, error) {
		id, err := do(ctx, remember)
		return []int64{id}, err
	})
	if err != nil || len(ids) == 0 {
		return 0, before, err
	}
	return ids[0], before, nil
}

// madeBefore is what a wish made.
func (c *Config) madeBefore(ctx context.Context, wish string) (ids []int64, done bool, err error) {
	row, err := db.New().GetIdempotency(ctx, c.Pool, wish)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("read what was made before: %w", err)
	}
	return db.ReadIDs(row.Answer), true, nil
}
