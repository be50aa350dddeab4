package executor

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// logStore holds the run-log files of an executor. All are opened through one folder, since their names come from
// outside.
type logStore struct {
	root     *folder // {DataDir}/logs
	maxBytes int64
	logger   *slog.Logger
	marks    bookmarks

	// write is os.File.Write; a test puts a full disk in its place.
	write func(*os.File, []byte) (int, error)

	mu      sync.Mutex
	days    map[string]bool // folders that exist
	memo    map[int64]*quietLog
	order   []int64 // keys of memo, a ring
	next    int
	unfiled []*quietLog // that will have files
	filer   *time.Timer // makes the next one; nil when there is none to make
	closed  bool
	filing  sync.Mutex // held while one is made
}

const (
	quietKept = 16 << 10 // logs of quiet runs kept in memory, about 5 MB
	// A file is made for quiet runs every quietEvery, and so many wait for theirs at most: enough for every ordinary installation. Neither
	// a core nor the inodes of a disk are used up at full load, and where many runs come at once, their requests do not wait for
	// the file system.
	quietEvery   = 20 * time.Millisecond
	quietUnfiled = 100
)

func openLogStore(dir string, maxBytes int64, logger *slog.Logger) (*logStore, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir) // scripts get to know their file's name
	if err != nil {
		return nil, err
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	return &logStore{
		root: root, maxBytes: maxBytes, logger: logger, write: (*os.File).Write,
		days: make(map[string]bool), memo: make(map[int64]*quietLog), marks: bookmarks{limit: 512},
	}, nil
}

// close makes the files that are still to be made, and lets go of the folder.
func (s *logStore) close() {
	s.mu.Lock()
	s.closed = true
	if s.filer != nil {
		s.filer.Stop()
	}
	s.mu.Unlock()
	s.file(quietUnfiled)
	_ = s.root.Close()
}

// open makes the log of a run. Nothing touches the disk before the first line.
func (s *logStore) open(logID int64, triggered time.Time) *runLog {
	return &runLog{store: s, quietLog: quietLog{logID: logID, triggered: triggered}, maxBytes: s.maxBytes,
		onTrouble: func(err error) {
			s.logger.Error("run log cannot be written", "log_id", logID, "error", err)
		}}
}

// dayOf names the folder of a run triggered at t, in the executor's zone.
func dayOf(t time.Time) string { return t.Format(time.DateOnly) }

// noonOf is the middle of t's day, from which days are counted: no zone's clocks leap over a noon.
func noonOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, t.Location())
}

func logName(day string, logID int64) string {
	return path.Join(day, strconv.FormatInt(logID, 10)+".log")
}

// create opens a run's file for appending.
func (s *logStore) create(day string, logID int64) (*os.File, error) {
	s.mu.Lock()
	known := s.days[day]
	s.mu.Unlock()
	if !known {
		if err := s.makeDay(day); err != nil {
			return nil, err
		}
	}
	const flags = os.O_CREATE | os.O_APPEND | os.O_WRONLY
	file, err := s.root.OpenFile(logName(day, logID), flags, 0o640)
	if errors.Is(err, fs.ErrNotExist) { // the folder was removed behind our back
		if err = s.makeDay(day); err == nil {
			file, err = s.root.OpenFile(logName(day, logID), flags, 0o640)
		}
	}
	return file, err
}

func (s *logStore) makeDay(day string) error {
	if err := s.root.Mkdir(day, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.mu.Lock()
	s.days[day] = true
	s.mu.Unlock()
	return nil
}

// quiet keeps the log of a run that wrote nothing: in memory, and as long as not too many wait for one, soon in a file.
func (s *logStore) quiet(q *quietLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) < quietKept {
		s.order = append(s.order, q.logID)
	} else {
		delete(s.memo, s.order[s.next])
		s.order[s.next] = q.logID
		s.next = (s.next + 1) % quietKept
	}
	s.memo[q.logID] = q
	if s.closed || len(s.unfiled) == quietUnfiled {
		return
	}
	s.unfiled = append(s.unfiled, q)
	if s.filer == nil {
		s.filer = time.AfterFunc(quietEvery, s.fileNext)
	}
}

// fileNext makes the file of the quiet run that has waited longest.
func (s *logStore) fileNext() {
	s.file(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filer = nil; len(s.unfiled) > 0 && !s.closed {
		s.filer = time.AfterFunc(quietEvery, s.fileNext)
	}
}

// file makes the files of at most n quiet runs. That one cannot be made is no trouble: nobody misses these lines enough.
func (s *logStore) file(n int) {
	s.filing.Lock()
	defer s.filing.Unlock()
	s.mu.Lock()
	n = min(n, len(s.unfiled))
	now := s.unfiled[:n:n]
	s.unfiled = s.unfiled[n:]
	now = slices.DeleteFunc(now, func(q *quietLog) bool { return s.memo[q.logID] != q })
	s.mu.Unlock()
	for _, q := range now {
		file, err := s.create(q.day(), q.logID)
		if err != nil {
			continue
		}
		_, _ = s.write(file, []byte(q.text()))
		_ = file.Close()
	}
}

// speaks forgets a quiet run of the same number: an admin whose database was made anew counts from 1 again.
func (s *logStore) speaks(logID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.memo, logID)
}

// remembered is the text of a quiet run of late. It is the same as in its file, which may be half written.
func (s *logStore) remembered(logID int64) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.memo[logID]
	if !ok {
		return "", false
	}
	return q.text(), true
}

// find opens the file of a run. The admin asks with a time from its database, which may be rounded or of another zone,
// so the neighbouring days are tried too.
func (s *logStore) find(logID int64, triggered time.Time) (*os.File, error) {
	noon := noonOf(triggered) // a midnight may be one that the zone's clocks leap over, which Go takes for an hour of the day before
	for _, offset := range []int{0, -1, 1} {
		file, err := s.root.Open(logName(dayOf(noon.AddDate(0, 0, offset)), logID))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, fs.ErrNotExist
}

// clean removes the folders of days more than days ago and returns how many.
func (s *logStore) clean(now time.Time, days int) (int, error) {
	dir, err := s.root.Open(".")
	if err != nil {
		return 0, err
	}
	entries, err := dir.ReadDir(-1)
	_ = dir.Close()
	if err != nil {
		return 0, err
	}
	removed := 0
	var errs []error
	for _, entry := range entries {
		_, err := time.Parse(time.DateOnly, entry.Name())
		if err != nil || !entry.IsDir() || entry.Name() >= dayOf(noonOf(now).AddDate(0, 0, -days)) {
			continue
		}
		s.mu.Lock()
		delete(s.days, entry.Name())
		s.mu.Unlock()
		if err := s.root.RemoveAll(entry.Name()); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// oneLine keeps a parameter from breaking the opening lines into more.
func oneLine(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎")
