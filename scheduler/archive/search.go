package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
)

// Search says what is looked for in kept outputs, and how long. The newest runs come first.
type Search struct {
	Job    int64   // of this job,
	Groups []int64 // or, without one, of these groups; with one: of its runs in these groups; empty: in any
	Text   string  // as it stands in a line, whether letters A to Z are small or capital
	From   int64   // runs from this id on
	Before int64   // and below this one

	Runs  int           // with hits, at most
	Lines int           // of a run that are shown, at most
	Bytes int64         // of text that are looked through, at most; it ends with the run in which they are reached
	Time  time.Duration // after which it ends with what there is, when there is something
}

// ErrStalled says that a search came to no run in a time in which it comes to many: neither is anything found, nor would it get further.
var ErrStalled = errors.New("the search comes to nothing: the store or the database does not answer in time")

// Found is what a search came to.
type Found struct {
	Hits       []Hit
	Reached    int64 // all runs from here on were looked at; Search.From when it is through
	Looked     int   // runs that were
	Bytes      int64 // of text that were
	Unreadable int   // runs whose copy could not be read
}

// Hit is a run that has the text in its output.
type Hit struct {
	RunID int64
	Lines []HitLine
	More  int // lines that have it too
}

// HitLine is a line with the text.
type HitLine struct {
	Number int    // in the whole output, from 1
	Text   []byte // the part of it around the text, if it is long
	Cut    bool   // it is a part
}

const (
	searchRows    = 4000             // that are read at a time
	searchAhead   = 4                // objects that are read, unpacked and looked through at a time
	searchFilters = 64               // filters that are read at a time
	searchSpan    = 4 << 20          // bytes of an object that are read at once, at most
	searchText    = 32 << 20         // bytes of text that are held of one object, at most
	maxLineShown  = 400              // bytes of a line
	searchesBeing = 2                // searches at a time: the engine needs the processors too
	searchBegins  = 10 * time.Second // in which a search comes to a run, or to nothing
)

// Search looks through kept outputs for a text. It ends early with what there is when ctx ends, which is no error. Unless its time is none, it comes
// to a run, even if that takes longer, so that what goes on from where it ended gets through; when it does not within 10 s it is [ErrStalled].
func (s *Service) Search(ctx context.Context, q Search) (Found, error) {
	found := Found{Reached: q.Before}
	if s == nil || q.Text == "" || strings.Contains(q.Text, "\n") {
		found.Reached = q.From
		return found, nil
	}
	if q.Time <= 0 { // it has no need to wait for its turn either
		return found, nil
	}
	select {
	case s.searches <- struct{}{}:
		defer func() { <-s.searches }()
	case <-ctx.Done():
		return found, nil
	}
	timed, cancel := context.WithTimeout(ctx, q.Time)
	defer cancel()
	whole, end := context.WithTimeout(ctx, max(q.Time, s.begins))
	defer end()
	walk := &searching{s: s, q: q, found: &found, over: timed, needle: fold(nil, []byte(q.Text)), lacks: make(map[int64]bool)}
	defer context.AfterFunc(timed, func() {
		if walk.begun.Load() {
			end()
		}
	})()
	through, err := walk.through(whole)
	switch {
	case ctx.Err() != nil:
	case whole.Err() != nil && !walk.begun.Load():
		return found, ErrStalled
	case whole.Err() != nil:
	case err != nil:
		return found, err
	case through:
		found.Reached = q.From
	}
	return found, nil
}

// through goes from page to page, and says whether it came to the end.
func (w *searching) through(ctx context.Context) (bool, error) {
	for page := range w.pages(ctx) {
		if page.err != nil {
			return false, page.err
		}
		if w.parts(ctx, page.parts) {
			return false, nil
		}
	}
	return true, nil
}

// page is what a search reads at a time.
type page struct {
	rows  []db.ListKeptOfJobRow
	parts []part
	err   error
}

// pages reads what is to be looked through, newest first: most of a search for what is rare is reading where outputs are, and which of them cannot
// have the text. So the next rows are read meanwhile, and the filters of those before them. After an error, or when ctx ends, there are no more.
func (w *searching) pages(ctx context.Context) iter.Seq[page] {
	return ahead(ctx, func(ctx context.Context) iter.Seq[page] { return w.sifted(ctx, ahead(ctx, w.rows)) })
}

// ahead has a sequence made by another goroutine, one value ahead of who takes them. It ends with ctx.
func ahead[T any](ctx context.Context, values func(context.Context) iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		ctx, cancel := context.WithCancel(ctx)
		made := make(chan T)
		var making sync.WaitGroup
		defer making.Wait()
		defer cancel()
		making.Go(func() {
			defer close(made)
			for v := range values(ctx) {
				select {
				case made <- v:
				case <-ctx.Done():
					return
				}
			}
		})
		for v := range made {
			if !yield(v) {
				return
			}
		}
	}
}

// rows reads where the outputs are.
func (w *searching) rows(ctx context.Context) iter.Seq[page] {
	return func(yield func(page) bool) {
		for before, more := w.q.Before, true; more && before > w.q.From; {
			rows, err := w.s.keptRows(ctx, w.q, before)
			if more = err == nil && len(rows) == w.s.pageRows; more {
				before = rows[len(rows)-1].LogID
			}
			if !yield(page{rows: rows, err: err}) {
				return
			}
		}
	}
}

// sifted reads which of them cannot have the text.
func (w *searching) sifted(ctx context.Context, pages iter.Seq[page]) iter.Seq[page] {
	return func(yield func(page) bool) {
		for p := range pages {
			p.parts = partsOf(p.rows)
			if p.err == nil {
				p.err = w.sift(ctx, p.parts)
			}
			if !yield(p) || p.err != nil {
				return
			}
		}
	}
}

// keptRows are the next rows of a search, newest first. Of each there is only where its output is: most are in objects that are left out.
func (s *Service) keptRows(ctx context.Context, q Search, before int64) ([]db.ListKeptOfJobRow, error) {
	if q.Job > 0 {
		return s.queries.ListKeptOfJob(ctx, s.cfg.Pool, db.ListKeptOfJobParams{JobID: q.Job, FromID: q.From, BeforeID: before, Limit: int32(s.pageRows)})
	}
	if len(q.Groups) != 1 {
		return nil, errors.New("archive: a search is of a job or of one group")
	}
	found, err := s.queries.ListKeptOfGroup(ctx, s.cfg.Pool, db.ListKeptOfGroupParams{JobGroup: q.Groups[0], FromID: q.From, BeforeID: before, Limit: int32(s.pageRows)})
	rows := make([]db.ListKeptOfJobRow, len(found))
	for i := range found {
		rows[i] = db.ListKeptOfJobRow(found[i])
	}
	return rows, err
}

// searching is a search that goes on.
type searching struct {
	s      *Service
	q      Search
	found  *Found
	over   context.Context // ends with the time that it has
	begun  atomic.Bool     // it came to a run
	needle []byte
	lacks  map[int64]bool // of objects whose filters were read, to which sifted keeps: the text is certainly not in it
}

// part is a number of runs next to each other whose outputs are in the same object, which are read together.
type part struct {
	object int64
	lacks  bool    // the text, for certain
	ids    []int64 // newest first
	looks  chan []look
}

// look is what came of looking through the output of a run.
type look struct {
	hit        *Hit
	bytes      int64
	unreadable bool
}

// parts looks through parts, and says whether that is enough. They are looked through some at a time, and what comes of it is taken in order.
func (w *searching) parts(ctx context.Context, parts []part) (enough bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := 0
	for i := range parts {
		for ; next < len(parts) && next < i+searchAhead; next++ {
			if p := &parts[next]; p.lacks {
				p.looks <- make([]look, len(p.ids))
			} else {
				go w.look(ctx, p)
			}
		}
		var looks []look
		select {
		case looks = <-parts[i].looks:
		case <-ctx.Done():
			return true
		}
		for j := range looks {
			if w.take(parts[i].ids[j], &looks[j]) {
				return true
			}
		}
	}
	return false
}

// sift reads the filters of the objects that parts are in. An object without one, as those of earlier releases, is looked through.
func (w *searching) sift(ctx context.Context, parts []part) error {
	if len(w.needle) < gramSize {
		return nil
	}
	var ask []int64
	for i := range parts {
		id := parts[i].object
		if _, known := w.lacks[id]; !known {
			w.lacks[id] = false
			ask = append(ask, id)
		}
	}
	for part := range slices.Chunk(ask, searchFilters) {
		filters, err := w.s.queries.ListOutputFilters(ctx, w.s.cfg.Pool, part)
		if err != nil {
			return err
		}
		for _, f := range filters {
			w.lacks[f.ObjectID] = !w.s.openFilter(f).may(w.needle)
		}
	}
	for i := range parts {
		parts[i].lacks = w.lacks[parts[i].object]
	}
	return nil
}

// partsOf cuts rows where the object changes.
func partsOf(rows []db.ListKeptOfJobRow) []part {
	var parts []part
	for i := range rows {
		r := &rows[i]
		if n := len(parts); n == 0 || parts[n-1].object != r.ObjectID {
			parts = append(parts, part{object: r.ObjectID, looks: make(chan []look, 1)})
		}
		p := &parts[len(parts)-1]
		p.ids = append(p.ids, r.LogID)
	}
	return parts
}

// look reads and unpacks a part, and looks through it. Of a run whose copy is gone by now it has nothing to say.
func (w *searching) look(ctx context.Context, p *part) {
	looks := make([]look, len(p.ids))
	at := make(map[int64]*look, len(p.ids))
	for i, id := range p.ids {
		at[id] = &looks[i]
	}
	var rows []db.Output
	for ids := range chunks(p.ids) {
		some, err := w.s.queries.ListKept(ctx, w.s.cfg.Pool, ids)
		if err != nil {
			for _, id := range ids {
				at[id].unreadable = true
			}
		}
		rows = append(rows, some...)
	}
	var folded []byte
	for rows := range together(rows) {
		texts := w.read(ctx, rows)
		for i := range rows {
			r, text, l := &rows[i], texts[i], at[rows[i].LogID]
			if l.bytes = int64(len(text)); text == nil {
				l.unreadable = true
				continue
			}
			if ctx.Err() == nil && (len(w.q.Groups) == 0 || slices.Contains(w.q.Groups, r.JobGroup)) {
				folded = fold(folded[:0], text)
				l.hit = w.hit(r, text, folded)
			}
		}
	}
	if ctx.Err() == nil { // else nobody waits, and what was left out must not be taken for nothing
		p.looks <- looks
	}
}

// together cuts rows where the object changes, as it does when somebody has just moved what was in it, or the text would be too large.
func together(rows []db.Output) iter.Seq[[]db.Output] {
	return func(yield func([]db.Output) bool) {
		for len(rows) > 0 {
			n, size := 1, rows[0].TextSize
			for n < len(rows) && rows[n].ObjectID == rows[0].ObjectID && size+rows[n].TextSize <= searchText {
				size += rows[n].TextSize
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// read reads the texts of rows; nil for one that cannot be read, and none of one that is gone by now.
func (w *searching) read(ctx context.Context, rows []db.Output) [][]byte {
	texts := make([][]byte, len(rows))
	if len(rows) > 1 {
		w.readTogether(ctx, rows, texts)
	}
	for i := range rows {
		if texts[i] == nil && ctx.Err() == nil {
			switch row, text, err := w.s.load(ctx, rows[i].LogID); {
			case err == nil && (row == nil || row.ObjectID == 0): // it went meanwhile, with its run
				texts[i] = []byte{}
			case err == nil:
				texts[i] = text
			}
		}
	}
	return texts
}

// readTogether reads what rows have of one object with as few calls as it takes, and unpacks each block once. What does not come of it
// stays nil.
func (w *searching) readTogether(ctx context.Context, rows []db.Output, texts [][]byte) {
	s := w.s
	o, err := s.queries.GetOutputObject(ctx, s.cfg.Pool, rows[0].ObjectID)
	if err != nil || o.Store != s.cfg.Store.Name() {
		return
	}
	var span []byte
	var from int64
	var block []byte // unpacked
	at := int64(-1)
	for i := range rows { // from the end of the object to its beginning, since an object is in the order of runs
		r := &rows[i]
		if r.Pos != at {
			if span == nil || r.Pos < from || r.Pos+r.Size > from+int64(len(span)) {
				end := r.Pos + r.Size
				from = r.Pos
				for j := i; j < len(rows) && rows[j].Pos <= r.Pos && end-rows[j].Pos <= searchSpan; j++ {
					from = rows[j].Pos
				}
				if span, err = s.cfg.Store.Get(ctx, Object{ID: o.ID, Name: o.Name}, from, end-from); err != nil {
					return
				}
			}
			if block, err = s.unpackBlock(r, span[r.Pos-from:r.Pos-from+r.Size]); err != nil {
				return
			}
			at = r.Pos
		}
		if int64(len(block)) < r.TextAt+r.TextSize {
			return
		}
		texts[i] = block[r.TextAt : r.TextAt+r.TextSize]
	}
}

// take adds what came of one run, and says whether the search has enough.
func (w *searching) take(id int64, l *look) (enough bool) {
	f := w.found
	w.begun.Store(true)
	f.Reached = id
	f.Looked++
	if l.unreadable {
		f.Unreadable++
		return w.over.Err() != nil
	}
	f.Bytes += l.bytes
	if l.hit != nil {
		f.Hits = append(f.Hits, *l.hit)
	}
	return w.over.Err() != nil || len(f.Hits) >= w.q.Runs || w.q.Bytes > 0 && f.Bytes >= w.q.Bytes
}

// hit is what a run's output has of the text; nil for nothing. folded is text with small letters.
func (w *searching) hit(r *db.Output, text, folded []byte) *Hit {
	at := bytes.Index(folded, w.needle)
	if at < 0 {
		return nil
	}
	hit := &Hit{RunID: r.LogID}
	counted, number := 0, 1
	for at >= 0 {
		begin := bytes.LastIndexByte(folded[:at], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(folded[at:], '\n'); n >= 0 {
			end = at + n
		}
		number += bytes.Count(text[counted:begin], []byte{'\n'})
		counted = begin
		if len(hit.Lines) < w.q.Lines {
			line := HitLine{Number: number}
			if int64(begin) >= r.HeadSize {
				line.Number += int(r.LeftLines)
			}
			line.Text, line.Cut = around(text[begin:end], at-begin, len(w.needle))
			hit.Lines = append(hit.Lines, line)
		} else {
			hit.More++
		}
		if end+1 >= len(text) {
			break
		}
		if n := bytes.Index(folded[end+1:], w.needle); n >= 0 {
			at = end + 1 + n
		} else {
			at = -1
		}
	}
	return hit
}

// around is the part of a long line that has n bytes at a place in it.
func around(line []byte, at, n int) (shown []byte, cut bool) {
	if len(line) <= maxLineShown {
		return bytes.Clone(line), false
	}
	from := max(0, min(at-maxLineShown/4, len(line)-maxLineShown))
	to := min(len(line), max(from+maxLineShown, min(at+n, from+2*maxLineShown)))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	return bytes.Clone(line[from:to]), true
}

// fold appends a text with letters A to Z made small: as many bytes as it has. Eight at a time, since it is done to each byte that is
// looked through.
func fold(to, text []byte) []byte {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	at := len(to)
	to = append(to, text...)
	for ; at+8 <= len(to); at += 8 {
		v := binary.LittleEndian.Uint64(to[at:])
		// The high bit of each byte: it is A or above, it is above Z, and it was no ASCII to begin with.
		from, above := v&low+(0x80-'A')*ones, v&low+(0x80-'Z'-1)*ones
		letters := from &^ above &^ v & ^uint64(low)
		binary.LittleEndian.PutUint64(to[at:], v|letters>>2)
	}
	for ; at < len(to); at++ {
		to[at] = small(to[at])
	}
	return to
}

// small makes a letter A to Z small.
func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
