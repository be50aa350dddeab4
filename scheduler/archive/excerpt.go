package archive

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
)

// excerpt is the beginning and the end of an output, in whole lines, and what is known of all of it. The zero value with a budget is that
// of an empty one.
type excerpt struct {
	budget     int // of bytes
	head, tail []byte
	headLines  int
	tailLines  int
	lines      int // of the whole output, as far as it was read
	faults     int // of these, those that tell of an error
}

// lineCut ends a line that is longer than its share.
const lineCut = "… (line cut)"

// add takes the next line, without its end.
func (x *excerpt) add(line []byte) {
	x.lines++
	if isFault(line) {
		x.faults++
	}
	half := x.budget / 2
	if most := half / 2; len(line) > most {
		for most > 0 && !utf8.RuneStart(line[most]) {
			most--
		}
		line = append(slices.Clone(line[:most]), lineCut...)
	}
	if x.tailLines == 0 && x.lines-1 == x.headLines && len(x.head)+len(line)+1 <= half {
		x.head = append(append(x.head, line...), '\n')
		x.headLines++
		return
	}
	x.tail = append(append(x.tail, line...), '\n')
	x.tailLines++
	if len(x.tail) > 2*half {
		x.trim()
	}
}

// trim drops the lines of the tail that do not fit.
func (x *excerpt) trim() {
	over := len(x.tail) - x.budget/2
	if over <= 0 {
		return
	}
	end := bytes.IndexByte(x.tail[over-1:], '\n') // a line ends there at the latest
	cut := over + end
	x.tailLines -= bytes.Count(x.tail[:cut], []byte{'\n'})
	x.tail = append(x.tail[:0], x.tail[cut:]...)
}

// text is what is kept.
func (x *excerpt) text() []byte {
	x.trim()
	return append(slices.Clone(x.head), x.tail...)
}

func (x *excerpt) size() int { return len(x.head) + len(x.tail) }

// left is how many lines are missing between the beginning and the end.
func (x *excerpt) left() int { return x.lines - x.headLines - x.tailLines }

// describe notes in a row what is kept.
func (x *excerpt) describe(row *db.Output) {
	x.trim()
	row.TextSize, row.HeadSize = int64(x.size()), int64(len(x.head))
	row.HeadLines, row.LeftLines, row.TailLines, row.Faults = int64(x.headLines), int64(x.left()), int64(x.tailLines), int64(x.faults)
}

// excerptOf is that of a row and its text, to go on with.
func excerptOf(row *db.Output, text []byte, budget int) *excerpt {
	head := min(int(row.HeadSize), len(text))
	return &excerpt{
		budget: budget, head: slices.Clone(text[:head]), tail: slices.Clone(text[head:]), headLines: int(row.HeadLines), tailLines: int(row.TailLines),
		lines: int(row.HeadLines + row.LeftLines + row.TailLines), faults: int(row.Faults),
	}
}

// isFault says whether a line tells of an error: by the word that loggers write, or the name of an exception.
func isFault(line []byte) bool {
	return bytes.Contains(line, []byte("ERROR")) || bytes.Contains(line, []byte("xception")) || bytes.Contains(line, []byte("EXCEPTION"))
}
