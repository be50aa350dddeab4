// Package alarm tells people what went wrong with their jobs, by mail and by webhook, and that it works again.
//
// # The way of an alarm
//
//	engine ── Raise, in the transaction of the result ──▶ event
//	                                                        │ gather.go: one notice per job and cause within a window
//	                                                        ▼
//	                                                      notice
//	                                                        │ expand.go: routes, the job's own addresses
//	                                                        ▼
//	                                                     delivery ── deliver.go ──▶ mail.go, webhook.go, chat.go
//
// Every step is a row that one transaction turns into the next, so a crash loses nothing at any point: an event is on
// record from the same commit on as the failure, and [Alarmer.Wake] only makes quick what the next tick would find anyway.
// Any admin may take any step; the updates are guarded by a state or a revision, and who comes second rolls back.
//
//   - Event. What the engine saw, or what watch.go noticed: runs that take long, jobs without success.
//   - Notice. The first event of a job and cause is told at once. What follows within [Config.Window] is counted, and told in
//     one notice at the window's end. punctual_alarm_state remembers which causes are open; the first success planned after
//     the last failure closes them and is told too, with what was being gathered folded in. A recovery has a window of its
//     own, so that a job that fails and succeeds in turn makes no more noise than one that fails.
//   - Delivery. One message to one recipient. It is sent under a lease by whoever wrote its name into the row, which ends when that admin
//     has been gone from the cluster for as long as a message may take; after a
//     failure it is tried again with growing pauses ([Config.Backoff]) and in the end given up, visibly. A sender that dies
//     after the server took the message and before the row says so sends it twice: twice is better than never, and the
//     message's id is the same both times. A channel that fails rests for a moment, so its queue neither hammers it nor
//     delays other channels. When more than mergeAbove messages wait for one recipient they become one message.
//
// # Quiet hours
//
// Messages that are due in a channel's quiet hours wait for their end, and are then merged as any backlog is. In the mode
// "count" the merged message says only how many alarms of which cause there were.
//
// # What is secret
//
// Settings of channels are sealed with AES-GCM under [Config.Key]. Addresses of webhooks carry tokens, so they are secrets
// as passwords are: they come back from no use case, and every text that goes to a log, a row or a page passes [scrub].
//
// # What goes out
//
// Texts of executors are data. Mails escape them in HTML; chat messages use each provider's plain form rather than its
// markdown, whose escaping is not documented well enough to trust with somebody else's text.
// Webhooks may point into private networks unless [Config.DenyPrivate] says no: who sets alarm targets is an
// administrator, or an editor of a group whom they let, and on many installations every target is inside.
package alarm
