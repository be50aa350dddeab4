package archive

import (
	"bytes"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

type excerpt = wire.Excerpt

// addText takes the lines of a piece of output.
func addText(x *excerpt, text string) {
	if x.Lines == 0 {
		x.Head = make([]byte, 0, min(len(text)+1, x.Budget/2))
	}
	for line := range bytes.Lines([]byte(text)) {
		x.Add(bytes.TrimRight(line, "\r\n"))
	}
}

// describe notes in a row what is kept.
func describe(x *excerpt, row *db.Output) {
	x.End()
	row.TextSize, row.HeadSize = int64(x.Size()), int64(len(x.Head))
	row.HeadLines, row.LeftLines, row.TailLines, row.Faults = int64(x.HeadLines), int64(x.Left()), int64(x.TailLines), int64(x.Faults)
}

// excerptOf is that of a row and its text, to go on with.
func excerptOf(row *db.Output, text []byte, budget int) *excerpt {
	head := min(int(row.HeadSize), len(text))
	return &excerpt{
		Budget: budget, Head: slices.Clone(text[:head]), Tail: slices.Clone(text[head:]), HeadLines: int(row.HeadLines), TailLines: int(row.TailLines),
		Lines: int(row.HeadLines + row.LeftLines + row.TailLines), Faults: int(row.Faults),
	}
}
