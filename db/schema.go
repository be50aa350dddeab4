package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// schema is what information_schema shows of XXL-JOB's tables, by lower-case name.
type schema map[string]*table

type table struct {
	name      string
	rowFormat string
	engine    string            // in lower case
	collation string            // of columns that are added
	columns   map[string]column // by lower-case name
	indexes   []index
}

type column struct {
	name       string
	dataType   string // "varchar", without length
	length     int64  // characters, of text
	hasDefault bool
	charset    string
	collation  string
	comment    string
}

type index struct {
	name    string
	unique  bool
	columns []string
}

// readSchema reads the tables in three queries, whatever their number.
func readSchema(ctx context.Context, q *sql.DB) (schema, error) {
	found := make(schema)
	rows, err := q.QueryContext(ctx, `SELECT table_name, COALESCE(row_format, ''), LOWER(COALESCE(engine, '')), COALESCE(table_collation, '') FROM information_schema.tables
		WHERE table_schema = DATABASE() AND LOWER(table_name) LIKE 'xxl!_job!_%' ESCAPE '!'`)
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	err = scanAll(rows, func() error {
		t := &table{columns: make(map[string]column)}
		if err := rows.Scan(&t.name, &t.rowFormat, &t.engine, &t.collation); err != nil {
			return err
		}
		found[strings.ToLower(t.name)] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	rows, err = q.QueryContext(ctx, `SELECT table_name, column_name, data_type, COALESCE(character_maximum_length, 0),
			column_default IS NOT NULL OR is_nullable = 'YES', COALESCE(character_set_name, ''), COALESCE(collation_name, ''), column_comment
		FROM information_schema.columns WHERE table_schema = DATABASE() AND LOWER(table_name) LIKE 'xxl!_job!_%' ESCAPE '!'`)
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	err = scanAll(rows, func() error {
		var name string
		var c column
		err := rows.Scan(&name, &c.name, &c.dataType, &c.length, &c.hasDefault, &c.charset, &c.collation, &c.comment)
		if err != nil {
			return err
		}
		c.dataType = strings.ToLower(c.dataType)
		if t := found[strings.ToLower(name)]; t != nil {
			t.columns[strings.ToLower(c.name)] = c
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	rows, err = q.QueryContext(ctx, `SELECT table_name, index_name, non_unique, column_name FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND LOWER(table_name) LIKE 'xxl!_job!_%' ESCAPE '!'
		ORDER BY table_name, index_name, seq_in_index`)
	if err != nil {
		return nil, fmt.Errorf("read indexes: %w", err)
	}
	err = scanAll(rows, func() error {
		var name, key string
		var nonUnique bool
		var col sql.NullString // NULL where an index is on an expression
		if err := rows.Scan(&name, &key, &nonUnique, &col); err != nil {
			return err
		}
		if t := found[strings.ToLower(name)]; t != nil {
			t.addIndexColumn(key, !nonUnique, strings.ToLower(col.String))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read indexes: %w", err)
	}
	return found, nil
}

func scanAll(rows *sql.Rows, scan func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t *table) addIndexColumn(name string, unique bool, column string) {
	if n := len(t.indexes); n > 0 && t.indexes[n-1].name == name {
		t.indexes[n-1].columns = append(t.indexes[n-1].columns, column)
		return
	}
	t.indexes = append(t.indexes, index{name: name, unique: unique, columns: []string{column}})
}

func (t *table) has(column string) bool {
	if t == nil {
		return false
	}
	_, ok := t.columns[column]
	return ok
}

// compact reports whether the rows have one of the formats that InnoDB had before MySQL 5.7.
func (t *table) compact() bool {
	f := strings.ToLower(t.rowFormat)
	return f == "compact" || f == "redundant"
}

// unique reports whether some unique index has exactly these columns.
func (t *table) unique(columns ...string) bool {
	return slices.ContainsFunc(t.indexes, func(i index) bool { return i.unique && slices.Equal(i.columns, columns) })
}

// indexed reports whether some index begins with the column, whatever its name.
func (t *table) indexed(column string) bool {
	return slices.ContainsFunc(t.indexes, func(i index) bool { return i.columns[0] == column })
}

// alteration collects what one table lacks into a single ALTER, so that a big table is rewritten once and a failure leaves
// either everything or nothing. Its methods do nothing for a table that is not there: the baseline creates it whole.
type alteration struct{ clauses []string }

func (a *alteration) clause(text string) { a.clauses = append(a.clauses, text) }

// add adds a column if it is missing, after another one if that is there.
func (a *alteration) add(t *table, name, definition, after string) {
	if t == nil || t.has(name) {
		return
	}
	text := "ADD COLUMN " + name + " " + definition
	if t.has(after) {
		text += " AFTER " + after
	}
	a.clause(text)
}

// rename gives a column that XXL-JOB 3.5 renamed the name back that all releases before it use. Only the name changes, at once.
func (a *alteration) rename(t *table, from, to, kind string) {
	if !t.has(from) || t.has(to) {
		return
	}
	c := t.columns[from]
	a.clause(fmt.Sprintf("CHANGE COLUMN %s %s %s%s NOT NULL%s", quoteName(from), to, kind, c.charsetClause(), c.commentClause()))
}

// widen makes a VARCHAR column at least so wide.
func (a *alteration) widen(t *table, name string, length int64, null string) {
	if !t.has(name) || t.columns[name].length >= length {
		return
	}
	c := t.columns[name]
	a.clause(fmt.Sprintf("MODIFY COLUMN %s VARCHAR(%d)%s %s%s", name, length, c.charsetClause(), null, c.commentClause()))
}

// toText turns a VARCHAR column into TEXT.
func (a *alteration) toText(t *table, name string) {
	if !t.has(name) || t.columns[name].dataType != "varchar" {
		return
	}
	c := t.columns[name]
	a.clause("MODIFY COLUMN " + name + " TEXT" + c.charsetClause() + " NULL" + c.commentClause())
}

// index adds an index unless some index already begins with the column.
func (a *alteration) index(t *table, name, column string) {
	if !t.has(column) || t.indexed(column) {
		return
	}
	a.clause("ADD KEY " + name + " (" + column + ")")
}

func (a *alteration) steps(t *table, why string) []step {
	if t == nil || len(a.clauses) == 0 {
		return nil
	}
	return []step{{table: t.name, why: why, stmt: "ALTER TABLE " + quoteName(t.name) + " " + strings.Join(a.clauses, ", ")}}
}

// charsetClause keeps what the column has, since MODIFY would fall back to the table's default.
func (c column) charsetClause() string {
	if c.charset == "" || c.collation == "" {
		return ""
	}
	return " CHARACTER SET " + c.charset + " COLLATE " + c.collation
}

func (c column) commentClause() string {
	if c.comment == "" {
		return ""
	}
	return " COMMENT '" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(c.comment) + "'"
}

func quoteName(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
