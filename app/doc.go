// Package app is the admin process: it puts the parts together and takes them apart again, and nothing else does.
//
//	browser ──▶ console ──┐                          ┌─▶ executors
//	programs ──▶ api ─────┤                          │
//	executors ▶ openapi ──┼─▶ manage ─▶ scheduler ───┤
//	old programs ▶ legacy ┴───────────────▶ db ◀─────┘
//
// [New] opens the database, brings it up to date and builds everything, part after part (build.go); [App.Start] lets it work,
// [App.Stop] undoes what was done, in the opposite order. Inside: console (the htmx pages), api (API v1), openapi (what executors, and
// programs written for XXL-JOB, call), legacy (what programs called in XXL-JOB's console), manage (the use cases they share; the dashboard's figures are
// below it in manage/dashboard, files of jobs above it in manage/transfer), auth (who somebody is), problem (an error as people
// see it; errors.go here draws it), cmd/punctual (flags and environment). The executor as a program is in
// cmd/punctual-executor; it knows nothing of the admin.
//
// The order of a stop is what keeps promises: readiness and the open streams go first, then the engine sends what it has
// claimed, then the sample executor ends while its results are still taken, then the engine stops, then the listener
// closes, and the database last.
package app
