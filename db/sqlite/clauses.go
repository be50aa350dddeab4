package sqlite

import (
	"errors"
	"fmt"
	"strings"
)

// dropLock removes a locking clause of n words at i with what may follow it.
func (r *rewriter) dropLock(i, n int) {
	end := i + n - 1
	for {
		switch {
		case r.is(end+1, "OF"):
			for end += 2; r.sym(end+1, ','); {
				end += 2
			}
		case r.is(end+1, "SKIP", "LOCKED"):
			end += 2
		case r.is(end+1, "NOWAIT"):
			end++
		case r.is(end+1, "WAIT"):
			end += 2
		default:
			r.edit(r.toks[i].start, r.toks[end].end, "")
			return
		}
	}
}

// upsert replaces ON DUPLICATE KEY UPDATE at i.
func (r *rewriter) upsert(i int) {
	r.kind = kindUpsert
	text := "ON CONFLICT DO UPDATE SET"
	if r.bareSelect(i) {
		// After a SELECT without WHERE, SQLite would read ON as a join condition.
		text = "WHERE true " + text
	}
	r.edit(r.toks[i].start, r.toks[i+3].end, text)
}

// bareSelect reports whether the tokens before end are an INSERT … SELECT with nothing after its FROM clause.
func (r *rewriter) bareSelect(end int) bool {
	depth, found := 0, false
	for i := range end {
		switch {
		case r.sym(i, '('):
			depth++
		case r.sym(i, ')'):
			depth--
		case depth > 0:
		case r.is(i, "SELECT"):
			found = true
		case found && (r.is(i, "WHERE") || r.is(i, "GROUP", "BY") || r.is(i, "ORDER", "BY") || r.is(i, "LIMIT")):
			return false
		}
	}
	return found
}

// limitedChange moves the conditions of an UPDATE or DELETE with a LIMIT at limit into a subquery of row ids.
func (r *rewriter) limitedChange(limit int) error {
	var table string
	tail := 0 // where the conditions begin
	switch {
	case r.is(0, "DELETE", "FROM"):
		tail = 3
		for r.sym(tail, '.') {
			tail += 2
		}
		table = r.src[r.toks[2].start:r.toks[tail-1].end]
	case r.is(0, "UPDATE"):
		from, set := 1, 0
		if r.is(1, "IGNORE") {
			from = 2
		}
		depth := 0
		for i := from; i <= limit && tail == 0; i++ {
			switch {
			case r.sym(i, '('):
				depth++
			case r.sym(i, ')'):
				depth--
			case depth > 0:
			case set == 0 && r.is(i, "SET"):
				set = i
			case set > 0 && (r.is(i, "WHERE") || r.is(i, "ORDER", "BY") || i == limit):
				tail = i
			}
		}
		if set <= from {
			return errors.New("sqlite: UPDATE without SET")
		}
		table = r.src[r.toks[from].start:r.toks[set-1].end]
	default:
		return errors.New("sqlite: LIMIT in a form of UPDATE or DELETE that has no equivalent")
	}
	r.edit(r.toks[tail].start, r.toks[tail].start, "WHERE rowid IN (SELECT rowid FROM "+table+" ")
	last := len(r.toks) - 2
	for r.sym(last, ';') {
		last--
	}
	r.edit(r.toks[last].end, r.toks[last].end, ")")
	return nil
}

// keepPlan makes a sum of the placeholder that a LIMIT at i counts by. SQLite looks at what is bound to one that stands by itself, to plan
// for it, and compiles the statement anew each time it is run, which takes several times as long as running it.
func (r *rewriter) keepPlan(i int) {
	n := i + 1
	if r.sym(n+1, ',') {
		n += 2 // LIMIT offset, count
	}
	if r.toks[n].kind == tokenMarker {
		r.edit(r.toks[n].end, r.toks[n].end, "+0")
	}
}

// likeEscape gives the LIKE at i the escape character that MySQL has by default.
func (r *rewriter) likeEscape(i int) {
	end := i + 1 // the last token of the pattern
	switch r.toks[end].kind {
	case tokenMarker, tokenText:
	case tokenWord, tokenQuoted:
		for r.sym(end+1, '.') {
			end += 2
		}
		if r.sym(end+1, '(') {
			end = r.closing(end + 1)
		}
	case tokenSymbol:
		end = r.closing(end)
	default:
		return
	}
	if end == 0 || end >= len(r.toks)-1 || r.is(end+1, "ESCAPE") {
		return
	}
	r.edit(r.toks[end].end, r.toks[end].end, ` ESCAPE '\'`)
}

// formats maps MySQL's date formats to SQLite's.
var formats = map[byte]string{
	'Y': "%Y", 'm': "%m", 'd': "%d", 'H': "%H", 'i': "%M", 's': "%S", 'S': "%S", 'T': "%H:%M:%S", 'j': "%j", 'w': "%w", '%': "%%",
}

// dateFormat turns DATE_FORMAT(x, 'f') at i into strftime('f', x).
func (r *rewriter) dateFormat(i int) error {
	close := r.closing(i + 1)
	comma, format := close-2, close-1
	if close == 0 || !r.sym(comma, ',') || r.toks[format].kind != tokenText {
		return errors.New("sqlite: DATE_FORMAT needs a literal format")
	}
	var b strings.Builder
	literal := r.text(format)
	for k := 0; k < len(literal); k++ {
		if literal[k] != '%' {
			b.WriteByte(literal[k])
			continue
		}
		k++
		to, ok := formats[literal[k]]
		if !ok {
			return fmt.Errorf("sqlite: date format %%%c has no equivalent", literal[k])
		}
		b.WriteString(to)
	}
	r.edit(r.toks[i].start, r.toks[i+1].end, "strftime("+b.String()+", ")
	r.edit(r.toks[comma].start, r.toks[format].end, "")
	return nil
}
