package cron

import "time"

// Schedule is an expression with the zone in which it is read. It is a Schedule of github.com/robfig/cron too: see the package robfig.
type Schedule struct {
	expression *Expression
	zone       *time.Location
}

// In reads the expression in a zone; nil is the zone of the time that [Schedule.Next] is asked about. The error is an [*EvalError],
// for the texts that parse and cannot be evaluated.
func (e *Expression) In(zone *time.Location) (Schedule, error) {
	if err := e.evaluable(); err != nil {
		return Schedule{}, err
	}
	return Schedule{expression: e, zone: zone}, nil
}

// Next is the first instant after the given one, and the zero time when there is none any more. It is [Expression.Next], but that what it
// finds does not depend on where the search begins: a time in an hour that clocks repeat is found from the first pass too.
func (s Schedule) Next(after time.Time) time.Time {
	zone := s.zone
	if zone == nil {
		zone = after.Location()
	}
	return s.expression.next(after, zone, true)
}
