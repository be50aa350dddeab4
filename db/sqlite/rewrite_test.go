package sqlite

import (
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"a plain statement stays", "SELECT a.id FROM a WHERE a.b = ?", "SELECT a.id FROM a WHERE a.b = ?"},
		{"row locks go", "SELECT * FROM a WHERE id = ? FOR UPDATE", "SELECT * FROM a WHERE id = ? "},
		{"row locks go with their options", "SELECT * FROM a LIMIT 5 for update of a, b skip locked", "SELECT * FROM a LIMIT 5 "},
		{"row locks go inside parentheses", "SELECT * FROM (SELECT 1 FOR SHARE NOWAIT) x", "SELECT * FROM (SELECT 1 ) x"},
		{"the old form of a shared lock goes", "SELECT 1 LOCK IN SHARE MODE;", "SELECT 1 ;"},
		{"insert ignore", "INSERT IGNORE INTO a (b) VALUES (?)", "INSERT OR IGNORE INTO a (b) VALUES (?)"},
		{"upsert", "INSERT INTO a (b, c) VALUES (?, ?) ON DUPLICATE KEY UPDATE c = VALUES(c), d = d + values ( `c` )",
			"INSERT INTO a (b, c) VALUES (?, ?) ON CONFLICT DO UPDATE SET c = excluded.c, d = d + excluded.`c`"},
		{"upsert from a select without conditions", "INSERT INTO a (b) SELECT b FROM c ON DUPLICATE KEY UPDATE b = VALUES(b)",
			"INSERT INTO a (b) SELECT b FROM c WHERE true ON CONFLICT DO UPDATE SET b = excluded.b"},
		{"upsert from a select with conditions", "INSERT INTO a (b) SELECT b FROM c WHERE d = 1 ON DUPLICATE KEY UPDATE b = VALUES(b)",
			"INSERT INTO a (b) SELECT b FROM c WHERE d = 1 ON CONFLICT DO UPDATE SET b = excluded.b"},
		{"delete with a limit", "DELETE FROM a WHERE b < ? ORDER BY id LIMIT ?;",
			"DELETE FROM a WHERE rowid IN (SELECT rowid FROM a WHERE b < ? ORDER BY id LIMIT ?+0);"},
		{"delete with a limit and no condition", "DELETE FROM `a` LIMIT 10", "DELETE FROM `a` WHERE rowid IN (SELECT rowid FROM `a` LIMIT 10)"},
		{"update with a limit", "UPDATE a SET b = (SELECT 1 FROM c WHERE d = ? LIMIT 1), e = ? WHERE f = ? LIMIT ?",
			"UPDATE a SET b = (SELECT 1 FROM c WHERE d = ? LIMIT 1), e = ? WHERE rowid IN (SELECT rowid FROM a WHERE f = ? LIMIT ?+0)"},
		{"a bound limit keeps its plan", "SELECT a FROM b WHERE c IN (SELECT d FROM e LIMIT ?) LIMIT ? OFFSET ?", "SELECT a FROM b WHERE c IN (SELECT d FROM e LIMIT ?+0) LIMIT ?+0 OFFSET ?"},
		{"of an offset and a count it is the count", "SELECT a FROM b LIMIT ?, ? FOR UPDATE", "SELECT a FROM b LIMIT ?, ?+0 "},
		{"a limit in a subquery is no limit of the delete", "DELETE FROM a WHERE id IN (SELECT x.id FROM (SELECT id FROM a LIMIT 5) x)",
			"DELETE FROM a WHERE id IN (SELECT x.id FROM (SELECT id FROM a LIMIT 5) x)"},
		{"a comment after a limit stays outside", "DELETE FROM a LIMIT 5 -- some\n", "DELETE FROM a WHERE rowid IN (SELECT rowid FROM a LIMIT 5) -- some\n"},
		{"date format", "SELECT DATE_FORMAT(MAX(a.t), '%Y-%m-%d %H:%i:%s') FROM a", "SELECT strftime('%Y-%m-%d %H:%M:%S', MAX(a.t)) FROM a"},
		{"date format within date format's neighbour", "SELECT COALESCE(DATE_FORMAT(t, '%T%%'), '') FROM a", "SELECT COALESCE(strftime('%H:%M:%S%%', t), '') FROM a"},
		{"like has an escape", "SELECT 1 FROM a WHERE b LIKE ? AND c LIKE CONCAT('%', ?) AND d LIKE 'x' ESCAPE '!' OR e NOT LIKE f.g",
			`SELECT 1 FROM a WHERE b LIKE ? ESCAPE '\' AND c LIKE CONCAT('%', ?) ESCAPE '\' AND d LIKE 'x' ESCAPE '!' OR e NOT LIKE f.g ESCAPE '\'`},
		{"casts", "SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED), CAST(a AS UNSIGNED INTEGER) FROM b",
			"SELECT CAST(COALESCE(MAX(id), 0) AS INTEGER), CAST(a AS INTEGER) FROM b"},
		{"a column may be called signed", "SELECT a AS signed FROM b LIMIT 1", "SELECT a AS signed FROM b LIMIT 1"},
		{"functions", "SELECT GREATEST(a, ?), least(b, c) FROM d", "SELECT MAX(a, ?), MIN(b, c) FROM d"},
		{"null-safe equality", "SELECT 1 FROM a WHERE b <=> ?", "SELECT 1 FROM a WHERE b IS ?"},
		{"index hints go", "SELECT 1 FROM a FORCE INDEX (i, k) WHERE b = 1", "SELECT 1 FROM a  WHERE b = 1"},
		{"statements with limits of their own in a union", "(SELECT a FROM b LIMIT 1) UNION ALL (SELECT a FROM c) UNION (SELECT (SELECT 1), 2 IN (SELECT 2))",
			"SELECT * FROM (SELECT a FROM b LIMIT 1) UNION ALL SELECT * FROM (SELECT a FROM c) UNION SELECT * FROM (SELECT (SELECT 1), 2 IN (SELECT 2))"},
		{"hash comments go", "SELECT 1 # for update 'x\n+ 2", "SELECT 1 \n+ 2"},
		{"a comment right after a pattern", "SELECT a LIKE ?# x", `SELECT a LIKE ? ESCAPE '\'`},
		{"literals stay", `SELECT 'FOR UPDATE', "LIMIT", 'it''s DATE_FORMAT(a, ''%i'')', ` + "`like`" + ` FROM a FOR UPDATE`,
			`SELECT 'FOR UPDATE', "LIMIT", 'it''s DATE_FORMAT(a, ''%i'')', ` + "`like`" + ` FROM a `},
		{"comments stay", "/* FOR UPDATE ' */ SELECT 1 -- INSERT IGNORE '\n FOR UPDATE", "/* FOR UPDATE ' */ SELECT 1 -- INSERT IGNORE '\n "},
		{"a qualified name is no keyword", "SELECT a.limit, a.like FROM a LIMIT 1", "SELECT a.limit, a.like FROM a LIMIT 1"},
		{"sqlc's header stays", "-- name: ListJobs :many\nSELECT 1 FOR UPDATE", "-- name: ListJobs :many\nSELECT 1 "},
	}
	for _, tt := range tests {
		if got, err := newPlan(tt.in); err != nil || got.text != tt.want {
			t.Errorf("%s:\n got %+v\nwant %s\n err %v", tt.name, got, tt.want, err)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"SELECT 'open", "SELECT 1 /* open", "SELECT `open", "SELECT 5--2", "SELECT DATE_FORMAT(a, ?)", "SELECT DATE_FORMAT(a, '%W')", "DELETE a FROM a LIMIT 1",
	} {
		if got, err := newPlan(in); err == nil {
			t.Errorf("%s became %s, want an error", in, got.text)
		}
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want kind
	}{
		{"select 1", kindRead},
		{"-- name: X :one\nSELECT 1", kindRead},
		{"(SELECT 1) UNION (SELECT 2)", kindRead},
		{"WITH x AS (SELECT 1) SELECT * FROM x", kindRead},
		{"WITH x AS (SELECT 1) DELETE FROM a", kindChange},
		{"INSERT INTO a VALUES (1)", kindInsert},
		{"REPLACE INTO a VALUES (1)", kindInsert},
		{"INSERT IGNORE INTO a VALUES (1)", kindInsertIgnore},
		{"INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1", kindUpsert},
		{"UPDATE a SET b = 1", kindChange},
		{"CREATE TABLE a (b)", kindOther},
		{"", kindOther},
	}
	for _, tt := range tests {
		p, err := newPlan(tt.in)
		if err != nil || p.kind != tt.want {
			t.Errorf("%q: kind %v, %v, want %v", tt.in, p, err, tt.want)
		}
	}
}

// FuzzRewrite checks what must hold for any text: no panic, the same literals and the same placeholders in the same order.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{
		"SELECT 'a''b', \"c\" FROM `d` WHERE x LIKE ? FOR UPDATE", "DELETE FROM a WHERE b = ? LIMIT ?", "INSERT IGNORE INTO a VALUES (?, '--')",
		"UPDATE a SET b = ? WHERE c <=> ? ORDER BY d LIMIT 3 # x", "SELECT DATE_FORMAT(a, '%Y'), ? FROM b FORCE INDEX (c)",
		"INSERT INTO a SELECT ? FROM b ON DUPLICATE KEY UPDATE c = VALUES(c), d = ?", "like (", "limit limit", "a AS (signed", "-- \n#\n/**/",
		"(SELECT a FROM b AS c FORCE INDEX (d) WHERE e = ? LIMIT ?) UNION ALL (SELECT 'f' FROM g LIMIT ? OFFSET ?) UNION (SELECT 1)", "DELETE FROM a WHERE b IN (SELECT 1 UNION (SELECT ?)) LIMIT ?",
		"(select union (select plan(select all (select", "INSERT INTO plan (SELECT ?) ON DUPLICATE KEY UPDATE a = VALUES(a)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := newPlan(in)
		if err != nil {
			return
		}
		out := p.text
		if got, want := literals(out), literals(in); !hasDropped(in) && !hasDateFormat(in) && !subsequence(want, got) {
			t.Errorf("%q became %q: literals %q, want %q", in, out, got, want)
		}
		if got, want := strings.Count(outside(out), "?"), strings.Count(outside(in), "?"); got != want && !hasDropped(in) {
			t.Errorf("%q became %q: %d placeholders, want %d", in, out, got, want)
		}
	})
}

func literals(s string) []string {
	var all []string
	sc := scanner{src: s}
	for t := sc.next(); t.kind != tokenEnd && t.kind != tokenInvalid; t = sc.next() {
		if t.kind == tokenText || t.kind == tokenQuoted {
			all = append(all, s[t.start:t.end])
		}
	}
	return all
}

// outside joins the tokens that are neither literals nor comments.
func outside(s string) string {
	var b strings.Builder
	sc := scanner{src: s}
	for t := sc.next(); t.kind != tokenEnd && t.kind != tokenInvalid; t = sc.next() {
		if t.kind != tokenText && t.kind != tokenQuoted && t.kind != tokenHash {
			b.WriteString(s[t.start:t.end])
		}
	}
	return b.String()
}

// hasDropped reports whether the text has a clause that is dropped with its operands: hints and locks of nonsense may hold anything.
func hasDropped(s string) bool {
	u := strings.ToUpper(outside(s))
	return strings.Contains(u, "INDEX") || strings.Contains(u, "UPDATE") || strings.Contains(u, "SHARE") || strings.Contains(u, "LIMIT")
}

func hasDateFormat(s string) bool { return strings.Contains(strings.ToUpper(s), "DATE_FORMAT") }

// subsequence reports whether want's elements appear in got in order; LIKE adds literals of its own.
func subsequence(want, got []string) bool {
	for _, g := range got {
		if len(want) > 0 && g == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
