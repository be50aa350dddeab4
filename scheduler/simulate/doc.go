// Package simulate plays the engine against a simulated world: two to five nodes with all of [scheduler.Engine] in them, in one
// process and on the clock of a synctest bubble, where an hour passes as soon as nobody has anything left to do. Afterwards it
// holds what is in the database, and what was seen leaving the nodes, against the schedule.
//
//	seed ──▶ scenario: cluster, jobs, faults and hands with their times
//	            │
//	node ── link ──▶ the database (SQLite, shared)      executors: ours, Java's, and those that hand work on
//	  │       │                                             │ ▲
//	  │       └──────────────── network ───────────────────▶┘ │
//	  └◀─────────────────── results and beats ────────────────┘
//	            │
//	         checker: every planned fire, computed a second time, is in exactly one row or covered by one that says so
//
// # What can go wrong here
//
//   - A statement or a commit does not arrive, or its answer does not; it takes seconds or minutes; the transaction loses a
//     conflict, after which, as on MySQL, the connection goes on without it; the database is away; a transaction of a client
//     that is silent is ended by the server.
//   - A node is killed and started anew, stopped and started, frozen (everything that it does stops at its next call and goes
//     on later), cut off so that packets vanish, or has its clock set.
//   - A call to an executor, its answer or a result is lost or late, or a request arrives after its sender has given up; an
//     executor dies, forgets what it was doing, freezes, or says that it is idle while it works.
//   - Executors that ask for their calls, of all admins or through a balancer: a request that is held is cut, and one of the two does not
//     notice; it, its answer or what is answered to a call is lost or late.
//   - People trigger, end, stop, start and edit in the middle of it.
//
// # What is checked
//
// No planned fire is missing, and none is in two rows; a row that stands for several says how many and which. Nothing is sent
// that is not committed, that is another node's, that is decided or over, or more than a second before its time. No run is sent
// twice unless its row says that it was taken over or found again. Every run ends. Retries, children, limits and the time after
// which a DO_NOTHING fire is no longer sent are as the job says. The checker shares no code with what decides in the engine:
// schedule.go tries every second.
//
// Whether the checker would notice is tried too: mutation_test.go breaks the engine in seven ways.
//
// # What it is not
//
// The database is SQLite, in which one transaction writes at a time: what two transactions of InnoDB or Galera do to each
// other while both are open is made up (conflicts, lock waits), not found out. What only the MySQL driver or a MySQL server
// does is for the tests with real processes. A frozen node goes on in memory; only its effects stop.
//
// # A seed again
//
// The scenario is a function of the seed alone: make simulate SEED=… plays the same cluster, jobs, faults and hands at the same
// times. Which statement a fault hits, and what executors draw, follows the order in which goroutines run, which Go does not
// promise: a failure that needs a rare order may take several repeats (-simulate.repeat).
package simulate
