package console

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/link"
)

// auditExport writes the entries under the page's filter to a file, as they come.
func (c *auditPages) auditExport(ec echo.Context) error {
	w := ec.Response()
	format, kind := link.AuditCSV, "text/csv; charset=utf-8"
	table := csv.NewWriter(w)
	write := func(l auditlog.Line) error { return table.Write(csvCells(l)) }
	if ec.QueryParam(link.FieldAuditFormat) == link.AuditJSONLines {
		format, kind = link.AuditJSONLines, "application/x-ndjson; charset=utf-8"
		write = func(l auditlog.Line) error {
			_, err := w.Write(append(l.JSON(), '\n'))
			return err
		}
	}
	begin := func() error {
		w.Header().Set(echo.HeaderContentType, kind)
		w.Header().Set(echo.HeaderContentDisposition, `attachment; filename="audit-`+c.now().In(c.zone).Format("20060102-150405")+"."+format+`"`)
		w.WriteHeader(http.StatusOK)
		if format != link.AuditCSV {
			return nil
		}
		// Without the mark, spreadsheets take the file for one in their own code page.
		_, err := w.Write([]byte("\ufeff" + strings.Join(csvHead, ",") + "\n"))
		return err
	}
	control := http.NewResponseController(w)
	n := 0
	_, err := c.audit.Export(ec.Request().Context(), who(ec), c.auditFilter(link.AuditFrom(ec.QueryParams()), c.zoneFor(who(ec))), format, func(e db.AuditEntry) error {
		if n == 0 {
			if err := begin(); err != nil {
				return err
			}
		}
		if n++; n%100 == 0 {
			_ = control.SetWriteDeadline(time.Now().Add(time.Minute)) // a recorder in a test has none
		}
		return write(auditlog.LineOf(e))
	})
	if err == nil && n == 0 {
		err = begin()
	}
	if err != nil {
		return err
	}
	table.Flush()
	return table.Error()
}

var csvHead = []string{"seq", "id", "at", "user", "userId", "address", "action", "kind", "object", "name", "group", "before", "after", "hash"}

func csvCells(l auditlog.Line) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{
		number(l.Seq), number(l.ID), l.At, l.User, number(l.UserID), l.Address, l.Action, l.Kind, number(l.Object), l.Name, number(l.Group), string(l.Before), string(l.After), l.Hash,
	}
	for i := range cells {
		cells[i] = csvSafe(cells[i])
	}
	return cells
}

// csvSafe keeps a spreadsheet from taking a text for a formula.
func csvSafe(s string) string {
	if s != "" && (strings.ContainsRune("=+-@\t\r\n", rune(s[0])) || strings.HasPrefix(s, "＝") || strings.HasPrefix(s, "＋") || strings.HasPrefix(s, "－") || strings.HasPrefix(s, "＠")) {
		return "'" + s
	}
	return s
}

// auditFilter is what a page's filter asks of the log.
func (c *auditPages) auditFilter(f link.AuditFilter, zone *time.Location) manage.AuditFilter {
	period := link.RunFilter{Range: f.Range, From: f.From, To: f.To}
	period.Range = cmp.Or(period.Range, link.AuditRangeDefault)
	filter := manage.AuditFilter{User: f.User, Action: f.Action, Kind: f.Kind, ID: f.Object, Group: f.Group, Text: f.Text}
	filter.Since, filter.Until = timeRange(period, c.now().In(zone))
	return filter
}
