// Package openapi is what programs call: the methods for looking after jobs (jobs.go), and the executor API, by which executors register themselves and report how runs
// ended, in the JSON spellings of every XXL-JOB release since 2.1.1 at once (docs/compat.md §1.3–1.6, 1.11). It is served under
// /api and /xxl-job-admin/api.
//
// Every answer has HTTP status 200 and says in its body whether it is a success: executors take any other status for a
// broken connection. A callback is answered after its results are committed, so that an executor which got its answer may
// forget them.
package openapi
