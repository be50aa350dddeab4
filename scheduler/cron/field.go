package cron

// Field names one of the seven parts of a cron text. The zero value stands for the text as a whole.
type Field string

// The fields, in the order in which they are written.
const (
	Second     Field = "second"
	Minute     Field = "minute"
	Hour       Field = "hour"
	DayOfMonth Field = "day-of-month"
	Month      Field = "month"
	DayOfWeek  Field = "day-of-week"
	Year       Field = "year"
)

// The two numbers that the original uses for its symbols and does not keep from being typed: 99 acts as "*" in every
// field, 98 as "?" in the day fields.
const (
	magicAll  = 99
	magicNone = 98
)

// limits are the values a field can take. The last year depends on the parser, see [Parser].
type limits struct {
	field    Field
	min, max int
	names    []string // names[i] is the value min+i; nil where the field takes numbers only
}

var fieldLimits = [7]limits{
	{field: Second, min: 0, max: 59},
	{field: Minute, min: 0, max: 59},
	{field: Hour, min: 0, max: 23},
	{field: DayOfMonth, min: 1, max: 31},
	{field: Month, min: 1, max: 12, names: []string{
		"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
	}},
	{field: DayOfWeek, min: 1, max: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	{field: Year, min: firstYear},
}

const (
	firstYear = 1970 // where "*" in the year field starts
	lastYear  = 2999 // the original gives up beyond it, whatever its start year
	yearSpan  = 100  // years beyond the start year that the original looks ahead
)

// isDay reports whether "?" is allowed in the field.
func (f Field) isDay() bool { return f == DayOfMonth || f == DayOfWeek }

// number finds the value of a three-letter name.
func (l limits) number(name string) (int, bool) {
	for i, n := range l.names {
		if n == name {
			return l.min + i, true
		}
	}
	return 0, false
}

// span is the modulus with which a range that ends before it starts wraps around.
func (l limits) span() int { return l.max - l.min + 1 }
