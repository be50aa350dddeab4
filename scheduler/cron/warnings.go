package cron

import (
	"math/bits"
	"strconv"
	"strings"
)

// WarningCode says what is odd about a text that is accepted. The values are stable: a catalogue of messages is keyed
// by them.
type WarningCode string

const (
	WarnIgnoredText           WarningCode = "ignored_text"             // text behind the element that means nothing: "5A", "MON-FRI/2", "JANUARY"
	WarnStepZero              WarningCode = "step_zero"                // a step of 0 or less, which is no step
	WarnMagicAll              WarningCode = "magic_all"                // 99, which is "*"
	WarnMagicNone             WarningCode = "magic_none"               // 98, which is "?"
	WarnNoEffect              WarningCode = "no_effect"                // "L" in month or year, which adds nothing
	WarnNoSuchValue           WarningCode = "no_such_value"            // "0W", "9#2", "0#2", "5-0": a number that the field does not have
	WarnEmptyElement          WarningCode = "empty_element"            // a comma with nothing beside it
	WarnBesideNone            WarningCode = "beside_none"              // values in a list with "?", which wins
	WarnListOrdinal           WarningCode = "list_ordinal"             // a list with "#": only the smallest weekday counts
	WarnNoValue               WarningCode = "no_value"                 // a field without values: Next fails
	WarnNever                 WarningCode = "never"                    // no date ever matches, such as 30 February
	WarnPast                  WarningCode = "past"                     // every matching date lies before the parser's start year
	WarnSkippedBySpringChange WarningCode = "skipped_by_spring_change" // a day's only fire falls into the hour that is skipped
)

// Warning is one oddity of an accepted text, in parts from which a message in any language can be made.
type Warning struct {
	Code       WarningCode
	Field      Field  // "" when it concerns the text as a whole
	Element    string // as typed
	Understood string // what it was taken for; "" when for nothing
}

// Warnings lists what was accepted without meaning what it seems to, in the order of the text. None is the usual answer.
func (e *Expression) Warnings() []Warning {
	warnings := append([]Warning(nil), e.warnings...)
	if e.noValue != "" {
		return append(warnings, Warning{Code: WarnNoValue, Field: e.noValue, Element: e.text, Understood: e.normalized})
	}
	whole := Warning{Element: e.text, Understood: e.normalized}
	if _, ok := e.nextWall(wall{year: e.startYear, month: 1, day: 1}); ok {
		return warnings
	}
	whole.Code = WarnPast
	if _, ok := e.nextWall(wall{year: 0, month: 1, day: 1}); !ok {
		whole.Code = WarnNever
	}
	return append(warnings, whole)
}

func (f *fieldParser) warn(code WarningCode, element, understood string) {
	f.warnings = append(f.warnings, Warning{Code: code, Field: f.field, Element: element, Understood: understood})
}

// warnField adds the warnings that concern the field's list as a whole.
func (f *fieldParser) warnField(typed string, emptyElement bool) {
	understood := f.normalized()
	if emptyElement {
		f.warn(WarnEmptyElement, typed, understood)
	}
	if len(f.words) < 2 {
		return
	}
	switch {
	case f.none:
		f.warn(WarnBesideNone, typed, understood)
	case f.ordinal > 0:
		f.warn(WarnListOrdinal, typed, understood)
	}
}

// accept notes how the element was understood, and warns when some of its text was not read.
func (p *elementParser) accept(word string) {
	p.words = append(p.words, word)
	if p.pos < len(p.text) {
		p.warn(WarnIgnoredText, p.typed, word)
	}
}

// acceptNumbers is accept for numbers, which may turn out to be magic: then the word is what they stand for.
func (p *elementParser) acceptNumbers(first, last, step int, word string) {
	switch {
	case first == magicAll:
		word = p.magicWord(first, last, step)
		p.warn(WarnMagicAll, p.typed, word)
	case first == magicNone && p.field.isDay():
		word = p.magicWord(first, last, step)
		p.warn(WarnMagicNone, p.typed, word)
	}
	if word != "" {
		p.accept(word)
	}
}

// magicWord spells out what an element that starts with 98 or 99 comes to. The longer forms, such as "98-70", are so
// strange that only doing what they say tells what they mean.
func (p *elementParser) magicWord(first, last, step int) string {
	if first == magicAll && (last == -1 || last == p.max) {
		return every(step)
	}
	if p.field == Year {
		return p.rangeWord(p.min, last, step)
	}
	alone := fieldParser{limits: p.limits}
	if err := alone.add(p.typed, first, last, step); err != nil || alone.values == 0 && !alone.none {
		return ""
	}
	if alone.none {
		return "?"
	}
	var words []string
	for values := alone.values; values != 0; values &= values - 1 {
		words = append(words, p.valueWord(bits.TrailingZeros64(values)))
	}
	return strings.Join(words, ",")
}

// every spells "*" with a step, which counts for nothing below 2.
func every(step int) string {
	if step <= 1 {
		return "*"
	}
	return "*/" + strconv.Itoa(step)
}

// valueWord spells one value. Weekdays get their names, because it is easy to forget that 1 is Sunday.
func (l limits) valueWord(n int) string {
	if l.field == DayOfWeek && n >= l.min && n <= l.max {
		return l.names[n-l.min]
	}
	return strconv.Itoa(n)
}

// rangeWord spells a range. With a step it stays with numbers, since a step behind names would be ignored.
func (l limits) rangeWord(first, last, step int) string {
	if step > 1 {
		return strconv.Itoa(first) + "-" + strconv.Itoa(last) + "/" + strconv.Itoa(step)
	}
	return l.valueWord(first) + "-" + l.valueWord(last)
}
