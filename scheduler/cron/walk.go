package cron

import (
	"fmt"
	"math/bits"
)

// wall is what a clock and a calendar on the wall show. Arithmetic on it knows no zone.
type wall struct {
	year, month, day     int
	hour, minute, second int
}

const secondsPerDay = 24 * 60 * 60

// wallFromSeconds reads seconds that were counted from 1970-01-01 00:00 on the wall clock.
func wallFromSeconds(s int64) wall {
	days := s / secondsPerDay
	rest := s % secondsPerDay
	if rest < 0 {
		days--
		rest += secondsPerDay
	}
	var w wall
	w.year, w.month, w.day = civil(days)
	w.hour, w.minute, w.second = int(rest/3600), int(rest/60%60), int(rest%60)
	return w
}

// seconds is the inverse of wallFromSeconds.
func (w wall) seconds() int64 {
	return epochDays(w.year, w.month, w.day)*secondsPerDay + int64(w.hour*3600+w.minute*60+w.second)
}

func (w wall) sameDay(o wall) bool { return w.year == o.year && w.month == o.month && w.day == o.day }

// String is the wall clock as people write it, without a zone.
func (w wall) String() string {
	return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", w.year, w.month, w.day, w.hour, w.minute, w.second)
}

// nextWall is the first matching wall clock from w on, w included. Every turn of its loop moves on by a month at least and
// the years end, so it ends too.
func (e *Expression) nextWall(w wall) (wall, bool) {
	second := nextBit(e.seconds, w.second)
	if second < 0 {
		second = firstBit(e.seconds)
		w.minute++
	}
	minute := nextBit(e.minutes, w.minute)
	if minute != w.minute {
		second = firstBit(e.seconds)
	}
	if minute < 0 {
		minute = firstBit(e.minutes)
		w.hour++
	}
	hour := nextBit(e.hours, w.hour)
	if hour != w.hour {
		minute, second = firstBit(e.minutes), firstBit(e.seconds)
	}
	if hour < 0 {
		hour = firstBit(e.hours)
		w.day++
	}
	day, ok := e.nextDay(w)
	if !ok {
		return wall{}, false
	}
	if !day.sameDay(w) {
		hour, minute, second = firstBit(e.hours), firstBit(e.minutes), firstBit(e.seconds)
	}
	day.hour, day.minute, day.second = hour, minute, second
	return day, true
}

// nextDay is the first matching date from w's date on. The day of w may be one past the end of its month.
func (e *Expression) nextDay(w wall) (wall, bool) {
	year, month, day := w.year, w.month, w.day
	for {
		y, ok := e.years.next(year)
		if !ok {
			return wall{}, false
		}
		if y != year {
			year, month, day = y, 1, 1
		}
		m := nextBit(e.months, month)
		if m < 0 {
			year, month, day = year+1, 1, 1
			continue
		}
		if m != month {
			month, day = m, 1
		}
		first := epochDays(year, month, 1)
		if d := nextBit(e.days.daysOf(weekdayOf(first), monthLength(year, month)), day); d >= 0 {
			return wall{year: year, month: month, day: d}, true
		}
		month, day = month+1, 1
	}
}

// nextBit is the lowest bit of set from n on, or -1.
func nextBit(set uint64, n int) int {
	set = set >> n << n
	if set == 0 {
		return -1
	}
	return bits.TrailingZeros64(set)
}

func firstBit(set uint64) int { return bits.TrailingZeros64(set) }

// epochDays counts the days from 1970-01-01 to a date of the Gregorian calendar. Years are taken to start in March, which
// puts the leap day at their end.
func epochDays(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yearOfEra := y - era*400
	dayOfYear := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468
}

// civil is the inverse of epochDays.
func civil(days int64) (year, month, day int) {
	days += 719468
	era := floorDiv(days, 146097)
	dayOfEra := days - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	day = int(dayOfYear - (153*m+2)/5 + 1)
	y := yearOfEra + era*400
	m += 3
	if m > 12 {
		m -= 12
		y++
	}
	return int(y), int(m), day
}

// weekdayOf is the weekday of a day counted from 1970-01-01, a Thursday; 0 is Sunday.
func weekdayOf(days int64) int { return int(((days+4)%7 + 7) % 7) }

func monthLength(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
