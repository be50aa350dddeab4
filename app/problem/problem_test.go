package problem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
)

func TestErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		status int
		key    string
	}{
		{errors.New("secret detail"), 500, ""},
		{New(Conflict, "problem.changed"), 409, "problem.changed"},
		{fmt.Errorf("update job: %w", New(Conflict, "problem.changed")), 409, "problem.changed"},
		{InvalidFields(Field{Name: "name", Key: "job.error.required"}), 422, ""},
		{scheduler.ErrJobNotFound, 404, "problem.job.gone"},
		{scheduler.ErrRunNotFound, 404, "problem.run.gone"},
		{scheduler.ErrRunNotRunning, 409, "problem.run.notrunning"},
		{scheduler.ErrKillLater, 409, "problem.run.killlater"},
		{scheduler.ErrNoGroup, 409, "problem.job.nogroup"},
		{&scheduler.ExecutorError{Address: "http://a/", Err: errors.New("refused")}, 502, "problem.executor"},
		{&scheduler.ExecutorError{Address: "pull://a", Err: &wire.SilentError{}, Kept: true}, 502, "problem.run.killkept"},
		{fmt.Errorf("search kept outputs: %w", archive.ErrStalled), 503, "problem.search.stalled"},
		{fmt.Errorf("kept output: %w: %w", archive.ErrUnread, io.ErrUnexpectedEOF), 503, "problem.copy.unread"},
		{errors.Join(&scheduler.ExecutorError{Address: "http://a/", Err: errors.New("refused")}, fmt.Errorf("%w: no key", archive.ErrUnread)), 503, "problem.copy.unread"},
		{db.Error(sql.ErrNoRows), 404, ""},
		{fmt.Errorf("delete job: %w", db.ErrMoved), 409, "problem.changed"}, // again and again, or it would have been tried once more
		{fmt.Errorf("add job: %w", &mysql.MySQLError{Number: 1114}), 503, "problem.database.full"},
		{fmt.Errorf("add job: %w", &mysql.MySQLError{Number: 1290}), 503, "problem.database.read_only"},
		{fmt.Errorf("add job: %w", &mysql.MySQLError{Number: 1040}), 503, ""},
		{context.DeadlineExceeded, 503, ""},
		{&http.MaxBytesError{Limit: 5}, 413, ""},
	}
	for _, tt := range tests {
		p := From(tt.err)
		if p.Kind.Status() != tt.status || p.Key != tt.key {
			t.Errorf("%v: %d %q, want %d %q", tt.err, p.Kind.Status(), p.Key, tt.status, tt.key)
		}
		if !errors.Is(p, tt.err) && !errors.Is(tt.err, p) {
			t.Errorf("%v: the cause is lost", tt.err)
		}
	}
	if From(nil) != nil {
		t.Error("no error is a problem")
	}
}

func TestFieldsAreSaidInWords(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.English)
	f := Field{Name: "cron", Key: "cron.error.out_of_range", Args: []any{"Element", "25", "Min", 0, "Max", 23}, Noun: "cron.field.hour"}
	if got, want := f.Text(p), "Hour “25” is out of range. Use 0 to 23."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := InvalidFields(f).Text(p); got != f.Text(p) {
		t.Errorf("without a form: %q", got)
	}
	if got := (&Error{Kind: Internal}).Text(p); got != "" {
		t.Errorf("nothing more to say: %q", got)
	}
}

// TestCallsThatFailAreSaidInWords: what a network does has words of the reader's language, and what an executor says keeps its own.
func TestCallsThatFailAreSaidInWords(t *testing.T) {
	t.Parallel()
	dial := &wire.CallError{Stage: wire.StageDial, Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	for err, want := range map[error]string{
		dial: "执行器 http://a/ 未能完成操作：对方没有程序监听该端口",
		&wire.CallError{Stage: wire.StageStatus, Err: errors.New("HTTP status 502")}: "执行器 http://a/ 未能完成操作：status: HTTP status 502",
		errors.New("no such run"): "执行器 http://a/ 未能完成操作：no such run",
	} {
		if got := From(&scheduler.ExecutorError{Address: "http://a/", Err: err}).Text(locales.New().Printer(locales.Chinese)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A reason is told in the reader's language where there are words for it, and in those of the error where it says more.
func TestReason(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer("zh-CN")
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	if got, want := Reason(p, fmt.Errorf("send: %w", refused)), p.T("fault.refused"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Reason(p, errors.New("HTTP status 500")); got != "HTTP status 500" {
		t.Error(got)
	}
}
