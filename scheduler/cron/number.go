package cron

import (
	"math"
	"strconv"
)

// parseNumber reads everything that starts with a number.
func (p *elementParser) parseNumber() *ParseError {
	n, err := p.digits()
	if err != nil {
		return err
	}
	switch p.peek() {
	case 'L':
		return p.parseLastWeekday(n)
	case 'W':
		return p.parseNearest(n)
	case '#':
		if p.field != DayOfWeek {
			return p.refuseSymbol("#")
		}
		return p.parseOrdinal(n)
	case '-':
		return p.parseRange(n)
	case '/':
		return p.parseStep(n)
	}
	if err := p.add(p.typed, n, -1, -1); err != nil {
		return err
	}
	p.acceptNumbers(n, -1, 0, p.valueWord(n))
	return nil
}

// parseLastWeekday reads "nL".
func (p *elementParser) parseLastWeekday(n int) *ParseError {
	if p.field != DayOfWeek {
		return p.refuseSymbol("L")
	}
	if n < p.min || n > p.max {
		return p.refuse(ReasonOutOfRange)
	}
	p.pos++
	p.lastOnly = true
	p.put(n)
	p.accept(p.names[n-1] + "L")
	return nil
}

// parseNearest reads "nW". Day 0 passes, and never comes.
func (p *elementParser) parseNearest(n int) *ParseError {
	if p.field != DayOfMonth {
		return p.refuseSymbol("W")
	}
	if n > p.max {
		return p.refuse(ReasonOutOfRange)
	}
	p.pos++
	p.days.nearest |= 1 << n
	word := strconv.Itoa(n) + "W"
	if n == 0 {
		p.warn(WarnNoSuchValue, p.typed, word)
	}
	p.accept(word)
	return nil
}

// parseOrdinal reads the "#k" behind weekday n. The number before the sign is not checked: 0 acts as Saturday, a day above
// 7 never comes, and 98 is "?" even here.
func (p *elementParser) parseOrdinal(n int) *ParseError {
	k, err := strconv.ParseInt(p.text[p.pos+1:], 10, 32)
	if err != nil || k < 1 || k > 5 {
		return p.refuse(ReasonOrdinal)
	}
	p.pos = len(p.text)
	if n == magicNone {
		p.none = true
		p.warn(WarnMagicNone, p.typed, "?")
		p.accept("?")
		return nil
	}
	p.ordinal, p.weekday = int(k), n
	word := p.weekdayName(n) + "#" + strconv.Itoa(p.ordinal)
	if n < p.min || n > p.max {
		p.warn(WarnNoSuchValue, p.typed, word)
	}
	p.accept(word)
	return nil
}

// parseRange reads the "-b" or "-b/n" behind a. The step has no upper limit here.
func (p *elementParser) parseRange(first int) *ParseError {
	p.pos++
	if !isDigit(p.peek()) {
		return p.refuse(ReasonRangeEnd)
	}
	last, err := p.digits()
	if err != nil {
		return err
	}
	step := 1
	if p.peek() == '/' {
		p.pos++
		if !isDigit(p.peek()) {
			return p.refuse(ReasonStepMissing)
		}
		if step, err = p.digits(); err != nil {
			return err
		}
	}
	if err := p.add(p.typed, first, last, step); err != nil {
		return err
	}
	word := p.valueWord(first)
	switch {
	case step == 0:
		p.warn(WarnStepZero, p.typed, word)
	case last < p.min && p.field != Year:
		// The original checks only the start against the lower limit; an end of 0 wraps to the highest value.
		word = p.rangeWord(first, p.max, step)
		p.warn(WarnNoSuchValue, p.typed, word)
	default:
		word = p.rangeWord(first, last, step)
	}
	p.acceptNumbers(first, last, step, word)
	return nil
}

// parseStep reads the "/n" behind a. Text behind a step of two digits is ignored, behind one of one digit refused.
func (p *elementParser) parseStep(first int) *ParseError {
	p.pos++
	if !isDigit(p.peek()) {
		return p.refuse(ReasonStepMissing)
	}
	start := p.pos
	step, err := p.digits()
	if err != nil {
		return err
	}
	if p.pos == start+1 && p.pos < len(p.text) {
		return p.refuse(ReasonStepMissing)
	}
	if err := p.checkStep(step); err != nil {
		return err
	}
	if err := p.add(p.typed, first, -1, step); err != nil {
		return err
	}
	word := p.valueWord(first)
	if step == 0 {
		p.warn(WarnStepZero, p.typed, word)
	} else {
		word = strconv.Itoa(first) + "/" + strconv.Itoa(step)
	}
	p.acceptNumbers(first, -1, step, word)
	return nil
}

// digits reads a number, of which the first digit is known to be there.
func (p *elementParser) digits() (int, *ParseError) {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n > math.MaxInt32 {
		return 0, p.refuse(ReasonNumberTooLarge)
	}
	return n, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
