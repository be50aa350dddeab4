package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"time"
)

// timeLayout is how DATETIME columns are stored: it sorts as text, and MySQL's DATETIME has no fraction either.
const timeLayout = "2006-01-02 15:04:05"

// CheckNamedValue turns an argument into what SQLite compares as MySQL would: times become UTC text, bytes become text
// (a BLOB never equals a TEXT).
func (c *conn) CheckNamedValue(nv *driver.NamedValue) error {
	v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value)
	if err != nil {
		return err
	}
	switch x := v.(type) {
	case time.Time:
		v = x.UTC().Format(timeLayout)
	case []byte:
		if x == nil {
			v = nil
		} else {
			v = string(x)
		}
	}
	nv.Value = v
	return nil
}

// result answers as MySQL's OK packet would.
type result struct {
	id   int64
	rows int64
	err  error // why there is no id
}

var errNoInsertID = errors.New("sqlite: no insert id is defined for an upsert or for several rows of INSERT IGNORE")

func newResult(p *plan, res driver.Result) (driver.Result, error) {
	if p.kind == kindRead || p.kind == kindOther {
		// SQLite repeats the counts of the last write here.
		return result{}, nil
	}
	rows, err := res.RowsAffected()
	if err != nil {
		return nil, err
	}
	r := result{rows: rows}
	if p.kind != kindInsert && p.kind != kindInsertIgnore && p.kind != kindUpsert {
		return r, nil
	}
	last, err := res.LastInsertId()
	if err != nil {
		return nil, err
	}
	switch {
	case p.kind == kindUpsert, p.kind == kindInsertIgnore && rows > 1:
		r.err = errNoInsertID
	case rows > 0:
		// One statement's ids are consecutive: nobody else inserts meanwhile.
		r.id = last - rows + 1
	}
	return r, nil
}

func (r result) LastInsertId() (int64, error) { return r.id, r.err }
func (r result) RowsAffected() (int64, error) { return r.rows, nil }

// rows gives back its statement, and outside a transaction its session, when closed.
type rows struct {
	driver.Rows
	note    func(error)
	done    func()
	release func()
}

func queryRows(ctx context.Context, s *session, p *plan, args []driver.NamedValue, note func(error)) (*rows, error) {
	stmt, done, err := s.prepare(ctx, p.text)
	if err != nil {
		note(err)
		return nil, err
	}
	inner, err := stmt.QueryContext(ctx, args)
	if err != nil {
		done()
		note(err)
		return nil, err
	}
	return &rows{Rows: inner, note: note, done: done}, nil
}

func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err != nil && !errors.Is(err, io.EOF) {
		r.note(err)
	}
	return err
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	r.done()
	if r.release != nil {
		r.release()
	}
	return err
}

// ColumnTypeDatabaseTypeName implements [driver.RowsColumnTypeDatabaseTypeName].
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return r.Rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
}

// ColumnTypeScanType implements [driver.RowsColumnTypeScanType].
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	return r.Rows.(driver.RowsColumnTypeScanType).ColumnTypeScanType(i)
}
