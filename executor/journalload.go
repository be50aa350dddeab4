package executor

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

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
		err = j.drop(file, size)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	j.file, j.size, j.room = file, size, size
	return nil
}

// drop takes from a file what follows its good records. Where that was more than room, it may have been runs that somebody was told are known.
func (j *journal) drop(file *os.File, size int64) error {
	rest := bufio.NewReader(io.NewSectionReader(file, size, math.MaxInt64-size))
	for {
		b, err := rest.ReadByte()
		if errors.Is(err, io.EOF) {
			return file.Truncate(size)
		}
		if err != nil {
			return err
		}
		if b != 0 {
			j.seen.begins(time.Now())
			j.note() // before nothing is to be seen of it any more
			return file.Truncate(size)
		}
	}
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
