package legacy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/errorpage"
	"github.com/punctual-job/punctual/views/layout"
)

// The answers of both generations (docs/compat.md §5.3).
type (
	firstAnswer struct {
		Code    int     `json:"code"`
		Msg     *string `json:"msg"`
		Content any     `json:"content"`
	}
	secondAnswer struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
		Data any    `json:"data"`

		Success bool `json:"success"`
	}
	firstList struct {
		RecordsTotal    int64 `json:"recordsTotal"`
		RecordsFiltered int64 `json:"recordsFiltered"`
		Data            any   `json:"data"`
	}
	secondList struct {
		Offset   int   `json:"offset"`
		PageSize int   `json:"pagesize"`
		Data     any   `json:"data"`
		Total    int64 `json:"total"`
	}
)

// rows are the answer of a list.
type rows struct {
	list  any
	total int64
	page  page
}

// spell is what a handler returned, in the words of a generation.
func spell(gen generation, result any) any {
	r, isList := result.(rows)
	switch {
	case isList && gen == first:
		return firstList{RecordsTotal: r.total, RecordsFiltered: r.total, Data: r.list}
	case isList:
		result, gen = secondList{Offset: r.page.offset, PageSize: r.page.size, Data: r.list, Total: r.total}, second
	}
	if gen == first {
		return firstAnswer{Code: wire.CodeSuccess, Content: result}
	}
	return secondAnswer{Code: wire.CodeSuccess, Msg: wire.MsgSuccess, Data: result, Success: true}
}

// refuse is a refusal in the words of a generation.
func refuse(gen generation, text string) any {
	if gen == first {
		return firstAnswer{Code: wire.CodeFail, Msg: &text}
	}
	return secondAnswer{Code: wire.CodeFail, Msg: text}
}

// text says what is wrong. The fields bear the names of the parameters, because nobody sees a form.
func text(printer *locales.Printer, p *problem.Error) string {
	if p.Key == "" && len(p.Fields) > 0 {
		parts := make([]string, len(p.Fields))
		for i, f := range p.Fields {
			parts[i] = f.Name + ": " + f.Text(printer)
		}
		return strings.Join(parts, " ")
	}
	return errorpage.Line(errorpage.Page{Page: layout.Page{Printer: printer}, Status: p.Kind.Status(), Text: p.Text(printer)})
}

// write sends JSON as upstream's does: < and > stand for themselves.
func write(ec echo.Context, status int, body any) error {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return ec.Blob(status, "application/json;charset=UTF-8", bytes.TrimRight(buf.Bytes(), "\n"))
}

// fail answers an error. Nearly all of them have HTTP status 200, because callers look into the body; the others are refused
// before it matters who asks for what, or are for whatever stands between caller and admin too: one that is stopping should
// not be asked again.
func (l *Legacy) fail(ec echo.Context, gen generation, err error) error {
	p := problem.From(err)
	status := http.StatusOK
	switch p.Kind {
	case problem.Malformed, problem.TooLarge:
		status = p.Kind.Status()
	case problem.NoMethod:
		status = p.Kind.Status()
		ec.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
	case problem.TooMany:
		ec.Response().Header().Set("Retry-After", "30")
	case problem.Forbidden:
		status = p.Kind.Status() // what stands between caller and admin, and who reads its log, must see that it is one
	case problem.Internal, problem.Invalid, problem.Unauthenticated, problem.NotFound, problem.Conflict, problem.Executor:
	case problem.Unavailable:
		if p.Key == problem.Stopping {
			status = p.Kind.Status()
			ec.Response().Header().Set("Retry-After", "5")
		}
	}
	return l.failAs(ec, gen, status, p)
}

func (l *Legacy) failAs(ec echo.Context, gen generation, status int, p *problem.Error) error {
	problem.Log(l.cfg.Logger, p, ec.Request(), ec.Response().Header().Get(echo.HeaderXRequestID))
	if p.Kind == problem.Forbidden && p.Key != "login.error.disabled" && l.cfg.Refused != nil {
		l.cfg.Refused(ec)
	}
	return write(ec, status, refuse(gen, text(l.printer(ec), p)))
}
