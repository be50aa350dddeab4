// Package webhook tells programs what happens: CloudEvents over HTTP, signed as Standard Webhooks says.
//
// # The way of an event
//
//	engine, use cases ── Write, in the transaction that makes it true ──▶ delivery, one for each webhook that wants it
//	                                                                         │ deliver.go, one admin for a webhook at a time
//	                                                                         ▼
//	                                                            POST ── 2xx ──▶ taken
//
// A delivery is on record from the same commit on as what it tells of, so a crash loses none, and one that was sent when the admin
// died is sent again with the same id: at least once. What is about the same run (of other events: the same job) is sent in the order in
// which it happened, each after the one before it is on record as taken, so that what comes again is never older than what was told of
// the same thing; other things go beside it, at most [Config.Parallel] at a time. The order of
// deliveries of a run is that of their ids, because they are written after the update of the run's row, whose lock orders them.
//
// An admin sends under a lease, which is over when the cluster takes that admin for gone: one that cannot be sure that it is not begins nothing.
//
// # A receiver that fails
//
// Whatever goes wrong but for the answers 400, 413 and 422 is the receiver's trouble: the webhook rests, longer each time up to
// [Config.MaxRest], then one event is tried, and when it is taken the others follow. Nobody else notices: what waits are rows. Answers
// that refuse one event delay only what is about the same run; after [Config.Tries] it is given up, visibly, and can be sent again. 410
// switches the webhook off, as Standard Webhooks asks.
//
// The queue of a webhook is bounded by [Config.MaxWaiting] and by [Config.KeepWaiting]. Beyond that events are counted and not kept, and an event of the type punctual.webhook.dropped tells the receiver so in their place.
//
// # What is told
//
// Numbers, names, times and states. Parameters, output and the words of executors stay here: they may hold what the receiver must not
// know. The address and the secret of a webhook are sealed, and come back from no use case.
package webhook
