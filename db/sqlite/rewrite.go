package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// edit replaces src[start:end].
type edit struct {
	start, end int
	text       string
}

// rewriter holds one statement while it is changed.
type rewriter struct {
	src   string
	toks  []token // without # comments; the last is tokenEnd
	edits []edit
	kind  kind
}

var errUnterminated = errors.New("sqlite: statement has a literal or comment without an end")

// newPlan turns one statement of MySQL's dialect into SQLite's. What it knows:
//
//	SELECT … FOR UPDATE [SKIP LOCKED], LOCK IN SHARE MODE   dropped: one writer at a time needs no row locks
//	INSERT IGNORE, UPDATE IGNORE                            INSERT OR IGNORE, UPDATE OR IGNORE
//	ON DUPLICATE KEY UPDATE c = VALUES(c)                   ON CONFLICT DO UPDATE SET c = excluded.c
//	UPDATE/DELETE … [ORDER BY …] LIMIT n                    … WHERE rowid IN (SELECT rowid … LIMIT n)
//	DATE_FORMAT(x, '%Y-%m')                                 strftime('%Y-%m', x)
//	CAST(x AS SIGNED), GREATEST, LEAST, a <=> b             CAST(x AS INTEGER), MAX, MIN, a IS b
//	x LIKE y                                                x LIKE y ESCAPE '\', MySQL's default
//	FORCE/USE/IGNORE INDEX (…), # comments                  dropped
//	LIMIT ?                                                 LIMIT ?+0: see keepPlan
//	(SELECT … LIMIT n) UNION ALL (SELECT …)                 SELECT * FROM (SELECT … LIMIT n) UNION ALL SELECT * FROM (SELECT …)
//
// Placeholders keep their number and order. Literals and comments are never touched.
func newPlan(query string) (*plan, error) {
	first, trigger, err := survey(query)
	if err != nil {
		return nil, err
	}
	r := &rewriter{src: query, kind: kindOf(first)}
	if !trigger {
		return &plan{text: query, kind: r.kind}, nil
	}
	r.scan()
	if err := r.rewrite(); err != nil {
		return nil, err
	}
	text, err := r.apply()
	if err != nil {
		return nil, err
	}
	return &plan{text: text, kind: r.kind}, nil
}

// triggers are the words without which a statement means the same to both databases.
var triggers = map[string]bool{
	"FOR": true, "LOCK": true, "DUPLICATE": true, "IGNORE": true, "LIMIT": true, "DATE_FORMAT": true, "LIKE": true,
	"SIGNED": true, "UNSIGNED": true, "GREATEST": true, "LEAST": true, "INDEX": true, "WITH": true, "UNION": true,
}

// survey reads a statement without allocating, since batch statements are long and need no change: it returns
// the first word and whether anything in it may.
func survey(query string) (first string, trigger bool, err error) {
	s := scanner{src: query}
	for {
		t := s.next()
		switch t.kind {
		case tokenEnd:
			return first, trigger, nil
		case tokenInvalid:
			return "", false, errUnterminated
		case tokenHash:
			trigger = true
		case tokenSymbol:
			if t.end-t.start == 3 {
				trigger = true
			}
			if query[t.start] == '-' && t.end < len(query) && query[t.end] == '-' {
				return "", false, errors.New("sqlite: put a space after two dashes: MySQL reads two signs, SQLite a comment")
			}
		case tokenText, tokenQuoted, tokenMarker: // pass through
		case tokenWord:
			word := query[t.start:t.end]
			first = cmp.Or(first, word)
			if !trigger && len(word) >= 3 && len(word) <= 11 {
				var buf [11]byte
				trigger = triggers[string(upper(buf[:], word))]
			}
		}
	}
}

// upper is strings.ToUpper for ASCII into a buffer.
func upper(buf []byte, word string) []byte {
	for i := range len(word) {
		c := word[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(word)]
}

func kindOf(first string) kind {
	switch strings.ToUpper(first) {
	case "SELECT", "EXPLAIN", "VALUES", "PRAGMA":
		return kindRead
	case "INSERT", "REPLACE":
		return kindInsert
	case "UPDATE", "DELETE":
		return kindChange
	}
	return kindOther
}

func (r *rewriter) scan() {
	s := scanner{src: r.src}
	for {
		t := s.next()
		if t.kind == tokenHash {
			r.edit(t.start, t.end, "")
			continue
		}
		r.toks = append(r.toks, t)
		if t.kind == tokenEnd {
			return
		}
	}
}

func (r *rewriter) rewrite() error {
	if r.is(0, "WITH") {
		r.kind = r.kindOfWith()
	}
	if r.is(0, "INSERT", "IGNORE") || r.is(0, "UPDATE", "IGNORE") {
		r.edit(r.toks[1].start, r.toks[1].end, "OR IGNORE")
		if r.kind == kindInsert {
			r.kind = kindInsertIgnore
		}
	}
	depth, upsert := 0, false
	for i := range r.toks {
		if r.is(i, "LIMIT") && !r.sym(i-1, '.') {
			r.keepPlan(i)
		}
		switch {
		case r.sym(i, '('):
			if depth++; r.is(i+1, "SELECT") && (i == 0 || r.is(i-1, "PLAN") || r.is(i-1, "UNION") || r.is(i-2, "UNION", "ALL")) {
				r.edit(r.toks[i].start, r.toks[i].end, "SELECT * FROM (")
			}
		case r.sym(i, ')'):
			depth--
		case r.toks[i].kind == tokenSymbol && r.text(i) == "<=>":
			r.edit(r.toks[i].start, r.toks[i].end, "IS")
		case r.toks[i].kind != tokenWord || i > 0 && r.sym(i-1, '.'):
		case r.is(i, "FOR", "UPDATE"), r.is(i, "FOR", "SHARE"):
			r.dropLock(i, 2)
		case r.is(i, "LOCK", "IN", "SHARE", "MODE"):
			r.dropLock(i, 4)
		case r.is(i, "ON", "DUPLICATE", "KEY", "UPDATE"):
			r.upsert(i)
			upsert = true
		case upsert && r.is(i, "VALUES") && r.sym(i+1, '(') && r.sym(i+3, ')'):
			r.edit(r.toks[i].start, r.toks[i+3].end, "excluded."+r.text(i+2))
		case r.is(i, "DATE_FORMAT") && r.sym(i+1, '('):
			if err := r.dateFormat(i); err != nil {
				return err
			}
		case r.is(i, "LIKE"):
			r.likeEscape(i)
		case i > 0 && r.is(i-1, "AS") && (r.is(i, "SIGNED") || r.is(i, "UNSIGNED")) && depth > 0:
			end := r.toks[i].end
			if r.is(i+1, "INTEGER") || r.is(i+1, "INT") {
				end = r.toks[i+1].end
			}
			r.edit(r.toks[i].start, end, "INTEGER")
		case r.is(i, "GREATEST") && r.sym(i+1, '('):
			r.edit(r.toks[i].start, r.toks[i].end, "MAX")
		case r.is(i, "LEAST") && r.sym(i+1, '('):
			r.edit(r.toks[i].start, r.toks[i].end, "MIN")
		case r.is(i, "FORCE", "INDEX"), r.is(i, "USE", "INDEX"), r.is(i, "IGNORE", "INDEX"):
			if close := r.closing(i + 2); close > 0 {
				r.edit(r.toks[i].start, r.toks[close].end, "")
			}
		case depth == 0 && r.is(i, "LIMIT") && r.kind == kindChange:
			if err := r.limitedChange(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindOfWith finds the statement after the common table expressions.
func (r *rewriter) kindOfWith() kind {
	depth := 0
	for i := range r.toks {
		switch {
		case r.sym(i, '('):
			depth++
		case r.sym(i, ')'):
			depth--
		case depth == 0 && r.toks[i].kind == tokenWord:
			if k := kindOf(r.text(i)); k != kindOther {
				return k
			}
		}
	}
	return kindOther
}

func (r *rewriter) text(i int) string {
	return r.src[r.toks[i].start:r.toks[i].end]
}

// is reports whether the words stand at i.
func (r *rewriter) is(i int, words ...string) bool {
	if i < 0 || i+len(words) >= len(r.toks) {
		return false
	}
	for k, w := range words {
		if r.toks[i+k].kind != tokenWord || !strings.EqualFold(r.text(i+k), w) {
			return false
		}
	}
	return true
}

func (r *rewriter) sym(i int, c byte) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == tokenSymbol && r.text(i) == string(c)
}

// closing returns the index of the parenthesis that closes the one at i, or 0.
func (r *rewriter) closing(i int) int {
	if !r.sym(i, '(') {
		return 0
	}
	depth := 0
	for k := i; k < len(r.toks); k++ {
		switch {
		case r.sym(k, '('):
			depth++
		case r.sym(k, ')'):
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return 0
}

func (r *rewriter) edit(start, end int, text string) {
	r.edits = append(r.edits, edit{start, end, text})
}

func (r *rewriter) apply() (string, error) {
	// At one place an insertion comes before a replacement.
	slices.SortStableFunc(r.edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var b strings.Builder
	b.Grow(len(r.src) + 128)
	pos := 0
	for _, e := range r.edits {
		if e.start < pos {
			// No statement that MySQL would run gets here; nonsense must not be turned into something that runs.
			return "", fmt.Errorf("sqlite: cannot rewrite near %q", r.src[e.start:e.end])
		}
		b.WriteString(r.src[pos:e.start])
		b.WriteString(e.text)
		pos = e.end
	}
	b.WriteString(r.src[pos:])
	return b.String(), nil
}
