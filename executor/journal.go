package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// journal is the executor's memory across restarts: which runs were accepted, begun, finished and acknowledged.
//
// Records are appended to a buffer; one goroutine writes and syncs whatever has gathered, so that under load one sync
// serves many runs. Whoever needs a record to be safe waits for its [commit], which has it written. When the file has grown well beyond what is
// still alive, a new one is written that begins with the living (see journalfile.go; journalload.go reads, journalstore.go writes).
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
	kick chan<- struct{} // of the journal
	done chan struct{}
	err  error // valid after done
}

func (j *journal) newCommit() *commit { return &commit{kick: j.kick, done: make(chan struct{})} }

func (c *commit) wait() error {
	select {
	case <-c.done: // mostly, for those who wait behind others
		return c.err
	default:
	}
	c.begin()
	<-c.done
	return c.err
}

// begin has what was appended so far written, if nobody has yet.
func (c *commit) begin() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// within waits for as long at most. It is false when ctx has ended.
func (c *commit) within(ctx context.Context, d time.Duration) bool {
	select {
	case <-c.done: // mostly
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

const (
	compactAtStart = 4 << 20  // a file beyond this is made small at the start, so that the next start is quick
	rotateAfter    = 64 << 20 // how much a file may grow beyond twice its snapshot
	// roomAhead is written as zeros before it is needed. A sync then only has to bring data to the disk, and not the
	// file's new length, for which the file system would have to commit everything that others have changed. It is made in
	// steps while nobody waits, since who comes meanwhile waits for that too.
	roomAhead = 4 << 20
	roomStep  = 256 << 10
	mendAfter = time.Second // how long a file that lacks records is left alone
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
	}
	j.next = j.newCommit()
	names, err := journalFiles(dir)
	if err != nil {
		return nil, err
	}
	j.seen.begins(time.Now())
	if sync && len(names) > 0 { // or a crash of the machine may have cost it what it knew
		j.seen.reaches(readReach(dir))
	}
	j.note()
	if len(names) == 0 {
		return j, j.rotate(nil)
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
		if err := j.rotate(nil); err != nil { // the file that is there does as well
			j.logger.Warn("compact journal", "error", err)
		}
	}
	return j, nil
}

// accept records a run. begins says that it does not wait for another one. It is written when somebody waits for it: runs that come together
// are written together.
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
	body := wire.AppendCallback(nil, cb)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live[cb.LogID] = &journalEntry{started: true, result: cb}
	var id [8]byte
	c := j.append(recordFinished, appendID(id[:0], cb.LogID), body)
	c.begin()
	return c
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
	j.append(recordAcked, ids).begin()
}

// append adds a record to the buffer. The caller holds mu.
func (j *journal) append(kind recordKind, parts ...[]byte) *commit {
	if j.closed {
		c := j.newCommit()
		c.err = errJournalClosed
		close(c.done)
		return c
	}
	j.pending = appendRecord(j.pending, kind, parts...)
	return j.next
}

// run writes what is appended until close.
func (j *journal) run() {
	defer close(j.done)
	note := time.NewTicker(noteEvery)
	defer note.Stop()
	for {
		var mend <-chan time.Time // what happened before a failure may be all that happens for long
		if j.broken {
			mend = time.After(mendAfter)
		}
		select {
		case <-j.kick:
			j.flush()
			j.makeRoom()
		case <-mend:
			j.mend()
		case <-note.C:
			j.note()
		case <-j.quit:
			j.flush()
			j.note()
			if j.broken {
				j.mend()
			}
			if err := j.file.Close(); err != nil {
				j.logger.Error("close journal", "error", err)
			}
			return
		}
	}
}

// note writes down for how long all is remembered. Without syncs a crash may take some of it, which nobody sees later.
func (j *journal) note() {
	if j.sync {
		writeReach(j.dir, j.seen.reach())
	} else {
		_ = os.Remove(filepath.Join(j.dir, reachName))
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

// batch is what is written together.
type batch struct {
	records []byte
	accepts []int64   // ids accepted in it, to be taken back if it cannot be written
	commits []*commit // of those who wait for it
}

// flush makes everything appended so far safe and tells those who wait.
func (j *journal) flush() {
	if b := j.take(); b != nil {
		j.settle(b, j.store(b))
	}
}

// mend writes the state into a new file. That it cannot is said there.
func (j *journal) mend() {
	b := &batch{}
	j.settle(b, j.noteFailure(j.rotate(b)))
}

// take takes what was appended, nil if nothing was.
func (j *journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) == 0 {
		return nil
	}
	b := &batch{records: j.pending}
	j.pending, j.spare = j.spare[:0], nil
	j.join(b)
	return b
}

// join has those who wait for what was appended wait for a batch. The caller holds mu.
func (j *journal) join(b *batch) {
	b.accepts, b.commits = append(b.accepts, j.accepts...), append(b.commits, j.next)
	j.accepts, j.next = nil, j.newCommit()
}

// settle tells those who wait what became of a batch.
func (j *journal) settle(b *batch, err error) {
	j.mu.Lock()
	if b.records != nil && cap(b.records) <= 4<<20 {
		j.spare = b.records[:0]
	}
	if err != nil {
		// These runs are refused. They must not come back with the next snapshot.
		for _, id := range b.accepts {
			if entry := j.live[id]; entry != nil && entry.result == nil {
				delete(j.live, id)
			}
		}
	}
	j.mu.Unlock()
	for _, c := range b.commits {
		c.err = err
		close(c.done)
	}
}
