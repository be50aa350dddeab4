package cron

import "math/bits"

// maxLastOffset is how far "L-n" may reach back: to the first day of a month of 31.
const maxLastOffset = 30

// dayRule says which days of a month match: the day-of-month field, or the day-of-week field when that one has the say.
type dayRule struct {
	// Day of month; the sets are joined. Bit n of month and nearest stands for day n, of lasts and lastWeekdays for n days
	// before the last.
	month        uint32
	lasts        uint32
	nearest      uint32 // the weekday nearest to the day
	lastWeekdays uint32 // the weekday nearest to n days before the last

	// Day of week: the plain set (bit 1 is Sunday), the last such weekday of the month, or the ordinal-th weekday.
	byWeekday bool
	weekdays  uint8
	last      bool
	ordinal   int
	weekday   int
}

// daysOf is the set of matching days of a month, bit n for day n. firstWeekday is the weekday of its first day, 0 for
// Sunday, and length the number of its days.
func (r *dayRule) daysOf(firstWeekday, length int) uint64 {
	if r.byWeekday {
		return r.weekdaysOf(firstWeekday, length)
	}
	within := uint64(1)<<(length+1) - 1
	days := uint64(r.month) & within
	for set := r.lasts; set != 0; set &= set - 1 {
		if day := length - bits.TrailingZeros32(set); day >= 1 {
			days |= 1 << day
		}
	}
	for set := r.nearest; set != 0; set &= set - 1 {
		days |= nearestWeekday(bits.TrailingZeros32(set), firstWeekday, length)
	}
	for set := r.lastWeekdays; set != 0; set &= set - 1 {
		days |= nearestWeekday(length-bits.TrailingZeros32(set), firstWeekday, length)
	}
	return days
}

func (r *dayRule) weekdaysOf(firstWeekday, length int) uint64 {
	switch {
	case r.last:
		day := firstOn(bits.TrailingZeros8(r.weekdays), firstWeekday) + 28
		if day > length {
			day -= 7
		}
		return 1 << day
	case r.ordinal > 0:
		if r.weekday > 7 {
			return 0
		}
		day := firstOn(r.weekday, firstWeekday) + 7*(r.ordinal-1)
		if day > length {
			return 0
		}
		return 1 << day
	}
	// One week, starting with the weekday of day 1, laid down five times.
	week := uint64(r.weekdays) >> 1
	week = (week>>firstWeekday | week<<(7-firstWeekday)) & 0x7f
	days := (week | week<<7 | week<<14 | week<<21 | week<<28) << 1
	return days & (1<<(length+1) - 1)
}

// firstOn is the first day of the month that is the given weekday, 1 for Sunday; 0 acts as Saturday.
func firstOn(weekday, firstWeekday int) int { return 1 + (weekday+6-firstWeekday+7)%7 }

// nearestWeekday is the set with the Monday to Friday nearest to a day, without leaving the month; empty when the month
// does not have the day.
func nearestWeekday(day, firstWeekday, length int) uint64 {
	if day < 1 || day > length {
		return 0
	}
	switch (firstWeekday + day - 1) % 7 {
	case 6: // Saturday
		if day == 1 {
			return 1 << 3
		}
		return 1 << (day - 1)
	case 0: // Sunday
		if day == length {
			return 1 << (day - 2)
		}
		return 1 << (day + 1)
	}
	return 1 << day
}

// yearSet is a set of years from 0 to max.
type yearSet struct {
	max   int
	words [lastYear/64 + 1]uint64
}

func (s *yearSet) add(year int) {
	if year <= s.max {
		s.words[year/64] |= 1 << (year % 64)
	}
}

func (s *yearSet) addRange(first, last, step int) {
	for year := first; year <= min(last, s.max); year += step {
		s.add(year)
	}
}

// next is the first year of the set from year on.
func (s *yearSet) next(year int) (int, bool) {
	if year > s.max {
		return 0, false
	}
	year = max(year, 0)
	word := s.words[year/64] >> (year % 64)
	if word != 0 {
		return year + bits.TrailingZeros64(word), true
	}
	for i := year/64 + 1; i < len(s.words); i++ {
		if s.words[i] != 0 {
			return i*64 + bits.TrailingZeros64(s.words[i]), true
		}
	}
	return 0, false
}
