// Package pull brings calls to executors that nobody can call: they ask for them (package wire, pull.go), at any admin, and each time
// perhaps at another one.
//
//	engine ─▶ wire.ExecutorClient ─▶ [Mailbox.RoundTrip] ─▶ the executor's box ─▶ [Mailbox.Pull] ─▶ executor
//	                                        │ nobody asks here                         ▲ takes rows, guarded
//	                                        └──────────▶ punctual_pull ────────────────┘ at another admin
//
// To the engine it is one more transport under the client that calls all executors, so that routes, block strategies, kills, outputs and
// tokens know nothing of it. An error tells, as that of a connection does, whether the call may have arrived.
//
// # Who hands a call over
//
// A call waits in the memory of the admin that makes it, and an executor that asks there gets it from there: the database has no part in
// it. That is the only way where there is one admin, and the usual one where there are several, because our executor asks all that it
// knows at the same time. When nobody asks here and other admins live, the call becomes a row. From then on the row decides, also here:
// who hands it over writes the name of the pull into it, if nobody has, and until it expires.
//
// The answer comes with a later request, at whichever admin. One that did not make the call writes it down for the one that did, if an admin
// has made it for this executor, which the call's id shows, and if there is room for it.
//
// # Who is there
//
// A call waits for an executor that asks, or may be between two requests. When no admin has heard of it for too long it is refused
// at once (seen.go).
//
// # What can be lost
//
//   - The admin that made the call dies: whoever takes its runs over asks for them as always (takeover.go). A row that it left is handed over
//     before its time is up, which is not longer than the admin's lease, or not at all.
//   - The answer to a pull is lost, or its admin dies with it: the executor names the pull in its next one, and gets the calls again.
//   - The executor dies with a call, or its answer is lost for good: the caller has an error that says that the call may have arrived, as from a
//     connection that broke, and the engine asks (unanswered.go).
//   - An admin, or the network, holds a call back and lets it go when the caller has given up: the executor knows how long it may begin it,
//     by its own clock alone, and leaves it.
package pull
