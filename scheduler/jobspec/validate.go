package jobspec

import (
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/backoff"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// What may be wrong with a part of a definition: the keys of the messages, with the arguments that these may use.
const (
	CodeRequired   = "job.error.required"
	CodeTooLong    = "job.error.too_long"     // Max: how many characters fit
	CodeCharacters = "job.error.characters"   // a name with line ends or characters that are not seen
	CodeUnknown    = "job.error.unknown"      // Value: not one of Values, which are offered
	CodeChoose     = "job.error.choose"       // Values, which are offered: there is none
	CodeOutOfRange = "job.error.out_of_range" // Min, Max
	CodeNoTime     = "job.error.no_time"      // the schedule has no time to come; for starting a job, Validate does not ask
	CodeInterval   = "job.error.interval"     // Min, Max
	CodeHandler    = "job.error.handler"      // a BEAN job without a handler
	CodeEmail      = "job.error.email"        // Value: the address that is none
	CodeChildID    = "job.error.child_id"     // Value: the element that is no job id
	CodeChildSelf  = "job.error.child_self"   // the job starts itself
	CodeMoment     = "job.error.moment"       // a ONCE job's moment cannot be read
	CodeNotThen    = "job.error.not_then"     // Min, Max: a moment can be read, and is not between them
	CodeZone       = "job.error.zone"         // Value: a zone that is not known
	CodeWindow     = "job.error.window"       // the end is not after the start
	CodeBackoff    = "job.error.backoff"      // Value: a back-off that cannot be read
	CodeCalendar   = "job.error.calendar"     // Value: a calendar that there is not
	CodeMoves      = "job.error.moves"        // an interval has no time of day that could be moved
	CodeLink       = "job.error.link"         // no address of a page
	CodeClock      = "job.error.clock"        // Value: no time of day
	CodeNoFires    = "job.error.no_fires"     // a deadline of a job without planned times
	CodeStrategy   = "job.error.strategy"     // Value: the misfire strategy without which the field says nothing
	CodeNoCalendar = "job.error.nocalendar"   // a rule of a calendar without one
	CodeText       = "job.error.text"         // a line end where there is one line, or the character 0, which no form can show
	CodePlanned    = "job.error.planned."     // begins the codes of an [expr.Part] that cannot be read; Value: what of it
)

// cronError starts the codes for a cron text that is refused; a [cron.Reason] follows.
const cronError = "cron.error."

// Validate lists what is wrong with a definition, in the order of the form; none means that it can be saved. Whether the
// group and the children exist, and may be used by whoever asks, is for the caller to look up.
func Validate(j Job) []invalid.Field {
	var v validation
	for _, f := range Fields {
		if f.In(&j) {
			f.validate(&v, &j)
		}
	}
	return v.errors
}

// Unheeded lists which of the fields that somebody named say nothing beside what else the definition says: [Job.Normalize] would take them
// out. In a form they are hidden then; who wrote them in a file or a program meant something by it.
func Unheeded(j Job, named func(f *Field) bool) []invalid.Field {
	var faults []invalid.Field
	for _, u := range []struct {
		field   string
		silent  bool
		fault   string
		because []any
	}{
		{FieldRule, j.CalendarRule != "" && strings.TrimSpace(j.Calendar) == "", CodeNoCalendar, nil},
		{FieldMisfireLast, j.MisfireLast > 0 && j.Misfire != MisfireFireLast, CodeStrategy, []any{"Value", MisfireFireLast}},
		{FieldMisfireSpan, j.MisfireWithin > 0 && j.Misfire != MisfireFireWithin, CodeStrategy, []any{"Value", MisfireFireWithin}},
	} {
		if u.silent && named(Named(u.field)) {
			faults = append(faults, invalid.Field{Name: u.field, Key: u.fault, Args: u.because})
		}
	}
	return faults
}

// manyLines are the texts of which a form has more than one line.
var manyLines = map[string]bool{FieldParam: true, FieldParamForm: true, FieldSource: true}

// Unshown lists the texts that no form can show as they are, so that saving it would change them: whoever saves one is told. What a job has
// already, old, it keeps; XXL-JOB takes any text.
func Unshown(j Job, old *Job) []invalid.Field {
	var faults []invalid.Field
	for _, f := range Fields {
		if f.Kind != Text && f.Kind != List || !f.In(&j) {
			continue
		}
		text, not := f.part.text(&j), "\x00\r\n"
		if manyLines[f.Name] {
			not = "\x00"
		}
		if strings.ContainsAny(text, not) && (old == nil || !f.In(old) || f.part.text(old) != text) {
			faults = append(faults, invalid.Field{Name: f.Name, Key: CodeText})
		}
	}
	return faults
}

func (f *Field) validate(v *validation, j *Job) {
	switch {
	case f.check != nil:
		f.check(v, f, j)
	case f.Kind == Number:
		if n := f.part.get(j).(int64); n < 0 || n > int64(f.Max) {
			v.errors = append(v.errors, *f.outOfRange())
		}
	case f.Kind == Choice:
		choice(v, f, j)
	case f.Kind == Text || f.Kind == List:
		v.text(f, j)
	}
}

func (f *Field) outOfRange() *invalid.Field {
	return &invalid.Field{Name: f.Name, Key: CodeOutOfRange, Args: []any{"Min", 0, "Max", f.Max}}
}

// ChildIDs reads the ids of the jobs that a success starts. ok is false when an element is no id, as a list that XXL-JOB took may
// have: the others are started all the same. bad is the first such element.
func ChildIDs(list string) (ids []int64, bad string, ok bool) {
	ok = true
	for _, element := range splitList(list) {
		id, err := strconv.ParseInt(element, 10, 32)
		switch {
		case err == nil && id > 0:
			ids = append(ids, id)
		case ok:
			bad, ok = element, false
		}
	}
	return ids, bad, ok
}

// Elements lists what stands in a [List].
func Elements(list string) []string { return splitList(list) }

// splitList cuts a list at its commas, the full-width comma of Chinese keyboards included, and leaves out empty elements.
func splitList(list string) []string {
	var elements []string
	for element := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '，' }) {
		if element = strings.TrimSpace(element); element != "" {
			elements = append(elements, element)
		}
	}
	return elements
}

// validation gathers errors.
type validation struct{ errors []invalid.Field }

func (v *validation) add(field, key string, args []any) {
	v.errors = append(v.errors, invalid.Field{Name: field, Key: key, Args: args})
}

// text reports whether a text is all right.
func (v *validation) text(f *Field, j *Job) bool {
	value := f.part.text(j)
	switch {
	case f.Required && strings.TrimSpace(value) == "":
		v.add(f.Name, CodeRequired, nil)
	case utf8.RuneCountInString(value) > f.Max:
		v.add(f.Name, CodeTooLong, []any{"Max", f.Max})
	default:
		return true
	}
	return false
}

// line is text of one line that looks like what it is, whoever sends it: without line ends, control characters, and the marks that
// turn the direction of what follows.
func line(v *validation, f *Field, j *Job) {
	if v.text(f, j) && !invalid.IsLine(f.part.text(j)) {
		v.add(f.Name, CodeCharacters, nil)
	}
}

func bytes(v *validation, f *Field, j *Job) {
	if len(f.part.text(j)) > f.Max {
		v.add(f.Name, CodeTooLong, []any{"Max", f.Max})
	}
}

// param is handed over as it is, but for expressions, of which the planned time is checked here. Whether secrets exist shows when a
// run is sent.
func param(v *validation, f *Field, j *Job) {
	bytes(v, f, j)
	if fault := ParamFault(f.part.text(j)); fault != nil {
		v.errors = append(v.errors, *fault)
		return
	}
	v.asked(j)
}

// ParamFault is what cannot be read in the expressions of a parameter, nil when there is nothing.
func ParamFault(text string) *invalid.Field {
	if fault := expr.CheckPlanned(text); fault != nil {
		return &invalid.Field{Name: FieldParam, Key: CodePlanned + string(fault.Part), Args: []any{"Value", fault.Text}}
	}
	return nil
}

func choice(v *validation, f *Field, j *Job) {
	switch value := f.part.text(j); {
	case slices.Contains(f.Options, value):
	case value == "":
		v.add(f.Name, CodeChoose, []any{"Values", strings.Join(f.Options, ", ")})
	default:
		v.add(f.Name, CodeUnknown, []any{"Value", value, "Values", strings.Join(f.Options, ", ")})
	}
}

func choiceOrNone(v *validation, f *Field, j *Job) {
	if f.part.text(j) != "" {
		choice(v, f, j)
	}
}

func (v *validation) schedule(err error) {
	if e, bad := ScheduleError(err); bad {
		v.errors = append(v.errors, e)
	}
}

func cronText(v *validation, f *Field, j *Job) {
	switch j.ScheduleType {
	case ScheduleCron:
		if strings.TrimSpace(j.ScheduleConf) == "" {
			v.add(f.Name, CodeRequired, nil)
		} else if v.text(f, j) {
			// A text that parses is enough, as in XXL-JOB. That it has a time to come is asked when the job is started: one
			// whose years are over may still be edited. What is odd about a text, its warnings say.
			_, err := expressions.parse(j.ScheduleConf)
			v.schedule(err)
		}
	case ScheduleNone:
		v.text(f, j) // the conf says nothing then, but it has to fit
	case ScheduleFixRate, ScheduleFixDelay, ScheduleOnce:
	}
}

// interval and moment may be written with any number of zeros; only so many fit.
func interval(v *validation, _ *Field, j *Job) {
	_, err := Interval(j.ScheduleConf)
	if len(j.ScheduleConf) > maxConf {
		err = ErrInterval
	}
	v.schedule(err)
}

func moment(v *validation, _ *Field, j *Job) {
	_, err := Moment(j.ScheduleConf, time.UTC)
	if len(j.ScheduleConf) > maxConf {
		err = ErrMoment
	}
	v.schedule(err)
}

func zone(v *validation, f *Field, j *Job) {
	if _, err := Location(j.Zone); err != nil {
		v.add(f.Name, CodeZone, []any{"Value", j.Zone})
	}
}

func calendarRule(v *validation, f *Field, j *Job) {
	if choiceOrNone(v, f, j); j.CalendarRule.Moves() && (j.ScheduleType == ScheduleFixRate || j.ScheduleType == ScheduleFixDelay) {
		v.add(f.Name, CodeMoves, nil)
	}
}

func misfireLast(v *validation, f *Field, j *Job) { v.neededBy(f, j, MisfireFireLast) }

func misfireWithin(v *validation, f *Field, j *Job) { v.neededBy(f, j, MisfireFireWithin) }

// neededBy checks the number of a misfire strategy.
func (v *validation) neededBy(f *Field, j *Job, strategy Misfire) {
	n, least := f.part.get(j).(int64), int64(0)
	if j.Misfire == strategy {
		least = 1
	}
	if n < least || n > int64(f.Max) {
		v.add(f.Name, CodeOutOfRange, []any{"Min", int(least), "Max", f.Max})
	}
}

// runbook wants the address of a page, which is shown as a link to everybody who sees the job fail.
func runbook(v *validation, f *Field, j *Job) {
	if v.text(f, j) && !Linkable(j.Runbook) && j.Runbook != "" {
		v.add(f.Name, CodeLink, nil)
	}
}

// Linkable says whether a text is an address that may be drawn as a link: http or https, a host, nobody's password, and nothing that ends a line.
// A program may have written the column.
func Linkable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && !strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// doneBy wants a time of day, and a schedule whose times are known beforehand.
func doneBy(v *validation, f *Field, j *Job) {
	if j.DoneBy == "" {
		return
	}
	if _, ok := ParseClock(j.DoneBy); !ok {
		v.add(f.Name, CodeClock, []any{"Value", j.DoneBy})
		return
	}
	switch j.ScheduleType {
	case ScheduleCron, ScheduleFixRate, ScheduleOnce:
	case ScheduleNone, ScheduleFixDelay:
		v.add(f.Name, CodeNoFires, nil)
	}
}

func start(v *validation, f *Field, j *Job) {
	if j.Start < 0 {
		v.add(f.Name, CodeNotThen, since1970())
	}
}

func end(v *validation, f *Field, j *Job) {
	switch {
	case j.End < 0:
		v.add(f.Name, CodeNotThen, since1970())
	case j.End > 0 && j.End <= j.Start:
		v.add(f.Name, CodeWindow, nil)
	}
}

// since1970 are the arguments of [CodeNotThen] for a time of which 0 is none, and what is before it too.
func since1970() []any { return []any{"Min", "1970-01-01", "Max", "9999-12-31"} }

func waits(v *validation, f *Field, j *Job) {
	if v.text(f, j) {
		if _, err := backoff.Parse(j.Backoff); err != nil {
			v.add(f.Name, CodeBackoff, []any{"Value", j.Backoff})
		}
	}
}

func handler(v *validation, f *Field, j *Job) {
	if j.Glue == wire.GlueBean && strings.TrimSpace(j.Handler) == "" {
		v.add(f.Name, CodeHandler, nil)
	}
	line(v, f, j)
}

// EmailAddresses lists the addresses of a job's alarm_email.
func EmailAddresses(list string) []string { return splitList(list) }

// emails wants bare addresses: a display name would not survive the list.
func emails(v *validation, f *Field, j *Job) {
	v.text(f, j)
	for _, address := range splitList(j.AlarmEmail) {
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address {
			v.add(f.Name, CodeEmail, []any{"Value", address})
			return
		}
	}
}

func children(v *validation, f *Field, j *Job) {
	v.text(f, j)
	ids, bad, ok := ChildIDs(j.ChildJobIDs)
	switch {
	case !ok:
		v.add(f.Name, CodeChildID, []any{"Value", bad})
	case j.ID != 0 && slices.Contains(ids, j.ID):
		v.add(f.Name, CodeChildSelf, nil)
	}
}
