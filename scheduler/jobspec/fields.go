package jobspec

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Field is a part of a definition: what it is called where it is written, read and stored, and what may stand in it.
type Field struct {
	Name   string // in forms, and of a [invalid.Field]
	Column string // of xxl_job_info, and in the audit log
	File   string // in a job file
	Wire   string // what XXL-JOB's console calls it; "" for what its jobs do not have
	API    string // what the job methods of XXL-JOB's API call it, or would if its jobs had it; "" for what they do not take
	Label  string // the key of its words for people, as the others here
	Help   string // the key of what explains it; "" for none
	Unit   string // the key of the unit of a number
	Words  string // what the keys of a choice's values begin with
	Kind   Kind
	// Max is how many characters fit into a text (bytes, if its check counts those), or the largest number.
	Max       int
	Options   []string // of a choice, in display order
	Default   string   // what a definition that says nothing has
	Since     int      // the migration that added its column; 0 for XXL-JOB's own
	Required  bool
	Explained bool // each of the Options has words that explain it, with keys that end in .help
	Advanced  bool // stands among the options of the form's last section
	// Of is the name of a field before it that it is a detail of: the one says nothing, or something else, without the other.
	Of string

	check func(v *validation, f *Field, j *Job) // the rule of its own; nil for that of its kind
	part  part
}

// Kind is what a field holds.
type Kind int

const (
	Text   Kind = iota
	List        // texts, separated by commas
	Choice      // one of Options
	Number      // from 0 to Max
	Flag
	Moments // epoch milliseconds; 0 for none
)

// String names a kind for the documentation.
func (k Kind) String() string {
	return [...]string{"text", "list", "choice", "number", "flag", "moment"}[k]
}

// Notation is how values are written where people or programs read them.
type Notation struct {
	Zone   *time.Location // of moments
	Layout string         // of moments
	Yes    string         // a flag that is set
}

// part is where a field's value is in a definition. Only [text], [number] and [flag] make one, so that the compiler knows the types.
type part interface {
	get(j *Job) any // a string, an int64 or a bool
	put(j *Job, value any)
	text(j *Job) string // "" for a flag that is not set
}

func text[T ~string](at func(*Job) *T) part       { return textPart[T](at) }
func number[T int | int64](at func(*Job) *T) part { return numberPart[T](at) }
func flag(at func(*Job) *bool) part               { return flagPart(at) }

type (
	textPart[T ~string]       func(*Job) *T
	numberPart[T int | int64] func(*Job) *T
	flagPart                  func(*Job) *bool
)

func (at textPart[T]) get(j *Job) any          { return string(*at(j)) }
func (at textPart[T]) put(j *Job, value any)   { *at(j) = T(value.(string)) }
func (at numberPart[T]) get(j *Job) any        { return int64(*at(j)) }
func (at numberPart[T]) put(j *Job, value any) { *at(j) = T(value.(int64)) }
func (at flagPart) get(j *Job) any             { return *at(j) }
func (at flagPart) put(j *Job, value any)      { *at(j) = value.(bool) }

func (at textPart[T]) text(j *Job) string   { return string(*at(j)) }
func (at numberPart[T]) text(j *Job) string { return strconv.FormatInt(int64(*at(j)), 10) }
func (at flagPart) text(j *Job) string {
	if *at(j) {
		return "true"
	}
	return ""
}

// byName finds fields.
var byName = func() map[string]*Field {
	all := make(map[string]*Field, len(Fields))
	for _, f := range Fields {
		all[f.Name] = f
	}
	return all
}()

// Named is the field with a name, nil for none.
func Named(name string) *Field { return byName[name] }

const columnConf = "schedule_conf"

// In says whether a definition has the field: of the three that are a schedule's conf it has the one that belongs to its type.
func (f *Field) In(j *Job) bool { return f.Column != columnConf || f.Name == confField(j.ScheduleType) }

func confField(t ScheduleType) string {
	switch t {
	case ScheduleFixRate, ScheduleFixDelay:
		return FieldSeconds
	case ScheduleOnce:
		return FieldMoment
	case ScheduleCron, ScheduleNone:
		return FieldCron
	default:
		return FieldCron // a stored type that nobody knows
	}
}

// Value is a definition's value: a string, an int64 or a bool.
func (f *Field) Value(j *Job) any { return f.part.get(j) }

// MustChoose says whether one of the options has to be chosen.
func (f *Field) MustChoose() bool { return f.Kind == Choice && f.check == nil }

// SameChoice says whether two definitions have the same of what is chosen.
func (f *Field) SameChoice(j, other *Job) bool {
	return f != nil && f.Kind == Choice && f.part.text(j) == f.part.text(other)
}

// Text writes a definition's value. A moment or a flag that is not set is nothing.
func (f *Field) Text(j *Job, n Notation) string {
	text := f.part.text(j)
	switch {
	case f.Kind == Flag && text != "":
		return n.Yes
	case f.Kind == Moments:
		if ms := f.part.get(j).(int64); ms > 0 {
			return time.UnixMilli(ms).In(n.Zone).Format(n.Layout)
		}
		return ""
	}
	return text
}

// Put reads a value into a definition; nothing stands for none. Whatever is written is a set flag. A moment without a zone of its
// own is one of the given. The error is for a number or a moment that is none; whether the value is allowed is for [Validate] to say.
func (f *Field) Put(j *Job, text string, zone *time.Location) *invalid.Field {
	switch f.Kind {
	case Number:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 0)
		if err != nil && text != "" {
			return f.outOfRange()
		}
		f.part.put(j, n)
	case Moments:
		if text == "" {
			f.part.put(j, int64(0))
			return nil
		}
		at, err := Moment(text, zone)
		if err != nil {
			return &invalid.Field{Name: f.Name, Key: CodeMoment}
		}
		f.part.put(j, at.UnixMilli())
	case Flag:
		f.part.put(j, text != "")
	case Text, List, Choice:
		f.part.put(j, text)
	}
	return nil
}

// Copy puts the value of one definition into another.
func (f *Field) Copy(to, from *Job) { f.part.put(to, f.part.get(from)) }

// Set is Put for a number of a program: one that no definition can have is cut to what [Validate] refuses.
func (f *Field) Set(j *Job, number int64) { f.part.put(j, max(-1, min(number, 1<<31-1))) }

// Read makes a definition of the texts of a form or a file.
func Read(text func(f *Field) string, zone *time.Location) (j Job, faults []invalid.Field) {
	for _, f := range Fields {
		if !f.In(&j) {
			continue
		}
		if fault := f.Put(&j, text(f), zone); fault != nil {
			faults = append(faults, *fault)
		}
	}
	return j, faults
}

// WithDefaults fills in what a definition may leave out.
func (j Job) WithDefaults() Job {
	for _, f := range Fields {
		if f.Default != "" && f.part.text(&j) == "" {
			f.part.put(&j, f.Default)
		}
	}
	return j
}

// WithOptionsOf takes over from another definition what XXL-JOB's jobs do not have.
func (j Job) WithOptionsOf(other Job) Job {
	if j.Misfire == other.Misfire.Plain() { // as far as its programs can say
		j.Misfire = other.Misfire
	}
	for _, f := range Fields {
		if f.Since > 0 {
			f.part.put(&j, f.part.get(&other))
		}
	}
	return j
}

// inVersion are the fields that an XXL-JOB admin can edit, in the order of its columns. Its columns are what they are, so this stays
// as it is too: what is ours has a revision that is counted.
var inVersion = []string{FieldName, FieldAuthor, FieldAlarmEmail, FieldScheduleType, FieldCron, FieldSeconds, FieldMoment, FieldMisfire, FieldRoute,
	FieldHandler, FieldParam, FieldBlock, FieldTimeout, FieldRetries, FieldGlue, FieldSource, FieldChildren}

// Fingerprint is a text that changes with whatever an XXL-JOB admin can change in a definition.
func (j Job) Fingerprint() string {
	text := make([]byte, 0, 256+len(j.Param)+len(j.GlueSource))
	for _, name := range inVersion {
		f := Named(name)
		if !f.In(&j) {
			continue
		}
		if len(text) > 0 {
			text = append(text, '|')
		}
		if f.Kind == Text || f.Kind == List {
			text = strconv.AppendQuote(text, f.part.text(&j))
		} else {
			text = append(text, f.part.text(&j)...)
		}
	}
	return string(text)
}

// Fit is how many characters a control for the field takes; 0 where that is no matter of characters.
func (f *Field) Fit() int {
	switch {
	case f.Kind == Number:
		return len(strconv.Itoa(f.Max))
	case f.Max > 1000:
		return 0
	}
	return f.Max
}

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}
