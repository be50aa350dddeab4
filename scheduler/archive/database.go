package archive

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"

	"github.com/punctual-job/punctual/db"
)

// Database keeps objects in the database itself, which is enough for small installations.
type Database struct {
	pool    *db.Pool
	queries *db.Queries
}

// NewDatabase makes the store of a database.
func NewDatabase(pool *db.Pool) *Database { return &Database{pool: pool, queries: db.New()} }

// blobPart is how much a row holds: less than what a server takes in one statement.
const blobPart = 512 << 10

// inDatabase is the kind of this store.
const inDatabase = "database"

// Name implements [Store].
func (d *Database) Name() string { return inDatabase }

// Put implements [Store].
func (d *Database) Put(ctx context.Context, object Object, data []byte) error {
	return d.pool.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := d.queries.DeleteOutputBlobs(ctx, tx, object.ID); err != nil {
			return err
		}
		for part := int64(0); len(data) > 0; part++ {
			n := min(len(data), blobPart)
			if err := d.queries.InsertOutputBlob(ctx, tx, db.InsertOutputBlobParams{ObjectID: object.ID, Part: part, Data: data[:n]}); err != nil {
				return err
			}
			data = data[n:]
		}
		return nil
	})
}

// Get implements [Store].
func (d *Database) Get(ctx context.Context, object Object, pos, size int64) ([]byte, error) {
	first := pos / blobPart
	rows, err := d.queries.ListOutputBlobs(ctx, d.pool, db.ListOutputBlobsParams{ObjectID: object.ID, FromPart: first, UptoPart: (pos + size) / blobPart})
	if err != nil {
		return nil, db.Error(err)
	}
	if len(rows) == 0 {
		return nil, ErrNoObject
	}
	var data []byte
	for _, r := range rows {
		data = append(data, r.Data...)
	}
	pos -= first * blobPart
	if int64(len(data)) < pos+size {
		return nil, errShort
	}
	return data[pos : pos+size], nil
}

// Delete implements [Store].
func (d *Database) Delete(ctx context.Context, object Object) error {
	_, err := d.queries.DeleteOutputBlobs(ctx, d.pool, object.ID)
	return db.Error(err)
}

// Check implements [Store].
func (d *Database) Check(ctx context.Context) error {
	if err := check(ctx, d, Object{ID: -1 - rand.Int64N(1<<62)}); err != nil {
		return fmt.Errorf("output store in the database: %w", err)
	}
	return nil
}
