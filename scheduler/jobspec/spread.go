package jobspec

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// SpreadCron moves the due times of a cron text later, by less than a window and by a share of it that depends on the seed alone, so that many
// jobs due at the same second are due at different ones. Hours and days stay as they are: a time of day is moved inside its hour, and one that
// comes every so many minutes, or every minute, inside that period. ok is false for a text that it leaves alone: one with lists or ranges of
// minutes or seconds, or with steps that do not divide an hour.
func SpreadCron(conf string, window time.Duration, seed int64) (moved string, ok bool) {
	fields := strings.Fields(conf)
	if len(fields) < 6 || window < time.Second {
		return "", false
	}
	second, ok := fieldNumber(fields[0])
	if !ok {
		return "", false
	}
	at, period, steps, ok := minutesOf(fields[1])
	if !ok {
		return "", false
	}
	at += second
	room := min(int(window/time.Second), period)
	if !steps {
		room = min(room, period-at) // never into the next hour
	}
	h := fnv.New32a()
	_, _ = h.Write(strconv.AppendInt(nil, seed, 10))
	at = (at + int(h.Sum32()%uint32(room))) % period
	fields[0] = strconv.Itoa(at % 60)
	switch {
	case !steps:
		fields[1] = strconv.Itoa(at / 60)
	case period > 60:
		fields[1] = strconv.Itoa(at/60) + "/" + strconv.Itoa(period/60)
	}
	return strings.Join(fields, " "), true
}

// minutesOf reads a field of minutes: in which second after the beginning of its period it is due, and how long that is. steps tells a
// period from a time of each hour.
func minutesOf(field string) (at, period int, steps, ok bool) {
	if field == "*" {
		return 0, 60, true, true
	}
	first, step, stepped := strings.Cut(field, "/")
	if !stepped {
		at, ok = fieldNumber(field)
		return at * 60, 3600, false, ok
	}
	every, ok := fieldNumber(step)
	if !ok || every < 1 || 60%every != 0 {
		return 0, 0, false, false
	}
	if first != "*" {
		if at, ok = fieldNumber(first); !ok || at >= every {
			return 0, 0, false, false
		}
	}
	return at * 60, every * 60, true, true
}

// fieldNumber reads a number from 0 to 59.
func fieldNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 60 && text[0] != '+' && text[0] != '-'
}
