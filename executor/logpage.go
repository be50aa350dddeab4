package executor

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Limits of one answer to /log. A reader that wants more asks again from the next line.
const (
	pageLines = 5000
	pageBytes = 1 << 20
	// pulledBytes is what one that is sent to the admin has, since proxies often take no more than 1 MB.
	pulledBytes = 256 << 10
)

// position is the start of a line in a file.
type position struct {
	line   int // from 1
	offset int64
}

// page reads whole lines from line from on, starting the search at at, which is a position at or before it. While the
// log is still being written a last line without its end is left for the next time; final takes it too. A line longer
// than a whole answer is cut.
//
// The text has at most so many bytes, and what a cut line says. It returns the text, the number of the last line in it (from-1 if there is none), where to go on, and whether that
// is the end of the file.
func page(r io.ReaderAt, at position, from, most int, final bool) (text []byte, to int, next position, end bool, err error) {
	from = max(from, 1)
	if at.line < 1 || at.line > from {
		at = position{line: 1}
	}
	var (
		chunk   = make([]byte, 64<<10)
		current []byte // the unfinished line, if it is wanted
		cut     bool   // of the current line, what does not fit is left out
	)
	next, to = at, from-1
	offset := at.offset // of the next byte to look at
	emit := func() {
		text = append(text, current...)
		if cut {
			text = append(text, "… (line cut)\n"...)
		}
		current, cut = current[:0], false
		to = next.line
	}
	for {
		n, readErr := r.ReadAt(chunk, offset)
		data := chunk[:n]
		for len(data) > 0 {
			length := len(data)
			newline := bytes.IndexByte(data, '\n')
			if newline >= 0 {
				length = newline + 1
			}
			if next.line >= from {
				room := most - len(current)
				current = append(current, data[:min(length, room)]...)
				cut = cut || length > room
			}
			data, offset = data[length:], offset+int64(length)
			if newline < 0 {
				continue
			}
			if next.line >= from {
				if len(text) > 0 && len(text)+len(current) > most {
					return text, to, next, false, nil // the line opens the next answer
				}
				emit()
			}
			next = position{line: next.line + 1, offset: offset}
			if to-from+1 >= pageLines {
				return text, to, next, false, nil
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return nil, from - 1, at, false, readErr
		}
	}
	if offset > next.offset && final {
		if next.line >= from {
			if len(text) > 0 && len(text)+len(current) > most {
				return text, to, next, false, nil
			}
			emit()
			text = append(text, '\n')
		}
		next = position{line: next.line + 1, offset: offset}
	}
	return text, to, next, true, nil
}

// bookmarks remember, for the logs read last, where the following line begins, so that somebody who follows a log does
// not make us read it from its start every time.
type bookmarks struct {
	mu    sync.Mutex
	limit int
	marks map[string]position
}

func (b *bookmarks) get(file string, from int) position {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.marks[file]; ok && p.line <= from {
		return p
	}
	return position{line: 1}
}

func (b *bookmarks) set(file string, p position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks == nil {
		b.marks = make(map[string]position)
	}
	if len(b.marks) >= b.limit {
		for other := range b.marks { // any one; a lost mark only costs a longer read
			delete(b.marks, other)
			break
		}
	}
	b.marks[file] = p
}

// logQuiet stands for the lines of a quiet run that are not kept any more. A file that somebody deleted leaves no more behind than that.
const logQuiet = "no log file: the run wrote nothing to its log, or the file was deleted\n"

// readLog answers /log. isEnd is true when the run is over and everything was returned, or when there is no log; admins
// of upstream, which find out the end by themselves, only look at it when nothing new came.
func (e *Executor) readLog(req wire.LogRequest) (wire.LogResult, error) {
	from := max(req.FromLineNum, 1)
	live := e.liveLog(req.LogID)
	if live != nil {
		if text, hasFile := live.text(); !hasFile {
			return pageOf(strings.NewReader(text), position{}, from, false)
		}
	}
	if text, ok := e.logs.remembered(req.LogID); ok {
		return pageOf(strings.NewReader(text), position{}, from, true)
	}
	file, err := e.logs.find(req.LogID, time.UnixMilli(req.LogDateTim))
	if errors.Is(err, fs.ErrNotExist) {
		if e.seen.has(req.LogID) {
			return pageOf(strings.NewReader(logQuiet), position{}, from, true)
		}
		missing := wire.LogResult{FromLineNum: req.FromLineNum, LogContent: wire.LogMissing, IsEnd: true}
		if req.FromLineNum >= wire.PastEnd {
			missing.Remembers = max(0, e.seen.reach().Milliseconds())
		}
		return missing, nil
	}
	if err != nil {
		return wire.LogResult{}, err
	}
	defer func() { _ = file.Close() }()
	final := live == nil
	text, to, next, end, err := page(file, e.logs.marks.get(file.Name(), from), from, e.mostLog(), final)
	if err != nil {
		return wire.LogResult{}, err
	}
	e.logs.marks.set(file.Name(), next)
	return wire.LogResult{FromLineNum: from, ToLineNum: to, LogContent: string(text), IsEnd: end && final}, nil
}

func pageOf(r io.ReaderAt, at position, from int, final bool) (wire.LogResult, error) {
	text, to, _, end, err := page(r, at, from, pageBytes, final)
	return wire.LogResult{FromLineNum: from, ToLineNum: to, LogContent: string(text), IsEnd: end && final}, err
}
