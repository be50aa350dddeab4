package account

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// Class is what became of a planned fire.
type Class int8

// The classes, in the order in which they are told.
const (
	OnTime    Class = iota // sent within a second of its time
	Late                   // sent later, or not sent yet
	Skipped                // left out, as the misfire strategy says or because somebody changed the job
	Stands                 // one run stands for it and others
	NotSent                // nobody took it
	Lost                   // it was sent, and its result will not come
	Pending                // it is due and will be decided or sent
	Deleted                // its record was deleted on purpose
	Unknown                // somebody else changed the definition about that time, or its calendar was changed since
	Unplanned              // not a fire: a run for a time at which none was planned
	Doubled                // more than one run for the same fire
	Missing                // unaccounted for: it should be on record and is not
)

var classNames = [...]string{"ontime", "late", "skipped", "stands", "notsent", "lost", "pending", "deleted", "unknown", "unplanned", "doubled", "missing"}

// Classes are all classes in their order.
func Classes() []Class {
	all := make([]Class, len(classNames))
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// String is the class's name, as locale keys and programs know it.
func (c Class) String() string { return classNames[c] }

// Faulty reports whether a promise was broken.
func (c Class) Faulty() bool { return c == Doubled || c == Missing }

// Why a fire is where it is, where no event of its run says so.
const (
	WhyEdited    event.Key = "job-edited"  // the job was changed before the fire was decided
	WhyStopped   event.Key = "job-stopped" // the job was stopped before
	WhyRemoved   event.Key = "job-deleted" // the job was deleted before, or its runs with it
	WhyRetention event.Key = "retention"   // not all runs of that time are kept any more
	WhyClearing  event.Key = "clearing"    // somebody deleted the runs of that time
	WhyUndecided event.Key = "undecided"   // no admin has come to it yet
	WhyUnsent    event.Key = "unsent"      // it is on record and has not been sent yet
	WhyForeign   event.Key = "foreign"     // an XXL-JOB admin ran it
	WhyNoticed   event.Key = "noticed"     // somebody else changed the job between two moments
	WhyCalendar  event.Key = "calendar"    // its calendar said something else then, which nobody has kept
	WhyCodes     event.Key = "codes"       // the row is from before reasons were recorded
	WhyTwice     event.Key = "twice"       // the other run
)

// Reasons are the reasons above as events: their arguments and their English.
var Reasons = event.BookOf([]event.Spec{
	{Key: WhyEdited, Args: []event.Arg{{Name: "At", Kind: event.Moment}}, English: "the job was changed at {At}, before it was scheduled"},
	{Key: WhyStopped, Args: []event.Arg{{Name: "At", Kind: event.Moment}}, English: "the job was stopped at {At}, before it was scheduled"},
	{Key: WhyRemoved, Args: []event.Arg{{Name: "At", Kind: event.Moment}}, English: "the job was deleted at {At}, and its runs with it"},
	{Key: WhyRetention, Args: []event.Arg{{Name: "Before", Kind: event.Moment}}, English: "deleted by retention: not all runs planned before {Before} are kept"},
	{Key: WhyClearing, Args: []event.Arg{{Name: "User", Kind: event.Words}, {Name: "At", Kind: event.Moment}}, English: "cleared by {User} at {At}"},
	{Key: WhyUndecided, English: "no admin has come to it yet"},
	{Key: WhyUnsent, English: "on record and not sent yet"},
	{Key: WhyForeign, English: "an XXL-JOB admin ran it"},
	{Key: WhyNoticed, Args: []event.Arg{{Name: "Since", Kind: event.Moment}, {Name: "At", Kind: event.Moment}}, English: "somebody else changed the job between {Since} and {At}"},
	{Key: WhyCalendar, Args: []event.Arg{{Name: "At", Kind: event.Moment}}, English: "its calendar was changed at {At}, and what it said before is not known"},
	{Key: WhyCodes, English: "judged by its codes alone: the row is from before reasons were recorded"},
	{Key: WhyTwice, Args: []event.Arg{{Name: "Run", Kind: event.RunID}}, English: "also run {Run}"},
})

func why(key event.Key, args ...any) event.Event { return event.New(zero, key, args...) }

// Say is a reason in English, with times in a zone; "" where there is none.
func Say(e event.Event, zone *time.Location) string {
	if e.Key == "" {
		return ""
	}
	if _, ok := Reasons[e.Key]; ok {
		return Reasons.English(e, zone)
	}
	return e.In(zone)
}
