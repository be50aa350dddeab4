package cron

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// fieldParser gathers what the elements of one field mean.
type fieldParser struct {
	limits

	values uint64 // bit n stands for the value n; not used for years
	years  yearSet
	days   dayRule // the L and W elements of day-of-month
	none   bool    // "?" was among the elements

	ordinal  int  // k of "n#k" in day-of-week, 0 without
	weekday  int  // n of "n#k", which can be any number
	lastOnly bool // "nL" in day-of-week

	words    []string // the elements as understood
	warnings []Warning
}

// parse reads a whole field: a list of elements, where empty ones count for nothing.
func (f *fieldParser) parse(typed string) *ParseError {
	if f.field == DayOfWeek {
		upper := strings.ToUpper(typed)
		if strings.Contains(upper, "L") && strings.Contains(upper, ",") {
			return f.fail(typed, ReasonLastInList)
		}
		if strings.Count(upper, "#") > 1 {
			return f.fail(typed, ReasonTwoOrdinals)
		}
	}
	if f.field == Year {
		f.years.max = f.max
	}
	elements := strings.Split(typed, ",")
	for _, element := range elements {
		if element == "" {
			continue
		}
		p := elementParser{fieldParser: f, typed: element, text: strings.ToUpper(element)}
		if err := p.parse(); err != nil {
			return err
		}
	}
	f.warnField(typed, slices.Contains(elements, ""))
	return nil
}

func (f *fieldParser) fail(element string, reason Reason) *ParseError {
	return &ParseError{Field: f.field, Element: element, Reason: reason, Min: f.min, Max: f.max}
}

// add puts the values of "first-last/step" into the field, with last -1 when none was typed and step 0 or less when only
// first counts. It checks the range as the original does: the start with both limits, the end with the upper one, and
// nothing when the start is one of the magic numbers. Year values have no limits.
func (f *fieldParser) add(element string, first, last, step int) *ParseError {
	magic := first == magicAll || first == magicNone && f.field.isDay()
	if f.field != Year && !magic && (first < f.min || first > f.max || last > f.max) {
		return f.fail(element, ReasonOutOfRange)
	}
	if step <= 0 {
		if first != magicAll {
			f.put(first)
			return nil
		}
		step = 1
	}
	if last == -1 {
		last = f.max
	}
	if first == magicAll {
		first = f.min
	}
	if f.field == Year {
		if last < first {
			return f.fail(element, ReasonYearOrder)
		}
		f.years.addRange(first, last, step)
		return nil
	}
	wraps := last < first
	if wraps {
		last += f.span()
	}
	// The end of a range that starts with a magic number is unchecked; beyond farthest no number means anything.
	last = min(last, farthest)
	for n := first; n <= last; n += min(step, farthest) {
		v := n
		if wraps {
			v = (n-f.min)%f.span() + f.min
		}
		f.put(v)
	}
	return nil
}

// farthest is as far as a range can mean something: minute 59 of the next round.
const farthest = 2 * 60

// put adds one value. Values that no clock shows are left out; they are the odd ends behind a magic number.
func (f *fieldParser) put(v int) {
	switch {
	case f.field == Year:
		f.years.add(v)
	case v == magicNone && f.field.isDay():
		f.none = true
	case v >= f.min && v <= f.max:
		f.values |= 1 << v
	}
}

// empty reports whether the original would fail on this field when it looks for the next time. A year list may be empty:
// it means never.
func (f *fieldParser) empty() bool {
	return f.field != Year && !f.none && f.values == 0 && f.ordinal == 0 && f.days == dayRule{}
}

// weekdayRule makes the day rule of a day-of-week field. As in the original, one "#" in a list takes the smallest of all
// listed numbers for itself, and the list means nothing beyond that.
func (f *fieldParser) weekdayRule() dayRule {
	rule := dayRule{byWeekday: true, weekdays: uint8(f.values), last: f.lastOnly}
	if f.ordinal > 0 {
		rule.ordinal = f.ordinal
		rule.weekday = f.smallestWeekday()
	}
	return rule
}

func (f *fieldParser) smallestWeekday() int {
	smallest := f.weekday
	if f.values != 0 {
		smallest = min(smallest, bits.TrailingZeros64(f.values))
	}
	return smallest
}

// normalized is the field as understood. A field without a value has no better spelling than an empty list.
func (f *fieldParser) normalized() string {
	switch {
	case f.none:
		return "?"
	case f.ordinal > 0:
		return f.weekdayName(f.smallestWeekday()) + "#" + strconv.Itoa(f.ordinal)
	case len(f.words) == 0:
		return ","
	default:
		return strings.Join(f.words, ",")
	}
}

// weekdayName spells the weekday of "n#k": 0 acts as Saturday, and above 7 there is no such day.
func (f *fieldParser) weekdayName(n int) string {
	switch {
	case n == 0:
		return "SAT"
	case n <= 7:
		return f.names[n-1]
	default:
		return strconv.Itoa(n)
	}
}
