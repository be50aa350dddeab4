// Package legacy answers the endpoints of XXL-JOB's console that people script against: before 3.5 there was no other way to
// manage jobs by program, so starters that register executors and jobs, deploy scripts and monitors log in as a user and post
// the console's own forms (docs/compat.md §5.2, §5.3). Here they find every one of these endpoints under /xxl-job-admin, and
// under / as well where a page of ours does not live.
//
// A request goes the way of a click in our console: [auth.Logins] and [auth.Sessions] say who asks, and a use case of manage
// decides, validates and writes the audit log. What is left for this package is the spelling.
//
//	form of XXL-JOB ──▶ call ──▶ manage ──▶ rows and answers of XXL-JOB
//
// XXL-JOB spelled its answers in two ways. Which one somebody understands shows in the request (see [generation]): in the path,
// if only one generation had it, in the parameters of a list (start and length, or offset and pagesize), in ids[], and else in
// the cookie, which changed its name as well.
//
// What differs from XXL-JOB on purpose is in docs/differences.md.
package legacy
