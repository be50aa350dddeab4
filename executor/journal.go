package executor

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// journal is the executor's memory across restarts: which runs were accepted, begun, finished and acknowledged.
//
// Records are appended to a buffer; one goroutine writes and syncs whatever has gathered, so that under load one sync
// serves many runs. Whoever needs a record to be safe waits for its [commit]. When the file has grown well beyond what is
// still alive, a new one is written that begins with the living (see journalfile.go).
type journal struct {
	dir    string
	logger *slog.Logger
	sync   bool
	// writeAt is os.File.WriteAt; a test puts a full disk in its place.
	writeAt func(f *os.File, p []byte, offset int64) (int, error)

	kick chan struct{} // holds one: there is something to write
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	live    map[int64]*journalEntry
	seen    *seen
	pending []byte
	spare   []byte  // the other of the two buffers that take turns
	accepts []int64 // ids accepted in pending, to be taken back if it cannot be written
	next    *commit
	closed  bool

	// Touched only by the goroutine that writes (and before it runs).
	file     *os.File
	number   int
	size     int64 // good bytes in file
	room     int64 // bytes of file that exist, zeros behind the good ones
	snapshot int64 // bytes of the snapshot the file began with
	broken   bool  // the file lacks records; only a new one, beginning with a snapshot, can be trusted
	failedAt time.Time
	lastErr  error
}

// journalEntry is what the journal knows of a run that is not over.
type journalEntry struct {
	body    []byte // of the request, until the run is finished
	started bool
	result  *wire.Callback
	raw     []byte // the result as read, until everything is read: most are acknowledged further on
	// triggered is the run's trigger time, epoch milliseconds.
	triggered int64
}

// commit is done when the records appended before it are safe, or when that failed.
type commit struct {
	done chan struct{}
	err  error // valid after done
}

func (c *commit) wait() error {
	<-c.done
	return c.err
}

const (
	compactAtStart = 4 << 20  // a file beyond this is made small at the start, so that the next start is quick
	rotateAfter    = 64 << 20 // how much a file may grow beyond twice its snapshot
	// roomAhead is written as zeros before it is needed. A sync then only has to bring data to the disk, and not the
	// file's new length, for which the file system would have to commit everything that others have changed.
	roomAhead = 4 << 20
)

var errJournalClosed = errors.New("the executor is closed")

// openJournal reads the journal in dir, or begins one. Afterwards j.live and j.seen tell what was going on.
func openJournal(dir string, sync bool, logger *slog.Logger) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &journal{
		dir: dir, logger: logger, sync: sync, writeAt: (*os.File).WriteAt,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		live: make(map[int64]*journalEntry), seen: newSeen(seenBlocks),
		next: &commit{done: make(chan struct{})},
	}
	names, err := journalFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return j, j.rotate()
	}
	newest := names[len(names)-1]
	if j.number, err = strconv.Atoi(strings.TrimSuffix(newest, journalSuffix)); err != nil {
		return nil, fmt.Errorf("journal file %s: %w", newest, err)
	}
	if err := j.load(filepath.Join(dir, newest)); err != nil {
		return nil, fmt.Errorf("journal file %s: %w", newest, err)
	}
	for _, old := range names[:len(names)-1] {
		_ = os.Remove(filepath.Join(dir, old))
	}
	if j.size > compactAtStart {
		if err := j.rotate(); err != nil { // the file that is there does as well
			j.logger.Warn("compact journal", "error", err)
		}
	}
	return j, nil
}

// load reads path and goes on writing where its good records end.
func (j *journal) load(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	size, err := readRecords(bufio.NewReaderSize(file, 1<<20), j.replay)
	for id, entry := range j.live {
		if err == nil && entry.raw != nil {
			err = entry.decode(id)
		}
	}
	if err == nil {
		err = file.Truncate(size)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	j.file, j.size, j.room = file, size, size
	return nil
}

// replay applies one record.
func (j *journal) replay(kind recordKind, body []byte) error {
	if len(body) < 8 || (kind == recordAcked && len(body)%8 != 0) || (len(body) < 16 && (kind == recordAccepted || kind == recordBegun)) {
		return fmt.Errorf("record of kind %d has %d bytes", kind, len(body))
	}
	id := readID(body)
	switch kind {
	case recordAccepted, recordBegun:
		entry := &journalEntry{triggered: readID(body[8:]), body: bytes.Clone(body[16:]), started: kind == recordBegun}
		j.live[id] = entry
		j.seen.add(id, entry.triggered)
	case recordStarted:
		if entry := j.live[id]; entry != nil {
			entry.started = true
		}
	case recordFinished:
		j.live[id] = &journalEntry{started: true, raw: bytes.Clone(body[8:])}
	case recordAcked:
		for ; len(body) >= 8; body = body[8:] {
			delete(j.live, readID(body))
		}
	case recordSeen:
		b := new(seenBlock)
		if len(body) != 16+8*len(b.bits) {
			return fmt.Errorf("block of ids has %d bytes", len(body))
		}
		b.latest = readID(body[8:])
		for i := range b.bits {
			b.bits[i] = binary.LittleEndian.Uint64(body[16+8*i:])
		}
		j.seen.restore(id, b)
	default:
		return fmt.Errorf("record of unknown kind %d", kind)
	}
	return nil
}

// decode reads the result that was found.
func (e *journalEntry) decode(id int64) error {
	e.result = new(wire.Callback)
	if err := json.Unmarshal(e.raw, e.result); err != nil {
		return fmt.Errorf("result of run %d: %w", id, err)
	}
	e.raw = nil
	return nil
}

// accept records a run. begins says that it does not wait for another one.
func (j *journal) accept(logID, triggered int64, body []byte, begins bool) *commit {
	j.mu.Lock()
	defer j.mu.Unlock()
	kind := recordAccepted
	if begins {
		kind = recordBegun
	}
	var key [16]byte
	j.live[logID] = &journalEntry{body: body, started: begins, triggered: triggered}
	j.accepts = append(j.accepts, logID)
	return j.append(kind, appendID(appendID(key[:0], logID), triggered), body)
}

// started records that a run which waited has begun.
func (j *journal) started(logID int64) *commit {
	j.mu.Lock()
	defer j.mu.Unlock()
	if entry := j.live[logID]; entry != nil {
		entry.started = true
	}
	var id [8]byte
	return j.append(recordStarted, appendID(id[:0], logID))
}

// finished records a result. It is kept until [journal.acknowledged].
func (j *journal) finished(cb *wire.Callback) *commit {
	body, err := json.Marshal(cb)
	if err != nil { // numbers and text always encode
		j.logger.Error("encode result", "log_id", cb.LogID, "error", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live[cb.LogID] = &journalEntry{started: true, result: cb}
	var id [8]byte
	return j.append(recordFinished, appendID(id[:0], cb.LogID), body)
}

// acknowledged records that an admin has these results. Nobody waits for it: losing it means sending them again.
func (j *journal) acknowledged(callbacks []*wire.Callback) {
	ids := make([]byte, 0, 8*len(callbacks))
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, cb := range callbacks {
		ids = appendID(ids, cb.LogID)
		delete(j.live, cb.LogID)
	}
	j.append(recordAcked, ids)
}

// append adds a record to the buffer. The caller holds mu.
func (j *journal) append(kind recordKind, parts ...[]byte) *commit {
	if j.closed {
		c := &commit{done: make(chan struct{}), err: errJournalClosed}
		close(c.done)
		return c
	}
	j.pending = appendRecord(j.pending, kind, parts...)
	select {
	case j.kick <- struct{}{}:
	default:
	}
	return j.next
}

// run writes what is appended until close.
func (j *journal) run() {
	defer close(j.done)
	for {
		select {
		case <-j.kick:
			j.flush()
		case <-j.quit:
			j.flush()
			if err := j.file.Close(); err != nil {
				j.logger.Error("close journal", "error", err)
			}
			return
		}
	}
}

// close writes what is left. Later records fail.
func (j *journal) close() {
	j.mu.Lock()
	already := j.closed
	j.closed = true
	j.mu.Unlock()
	if !already {
		close(j.quit)
	}
	<-j.done
}

// flush makes everything appended so far safe and tells those who wait.
func (j *journal) flush() {
	j.mu.Lock()
	batch, accepts, c := j.pending, j.accepts, j.next
	if len(batch) == 0 {
		j.mu.Unlock()
		return
	}
	j.pending, j.accepts, j.next = j.spare[:0], nil, &commit{done: make(chan struct{})}
	j.spare = nil
	j.mu.Unlock()

	err := j.store(batch)

	j.mu.Lock()
	if cap(batch) <= 4<<20 {
		j.spare = batch[:0]
	}
	if err != nil {
		// These runs are refused. They must not come back with the next snapshot.
		for _, id := range accepts {
			if entry := j.live[id]; entry != nil && entry.result == nil {
				delete(j.live, id)
			}
		}
	}
	j.mu.Unlock()
	c.err = err
	close(c.done)
}

// store writes a batch. After a failure the file lacks records, though what they did to the state in memory stands, so
// the way back is a new file with a snapshot; it is tried at most once a second.
func (j *journal) store(batch []byte) error {
	if j.broken {
		if time.Since(j.failedAt) < time.Second {
			return j.lastErr
		}
		// The snapshot is taken after this batch was applied to the state, so it contains the batch.
		return j.noteFailure(j.rotate())
	}
	if j.size > rotateAfter+2*j.snapshot {
		return j.noteFailure(j.rotate())
	}
	j.extend(int64(len(batch)))
	_, err := j.writeAt(j.file, batch, j.size)
	if err == nil && j.sync {
		err = syncData(j.file)
	}
	if err != nil {
		j.broken = true
		_ = j.file.Truncate(j.size) // these records are refused, so none of them may be found
		return j.noteFailure(err)
	}
	j.size += int64(len(batch))
	return nil
}

// extend makes room for n more bytes, and some ahead. Zeros are no record, so a reader stops at them. On a disk without
// that much room the file simply grows with each batch.
func (j *journal) extend(n int64) {
	if !j.sync || j.size+n <= j.room {
		return
	}
	n += roomAhead
	if _, err := j.writeAt(j.file, make([]byte, n), j.size); err != nil {
		_ = j.file.Truncate(j.size)
		n = 0
	}
	j.room = j.size + n
}

func (j *journal) noteFailure(err error) error {
	if err != nil {
		if !j.broken || j.lastErr == nil || time.Since(j.failedAt) > time.Minute {
			j.logger.Error("journal cannot be written", "error", err)
		}
		j.broken, j.failedAt, j.lastErr = true, time.Now(), err
		return err
	}
	if j.lastErr != nil {
		j.logger.Info("journal can be written again")
	}
	j.broken, j.lastErr = false, nil
	return nil
}

// rotate begins a new file with a snapshot of the state and removes the old one.
func (j *journal) rotate() error {
	image := []byte(journalMagic)
	j.mu.Lock()
	j.seen.each(func(key int64, b *seenBlock) {
		body := appendID(appendID(make([]byte, 0, 16+8*len(b.bits)), key), b.latest)
		for _, word := range b.bits {
			body = binary.LittleEndian.AppendUint64(body, word)
		}
		image = appendRecord(image, recordSeen, body)
	})
	ids := make([]int64, 0, len(j.live))
	for id := range j.live {
		ids = append(ids, id)
	}
	slices.Sort(ids) // runs are resumed in the order they came
	for _, id := range ids {
		image = j.live[id].appendTo(image, id)
	}
	j.mu.Unlock()

	name := filepath.Join(j.dir, journalName(j.number+1))
	file, err := j.create(name+".tmp", image)
	if err != nil {
		_ = os.Remove(name + ".tmp")
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		_ = file.Close()
		return err
	}
	if j.sync {
		if err := syncDir(j.dir); err != nil {
			j.logger.Warn("sync journal folder", "error", err)
		}
	}
	if j.file != nil {
		_ = j.file.Close()
		_ = os.Remove(filepath.Join(j.dir, journalName(j.number)))
	}
	j.number++
	j.file, j.size, j.room, j.snapshot = file, int64(len(image)), int64(len(image)), int64(len(image))
	return nil
}

func (j *journal) create(name string, image []byte) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = j.writeAt(file, image, 0); err == nil && j.sync {
		err = file.Sync()
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// appendTo appends the record that brings e back.
func (e *journalEntry) appendTo(dst []byte, id int64) []byte {
	key := appendID(nil, id)
	switch {
	case e.result != nil:
		body, err := json.Marshal(e.result)
		if err != nil { // numbers and text always encode
			return dst
		}
		return appendRecord(dst, recordFinished, key, body)
	case e.started:
		return appendRecord(dst, recordBegun, appendID(key, e.triggered), e.body)
	}
	return appendRecord(dst, recordAccepted, appendID(key, e.triggered), e.body)
}
