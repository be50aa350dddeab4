package executor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The journal's file: a magic line, then records of {length, CRC-32C, kind, body}. There is one file at a time; its
// successor begins with a snapshot and takes its place by a rename, so that an older file never counts once a newer one
// exists. See journal.go for what the records mean.
const (
	journalMagic  = "punctual journal 1\n"
	journalSuffix = ".journal"
	recordHeader  = 8
	maxRecord     = 16 << 20
)

type recordKind byte

const (
	recordAccepted recordKind = iota + 1 // log id, trigger time, the body of the request; will wait in a queue
	recordBegun                          // the same, of a run that begins at once
	recordStarted                        // log id
	recordFinished                       // log id, the callback as JSON
	recordAcked                          // log ids
	recordSeen                           // key, latest, bits of a block of [seen]
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends a record whose body is made of parts.
func appendRecord(dst []byte, kind recordKind, parts ...[]byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	for _, part := range parts {
		dst = append(dst, part...)
	}
	payload := dst[start+recordHeader:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(payload, castagnoli))
	return dst
}

func appendID(dst []byte, id int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(id)) }

func readID(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

var errNoJournal = errors.New("not a journal file")

// readRecords calls each for every whole record and returns how far they reach. What follows, a record cut short by a
// crash or a full disk, was never acknowledged to anybody and is dropped.
func readRecords(file io.Reader, each func(kind recordKind, body []byte) error) (size int64, err error) {
	magic := make([]byte, len(journalMagic))
	if _, err := io.ReadFull(file, magic); err != nil || string(magic) != journalMagic {
		return 0, errNoJournal
	}
	size = int64(len(journalMagic))
	header := make([]byte, recordHeader)
	var payload []byte
	for {
		if _, err := io.ReadFull(file, header); err != nil {
			return size, ignoreEOF(err)
		}
		length := binary.LittleEndian.Uint32(header)
		if length == 0 || length > maxRecord {
			return size, nil
		}
		payload = slices.Grow(payload[:0], int(length))[:length]
		if _, err := io.ReadFull(file, payload); err != nil {
			return size, ignoreEOF(err)
		}
		if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
			return size, nil
		}
		if err := each(recordKind(payload[0]), payload[1:]); err != nil {
			return size, err
		}
		size += recordHeader + int64(length)
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// journalFiles lists the finished journal files of dir by age, and removes half-made ones.
func journalFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasSuffix(name, journalSuffix):
			names = append(names, name)
		case strings.HasSuffix(name, journalSuffix+".tmp"):
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// memoryBegan is when the first journal of dir was made, which is noted there. New says that this is now. What cannot be read, or noted,
// began just now as well: less is promised then than is known.
func memoryBegan(dir string, anew bool) time.Time {
	file, now := filepath.Join(dir, "since"), time.Now()
	if text, err := os.ReadFile(file); err == nil && !anew {
		if at, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return time.UnixMilli(at)
		}
	}
	if err := os.WriteFile(file, strconv.AppendInt(nil, now.UnixMilli(), 10), 0o600); err != nil {
		_ = os.Remove(file)
	}
	return now
}

func journalName(number int) string { return fmt.Sprintf("%012d%s", number, journalSuffix) }

// syncDir makes a rename in dir lasting.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
