package crontab

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Kubernetes reads the schedule of a CronJob: five fields, an @word, or @every and a duration, for which every is not 0. What Kubernetes reads
// it with, github.com/robfig/cron, differs from crontab(5): a value with a step goes on to the end, a ? is a star, there is no seventh weekday, and a
// star with a step restricts the days. Where fault is not empty, it is why there is no schedule, and what the part of it.
func Kubernetes(schedule string) (text string, every time.Duration, fault Kind, what string) {
	schedule = strings.TrimSpace(schedule)
	if rest, ok := strings.CutPrefix(schedule, "@every "); ok {
		every, err := time.ParseDuration(rest)
		if err != nil || every < 0 {
			return "", 0, Value, schedule
		}
		return "", max(every.Truncate(time.Second), time.Second), "", ""
	}
	if strings.HasPrefix(schedule, "@") {
		fields, ok := macros[schedule]
		if !ok {
			return "", 0, Macro, schedule
		}
		schedule = fields
	}
	words := strings.Fields(schedule)
	if len(words) != len(columns) {
		return "", 0, Fields, ""
	}
	var fields [len(columns)]field
	for i, word := range words {
		column := columns[i]
		if i == dayOfWeek {
			column.high = 6
		}
		var ok bool
		if fields[i], ok = column.robfig(word); !ok {
			return "", 0, Value, word
		}
		if i == dayOfWeek {
			fields[i].typed = "" // the dialect counts from 1
		}
	}
	text, bad := joined(fields)
	switch {
	case bad != nil:
		return "", 0, bad.kind, bad.text
	case len(text) > maxConf:
		return "", 0, TooLong, ""
	}
	if _, err := cron.Parse(text); err != nil {
		return "", 0, Value, text
	}
	return text, 0, "", ""
}

// robfig reads a list of values, ranges and steps as github.com/robfig/cron does.
func (c column) robfig(text string) (field, bool) {
	f := field{values: make([]bool, c.high-c.low+1), typed: text}
	if strings.ContainsFunc(text, unicode.IsLetter) || strings.Contains(text, "?") {
		f.typed = ""
	}
	read := false
	for element := range strings.SplitSeq(text, ",") {
		if element == "" { // passed over there
			f.typed = ""
			continue
		}
		span, step, hasStep := strings.Cut(element, "/")
		by := 1
		if hasStep {
			n, err := strconv.ParseUint(step, 10, 31)
			if err != nil || n == 0 {
				return f, false
			}
			by = min(int(n), c.high-c.low+1) //nolint:gosec // of 31 bits
			if n > uint64(c.high-c.low) {    //nolint:gosec // not negative
				f.typed = "" // larger than the dialect takes
			}
		}
		from, to := c.low, c.high
		switch first, last, isRange := strings.Cut(span, "-"); {
		case span == "*" || span == "?":
			f.star = f.star || by == 1
		default:
			var ok bool
			if from, ok = c.value(first); !ok {
				return f, false
			}
			switch {
			case isRange:
				if to, ok = c.value(last); !ok || to < from {
					return f, false
				}
			case !hasStep:
				to = from
			}
		}
		for v := from; v <= to; v += by {
			f.values[v-c.low] = true
		}
		read = true
	}
	return f, read
}
