package crontab

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// macros stand for five fields.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// fault is why a line has no schedule.
type fault struct {
	kind Kind
	text string
}

// column is one of the five fields: its values, and their names.
type column struct {
	low, high int
	names     []string // of the values from low on
}

var (
	weekdays = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	months   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}

	// A seventh weekday is Sunday again.
	columns = [5]column{{0, 59, nil}, {0, 23, nil}, {1, 31, nil}, {1, 12, months}, {0, 7, weekdays}}
)

// The positions of the fields of days.
const (
	dayOfMonth = 2
	dayOfWeek  = 4
)

// maxConf is the longest text of a job's schedule.
const maxConf = 128

// schedule reads the beginning of a line into a text of the dialect, and what stands behind it. A dash before it keeps a run out of the log
// of cronie.
func schedule(line string) (text, rest string, bad *fault) {
	if len(line) > 1 && line[0] == '-' && line[1] != ' ' && line[1] != '\t' {
		line = line[1:]
	}
	if strings.HasPrefix(line, "@") {
		word, rest := cut(line)
		fields, ok := macros[strings.ToLower(word)]
		switch {
		case strings.EqualFold(word, "@reboot"):
			return "", "", &fault{Reboot, ""}
		case !ok:
			return "", "", &fault{Macro, word}
		}
		text, _, bad = schedule(fields + " .")
		return text, rest, bad
	}
	var fields [5]field
	rest = line
	for i := range fields {
		var word string
		if word, rest = cut(rest); rest == "" {
			return "", "", &fault{Fields, ""}
		}
		if fields[i], bad = columns[i].read(word); bad != nil {
			return "", "", bad
		}
	}
	if text, bad = joined(fields); bad != nil {
		return "", "", bad
	}
	if len(text) > maxConf {
		return "", "", &fault{TooLong, ""}
	}
	if _, err := cron.Parse(text); err != nil {
		return "", "", &fault{Value, text} // none is known
	}
	return text, rest, nil
}

// joined puts fields together. Cron runs a line that names days of the month and weekdays on either, and on days that are both where one
// of the two begins with a star; the dialect has only one of the two, so the other has to mean every day.
func joined(f [5]field) (string, *fault) {
	month, week := f[dayOfMonth], f[dayOfWeek]
	both := month.star || week.star
	days, of := month.text(columns[dayOfMonth]), "?"
	switch {
	case month.full() && week.full() || !both && (month.full() || week.full()):
		days = "*"
	case week.full():
	case month.full():
		days, of = "?", week.text(columns[dayOfWeek])
	case both:
		return "", &fault{Both, ""}
	default:
		return "", &fault{Days, ""}
	}
	return fmt.Sprintf("0 %s %s %s %s %s", f[0].text(columns[0]), f[1].text(columns[1]), days, f[3].text(columns[3]), of), nil
}

// field is what one of the five says.
type field struct {
	values []bool // of a column, from its smallest on
	star   bool   // it begins with one
	typed  string // as it was written, where the dialect has the same
}

func (f field) full() bool {
	for _, on := range f.values {
		if !on {
			return false
		}
	}
	return true
}

// read reads a list of values, ranges and steps.
func (c column) read(text string) (field, *fault) {
	f := field{values: make([]bool, c.high-c.low+1), star: strings.HasPrefix(text, "*"), typed: strings.ToUpper(text)}
	if strings.Contains(text, "~") {
		return f, &fault{Random, text}
	}
	if strings.ContainsFunc(text, unicode.IsLetter) {
		f.typed = "" // the dialect takes no step behind names
	}
	for element := range strings.SplitSeq(text, ",") {
		span, step, hasStep := strings.Cut(element, "/")
		by := 1
		if hasStep {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || step[0] == '+' {
				return f, &fault{Value, text}
			}
			by = min(n, c.high-c.low+1)
			if n > c.high-c.low {
				f.typed = "" // larger than the dialect takes
			}
		}
		from, to, ok := c.span(span, hasStep)
		if !ok {
			return f, &fault{Value, text}
		}
		for v := from; v <= to; v += by {
			f.values[v-c.low] = true
		}
	}
	if c.high == 7 {
		f.values[0] = f.values[0] || f.values[7]
		f.values, f.typed = f.values[:7], "" // the dialect counts from 1
	}
	return f, nil
}

// span reads "*", "a" and "a-b". Sunday at the end of a range is the seventh day, as in cronie; the other crons refuse that. A step behind a
// single value is refused, or passed over: no cron goes on from it.
func (c column) span(text string, hasStep bool) (from, to int, ok bool) {
	if text == "*" {
		return c.low, c.high, true
	}
	first, last, isRange := strings.Cut(text, "-")
	if from, ok = c.value(first); !ok {
		return 0, 0, false
	}
	if !isRange {
		return from, from, !hasStep
	}
	if to, ok = c.value(last); c.high == 7 && to == 0 && from > 0 && !hasStep {
		to = 7
	}
	return from, to, ok && from <= to
}

func (c column) value(text string) (int, bool) {
	for i, name := range c.names {
		if strings.EqualFold(text, name) {
			return c.low + i, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && int(n) >= c.low && int(n) <= c.high
}

// text is a field in the dialect: as it was typed where that means the same, and else its values, those that follow one another as a range.
func (f field) text(c column) string {
	if f.full() {
		return "*"
	}
	if f.typed != "" {
		return f.typed
	}
	var parts []string
	for i := 0; i < len(f.values); i++ {
		if !f.values[i] {
			continue
		}
		end := i
		for end+1 < len(f.values) && f.values[end+1] {
			end++
		}
		switch end - i {
		case 0:
			parts = append(parts, c.word(i))
		case 1:
			parts = append(parts, c.word(i), c.word(end))
		default:
			parts = append(parts, c.word(i)+"-"+c.word(end))
		}
		i = end
	}
	return strings.Join(parts, ",")
}

// word is a value as the dialect writes it.
func (c column) word(i int) string {
	if i < len(c.names) {
		return c.names[i]
	}
	return strconv.Itoa(c.low + i)
}

// cut divides a text at its first blanks.
func cut(text string) (word, rest string) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], " \t")
}
