package cron

import (
	"strings"
	"time"
)

// Parser turns text into expressions. The zero value bases the range of years on the current year.
type Parser struct {
	// StartYear is the year in which the process started. Schedules end StartYear+100 years on, or at the end of 2999.
	// Zero means the current year.
	StartYear int
}

// Expression is a parsed cron text. It never changes, so any number of goroutines may use it.
type Expression struct {
	text       string
	normalized string
	startYear  int

	seconds, minutes, hours, months uint64 // bit n stands for the value n
	days                            dayRule
	years                           yearSet

	noValue  Field // a field without any value, which cannot be evaluated; "" when all have some
	warnings []Warning
}

// Parse reads a cron text with the zero [Parser]. The error is a [*ParseError].
func Parse(text string) (*Expression, error) { return Parser{}.Parse(text) }

// startYear is the only place in this package that reads the clock. The year matters only to how far ahead the last
// possible time lies, so a year that turns while the process runs changes nothing anybody can see.
func (p Parser) startYear() int {
	if p.StartYear != 0 {
		return p.StartYear
	}
	return time.Now().Year()
}

// Parse reads a cron text. The error is a [*ParseError].
func (p Parser) Parse(text string) (*Expression, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(fields) < 6 || len(fields) > 7 {
		return nil, &ParseError{Text: text, Reason: ReasonFieldCount, Got: len(fields)}
	}
	e := &Expression{text: text, startYear: p.startYear()}
	if len(fields) == 6 {
		fields = append(fields, "*")
	}

	var parsed [7]fieldParser
	for i, typed := range fields {
		f := &parsed[i]
		f.limits = fieldLimits[i]
		if f.field == Year {
			f.max = min(e.startYear+yearSpan, lastYear)
		}
		if err := f.parse(typed); err != nil {
			err.Text = text
			return nil, err
		}
	}
	if err := e.build(&parsed, fields); err != nil {
		return nil, err
	}
	return e, nil
}

// build joins the fields. It holds the one rule that concerns two of them: exactly one day field is "?".
func (e *Expression) build(parsed *[7]fieldParser, typed []string) error {
	dom, dow := &parsed[3], &parsed[5]
	if dom.none && dow.none {
		return &ParseError{Text: e.text, Field: DayOfWeek, Element: typed[5], Reason: ReasonNoDay}
	}
	if !dom.none && !dow.none {
		return &ParseError{Text: e.text, Field: DayOfWeek, Element: typed[5], Reason: ReasonBothDays}
	}
	e.seconds, e.minutes, e.hours, e.months = parsed[0].values, parsed[1].values, parsed[2].values, parsed[4].values
	e.years = parsed[6].years
	e.days = dom.days
	e.days.month = uint32(dom.values)
	if dom.none {
		e.days = dow.weekdayRule()
	}

	words := make([]string, len(parsed))
	for i := range parsed {
		f := &parsed[i]
		if e.noValue == "" && f.empty() {
			e.noValue = f.field
		}
		words[i] = f.normalized()
		e.warnings = append(e.warnings, f.warnings...)
	}
	if words[6] == "*" {
		words = words[:6]
	}
	e.normalized = strings.Join(words, " ")
	return nil
}

// String is the expression as it was understood: ignored text is gone, weekdays have names (1 is Sunday, which surprises
// people), 98 and 99 are the symbols they stand for. Parsing it gives the same times and no warning about its text,
// unless it cannot be said better ("9#2", a field without a value).
func (e *Expression) String() string { return e.normalized }
