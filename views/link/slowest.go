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

// SlowBy reads the order that [Slowest] writes. One that there is not is the usual one.
func SlowBy(text string) string {
	if slices.Contains(SlowOrders, text) {
		return text
	}
	return SlowLongest
}

// Slowest is the page of the slowest jobs in an order.
func Slowest(by string) string {
	q := make(url.Values)
	if by != SlowLongest {
		q.Set("by", by)
	}
	return withQuery(SlowestPath, q)
}
