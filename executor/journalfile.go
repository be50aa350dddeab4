package executor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// reachName is the file that says, in ms, for how long all that came is remembered. It is counted while the executor runs, and not between two
// moments of a clock that somebody may have set in between: what is promised is less than what is known.
const reachName = "reach"

// noteEvery is how often it is written down. What a kill takes of it is promised later.
const noteEvery = 5 * time.Second

// readReach is what dir says; 0 where it cannot be read, or where that was not written there: a folder that was copied, or brought back from a backup,
// does not know what was asked of the executor meanwhile.
func readReach(dir string) time.Duration {
	file := filepath.Join(dir, reachName)
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	var ms, written int64
	if n, err := fmt.Sscanf(string(text), "%d %d\n", &ms, &written); n != 2 || err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	if written != info.ModTime().UnixNano() || changedAt(info).Sub(info.ModTime()).Abs() > time.Second {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// writeReach writes it down. Where it cannot, nothing is said, so that nothing is promised that another folder knew.
func writeReach(dir string, reach time.Duration) {
	file := filepath.Join(dir, reachName)
	err := stamp(file+".tmp", reach)
	if err == nil {
		err = os.Rename(file+".tmp", file)
	}
	if err != nil {
		_ = os.Remove(file)
	}
}

// stamp writes a file that says when it was written, by its disk: a copy is younger, or has been given the time, which the system notes.
func stamp(file string, reach time.Duration) error {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	at := info.ModTime()
	if err := os.WriteFile(file, fmt.Appendf(nil, "%d %d\n", reach.Milliseconds(), at.UnixNano()), 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, at, at)
}

// changedAt is when the system noted that something about a file was changed, where it says so; else when it was written.
func changedAt(info os.FileInfo) time.Time {
	if stat := reflect.Indirect(reflect.ValueOf(info.Sys())); stat.Kind() == reflect.Struct && stat.CanAddr() {
		for _, name := range [...]string{"Ctim", "Ctimespec"} { // as the one or the other system calls it
			if at := stat.FieldByName(name); at.IsValid() {
				if at, ok := at.Addr().Interface().(interface{ Nano() int64 }); ok {
					return time.Unix(0, at.Nano())
				}
			}
		}
	}
	return info.ModTime()
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
