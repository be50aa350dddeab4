package gallery

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/accounts"
	"github.com/punctual-job/punctual/views/link"
)

// account is the account of a job's fires, with faults or without.
func (f fakes) account(faulty bool) accounts.JobPage {
	p := accounts.JobPage{
		Page: f.page("/jobs/7/account"), ID: 7, Name: f.zh("结算日终", "close the day"), Filter: link.RunFilter{Range: link.RangeDay},
		Fires: "86,400", From: "2026-11-20 10:05:12", To: "2026-11-21 10:05:12", Faulty: faulty,
		Counts: []accounts.Count{{Class: "ontime", N: "86,400"}, {Class: "doubled", N: "0", None: true}, {Class: "missing", N: "0", None: true}},
	}
	if !faulty {
		return p
	}
	why := func(key event.Key, args ...any) string {
		return event.Teller{Printer: f.Printer, Zone: f.now.Location(), Book: account.Reasons, Family: "account.why."}.Tell(event.New(f.now, key, args...))
	}
	hour := func(n int) time.Time { return f.now.Add(-time.Duration(n) * time.Hour) }
	p.Counts = []accounts.Count{
		{Class: "ontime", N: "85,700"}, {Class: "late", N: "3"}, {Class: "skipped", N: "600"}, {Class: "stands", N: "60"}, {Class: "notsent", N: "2"}, {Class: "lost", N: "1"},
		{Class: "pending", N: "2"}, {Class: "deleted", N: "26"}, {Class: "unknown", N: "4"}, {Class: "unplanned", N: "1"}, {Class: "doubled", N: "1"}, {Class: "missing", N: "1"},
	}
	p.Notes = []string{f.T("account.note.known", "At", "2026-11-20 11:00:00")}
	p.Entries = []accounts.Entry{
		{Class: "deleted", From: f.at(-24 * time.Hour), To: f.at(-23 * time.Hour), Fires: "26", Reason: why(account.WhyClearing, "jonas", hour(3))},
		{Class: "skipped", From: f.at(-20 * time.Hour), To: f.at(-19 * time.Hour), Fires: "600", Run: 41, Reason: f.tell(event.SkippedFires, 600, false, hour(20), hour(19), "DO_NOTHING")},
		{Class: "stands", From: f.at(-18 * time.Hour), To: f.at(-17 * time.Hour), Fires: "60", Run: 42, Reason: f.tell(event.StandsFor, 60, false, hour(18), hour(17))},
		{Class: "late", From: f.at(-16 * time.Hour), Fires: "1", Run: 43, Reason: f.tell(event.Late, 2500*time.Millisecond, event.LateQueue)},
		{Class: "notsent", From: f.at(-15 * time.Hour), Fires: "1", Run: 44, Reason: f.tell(event.NoExecutor)},
		{Class: "lost", From: f.at(-14 * time.Hour), Fires: "1", Run: 45, Reason: f.tell(event.LostRun, event.LostGone, "http://10.0.3.17:9999/")},
		{Class: "unknown", From: f.at(-13 * time.Hour), To: f.at(-12 * time.Hour), Fires: "4", Reason: why(account.WhyNoticed, hour(13), hour(12))},
		{Class: "unplanned", From: f.at(-11 * time.Hour), Fires: "1", Run: 46},
		{Class: "doubled", From: f.at(-10 * time.Hour), Fires: "1", Run: 47, Reason: why(account.WhyTwice, 48)},
		{Class: "missing", From: f.at(-9 * time.Hour), Fires: "1"},
		{Class: "pending", From: f.at(-time.Minute), To: f.at(0), Fires: "2", Reason: why(account.WhyUndecided)},
	}
	p.Left = "12"
	return p
}
