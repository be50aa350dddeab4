package auditlog

import (
	"context"
	"fmt"

	"github.com/punctual-job/punctual/db"
)

// Place is an entry's place in the chain with its hash, as a shipped entry or an earlier report has it.
type Place struct {
	Seq  int64
	Hash string
}

// Fault says what is wrong with the chain at its first wrong place.
type Fault struct {
	Seq int64
	ID  int64 // of the entry; 0 if there is none
	Why FaultKind
}

// FaultKind is what is wrong.
type FaultKind string

const (
	Changed  FaultKind = "changed"  // the entry, its place or its hash is not what it was
	Missing  FaultKind = "missing"  // there is no entry at the place
	Added    FaultKind = "added"    // there is one too many
	Cut      FaultKind = "cut"      // the end of the chain is missing
	Replaced FaultKind = "replaced" // the chain is whole, but another one than the place that was known belongs to
)

// Report is what [Chain.Verify] found.
type Report struct {
	Entries int64 // that were looked at
	Gone    int64 // the last place that retention took away; 0: none
	Head    Place // the last one
	Waiting int64 // entries without a place yet
	Known   bool  // the place that was known is in the chain
	Fault   *Fault
}

// Verify computes the chain anew, also beside admins that extend it. known is a place to find in it; its zero value is none.
func (c *Chain) Verify(ctx context.Context, known Place) (*Report, error) {
	tail, err := c.placeOf(ctx, markTail)
	if err != nil {
		return nil, err
	}
	r := &Report{Gone: tail.Seq, Head: tail}
	check := func(at Place) bool {
		if at.Seq == known.Seq && known.Seq != 0 {
			r.Known = at.Hash == known.Hash
			if !r.Known {
				r.Fault = &Fault{Seq: at.Seq, Why: Replaced}
			}
			return r.Known
		}
		return true
	}
	if !check(tail) {
		return r, nil
	}
	for {
		rows, err := c.queries.ListChainedAudit(ctx, c.pool, db.ListChainedAuditParams{AfterSeq: r.Head.Seq, Limit: readBatch})
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", db.Error(err))
		}
		forgotten, err := c.forgotten(ctx, r, rows)
		if err != nil {
			return nil, err
		}
		if forgotten {
			if !check(r.Head) {
				return r, nil
			}
			continue
		}
		for _, e := range rows {
			switch want := r.Head.Seq + 1; {
			case e.Seq < want:
				r.Fault = &Fault{Seq: e.Seq, ID: e.ID, Why: Added}
			case e.Seq > want:
				r.Fault = &Fault{Seq: want, Why: Missing}
			case e.Hash != digest(r.Head.Hash, e):
				r.Fault = &Fault{Seq: e.Seq, ID: e.ID, Why: Changed}
			}
			if r.Fault != nil {
				return r, nil
			}
			r.Head = Place{e.Seq, e.Hash}
			r.Entries++
			if !check(r.Head) {
				r.Fault.ID = e.ID
				return r, nil
			}
		}
		if c.paged != nil {
			c.paged()
		}
		if len(rows) > 0 {
			continue
		}
		again, err := c.atEnd(ctx, r)
		if err != nil {
			return nil, err
		}
		if !again {
			break
		}
	}
	if r.Fault == nil && known.Seq > r.Head.Seq {
		r.Fault = &Fault{Seq: r.Head.Seq + 1, Why: Cut}
	}
	if r.Waiting, err = c.queries.CountUnchainedAudit(ctx, c.pool); err != nil {
		return nil, db.Error(err)
	}
	return r, nil
}

// forgotten goes on from where retention has come to, if that has taken what was to be read next, and says whether it has.
func (c *Chain) forgotten(ctx context.Context, r *Report, rows []db.AuditEntry) (bool, error) {
	if len(rows) > 0 && rows[0].Seq <= r.Head.Seq+1 {
		return false, nil
	}
	tail, err := c.placeOf(ctx, markTail)
	if err != nil || tail.Seq <= r.Head.Seq {
		return false, err
	}
	r.Gone, r.Head = tail.Seq, tail
	return true, nil
}

// atEnd compares the end that was found with the one on record, and says whether there is more to read meanwhile.
func (c *Chain) atEnd(ctx context.Context, r *Report) (again bool, err error) {
	head, err := c.placeOf(ctx, markHead)
	if err != nil {
		return false, err
	}
	switch {
	case head == r.Head:
	case head.Seq > r.Head.Seq:
		rows, err := c.queries.ListChainedAudit(ctx, c.pool, db.ListChainedAuditParams{AfterSeq: r.Head.Seq, Limit: 1})
		if err != nil {
			return false, db.Error(err)
		}
		if len(rows) > 0 {
			return true, nil
		}
		tail, err := c.placeOf(ctx, markTail)
		if err != nil || tail.Seq > r.Head.Seq { // retention has just taken it
			return err == nil, err
		}
		r.Fault = &Fault{Seq: r.Head.Seq + 1, Why: Cut}
	case head.Seq < r.Head.Seq:
		r.Fault = &Fault{Seq: head.Seq + 1, Why: Added}
	default:
		r.Fault = &Fault{Seq: head.Seq, Why: Changed}
	}
	return false, nil
}

// placeOf reads a mark, which only reading must not make.
func (c *Chain) placeOf(ctx context.Context, name string) (Place, error) {
	marks, err := c.queries.ListAuditMarks(ctx, c.pool, maxMarks)
	if err != nil {
		return Place{}, db.Error(err)
	}
	for _, m := range marks {
		if m.Name == name {
			return Place{m.Seq, m.Hash}, nil
		}
	}
	return Place{}, nil
}

// maxMarks bounds the marks that are read: the chain's two, and one for each target that ever was.
const maxMarks = 1000
