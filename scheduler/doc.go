// Package scheduler is the engine: it decides when a job is due, makes runs, sends them to executors, takes their results
// and does what follows from them. It works together with the engines of all admins on the same database.
//
// # The life of a run
//
// The row of xxl_job_log is the record of a planned fire; nothing is sent that is not on record.
//
//		         claiming.go            timer.go       addressqueue.go, send.go record.go
//		due job ──────────▶ row, owner ─────────▶ fire ───────────────▶ answer ───────────▶ trigger_code
//		           commit    is this node          │ route/                       batched
//		                                           ▼
//		                                       executor ──── callback ──▶ ending.go ──▶ handle_code
//		                                                                     │ same commit, follow.go
//		                                                                     ├─▶ retry of a failure
//		                                                                     └─▶ children of a success
//
//	  - Claim. Every [Config.ClaimEvery] a node reads the jobs that are due within [Config.Horizon] and takes its own share
//	    (rendezvous hashing over the live nodes that say that they can claim). What to do with a due job is a pure decision,
//	    [jobspec.Decide]. One transaction moves the jobs' next times, guarded by the times that were read, and inserts the
//	    runs. Fires that passed while nobody looked become either one run that stands for them or a row that says they were
//	    skipped.
//	    While more results wait than are written, here or with executors, a claim begins when as many have been written as the
//	    last one made runs ([claimer.takeOff]): what is sent comes back as more of them.
//	  - Fire. A timer lets the runs go at their planned millisecond into the queue of their executor address.
//	  - Send. An address queue bounds the calls to one address, and within it the runs of one job; several runs share a call to an executor
//	    that takes them.
//	  - Record. Outcomes are written many at a time. A failure with retries left makes its next attempt in the same
//	    transaction.
//	  - Finish. Results are written many at a time, guarded by the run being open; retries and children are inserted in the
//	    same transaction, so that no crash comes between a result and what follows from it. The executor is told "success"
//	    after the commit.
//	  - Kill. A run can be ended at any moment of this; what is done depends on where it is (kill.go).
//	  - Flow. When its time comes, the run of a flow gets its slot, is recorded as sent to nobody, and has its first steps inserted, in one transaction
//	    (flowbegin.go). The end of a step, wherever it is recorded, decides in the same commit what comes next (flowmove.go); runs of no flow pay nothing.
//	  - Sweep. Runs whose executor is gone are ended; nodes that are gone are taken over (package cluster, takeover.go).
//
// # When a run ended
//
// XXL-JOB's report of a result has no time of the end: what admins write is when they took it. An executor keeps a result while nobody takes it,
// and sends it again some 30 s after each failure, so a run of five seconds whose admins were away has taken ten minutes; the median of
// its job, what is unlike it, the bars, the longest runs and the warnings about deadlines are then made of that.
//
// So there are three things that count, in this order ([Engine.endsAt]):
//
//   - What the executor says. Ours add to each result for how long it has waited ([wire.Callback].Waited); XXL-JOB's admins read past it. It is a
//     length and not a time because clocks differ: less the time of receipt it is right to within a request. Their journal has the end by
//     their own clock, for after a restart. What would put the end before the sending is not believed. That even a result which comes at once says
//     so, with 1 ms, costs 15 bytes and tells those who say it from those who cannot.
//   - What came before. A result that this admin could not write, because the database was away, is remembered with the time of its first
//     coming (untaken.go), which was the end as nearly as ever.
//   - What is known not to have worked. When no admin was there (what [directory.arrive] finds), or this one stood still, a result of a run
//     that was sent before may have waited: it comes within [Config.DeadAfter] after that. Then it is written down that the end lies between two
//     times (event.EndUnsure, in the text that the end of a run may add to anyway), finished_at is the later, and [runtimes.Of] leaves the run
//     out. The same goes for a run that was given up and reported after all. The durations of the others are as before.
//
// Considered and left: a column for the earlier time (every pass over the log would carry it for a run in a hundred thousand); asking the executor's
// log for its last line's time (one call more for each such run, and handlers of XXL-JOB that print nothing have none); a guess, such as the median, in
// its place (a duration that nobody measured must not be shown as one that somebody did). Not seen is what keeps executors from admins that
// are there, such as a network that is cut: of XXL-JOB's executors the wait counts as the run's, as before.
//
// A result that is taken at once pays nothing: no statement, no column, two loads of numbers. The end is written a row at a time only into a batch in
// which one came late.
//
// # The parts
//
// [Engine] is what all of this has in common: claim, send and finish. Four parts of it are types of their own, whose configs name all that
// they know of the engine: [Flows] (flows.go), [Callbacks], the reports that runs of asynchronous calls wait for (callbacks.go), [Outputs], what
// runs wrote (outputs.go), and refusals, what executors said and nobody took (refused.go). Where they change runs, they do so in the engine's
// transactions.
//
// Others are packages. What runs leave in the database (counters, old runs, clearings, the history of schedules) is looked after by package
// upkeep, which only counts with the engine. This admin's membership of the cluster (its lease, who else lives, whose share a job is, the time
// that all go by) is package cluster; what it asks of the engine is membership.go. Runs for planned times that are over are asked for by
// package backfill. All of them start and stop with the engine, and bound their own stops. Executors that cannot be called are called as all
// others: package pull is the transport that brings them their calls.
//
// # The promises, and where they are kept
//
// README.md has them in the words of whoever uses this; the tests of most are named after the numbers here.
//
//   - P1 recorded first: [Engine.commit] is the only way into the timer, and it goes through a commit. A commit that
//     was not confirmed is looked after by indoubt.go.
//   - P2 claimed once: the guard in [db.AdvanceJobs], on the next time and on claimed_until, which an XXL-JOB admin does not write. Where the
//     database forgets it, what this admin remembers of the last minutes (wentback.go).
//   - P3 taken over: package cluster (leases without comparing clocks), takeover.go (ask before sending again).
//   - P4 no global lock: a claim touches only its own jobs' rows (TestALockedJobIsLeftOut).
//   - P5 cost follows the work: the claim reads by the index on (trigger_status, trigger_next_time); sweeps read open runs
//     only, by the index on handle_code from a low mark on.
//   - P6 nothing is unbounded: [Config.MaxQueued], [Config.MaxWaiting], the batchers' queues, jobspec.MaxFires, clip.
//   - P7 clock: planned times come from jobspec and cron in [Config.JobZone]; what time it is comes from the database for all
//     admins, carried on by their monotonic clocks (package cluster says how steps are told from drift, and who is believed in the end).
//   - P8 frozen is not dead: claimer.go (a slow claim delays its own jobs only, a locked row is left out, a node that is stuck
//     has no share), endStale (a fire that hung follows its misfire strategy).
//   - P9 said as known: health.go (ready means that what is due is claimed, sent and written; read from memory).
//
// # What may surprise
//
//   - The executor is chosen at the claim where the strategy allows, and written into the row. A node that takes a run over
//     then knows whom to ask, where otherwise it would have to ask every executor of the group.
//   - A broadcast becomes its shards at the claim, in the claim's transaction, so that all shards agree on the list. A machine
//     that is known to be dead has a row that says so: a suspect, and one whose beats ended without a farewell within the last
//     half an hour (goneFor). One that took its leave was stopped on purpose and has none; nor has one of longer ago, because
//     where every new version of a program has a new address, nobody would miss it (suspects.go, reach).
//   - A retry after a failed result leaves at once; one after a failed sending waits [Config.RetryBackoff], because refused
//     connections come back within a millisecond and would use up all retries before anybody could restart anything.
package scheduler
