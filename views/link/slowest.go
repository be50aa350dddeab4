package link

import (
	"net/url"
	"slices"
)

// SlowestPath is the jobs that took longest in the last days.
const SlowestPath = JobsPath + "/slowest"

// The orders of the slowest jobs.
const (
	SlowLongest = "longest"
	SlowTotal   = "total"
	SlowGrown   = "slower"
)

// SlowOrders are the orders of the slowest jobs; the first is the usual one.
var SlowOrders = []string{SlowLongest, SlowTotal, SlowGrown}

// UsageDays are over how many days the page of the slowest jobs says what groups did; the first is the usual one.
var UsageDays = []int64{7, 30, 100}

// SlowFilter is what the page of the slowest jobs shows.
type SlowFilter struct {
	By   string `q:"by,word"` // of SlowOrders
	Days int64  `q:"days"`    // of UsageDays
}

// SlowFrom reads what [Slowest] writes. What there is not is the usual one.
func SlowFrom(q url.Values) SlowFilter {
	f := read[SlowFilter](q)
	if !slices.Contains(SlowOrders, f.By) {
		f.By = SlowOrders[0]
	}
	if !slices.Contains(UsageDays, f.Days) {
		f.Days = UsageDays[0]
	}
	return f
}

// Slowest is the page of the slowest jobs in an order, and of the groups' usage in so many days.
func Slowest(f SlowFilter) string {
	if f.By == SlowOrders[0] {
		f.By = ""
	}
	if f.Days == UsageDays[0] {
		f.Days = 0
	}
	return withQuery(SlowestPath, values(f))
}

// Usage is the second half of that page.
func Usage(f SlowFilter) string { return Slowest(f) + "#usage" }
