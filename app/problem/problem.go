// Package problem is an error as a person or a calling program sees it: what kind it is, and a message of the catalogue
// with its values. Use cases say the kind; only this package knows which HTTP status that is. Everything that is not a
// problem already becomes one in [From]: the sentinels of the packages below are known there, and the rest is an internal
// error whose detail goes to the log and not to the caller.
package problem

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Kind is what went wrong, in the words of a use case.
type Kind int

// The kinds. The zero Kind is [Internal].
const (
	Internal        Kind = iota // our fault; the detail is in the log
	Invalid                     // values were refused; Fields says which
	Malformed                   // the request itself could not be read
	Unauthenticated             // nobody is logged in
	Forbidden                   // somebody is, but may not do this
	NotFound
	NoMethod    // the address exists, the method does not
	Conflict    // a rule, or somebody else's change, stands against it
	TooLarge    // more was sent than is accepted
	TooMany     // too many attempts; later it may work
	Executor    // an executor could not be asked, or refused
	Unavailable // the database or the engine is away; later it may work
)

var statuses = map[Kind]int{
	Invalid: http.StatusUnprocessableEntity, Malformed: http.StatusBadRequest, Unauthenticated: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, NoMethod: http.StatusMethodNotAllowed, Conflict: http.StatusConflict, TooLarge: http.StatusRequestEntityTooLarge,
	TooMany: http.StatusTooManyRequests, Executor: http.StatusBadGateway, Unavailable: http.StatusServiceUnavailable,
}

func (k Kind) Status() int { return cmp.Or(statuses[k], http.StatusInternalServerError) }

// KindOf is the kind that has an HTTP status, or one that says whose fault it is.
func KindOf(status int) Kind {
	for k := Invalid; k <= Unavailable; k++ {
		if k.Status() == status {
			return k
		}
	}
	if status >= 500 {
		return Internal
	}
	return Malformed
}

// Field is what is wrong with one field of a form.
type Field = invalid.Field

// Error is an error that can be shown.
type Error struct {
	Kind   Kind
	Key    string // of a message that says more than the kind's general one; may be empty
	Args   []any
	Fields []Field // with Invalid
	// Fault is what was wrong with a call, where there are words for it: the "Reason" in the reader's language.
	Fault wire.Fault
	Err   error // the cause, for the log; may be nil
}

// New makes a problem with a message of its own.
func New(kind Kind, key string, args ...any) *Error { return &Error{Kind: kind, Key: key, Args: args} }

// InvalidFields makes the problem of a form whose values were refused.
func InvalidFields(fields ...Field) *Error { return &Error{Kind: Invalid, Fields: fields} }

// Text says more than the kind does, in a language; empty when there is no more to say.
func (e *Error) Text(p *locales.Printer) string {
	switch {
	case saysFault(e.Fault):
		return p.T(e.Key, append(slices.Clone(e.Args), "Reason", p.Word("fault.", string(e.Fault)))...)
	case e.Key != "":
		return p.T(e.Key, e.Args...)
	case len(e.Fields) > 0:
		return e.Fields[0].Text(p)
	}
	return ""
}

// saysFault is false where the words of the library or of the executor say more than the kind of fault does.
func saysFault(f wire.Fault) bool {
	switch f {
	case wire.FaultRefused, wire.FaultUnreachable, wire.FaultHost, wire.FaultConnect, wire.FaultNotFetched, wire.FaultSilent, wire.FaultLate, wire.FaultBroken, wire.FaultStopped, wire.FaultOwn, wire.FaultTooOld:
		return true
	case "", wire.FaultCertificate, wire.FaultTLS, wire.FaultStatus, wire.FaultProtocol, wire.FaultAnswer, wire.FaultOther:
	}
	return false
}

// Reason is why something could not be asked, in a language where there are words for it.
func Reason(p *locales.Printer, err error) string {
	if f := wire.FaultOf(err); saysFault(f) {
		return p.Word("fault.", string(f))
	}
	return err.Error()
}

// Because adds the cause, for the log.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Error implements error, for logs: nobody but operators reads it.
func (e *Error) Error() string {
	text := http.StatusText(e.Kind.Status())
	if e.Key != "" {
		text = e.Key
	}
	for _, f := range e.Fields {
		text += " " + f.Name + ":" + f.Key
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Stopping is the key of what an admin that is starting or stopping answers: another one, or this one when it is back, does what was asked.
const Stopping = "problem.stopping"

// Unconfirmed is the key of what is answered when nobody knows whether the request was done.
const Unconfirmed = "problem.unconfirmed"

// From turns any error into a problem; nil stays nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	if fields, ok := errors.AsType[invalid.Fields](err); ok {
		return InvalidFields(fields...)
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return (&Error{Kind: TooLarge}).Because(big)
	}
	if errors.Is(err, archive.ErrStalled) {
		return New(Unavailable, "problem.search.stalled").Because(err)
	}
	if errors.Is(err, archive.ErrUnread) { // whatever its executor said before
		return New(Unavailable, "problem.copy.unread").Because(err)
	}
	if e, ok := errors.AsType[*scheduler.ExecutorError](err); ok {
		key := "problem.executor"
		if e.Kept {
			key = "problem.run.killkept"
		}
		return (&Error{Kind: Executor, Key: key, Args: []any{"Address", e.Address, "Reason", e.Err.Error()}, Fault: wire.FaultOf(e.Err)}).Because(err)
	}
	switch {
	case errors.Is(err, scheduler.ErrJobNotFound):
		return New(NotFound, "problem.job.gone").Because(err)
	case errors.Is(err, scheduler.ErrRunNotFound):
		return New(NotFound, "problem.run.gone").Because(err)
	case errors.Is(err, scheduler.ErrRunNotRunning):
		return New(Conflict, "problem.run.notrunning").Because(err)
	case errors.Is(err, scheduler.ErrKillLater):
		return New(Conflict, "problem.run.killlater").Because(err)
	case errors.Is(err, scheduler.ErrNoGroup):
		return New(Conflict, "problem.job.nogroup").Because(err)
	case errors.Is(err, scheduler.ErrHeld):
		return New(Conflict, "problem.held").Because(err)
	case errors.Is(err, scheduler.ErrStopping):
		return New(Unavailable, Stopping).Because(err)
	case errors.Is(err, db.ErrNotFound):
		return (&Error{Kind: NotFound}).Because(err)
	case errors.Is(err, db.ErrMoved):
		return New(Conflict, "problem.changed").Because(err)
	case errors.Is(err, db.ErrDuplicate):
		return (&Error{Kind: Conflict}).Because(err)
	case errors.Is(err, db.ErrUnconfirmed):
		return New(Unavailable, Unconfirmed).Because(err)
	case db.IsTransient(err):
		return New(Unavailable, "problem.busy").Because(err)
	case db.RefusalOf(err) == db.RefusalFull:
		return New(Unavailable, "problem.database.full").Because(err)
	case db.RefusalOf(err) == db.RefusalReadOnly:
		return New(Unavailable, "problem.database.read_only").Because(err)
	case db.IsUnavailable(err), errors.Is(err, context.DeadlineExceeded):
		return (&Error{Kind: Unavailable}).Because(err)
	}
	return (&Error{Kind: Internal}).Because(err)
}

// Log writes the one line about a request that was refused, as loud as its kind deserves.
func Log(logger *slog.Logger, p *Error, r *http.Request, requestID string) {
	level := slog.LevelDebug
	switch p.Kind {
	case Internal:
		level = slog.LevelError
	case Unavailable, Executor:
		level = slog.LevelWarn
	case Invalid, Malformed, Unauthenticated, Forbidden, NotFound, NoMethod, Conflict, TooLarge, TooMany:
	}
	if errors.Is(p.Err, context.Canceled) {
		level = slog.LevelDebug // the client went away
	}
	logger.Log(r.Context(), level, "request refused", "method", r.Method, "path", r.URL.Path,
		"status", p.Kind.Status(), "request_id", requestID, "error", p.Error())
}
