package account

import (
	"reflect"

	"github.com/punctual-job/punctual/scheduler/event"
)

// Job is whose fires are accounted for.
type Job struct {
	ID    int64
	Group int64
	Name  string
}

// Entry is a stretch of fires of one job with the same fate.
type Entry struct {
	Job   Job
	Class Class
	From  int64 // epoch ms of the first fire
	To    int64 // of the last
	Fires int64
	Run   int64
	Why   event.Event
}

// Report is what became of the fires of a time.
type Report struct {
	From, To int64 // epoch ms; To is not included
	Jobs     int64 // whose definitions are known for some of the time
	Fires    int64 // planned, unplanned runs not counted
	Counts   [len(classNames)]int64
	Entries  []Entry // all but what was on time, in the order of jobs and times, at most so many of each class
	Left     int64   // fires that Entries leaves out because they are too many
	Notes    []Note  // what the report cannot say, of at most so many jobs
	LeftOut  int64   // notes that are too many

	limit  int
	listed [len(classNames)]int
	last   Entry // the stretch that is being made
}

// Note is something about a job's definitions that keeps fires from being computed.
type Note struct {
	Job  Job
	Kind NoteKind
	At   int64
}

// NoteKind says what keeps fires from being computed.
type NoteKind string

// The kinds of notes.
const (
	KnownSince NoteKind = "known"      // the definition is known from At on
	Unreadable NoteKind = "unreadable" // the schedule of At on cannot be read
	Delay      NoteKind = "delay"      // FIX_DELAY: the fires are the runs on record
	Stuck      NoteKind = "stuck"      // FIX_DELAY: it waits for a run's end, and no run is open
)

// NewReport makes an empty report that lists at most limit stretches of each class.
func NewReport(from, to int64, limit int) *Report { return &Report{From: from, To: to, limit: limit} }

// Add adds the findings about a job, in the order of time.
func (r *Report) Add(job Job, findings []Finding) {
	for _, f := range findings {
		r.Counts[f.Class]++
		if f.Class != Unplanned {
			r.Fires++
		}
		if f.Class == OnTime {
			r.flush()
			continue
		}
		if e := &r.last; e.Fires > 0 && e.Job.ID == job.ID && e.Class == f.Class && e.Run == f.Run && reflect.DeepEqual(e.Why, f.Why) {
			e.To, e.Fires = f.At, e.Fires+1
			continue
		}
		r.flush()
		r.last = Entry{Job: job, Class: f.Class, From: f.At, To: f.At, Fires: 1, Run: f.Run, Why: f.Why}
	}
}

// Note adds a note.
func (r *Report) Note(n Note) {
	if len(r.Notes) < r.limit {
		r.Notes = append(r.Notes, n)
	} else {
		r.LeftOut++
	}
}

// Close ends the last stretch. A report is read after it.
func (r *Report) Close() { r.flush() }

func (r *Report) flush() {
	e := r.last
	r.last = Entry{}
	if e.Fires == 0 {
		return
	}
	if r.listed[e.Class] >= r.limit {
		r.Left += e.Fires
		return
	}
	r.listed[e.Class]++
	r.Entries = append(r.Entries, e)
}

// Faulty reports whether fires are unaccounted for or were done twice, or a job is stuck.
func (r *Report) Faulty() bool {
	for _, n := range r.Notes {
		if n.Kind == Stuck {
			return true
		}
	}
	for _, c := range Classes() {
		if c.Faulty() && r.Counts[c] > 0 {
			return true
		}
	}
	return false
}
