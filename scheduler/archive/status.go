package archive

import "time"

// Status is how the keeping of outputs stands, as this admin sees it.
type Status struct {
	Outside bool          // the store is not the database
	Waiting int64         // runs whose output is to be copied, of all admins
	Objects int64         // in the store
	Bytes   int64         // of these
	Today   int64         // of these, written since midnight
	Rate    float64       // bytes of output that this admin has read in a second, over the last 10
	LeftOut int64         // runs since the start whose output is not kept because too many waited
	Lost    int64         // runs since the start of which nothing, or not the end, could be kept
	Pushed  int64         // outputs since the start that executors pushed
	Copied  int64         // outputs since the start that were asked for
	Cut     int64         // outputs since the start of which only the beginning and the end are kept
	Held    int64         // objects of no use that the store does not let be deleted
	Unseen  int           // long runs that are not followed because there are too many
	Trouble string        // what the store answered last, if that was an error
	For     time.Duration // for how long it has
}

// Status tells how it stands, from memory.
func (s *Service) Status() Status {
	if s == nil {
		return Status{}
	}
	st := Status{Outside: s.cfg.Store.Name() != inDatabase, Waiting: s.waiting.Load(), Rate: s.speed.read(), LeftOut: s.dropped.Load(), Lost: s.lost.Load(), Cut: s.cut.Load(), Held: s.heldBack.Load(), Pushed: s.pushed.Load(), Copied: s.copied.Load()}
	if kept := s.kept.Load(); kept != nil {
		st.Objects, st.Bytes, st.Today = kept.Objects, kept.Bytes, kept.Lately
	}
	s.mu.Lock()
	if t := s.trouble; t.err != nil {
		st.Trouble, st.For = t.err.Error(), s.cfg.Now().Sub(t.since)
	}
	s.mu.Unlock()
	s.following.mu.Lock()
	st.Unseen = s.following.left
	s.following.mu.Unlock()
	return st
}
