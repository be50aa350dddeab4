package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// runLog is the text that one run writes, in {DataDir}/logs/yyyy-MM-dd/<logId>.log, where the day is that of the
// trigger time.
//
// The file is made when the first line is written: a handler that says nothing would otherwise cost more in files than
// in work. Such a quiet run's start and end lines are kept in memory for a while, and of some written to a file afterwards
// (see [logStore.quiet]).
type runLog struct {
	quietLog
	store     *logStore
	maxBytes  int64
	mask      *masker     // takes secrets out of what is written; nil: there are none
	onTrouble func(error) // called once, when a line could not be written

	// ending is held from when the run is decided until its closing lines are written: the handler may return before.
	ending sync.WaitGroup

	mu     sync.Mutex
	file   *os.File
	size   int64
	full   bool
	closed bool
	lost   int // writes that failed
	first  error
}

// quietLog is what the log of a run that wrote nothing consists of. Hardly anybody asks for one, so it is put into words only then.
type quietLog struct {
	logID          int64
	triggered      time.Time
	handler, param string    // param: once it has begun
	began, ended   time.Time // zero: it has not
	code           int
	msg            string
}

// opening are the lines that open the log: none of a run that waits.
func (q *quietLog) opening() string {
	if q.began.IsZero() {
		return ""
	}
	return q.lines(q.began, "start", "Param: "+oneLine(q.param))
}

// closing are the lines that close the log, once the run is decided.
func (q *quietLog) closing() string {
	if q.ended.IsZero() {
		return ""
	}
	return q.lines(q.ended, "end", fmt.Sprintf("Result: handleCode=%d, handleMsg = %s", q.code, q.msg))
}

func (q *quietLog) lines(at time.Time, what, detail string) string {
	head := fmt.Sprintf("%s [%s]-[0]-[run-%d] ----------- ", at.Format(logTime), q.handler, q.logID)
	return head + "job execute " + what + " -----------\n" + head + detail + "\n"
}

func (q *quietLog) text() string { return q.opening() + q.closing() }

// day names the folder of the log's file.
func (q *quietLog) day() string { return dayOf(q.triggered) }

// begin sets the lines that open the log of a run that starts now. One that waits has none: it has not started.
func (l *runLog) begin(now time.Time, param string) {
	const mostParam = 2000
	param = l.mask.text(param) // before it is cut: a part of a secret would not be found
	if len(param) > mostParam {
		param = strings.ToValidUTF8(param[:mostParam], "") + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.param = now, param
}

// logTime is the form of the time that opens a line; existing tools read it.
const logTime = "2006-01-02 15:04:05"

// line writes one line: time, where in the program, which run, and the text.
func (l *runLog) line(now time.Time, pc uintptr, text string) {
	var b strings.Builder
	b.Grow(len(text) + 80)
	b.WriteString(now.Format(logTime))
	b.WriteString(" [")
	source, number := "-", 0
	if pc != 0 {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		source, number = filepath.Base(frame.File), frame.Line
	}
	b.WriteString(source)
	b.WriteString("]-[")
	b.WriteString(strconv.Itoa(number))
	b.WriteString("]-[run-")
	b.WriteString(strconv.FormatInt(l.logID, 10))
	b.WriteString("] ")
	b.WriteString(strings.TrimRight(text, "\r\n"))
	b.WriteByte('\n')
	_, _ = l.Write([]byte(b.String()))
}

// Write appends p as it is. It never returns an error; see [Run.Write].
func (l *runLog) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	written := len(p)
	if p = l.mask.next(p); len(p) == 0 {
		return written, nil
	}
	l.say(p)
	return written, nil
}

// say appends what people may read, as far as there is room. The caller holds mu.
func (l *runLog) say(p []byte) {
	switch {
	case l.full || l.closed:
	case l.size+int64(len(p)) > l.maxBytes:
		l.full = true
		kept := p[:max(0, l.maxBytes-l.size)]
		l.append(fmt.Appendf(kept[:len(kept):len(kept)], "\n%s [-]-[0]-[run-%d] log truncated: it reached %d bytes\n",
			time.Now().Format(logTime), l.logID, l.maxBytes))
	default:
		l.append(p)
	}
}

// append writes p, and before it what the log consisted of if it is the first. The caller holds mu.
func (l *runLog) append(p []byte) {
	if l.file == nil {
		file, err := l.store.create(l.day(), l.logID)
		if err != nil {
			l.failed(err)
			return
		}
		l.file = file
		l.store.speaks(l.logID)
		if info, err := file.Stat(); err == nil {
			l.size = info.Size() // a resumed run goes on in its file
		}
		p = append([]byte(l.quietLog.text()), p...)
	}
	n, err := l.store.write(l.file, p)
	l.size += int64(n)
	if err != nil {
		l.failed(err)
	}
}

// failed remembers that something could not be written, and tells it the first time. The next line is tried again: a
// disk may have room again.
func (l *runLog) failed(err error) {
	l.lost++
	if l.first == nil {
		l.first = err
		if l.onTrouble != nil {
			l.onTrouble(err)
		}
	}
}

// trouble says what is missing from the log, or nothing.
func (l *runLog) trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		return ""
	}
	var path *os.PathError
	reason := l.first
	if errors.As(reason, &path) { // the path says nothing to the reader of a result
		reason = path.Err
	}
	return fmt.Sprintf("[the run log is incomplete: %v]", reason)
}

// end is finish, and says what is missing from the log. It waits no longer than [safeWithin]: a disk may hang, and the result must not.
func (l *runLog) end(now time.Time, code int, msg string) string {
	if l.mu.TryLock() {
		quiet := l.file == nil && l.first == nil && l.mask == nil
		if quiet {
			l.decided(now, code, msg)
		}
		l.mu.Unlock()
		if quiet {
			l.ending.Done()
			return ""
		}
	}
	trouble := make(chan string, 1)
	go func() {
		defer l.ending.Done()
		l.finish(now, code, msg)
		trouble <- l.trouble()
	}()
	limit := time.NewTimer(safeWithin)
	defer limit.Stop()
	select {
	case t := <-trouble:
		return t
	case <-limit.C:
		return "[the run log is incomplete: the disk does not answer]"
	}
}

// finish writes the closing lines, beyond the size limit if need be. A handler that goes on nevertheless may still write
// after them.
func (l *runLog) finish(now time.Time, code int, msg string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rest := l.mask.rest(); rest != nil {
		l.say(append(rest, '\n'))
	}
	l.decided(now, code, l.mask.text(msg))
	switch {
	case l.closed:
	case l.file != nil:
		l.append([]byte(l.closing()))
	case l.first != nil:
		l.append(nil)
	}
}

// decided notes what the closing lines say. The caller holds mu.
func (l *runLog) decided(now time.Time, code int, msg string) {
	l.ended, l.code, l.msg = now, code, msg
}

// close ends the log; nothing can be written any more.
func (l *runLog) close() {
	l.ending.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if rest := l.mask.rest(); rest != nil {
		l.say(rest)
	}
	l.closed = true
	if l.file != nil {
		_ = l.file.Close()
		return
	}
	if l.first == nil {
		quiet := l.quietLog
		l.store.quiet(&quiet)
	}
}

// text is the whole log of a run that has no file (yet), and whether there is one.
func (l *runLog) text() (text string, hasFile bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quietLog.text(), l.file != nil
}

// logHandler writes slog records to a run log.
type logHandler struct {
	log    *runLog
	prefix string // of attribute names, from groups
	attrs  string // already written attributes
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if r.Level != slog.LevelInfo {
		b.WriteString(r.Level.String())
		b.WriteByte(' ')
	}
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.prefix, a)
		return true
	})
	at := r.Time
	if at.IsZero() {
		at = time.Now()
	}
	h.log.line(at, r.PC, b.String())
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		appendAttr(&b, h.prefix, a)
	}
	return &logHandler{log: h.log, prefix: h.prefix, attrs: b.String()}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{log: h.log, prefix: h.prefix + name + ".", attrs: h.attrs}
}

func appendAttr(b *strings.Builder, prefix string, a slog.Attr) {
	value := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return
	}
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range value.Group() {
			appendAttr(b, prefix, inner)
		}
		return
	}
	text := value.String()
	if strings.ContainsAny(text, " \t\n\"=") || text == "" {
		text = strconv.Quote(text)
	}
	b.WriteByte(' ')
	b.WriteString(prefix + a.Key)
	b.WriteByte('=')
	b.WriteString(text)
}
