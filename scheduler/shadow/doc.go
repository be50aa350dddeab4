// Package shadow plans every fire of the jobs that an XXL-JOB admin schedules, and compares with the runs that it makes. It sends
// nothing. Everything here is pure: what the tables hold and the clock come in as arguments.
//
//	jobs as they are now ──See──▶ planned fires ─┐
//	                                             ├─Settle──▶ Tally: on time, late, missed, doubled
//	runs that were made ──Made──▶ runs ──────────┘
//
// A fire is settled [Patience] after its time, since a late run may still come until then. The first fire of a job, and of a job
// whose schedule was changed, is what the admin has written as its next time; all that follow are computed here, so that a
// fixed rate has the admin's phase and a cron text is read by us alone.
package shadow
