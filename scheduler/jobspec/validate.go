package jobspec

import (
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/cron"
)

// Job is a definition as somebody wants to save it.
type Job struct {
	ID             int64 // 0 for a new job
	Name           string
	Author         string
	AlarmEmail     string // addresses, separated by commas
	ScheduleType   ScheduleType
	ScheduleConf   string
	Misfire        Misfire
	Route          Route
	Block          wire.Block
	Glue           wire.Glue
	Handler        string
	Param          string
	GlueSource     string
	GlueRemark     string
	ChildJobIDs    string // separated by commas
	TimeoutSeconds int    // 0 for no limit
	Retries        int

	Zone          string // IANA name; "" for the installation's
	Start, End    int64  // epoch ms between which the job is due; 0 for no bound
	Backoff       string // see ParseBackoff
	MaxConcurrent int    // runs of the job at a time in the whole cluster; 0 for no limit
	Concurrency   Concurrency
	RetentionDays int // 0 for the installation's
	WarnAfter     int // seconds a run may take before somebody is told; 0 for never
	ExpectEvery   int // seconds within which a success is expected; 0 for no expectation
	Tags          string
	ParamFixed    bool // a run by hand goes with Param, and with no other
}

// The names of the parts of a definition, by which a [FieldError] finds its place in a form.
const (
	FieldName         = "name"
	FieldAuthor       = "author"
	FieldAlarmEmail   = "alarm_email"
	FieldScheduleType = "schedule_type"
	FieldCron         = "cron"
	FieldSeconds      = "seconds"
	FieldMisfire      = "misfire"
	FieldRoute        = "route"
	FieldBlock        = "block"
	FieldGlue         = "glue"
	FieldHandler      = "handler"
	FieldParam        = "param"
	FieldSource       = "source"
	FieldRemark       = "remark"
	FieldChildren     = "children"
	FieldTimeout      = "timeout"
	FieldRetries      = "retries"
	FieldMoment       = "moment"
	FieldZone         = "time_zone"
	FieldStart        = "start_at"
	FieldEnd          = "end_at"
	FieldBackoff      = "retry_backoff"
	FieldConcurrent   = "max_concurrent"
	FieldConcurrency  = "concurrency_policy"
	FieldRetention    = "retention_days"
	FieldWarnAfter    = "warn_after"
	FieldExpectEvery  = "expect_every"
	FieldTags         = "tags"
	FieldParamFixed   = "param_fixed"
)

// Code says what is wrong with a part of a definition. The values are keys of the message catalogues.
type Code string

// The codes, with the arguments their messages may use.
const (
	CodeRequired   Code = "job.error.required"
	CodeTooLong    Code = "job.error.too_long"     // Max: how many characters fit
	CodeCharacters Code = "job.error.characters"   // a name with line ends or characters that are not seen
	CodeUnknown    Code = "job.error.unknown"      // Value: not one of the values offered
	CodeOutOfRange Code = "job.error.out_of_range" // Min, Max
	CodeNoTime     Code = "job.error.no_time"      // the schedule has no time to come; for starting a job, Validate does not ask
	CodeInterval   Code = "job.error.interval"     // Min, Max
	CodeHandler    Code = "job.error.handler"      // a BEAN job without a handler
	CodeEmail      Code = "job.error.email"        // Value: the address that is none
	CodeChildID    Code = "job.error.child_id"     // Value: the element that is no job id
	CodeChildSelf  Code = "job.error.child_self"   // the job starts itself
	CodeMoment     Code = "job.error.moment"       // a ONCE job's moment cannot be read
	CodeZone       Code = "job.error.zone"         // Value: a zone that is not known
	CodeWindow     Code = "job.error.window"       // the end is not after the start
	CodeBackoff    Code = "job.error.backoff"      // Value: a back-off that cannot be read
)

// cronError starts the codes for a cron text that is refused; a [cron.Reason] follows.
const cronError = "cron.error."

// FieldError says what is wrong with one part of a definition.
type FieldError struct {
	Field string
	Code  Code
	Args  []any // pairs of a name and its value, for the message
	// CronField is the field of a cron text in which the fault lies, or "". The messages call it Field, in words:
	// "cron.field." followed by its name is the key of those.
	CronField cron.Field
}

// What fits into the columns, in characters unless the name says bytes, and the ranges that XXL-JOB's form lets through.
const (
	MaxName         = 255
	MaxAuthor       = 64
	MaxAlarmEmail   = 255
	MaxScheduleConf = 128
	MaxHandler      = 255
	MaxParamBytes   = 65_535
	MaxSourceBytes  = 16_777_215
	MaxRemark       = 128
	MaxChildren     = 255
	MaxTimeout      = 999_999
	MaxRetries      = 9_999
	MaxTags         = 255
	MaxBackoffText  = 128
	MaxConcurrent   = 9_999
	MaxDays         = 3_650
	MaxSeconds      = 31_536_000 // a year
)

// Normalize trims what people paste with blanks around it, and takes the carriage returns out of shell sources, where
// bash would stumble over them. It comes before [Validate], and what it returns is what to store.
func (j Job) Normalize() Job {
	for _, s := range []*string{&j.Name, &j.Author, &j.Handler, &j.ScheduleConf, &j.GlueRemark, &j.Zone, &j.Backoff} {
		*s = strings.TrimSpace(*s)
	}
	j.AlarmEmail = strings.Join(splitList(j.AlarmEmail), ",")
	j.ChildJobIDs = strings.Join(splitList(j.ChildJobIDs), ",")
	j.Tags = strings.Join(splitList(j.Tags), ",")
	if j.Glue == wire.GlueShell {
		j.GlueSource = strings.ReplaceAll(j.GlueSource, "\r", "")
	}
	return j
}

// Validate lists what is wrong with a definition, in the order of the form; none means that it can be saved. Whether the
// group and the children exist, and may be used by whoever asks, is for the caller to look up.
func Validate(j Job) []FieldError {
	var v validation
	v.line(FieldName, j.Name, MaxName, true)
	v.line(FieldAuthor, j.Author, MaxAuthor, true)
	v.emails(j.AlarmEmail)
	v.schedule(j)
	v.code(j)
	v.known(FieldRoute, string(j.Route), j.Route.Valid())
	v.known(FieldMisfire, string(j.Misfire), j.Misfire.Valid())
	v.known(FieldBlock, string(j.Block), slices.Contains(AllBlocks, j.Block))
	v.children(j.ID, j.ChildJobIDs)
	v.within(FieldTimeout, j.TimeoutSeconds, MaxTimeout)
	v.within(FieldRetries, j.Retries, MaxRetries)
	v.options(j)
	return v.errors
}

// ChildIDs reads the ids of the jobs that a success starts. ok is false when an element is no id; the ids are then those
// before it, and bad is that element.
func ChildIDs(list string) (ids []int64, bad string, ok bool) {
	for _, element := range splitList(list) {
		id, err := strconv.ParseInt(element, 10, 32)
		if err != nil || id < 1 {
			return ids, element, false
		}
		ids = append(ids, id)
	}
	return ids, "", true
}

// EmailAddresses lists the addresses of a job's alarm_email.
func EmailAddresses(list string) []string { return splitList(list) }

// Tags lists a job's tags.
func Tags(list string) []string { return splitList(list) }

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
type validation struct{ errors []FieldError }

func (v *validation) add(field string, code Code, args []any) {
	v.errors = append(v.errors, FieldError{Field: field, Code: code, Args: args})
}

// text reports whether a text is all right.
func (v *validation) text(field, value string, limit int, required bool) bool {
	switch {
	case required && strings.TrimSpace(value) == "":
		v.add(field, CodeRequired, nil)
	case utf8.RuneCountInString(value) > limit:
		v.add(field, CodeTooLong, []any{"Max", limit})
	default:
		return true
	}
	return false
}

// line is text of one line that looks like what it is, whoever sends it: without line ends, control characters, and the marks that
// turn the direction of what follows.
func (v *validation) line(field, value string, limit int, required bool) {
	if v.text(field, value, limit, required) && !IsLine(value) {
		v.add(field, CodeCharacters, nil)
	}
}

// IsLine says whether a name has only characters that are seen.
func IsLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\ufffd' || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff'
	})
}

func (v *validation) bytes(field, value string, limit int) {
	if len(value) > limit {
		v.add(field, CodeTooLong, []any{"Max", limit})
	}
}

func (v *validation) known(field, value string, known bool) {
	if !known {
		v.add(field, CodeUnknown, []any{"Value", value})
	}
}

func (v *validation) within(field string, value, limit int) {
	if value < 0 || value > limit {
		v.add(field, CodeOutOfRange, []any{"Min", 0, "Max", limit})
	}
}

func (v *validation) addSchedule(err error) {
	if e, bad := ScheduleError(err); bad {
		v.errors = append(v.errors, e)
	}
}

func (v *validation) schedule(j Job) {
	conf := j.ScheduleConf
	switch j.ScheduleType {
	case ScheduleCron:
		if v.text(FieldCron, conf, MaxScheduleConf, true) {
			// A text that parses is enough, as in XXL-JOB. That it has a time to come is asked when the job is started: one
			// whose years are over may still be edited. What is odd about a text, its warnings say.
			_, err := expressions.parse(conf)
			v.addSchedule(err)
		}
	case ScheduleFixRate, ScheduleFixDelay:
		_, err := Interval(conf)
		v.addSchedule(err)
	case ScheduleOnce:
		_, err := Moment(conf, time.UTC)
		v.addSchedule(err)
	case ScheduleNone:
		// The conf says nothing then, but it has to fit.
		v.text(FieldCron, conf, MaxScheduleConf, false)
	default:
		v.add(FieldScheduleType, CodeUnknown, []any{"Value", string(j.ScheduleType)})
	}
}

// options checks what XXL-JOB's jobs do not have.
func (v *validation) options(j Job) {
	if _, err := Location(j.Zone); err != nil {
		v.add(FieldZone, CodeZone, []any{"Value", j.Zone})
	}
	if j.Start < 0 {
		v.add(FieldStart, CodeWindow, nil)
	}
	if j.End < 0 || (j.End > 0 && j.End <= j.Start) {
		v.add(FieldEnd, CodeWindow, nil)
	}
	if v.text(FieldBackoff, j.Backoff, MaxBackoffText, false) {
		if _, err := ParseBackoff(j.Backoff); err != nil {
			v.add(FieldBackoff, CodeBackoff, []any{"Value", j.Backoff})
		}
	}
	v.within(FieldConcurrent, j.MaxConcurrent, MaxConcurrent)
	if j.Concurrency != "" {
		v.known(FieldConcurrency, string(j.Concurrency), j.Concurrency.Valid())
	}
	v.within(FieldRetention, j.RetentionDays, MaxDays)
	v.within(FieldWarnAfter, j.WarnAfter, MaxSeconds)
	v.within(FieldExpectEvery, j.ExpectEvery, MaxSeconds)
	v.text(FieldTags, j.Tags, MaxTags, false)
}

func (v *validation) code(j Job) {
	v.known(FieldGlue, string(j.Glue), slices.Contains(AllGlues, j.Glue))
	if j.Glue == wire.GlueBean && strings.TrimSpace(j.Handler) == "" {
		v.add(FieldHandler, CodeHandler, nil)
	}
	v.line(FieldHandler, j.Handler, MaxHandler, false)
	v.bytes(FieldParam, j.Param, MaxParamBytes)
	v.bytes(FieldSource, j.GlueSource, MaxSourceBytes)
	v.text(FieldRemark, j.GlueRemark, MaxRemark, false)
}

// emails wants bare addresses: a display name would not survive the list.
func (v *validation) emails(list string) {
	v.text(FieldAlarmEmail, list, MaxAlarmEmail, false)
	for _, address := range splitList(list) {
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address {
			v.add(FieldAlarmEmail, CodeEmail, []any{"Value", address})
			return
		}
	}
}

func (v *validation) children(id int64, list string) {
	v.text(FieldChildren, list, MaxChildren, false)
	ids, bad, ok := ChildIDs(list)
	switch {
	case !ok:
		v.add(FieldChildren, CodeChildID, []any{"Value", bad})
	case id != 0 && slices.Contains(ids, id):
		v.add(FieldChildren, CodeChildSelf, nil)
	}
}
