// Package auditlog keeps the entries of the audit log in a chain and hands them on to where they are out of reach.
//
//	manage.Audit ── inserts ──▶ punctual_audit (seq 0) ── [Chain.Extend] ──▶ (seq n, hash n) ── [Shipper] ──▶ file, syslog, webhook
//
// # The chain
//
// An entry is written in the transaction of the change that it tells of, without a place (seq 0). A moment later one of the admins
// gives places to all entries that wait, in the order of their ids: the next numbers, and a hash over the entry and the hash before
// it. So the writers wait for nothing: not for each other, not for a row that all of them would have to lock, and on a cluster of
// databases there is no such row to conflict about. The price is that the last second of entries has no place yet, and that
// places follow ids only nearly: a transaction that commits late comes later.
//
// Of several admins that extend the chain at once one does: each first moves the mark "head" on from where it read it, which is one
// guarded UPDATE, and whose row says no takes back what it did and reads again. On databases that only detect conflicts at the
// commit the mark's row is the conflict. The head also makes a chain whose end was cut off a broken one.
//
// Retention takes entries from the beginning of the chain, and keeps the place and hash of the last one it took as the mark "tail",
// from which [Chain.Verify] starts.
//
// Who may write to the database can write the whole chain anew. Against them helps only what they cannot reach: shipped entries have
// their place and hash, and Verify takes one to hold against the chain.
//
// # Shipping
//
// Each target has a mark with the last place that it took. One admin at a time owns a target, for some seconds, reads what is in the
// chain after the mark, hands it over and moves the mark. Whatever happens in between, the next one starts at the mark: each
// entry arrives at least once, and some arrive twice.
package auditlog
