package executor

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// store writes a batch. After a failure the file lacks records, though what they did to the state in memory stands, so
// the way back is a new file with a snapshot; it is tried once in mendAfter, and at the end.
func (j *journal) store(b *batch) error {
	if j.broken {
		if time.Since(j.failedAt) < mendAfter {
			return j.lastErr
		}
		// The snapshot is taken after this batch was applied to the state, so it contains the batch.
		return j.noteFailure(j.rotate(b))
	}
	if j.size > rotateAfter+2*j.snapshot && time.Since(j.failedAt) >= mendAfter {
		err := j.rotate(b)
		if err == nil {
			return j.noteFailure(nil)
		}
		// The file that is there lacks nothing yet, and may have room.
		j.failedAt = time.Now()
		j.logger.Warn("compact journal", "error", err)
	}
	j.extend(int64(len(b.records)))
	_, err := j.writeAt(j.file, b.records, j.size)
	if err == nil && j.sync {
		err = syncData(j.file)
	}
	if err != nil {
		j.broken = true
		_ = j.file.Truncate(j.size) // these records are refused, so none of them may be found
		return j.noteFailure(err)
	}
	j.size += int64(len(b.records))
	j.room = max(j.room, j.size)
	return nil
}

// extend makes room for n more bytes, and some ahead, if there has been no quiet moment for that. Zeros are no record, so a reader stops
// at them. On a disk without that much room the file simply grows with each batch.
func (j *journal) extend(n int64) {
	if !j.sync || j.size+n <= j.room {
		return
	}
	j.zeros(j.size + n + roomAhead)
}

// makeRoom makes some of the room ahead, unless somebody waits.
func (j *journal) makeRoom() {
	for j.sync && !j.broken && j.room < j.size+roomAhead && len(j.kick) == 0 {
		if !j.zeros(j.room + roomStep) {
			return
		}
		_ = syncData(j.file) // what fails here fails for the next batch
	}
}

// zeros makes room up to some length of the file.
func (j *journal) zeros(to int64) bool {
	if _, err := j.writeAt(j.file, make([]byte, to-j.room), j.room); err != nil {
		_ = j.file.Truncate(j.room)
		return false
	}
	j.room = to
	return true
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

// rotate begins a new file with a snapshot of the state and removes the old one. What was appended since the batch was taken is in the
// snapshot too, so it becomes part of the batch: refused later, it would come back after a restart.
func (j *journal) rotate(b *batch) error {
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
	if b != nil && len(j.pending) > 0 {
		b.records = append(b.records, j.pending...) // for the file that is there, should there be no new one
		j.pending = j.pending[:0]
		j.join(b)
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
		return appendRecord(dst, recordFinished, key, wire.AppendCallback(nil, e.result))
	case e.started:
		return appendRecord(dst, recordBegun, appendID(key, e.triggered), e.body)
	}
	return appendRecord(dst, recordAccepted, appendID(key, e.triggered), e.body)
}
