package cron

import "fmt"

// Reason says what is wrong with a cron text. The values are stable: a catalogue of messages is keyed by them.
type Reason string

// The reasons for which a text is refused.
const (
	ReasonFieldCount     Reason = "field_count"       // not six or seven fields; Got says how many
	ReasonBothDays       Reason = "both_days"         // neither day field is "?"
	ReasonNoDay          Reason = "no_day"            // both day fields are "?"
	ReasonOutOfRange     Reason = "out_of_range"      // a value outside Min…Max
	ReasonStepOutOfRange Reason = "step_out_of_range" // a step above Max
	ReasonStepMissing    Reason = "step_missing"      // "/" without a number behind it
	ReasonRangeEnd       Reason = "range_end"         // "-" without a number (or, after a name, a name) behind it
	ReasonYearOrder      Reason = "year_order"        // a range of years that ends before it starts, or starts after Max
	ReasonUnknownName    Reason = "unknown_name"      // letters that are no month or weekday
	ReasonNumberTooLarge Reason = "number_too_large"
	ReasonOrdinal        Reason = "ordinal"       // what follows "#" is not 1 to 5
	ReasonTwoOrdinals    Reason = "two_ordinals"  // a second "#" in the day-of-week
	ReasonLastInList     Reason = "last_in_list"  // "L" in a list of weekdays
	ReasonLastOffset     Reason = "last_offset"   // "L-" without a number, or with more than Max
	ReasonNotHere        Reason = "not_here"      // L, W, # or ? in a field that has no such thing; Symbol says which
	ReasonQuestionMark   Reason = "question_mark" // text behind "?"
	ReasonCharacter      Reason = "character"     // nothing starts with this character
)

// ParseError says why a text is no cron expression, in parts from which a message in any language can be made.
type ParseError struct {
	Text     string // the whole text
	Field    Field  // where it is; "" when it concerns the text as a whole
	Element  string // the list element as typed, or the field, or "" with the whole text
	Reason   Reason
	Symbol   string // with ReasonNotHere: the symbol that has no place
	Min, Max int    // with the range reasons: what is allowed
	Got      int    // with ReasonFieldCount: the number of fields found
}

// Error names the field and says what to write instead.
func (e *ParseError) Error() string {
	if e.Field == "" {
		return "cron: " + e.advice()
	}
	return fmt.Sprintf("cron: %s %q: %s", e.Field, e.Element, e.advice())
}

func (e *ParseError) advice() string {
	switch e.Reason {
	case ReasonFieldCount:
		fields := "fields"
		if e.Got == 1 {
			fields = "field"
		}
		return fmt.Sprintf("has %d %s; write second minute hour day-of-month month day-of-week and, if wanted, year", e.Got, fields)
	case ReasonBothDays:
		return `day-of-month and day-of-week are both set; write "?" in the one that does not matter`
	case ReasonNoDay:
		return `day-of-month and day-of-week are both "?"; set one of them, for example to "*"`
	case ReasonOutOfRange:
		return fmt.Sprintf("is out of range; use %d to %d", e.Min, e.Max)
	case ReasonStepOutOfRange:
		return fmt.Sprintf("has a step that is too large; use 1 to %d", e.Max)
	case ReasonStepMissing:
		return `has no whole number behind "/"; write a step such as "/5"`
	case ReasonRangeEnd:
		return `has no end behind "-"; write a range such as 1-5 or, with names, MON-FRI`
	case ReasonYearOrder:
		return fmt.Sprintf("ends before it starts; write the earlier year first, up to %d", e.Max)
	case ReasonUnknownName:
		return "is not a name this field knows; " + e.names()
	case ReasonNumberTooLarge:
		return "has a number that is too large"
	case ReasonOrdinal:
		return `needs 1 to 5 behind "#", such as FRI#2 for the second Friday`
	case ReasonTwoOrdinals:
		return `has "#" twice; use one weekday with "#"`
	case ReasonLastInList:
		return `has "L" in a list; write the last weekday alone, such as FRIL`
	case ReasonLastOffset:
		return fmt.Sprintf(`needs a number up to %d behind "L-"`, e.Max)
	case ReasonNotHere:
		return fmt.Sprintf("%q has no meaning in this field; %s", e.Symbol, symbolPlaces[e.Symbol])
	case ReasonQuestionMark:
		return `has text behind "?"; write "?" alone`
	case ReasonCharacter:
		return `starts with a character that means nothing here; use numbers, names, and * , - / ?`
	default:
		return "is not understood (" + string(e.Reason) + ")"
	}
}

func (e *ParseError) names() string {
	switch e.Field {
	case Month:
		return "use JAN to DEC, or 1 to 12"
	case DayOfWeek:
		return "use SUN to SAT, or 1 (Sunday) to 7 (Saturday)"
	default:
		return "use numbers"
	}
}

var symbolPlaces = map[string]string{
	"L": `"L" belongs in day-of-month, or behind a weekday`,
	"W": `"W" belongs behind a day-of-month`,
	"#": `"#" belongs behind a day-of-week`,
	"?": `"?" belongs in day-of-month or day-of-week`,
}

// EvalError is what [Expression.Next] returns for a text that the original accepts and cannot evaluate: a field is left
// without any value, as by "L" in the month.
type EvalError struct {
	Text  string
	Field Field
}

// Error names the field and says what to do.
func (e *EvalError) Error() string {
	return fmt.Sprintf("cron: %s of %q has no value, so there is no next time; give it one, or *", e.Field, e.Text)
}
