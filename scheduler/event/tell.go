package event

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// String is the event in English, for logs and for XXL-JOB's text columns. Times are in UTC.
func (e Event) String() string { return e.In(time.UTC) }

// In is the event in English, with times in a zone.
func (e Event) In(zone *time.Location) string { return Specs.English(e, zone) }

// In is a list in English, a line for each event, with times in a zone.
func (l List) In(zone *time.Location) string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.In(zone)
	}
	return strings.Join(lines, "\n")
}

// English is an event of the book in English, with times in a zone.
func (b Book) English(e Event, zone *time.Location) string {
	spec, ok := b[e.Key]
	if !ok {
		return e.bare()
	}
	var out strings.Builder
	rest := spec.English
	for {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			return trimmed(out.String())
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		if i := slices.IndexFunc(spec.Args, func(a Arg) bool { return a.Name == name }); i >= 0 {
			out.WriteString(spec.english(e, i, spec.Args[i], zone))
		} else {
			out.WriteString("{" + name + "}") // a test finds it
		}
	}
}

// english is an argument in English.
func (s Spec) english(e Event, i int, a Arg, zone *time.Location) string {
	value := e.Text(i)
	switch a.Kind {
	case Number:
		if s.atLeast(e, i) {
			return "more than " + value
		}
	case Moment:
		return e.Time(i).In(zone).Format("2006-01-02 15:04:05 -0700")
	case Length:
		return e.Duration(i).String()
	case RunID, JobID:
		return strconv.FormatInt(e.Number(i), 10)
	case Cause:
		return causeInEnglish(value, zone)
	case Words, Word, FlagMore:
	}
	return value
}

// atLeast says whether a number is a lower bound, as the flag behind it says.
func (s Spec) atLeast(e Event, i int) bool {
	return i+1 < len(s.Args) && s.Args[i+1].Kind == FlagMore && e.Text(i+1) != ""
}

// bare is an event that this version has no words for, which a newer one may have written.
func (e Event) bare() string {
	return strings.TrimSpace(string(e.Key) + " " + strings.Join(e.Args, " "))
}

// trimmed leaves off what leads to an argument at the end that is empty.
func trimmed(text string) string { return strings.TrimRight(text, " :：") }

// Printer says messages in a language; [locales.Printer] is one.
type Printer interface {
	T(key string, args ...any) string
	// Word is a value of a family, as it is where the family does not have it.
	Word(family, value string) string
	// Duration says how long something took.
	Duration(d time.Duration) string
}

// Teller puts events into a reader's language. The message of an event is the family and its key, its values have the names
// of the arguments.
type Teller struct {
	Printer Printer
	Zone    *time.Location
	Layout  string // of moments; "" is "2006-01-02 15:04:05"
	Book    Book   // nil: [Specs]
	Family  string // of the messages; "" is "event."
}

// Tell is an event in words.
func (t Teller) Tell(e Event) string {
	book, family := t.Book, t.Family
	if book == nil {
		book = Specs
	}
	family = cmp.Or(family, "event.")
	spec, ok := book[e.Key]
	if !ok {
		return e.bare()
	}
	args := make([]any, 0, 2*len(spec.Args)+2)
	for i, a := range spec.Args {
		args = append(args, a.Name, t.value(spec, e, i, a))
		if a.Kind == Number && a.Name == "N" {
			args = append(args, "Count", e.Number(i))
		}
	}
	return trimmed(t.Printer.T(family+string(e.Key), args...))
}

// Lines are events in words, a line for each.
func (t Teller) Lines(list List) []string {
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = t.Tell(e)
	}
	return lines
}

// value is an argument in words.
func (t Teller) value(spec Spec, e Event, i int, a Arg) string {
	value := e.Text(i)
	switch a.Kind {
	case Number:
		if spec.atLeast(e, i) {
			return t.Printer.T("event.more", "N", value)
		}
	case Moment:
		layout := cmp.Or(t.Layout, "2006-01-02 15:04:05")
		return e.Time(i).In(t.Zone).Format(layout)
	case Length:
		return t.Printer.Duration(e.Duration(i))
	case Word:
		return t.Printer.Word(a.Of, value)
	case RunID, JobID:
		return strconv.FormatInt(e.Number(i), 10)
	case Cause:
		return t.cause(value)
	case Words:
		// Behind the kind of a fault stand the words of a library or of the other side. Our own say in English what the kind has said already.
		if i > 0 && spec.Args[i-1].Of == fault.Of && wire.Fault(e.Text(i-1)).SaysAll() {
			return ""
		}
	case FlagMore:
	}
	return value
}

// Reason is the event that says why a run ended as it did, or why it goes on as it does. There is none where the executor's
// own words say it, or where this version does not know the outcome.
func (l List) Reason(o Outcome) (Event, bool) {
	if o < 0 || int(o) >= len(reasons) {
		return Event{}, false
	}
	return l.Last(reasons[o]...)
}

// reasons are the keys of the events that an outcome comes of.
var reasons = [...][]Key{
	Open:      {KillAsked, KillFailed},
	Succeeded: {},
	Failed:    {FlowCause, FlowRejected, FlowSilent, FlowLate, FlowItems, FlowOutputs},
	TimedOut:  {NoReport, FlowCause},
	NotSent: {
		Refused, Unreachable, Silent, NoExecutor, Nobody, NoGroup, NoRoute, NoSource, NoScript, NoSecret, SecretsShut, SecretsHeld, NoEnv,
		QueueFull, TooLate, DeadExecutor, NotRecorded, MayHave, Unknown, Unanswered, NoFlow,
	},
	Unconfirmed: {Unanswered, MayHave, NotRecorded},
	Killed:      {KilledAt, KillAsked, LostRun}, // the last of which tells that nobody knows whether it was
	Lost:        {LeftOpen, LostRun},
	Skipped:     {SkippedFires, PausedFires, TooLate, MadeBefore},
	Discarded:   {Full, Crowded, GroupFull, GroupCrowded},
	Stopped:     {JobStopped},
	Cancelled:   {Withdrawn},
}
