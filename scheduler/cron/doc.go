// Package cron is the cron dialect of XXL-JOB, which is Quartz's: six or seven fields, seconds first, weekdays counted
// from Sunday = 1, and exactly one of the two day fields "?".
//
//	e, err := cron.Parse("0 30 9 ? * MON-FRI")
//	next, err := e.Next(time.Now(), shanghai) // zero time: never again
//
// A job that comes from XXL-JOB must keep its times, so the parser accepts whatever the original accepts (docs/compat.md §7.3),
// odd texts included: "MON-FRI/2" means MON-FRI there, and so it does here. [Expression.Warnings] names such text and
// [Expression.String] says how it was understood, so that a form can show both. Next follows the documented meaning where
// the original has its one remaining defect ("15W" with several times a day, docs/compat.md §7.5).
//
// The package robfig beside this one gives the dialect to the runner of github.com/robfig/cron.
//
// # Parts
//
//	text ── Parser ──▶ Expression: a bit set per field, a rule for days
//	                        │ Next
//	                        ▼
//	     walk: the next wall-clock time that matches   (pure arithmetic, walk.go and days.go)
//	        │
//	        ▼
//	     zone: the instant that shows this wall clock  (zone.go; back to walk when there is none)
//
// # Summer time
//
// Times are matched on the wall clock, as the original does, and that has costs worth knowing:
//
//   - A wall-clock time that the spring change skips does not happen: "0 30 2 * * ?" in New York does not run on that day.
//     This is the one case in which a daily job loses a run, against the general promise that a change of clocks drops none;
//     it is kept because an adopted job must keep its times. [Expression.ClockChangeWarnings] finds the jobs it concerns.
//   - A wall-clock time that the autumn change repeats happens once, at the second (standard time) instant. No job runs
//     twice, but one that runs every minute pauses for the repeated hour. As the original does, [Expression.Next] reads on
//     when it is asked inside the first pass: after 01:10 daylight time it does not find 01:00 standard time.
//     [Schedule.Next] finds it, because whoever asks what is due from some moment on (a range, the end of a pause, a
//     deadline) has to be told of the same times as whoever comes to them from before.
//
// All follow from the choice of instant in zone.resolve and from nothing else. That function is the place for a
// job that wants another rule.
//
// Nothing here reads the clock except [Parser.startYear], for the year on which the range of years is based.
package cron
