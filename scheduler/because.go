package scheduler

import (
	"errors"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/route"
	"github.com/punctual-job/punctual/scheduler/secret"
)

// because is why something could not be sent, as an argument of an event. People are told it in their language; logs, programs and
// XXL-JOB's columns have the words of the error.
func because(err error) string {
	field := invalid.Field{Key: "event.why.database"} // everything else that is needed for sending is read there
	if sealed, ok := errors.AsType[*secret.OpenError](err); ok {
		field = invalid.Field{Key: "event.why.sealed", Args: []any{"Name", sealed.Name}}
	} else if strategy, ok := errors.AsType[*route.StrategyError](err); ok {
		field = invalid.Field{Key: "event.why.strategy", Args: []any{"Strategy", string(strategy.Strategy)}}
	} else if errors.Is(err, secret.ErrNoKey) {
		field.Key = "event.why.nokey"
	} else if errors.Is(err, db.ErrNotFound) {
		field.Key = "event.why.gone"
	}
	return event.CauseOfField(field, err.Error())
}
