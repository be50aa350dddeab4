// Package calendar says which days are working days: the weekdays of a calendar, less its days off, and its extra working days (a
// Saturday on which China makes up for a holiday). It is pure: no database, no clock. What a schedule makes of it is in package jobspec.
//
// A calendar is one document, which is its file, its body in API v1, and what the database keeps ([Calendar], [Parse]). Days are
// those of the calendar's zone; one without a zone goes by that of each job.
//
// Calendars of public holidays come to an end: those days are announced year by year. Such a calendar lists the years that it knows, with
// where their days are from; of any other year it knows the weekdays alone, which [Calendar.Missing] reports months ahead. A calendar
// that lists no years is one that somebody keeps, and knows every year.
//
// The calendar "cn" is shipped ([Shipped]). Its data was written from the yearly notices of the General Office of the State Council, which
// the file names. New years come with a release, or as a file that is uploaded.
//
// iCalendar files ([ParseICS]) are read by a parser of our own: of RFC 5545 only the dates and titles of all-day events are of use here, which
// is less than a page, and the libraries that there are keep whole files in memory and have no bounds.
package calendar
