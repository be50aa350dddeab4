package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
)

const (
	// firstLines bounds the output that is drawn into the page itself; a stream or the download has the rest.
	firstLines = 5000
	// firstWait bounds how long the page waits for an executor that may be away.
	firstWait = 2 * time.Second
	// downloadLines bounds a download; executors bound a run's log long before.
	downloadLines = 10_000_000
)

func (c *runPages) runDetail(ec echo.Context) error {
	logID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	r, err := c.runs.Get(ctx, p, logID)
	if err != nil {
		return err
	}
	page := runs.DetailPage{Page: c.pageWithFlash(ec)}
	if page.Timeline, err = c.whole(ctx, page.Page, p, r); err != nil {
		return err
	}
	if page.Log.Status = runs.LogNone; page.Timeline.Flow == nil { // its steps have outputs
		page.Log = c.logFrom(ctx, page.Page, r, ec.QueryParam("line"))
	}
	page.Timeline.Cause = page.Log.Cause()
	page.Live = page.Timeline.State.Open() || page.Log.Status == runs.LogLive
	return render(ec, http.StatusOK, runs.Detail(page))
}

// linesAbove is how many lines stand above the one that an address names.
const linesAbove = 200

// logFrom is the output from shortly before a line that the address names; without one, or where there are no lines so far down, from
// its beginning.
func (c *runPages) logFrom(ctx context.Context, page layout.Page, r db.Run, line string) runs.Log {
	if n, err := strconv.Atoi(line); err == nil && n > linesAbove {
		if log := c.firstLog(ctx, page, r, n-linesAbove); len(log.Lines) > 0 {
			return log
		}
	}
	return c.firstLog(ctx, page, r, 1)
}

// firstLog reads a run's output from a line on as far as it goes into the page.
func (c *runPages) firstLog(ctx context.Context, page layout.Page, r db.Run, first int) runs.Log {
	log := runs.Log{Status: runs.LogNone, First: first, Next: first}
	run := c.wholeRecord(r)
	if !run.HasOutput() {
		if r.TriggerCode == 0 {
			log.Status = runs.LogLive
		}
		return log
	}
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	log.Status = runs.LogLive
	for {
		piece, err := c.runs.LogOf(ctx, &r, log.Next)
		if err != nil && ctx.Err() != nil {
			return log // the page's stream has more time for it
		}
		if err != nil {
			if len(log.Lines) == 0 && run.Reported() {
				log.Status = runs.LogUnavailable
			}
			log.Note = unread(page, err, c.runs.CopiesSilent())
			return log
		}
		if piece.Missing() && run.Reported() {
			log.Status = runs.LogMissing
			return log
		}
		if piece.Kept != nil {
			log.Note = c.keptNote(page, piece.Kept)
		}
		if jump := piece.First(log.Next) - log.Next; jump > 0 {
			if len(log.Lines) == 0 {
				log.First += jump
			} else {
				log.JumpAt, log.Jump = len(log.Lines), jump
			}
		}
		lines, next := logLines(piece.LogResult, log.Next)
		log.Lines, log.Next = append(log.Lines, lines...), next
		switch {
		case piece.IsEnd && run.Reported():
			log.Status = runs.LogComplete
			return log
		case len(lines) == 0 || len(log.Lines) >= firstLines:
			return log
		}
	}
}

// unread says why an output cannot be read: an executor that does not answer was asked for nothing else. That there is no copy either may be because
// of their store, where that does not work.
func unread(page layout.Page, err error, silent time.Duration) string {
	why := *problem.From(err)
	if why.Kind == problem.Executor {
		why.Key = "log.unread"
	}
	text := why.Text(page.Printer)
	if silent == 0 {
		return text
	}
	return page.T("list.sentence", "First", page.T("log.unkept", "Late", format.Duration(page.Printer, silent)), "Then", text)
}

// keptNote says that an output is the copy that is kept of it, and what is missing in it.
func (c *runPages) keptNote(page layout.Page, kept *archive.Copy) string {
	at := time.UnixMilli(kept.KeptAt).In(c.timesOf(page)).Format(time.DateTime)
	note := page.T("log.kept", "Time", at)
	if kept.State == db.OutputLive || kept.State == db.OutputDue {
		note = page.T("log.kept.live", "Time", at)
	} else if kept.Interrupted {
		note = page.T("log.kept.part") // it was put aside when nobody hoped any more, minutes after the last line came
	}
	if kept.Left > 0 {
		note = page.T("list.sentence", "First", note, "Then", page.T("log.kept.left", "Count", kept.Left, "N", format.Number(int64(kept.Left))))
	}
	return note
}

// logLines cuts a piece of output into lines and says which line to ask for next. Executors of the newer releases answer
// line 0 when there is nothing new (docs/compat.md §4.14).
func logLines(piece wire.LogResult, from int) (lines []string, next int) {
	if piece.ToLineNum < from || piece.LogContent == "" {
		return nil, from
	}
	lines = strings.Split(strings.TrimSuffix(piece.LogContent, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines, piece.ToLineNum + 1
}

// runLog is a run's output from a line on: lines for the page, or the whole of it as a file.
func (c *runPages) runLog(ec echo.Context) error {
	logID, err := id(ec)
	if err != nil {
		return err
	}
	from, err := strconv.Atoi(ec.QueryParam("from"))
	if err != nil || from < 1 {
		from = 1
	}
	if ec.QueryParam("download") != "" {
		return c.downloadLog(ec, logID, from)
	}
	piece, err := c.runs.ReadLog(ec.Request().Context(), who(ec), logID, from)
	if err != nil {
		return err
	}
	page := runs.LogPage{Page: c.Page(ec), LogID: logID, Log: runs.Log{Status: runs.LogLive, First: piece.First(from)}}
	page.Log.Lines, page.Log.Next = logLines(piece.LogResult, from)
	if piece.IsEnd {
		page.Log.Status = runs.LogComplete
	}
	return render(ec, http.StatusOK, runs.LogChunk(page))
}

// downloadLog writes the output as it comes, so that a long one needs no memory.
func (c *runPages) downloadLog(ec echo.Context, logID int64, from int) error {
	ctx, p := ec.Request().Context(), who(ec)
	w := ec.Response()
	deadline := http.NewResponseController(w)
	for from <= downloadLines {
		piece, err := c.runs.ReadLog(ctx, p, logID, from)
		if err != nil {
			if w.Committed {
				_, err = fmt.Fprintf(w, "\n[%s]\n", problem.From(err).Text(c.Page(ec).Printer))
			}
			return err
		}
		if piece.Missing() && !w.Committed {
			return problem.New(problem.NotFound, "log.empty.missing")
		}
		if !w.Committed {
			w.Header().Set(echo.HeaderContentType, "text/plain; charset=utf-8")
			w.Header().Set(echo.HeaderContentDisposition, `attachment; filename="run-`+strconv.FormatInt(logID, 10)+`.log"`)
			w.WriteHeader(http.StatusOK)
		}
		lines, next := logLines(piece.LogResult, from)
		if len(lines) == 0 {
			return nil
		}
		_ = deadline.SetWriteDeadline(time.Now().Add(live.WriteWait)) // a recorder in a test has none
		if _, err := w.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
			return nil // the browser gave up
		}
		from = next
	}
	return nil
}
