package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Excerpt is the beginning and the end of an output, in whole lines, and what is known of all of it. The zero value with a budget is that
// of an empty one. Executors make it of what they push, and admins of what they copy, so that both keep the same.
type Excerpt struct {
	Budget     int // of bytes
	Head, Tail []byte
	HeadLines  int
	TailLines  int
	Lines      int // of the whole output, as far as it was read
	Faults     int // of these, those that tell of an error
}

// lineCut ends a line that is longer than its share.
const lineCut = "… (line cut)"

// share is how much of a line is kept.
func (x *Excerpt) share() int { return x.Budget / 4 }

// Add takes the next line, without its end.
func (x *Excerpt) Add(line []byte) {
	x.Lines++
	if isFault(line) {
		x.Faults++
	}
	half := x.Budget / 2
	if most := x.share(); len(line) > most {
		for most > 0 && !utf8.RuneStart(line[most]) {
			most--
		}
		line = append(slices.Clone(line[:most]), lineCut...)
	}
	if x.TailLines == 0 && x.Lines-1 == x.HeadLines && len(x.Head)+len(line)+1 <= half {
		x.Head = append(append(x.Head, line...), '\n')
		x.HeadLines++
		return
	}
	x.Tail = append(append(x.Tail, line...), '\n')
	x.TailLines++
	if len(x.Tail) > 2*half {
		x.End()
	}
}

// Skip takes lines that are not there, with how many of them tell of an error. What is kept before them is the beginning only: the end follows.
func (x *Excerpt) Skip(lines, faults int) {
	if lines > 0 {
		x.Tail, x.TailLines = x.Tail[:0], 0
	}
	x.Lines += lines
	x.Faults += faults
}

// End drops the lines of the tail that do not fit: those of an output that fits as a whole do. More may come nevertheless.
func (x *Excerpt) End() {
	over := len(x.Head) + len(x.Tail) - x.Budget
	if over <= 0 {
		return
	}
	end := bytes.IndexByte(x.Tail[over-1:], '\n') // a line ends there at the latest
	cut := over + end
	x.TailLines -= bytes.Count(x.Tail[:cut], []byte{'\n'})
	x.Tail = append(x.Tail[:0], x.Tail[cut:]...)
}

// Text is what is kept.
func (x *Excerpt) Text() []byte {
	x.End()
	return append(slices.Clone(x.Head), x.Tail...)
}

// Size is how many bytes are held.
func (x *Excerpt) Size() int { return len(x.Head) + len(x.Tail) }

// Left is how many lines are missing between the beginning and the end.
func (x *Excerpt) Left() int { return x.Lines - x.HeadLines - x.TailLines }

// isFault says whether a line tells of an error: by the word that loggers write, or the name of an exception.
func isFault(line []byte) bool {
	return bytes.Contains(line, []byte("ERROR")) || bytes.Contains(line, []byte("xception")) || bytes.Contains(line, []byte("EXCEPTION"))
}
