package cron

import (
	"strconv"
	"strings"
)

// elementParser reads one list element. The first character decides what it is; what follows the part that means
// something is ignored, as in the original, and remembered as a warning (docs/compat.md §7.3).
type elementParser struct {
	*fieldParser

	typed string // as typed, for messages
	text  string // in upper case
	pos   int    // the first character not read
}

func (p *elementParser) parse() *ParseError {
	switch c := p.text[0]; {
	case c >= 'A' && c <= 'Z' && !isLast(p.text):
		return p.parseName()
	case c == '?':
		return p.parseQuestionMark()
	case c == '*' || c == '/':
		return p.parseEvery()
	case c == 'L':
		return p.parseLast()
	case isDigit(c):
		return p.parseNumber()
	default:
		return p.refuse(ReasonCharacter)
	}
}

// isLast reports whether an element is "L", "LW" or "L-nW" with n and W optional. Any other text that starts with L is
// taken for a name.
func isLast(text string) bool {
	rest := strings.TrimPrefix(text, "L")
	if rest == "" || rest == "W" {
		return true
	}
	if rest[0] != '-' {
		return false
	}
	rest = strings.TrimLeft(rest[1:], "0123456789")
	return rest == "" || rest == "W"
}

// parseName reads JAN, MON-FRI, FRI#2 and FRIL.
func (p *elementParser) parseName() *ParseError {
	first, err := p.name()
	if err != nil {
		return err
	}
	word := p.text[:3]
	weekday := p.field == DayOfWeek
	switch c := p.peek(); {
	case c == '-':
		p.pos++
		last, err := p.name()
		if err != nil {
			return err
		}
		if err := p.add(p.typed, first, last, 1); err != nil {
			return err
		}
		p.accept(p.text[:7])
		return nil
	case c == '#' && weekday:
		return p.parseOrdinal(first)
	case c == 'L' && weekday:
		p.pos++
		p.lastOnly = true
		word += "L"
	}
	p.put(first)
	p.accept(word)
	return nil
}

// name reads the three letters of a name; that the full name follows is one of the things nobody looks at.
func (p *elementParser) name() (int, *ParseError) {
	if p.names == nil || len(p.text) < p.pos+3 {
		return 0, p.refuse(ReasonUnknownName)
	}
	n, ok := p.number(p.text[p.pos : p.pos+3])
	if !ok {
		return 0, p.refuse(ReasonUnknownName)
	}
	p.pos += 3
	return n, nil
}

func (p *elementParser) parseQuestionMark() *ParseError {
	if len(p.text) > 2 {
		return p.refuse(ReasonQuestionMark)
	}
	if !p.field.isDay() {
		return p.refuseSymbol("?")
	}
	p.pos = 1
	p.none = true
	p.accept("?")
	return nil
}

// parseEvery reads "*", "*/n" and "/n".
func (p *elementParser) parseEvery() *ParseError {
	if p.text[0] == '*' {
		p.pos++
	}
	step, word := 0, "*"
	if p.peek() == '/' {
		// Unlike the steps behind numbers, this one is the whole rest and may carry a sign.
		n, err := strconv.ParseInt(p.text[p.pos+1:], 10, 32)
		if err != nil {
			return p.refuse(ReasonStepMissing)
		}
		p.pos = len(p.text)
		step = int(n)
		if err := p.checkStep(step); err != nil {
			return err
		}
		if step > 0 {
			word += "/" + strconv.Itoa(step)
		} else {
			p.warn(WarnStepZero, p.typed, word)
		}
	}
	if err := p.add(p.typed, magicAll, -1, step); err != nil {
		return err
	}
	p.accept(word)
	return nil
}

// parseLast reads "L", "L-n", "LW" and "L-nW" of day-of-month, and what they become elsewhere: Saturday in day-of-week,
// nothing at all in the month and year.
func (p *elementParser) parseLast() *ParseError {
	p.pos = 1
	switch p.field {
	case DayOfWeek:
		p.put(7)
		p.accept("SAT")
		return nil
	case Month, Year:
		p.pos = len(p.text)
		p.warn(WarnNoEffect, p.typed, "")
		return nil
	case DayOfMonth:
	default:
		return p.refuseSymbol("L")
	}

	offset, word := 0, "L"
	if p.peek() == '-' {
		p.pos++
		if p.peek() == 0 {
			return p.refuseOffset()
		}
		if isDigit(p.peek()) {
			n, err := p.digits()
			if err != nil {
				return err
			}
			offset = n
		}
		if offset > maxLastOffset {
			return p.refuseOffset()
		}
		if offset > 0 {
			word += "-" + strconv.Itoa(offset)
		}
	}
	if p.peek() == 'W' {
		p.pos++
		p.days.lastWeekdays |= 1 << offset
		p.accept(word + "W")
		return nil
	}
	p.days.lasts |= 1 << offset
	p.accept(word)
	return nil
}

// checkStep holds a step to the field's highest value. Years have no such limit.
func (p *elementParser) checkStep(step int) *ParseError {
	if p.field != Year && step > p.max {
		return p.refuse(ReasonStepOutOfRange)
	}
	return nil
}

// peek is the next character, or 0 at the end.
func (p *elementParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *elementParser) refuse(reason Reason) *ParseError { return p.fail(p.typed, reason) }

func (p *elementParser) refuseSymbol(symbol string) *ParseError {
	err := p.refuse(ReasonNotHere)
	err.Symbol = symbol
	return err
}

func (p *elementParser) refuseOffset() *ParseError {
	err := p.refuse(ReasonLastOffset)
	err.Min, err.Max = 0, maxLastOffset
	return err
}
