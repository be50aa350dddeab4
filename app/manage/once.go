package manage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// within is done in the transaction that makes runs, with their ids.
type within = func(ctx context.Context, tx *sql.Tx, ids []int64) error

// NewBatch is a Rerun.Batch, or that of [Jobs.TriggerOnce].
func NewBatch() string { return rand.Text() }

// errRepeated means that a wish was carried out before.
var errRepeated = errors.New("it was run before")

// once runs what a batch asks for, unless the same batch has asked for the same before: then it returns the runs of that time. The wish is
// remembered where the runs are made, so that nothing between them can be lost. Without a batch it runs each time.
func (s *Jobs) once(ctx context.Context, batch, what string, run func(context.Context, within) ([]int64, error)) (runs []int64, before bool, err error) {
	if batch == "" {
		runs, err = run(ctx, nil)
		return runs, false, err
	}
	h := sha256.Sum256([]byte(what + ":" + batch))
	wish := hex.EncodeToString(h[:])
	if runs, before, err = s.ranBefore(ctx, wish); before || err != nil {
		return runs, before, err
	}
	remember := func(ctx context.Context, tx *sql.Tx, ids []int64) error {
		err := db.Error(s.queries.InsertIdempotency(ctx, tx, db.InsertIdempotencyParams{ID: wish, Request: wish, MadeAt: s.cfg.Now().UnixMilli()}))
		if errors.Is(err, db.ErrDuplicate) {
			return errRepeated
		} else if err != nil {
			return err
		}
		_, err = s.queries.AnswerIdempotency(ctx, tx, db.AnswerIdempotencyParams{ID: wish, Answer: runList(ids)})
		return err
	}
	runs, err = run(context.WithoutCancel(ctx), remember) // who has gone will come again with the same wish
	if errors.Is(err, errRepeated) {
		return s.ranBefore(ctx, wish)
	}
	return runs, false, err
}

// ranBefore are the runs that a wish made.
func (s *Jobs) ranBefore(ctx context.Context, wish string) (runs []int64, done bool, err error) {
	row, err := s.queries.GetIdempotency(ctx, s.cfg.Pool, wish)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("read what was run before: %w", err)
	}
	for text := range strings.SplitSeq(row.Answer, ",") {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			runs = append(runs, id)
		}
	}
	return runs, true, nil
}

// runList is what ranBefore reads.
func runList(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ",")
}
