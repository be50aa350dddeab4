// Package app is the admin process: it puts the parts together and takes them apart again, and nothing else does.
//
//	browser ──▶ console ──┐                          ┌─▶ executors
//	executors ▶ openapi ──┼─▶ manage ─▶ scheduler ───┤
//	                      └───────────────▶ db ◀─────┘
//
// [New] opens the database, brings it up to date and builds everything in one straight line; [App.Start] lets it work,
// [App.Stop] undoes what was done, in the opposite order. Inside: console (the htmx pages), openapi (what programs
// call), manage (the use cases both share), auth (who somebody is), problem (an error as people see it), cmd/punctual
// (flags and environment).
//
// The order of a stop is what keeps promises: readiness goes first, then the sample executor and the open streams, then
// the engine drains while the executors can still report, then the listener closes, and the database last.
package app
