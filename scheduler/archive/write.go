package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// How a block begins: as it was compressed, or sealed after that.
const (
	blockPlain  = 'z'
	blockSealed = 's'
)

// blockSize is how many bytes of text share a block: whoever reads one run's reads them all.
const blockSize = 64 << 10

// maxTogether is how many copies are written together at most.
const maxTogether = 4_000

func chunks(ids []int64) iter.Seq[[]int64] { return slices.Chunk(ids, db.MaxBatch) }

// resultWait is how long what an executor pushed waits for the run's result, which follows it: it is one row that is written once then, and
// nobody need ask what became of the run.
const resultWait = 2 * time.Second

// writeLoop writes copies until ctx ends. After stop it writes those that are there, and ends.
func (s *Service) writeLoop(ctx context.Context, stop <-chan struct{}) {
	var batch []copied // which begins with those that were left for later
	for stopped := false; !stopped; {
		size := 0
		for i := range batch {
			size += batch[i].excerpt.Size()
		}
		var wait <-chan time.Time
		if len(batch) > 0 {
			wait = time.After(s.cfg.FlushEvery)
		}
	collect:
		for size < s.cfg.ObjectSize && len(batch) < maxTogether {
			select {
			case c := <-s.copies:
				batch, size = append(batch, c), size+c.excerpt.Size()
				if wait == nil {
					wait = time.After(s.cfg.FlushEvery)
				}
			case <-wait:
				break collect
			case <-stop:
				s.loops.Wait() // nobody hands in more
				select {
				case c := <-s.copies:
					batch, size = append(batch, c), size+c.excerpt.Size()
				default:
					stopped = true
					break collect
				}
			}
		}
		now, later := batch, []copied(nil)
		if !stopped {
			now, later = s.ripe(batch)
		}
		if batch = later; len(now) > 0 {
			size = 0
			for i := range now {
				size += now[i].excerpt.Size()
			}
			s.write(ctx, now)
			s.held.Add(-int64(size))
		}
	}
}

// ripe leaves for later what was pushed of runs whose results are still to come, but not for long, and not so much that it fills an object.
func (s *Service) ripe(batch []copied) (now, later []copied) {
	upto := s.cfg.Now().UnixMilli()
	since := upto - resultWait.Milliseconds()
	size := 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range batch {
		c := &batch[i]
		ended, waits := s.taken[c.ID]
		if n := c.excerpt.Size(); c.pushed && waits && !ended && since < c.endedAt && c.endedAt <= upto && size+n < s.cfg.ObjectSize/2 && len(later) < maxTogether/2 {
			later, size = append(later, *c), size+n
			continue
		}
		now = append(now, *c)
	}
	return now, later
}

// write puts copies into the store and notes where they are.
func (s *Service) write(ctx context.Context, batch []copied) {
	batch, older := newest(batch)
	for i := range older {
		s.superseded(&older[i])
	}
	began := time.Now()
	err := s.writeObject(ctx, batch)
	var ids, pushed []int64
	for i := range batch {
		if batch[i].pushed { // nobody holds it back from being copied
			pushed = append(pushed, batch[i].ID)
		} else {
			ids = append(ids, batch[i].ID)
		}
		if batch[i].written != nil {
			batch[i].written(err == nil)
		}
	}
	s.written(pushed...)
	if err == nil {
		s.metrics.seconds.Observe(time.Since(began).Seconds())
		s.storeWorks()
		s.done(ids...)
		return
	}
	if ctx.Err() != nil {
		s.done(ids...)
		return
	}
	until := s.storeFails(err)
	for i := range batch {
		switch c := &batch[i]; {
		case c.pushed: // it is copied, should its executor still be there
		case c.goesOn:
			s.done(c.ID)
		default:
			s.again(Ended{Run: c.Run, At: c.endedAt}, until, ReasonStore)
		}
	}
}

// newest leaves out copies of which there is a later one, or one that its executor pushed.
func newest(batch []copied) (kept, older []copied) {
	last := make(map[int64]int, len(batch))
	for i := range batch {
		if at, twice := last[batch[i].ID]; !twice || !batch[at].pushed {
			last[batch[i].ID] = i
		}
	}
	if len(last) == len(batch) {
		return batch, nil
	}
	for i, c := range batch {
		if last[c.ID] == i {
			kept = append(kept, c)
		} else {
			older = append(older, c)
		}
	}
	return kept, older
}

// superseded lets go of a copy that need not be written.
func (s *Service) superseded(c *copied) {
	if c.written != nil {
		c.written(true)
	}
	if !c.pushed {
		s.done(c.ID)
	}
}

func (s *Service) storeWorks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble.err != nil {
		s.log.Info("the output store works again", "store", s.cfg.Store.Name(), "since", s.trouble.since)
		clear(s.resting) // meanwhile nobody was asked
		clear(s.refusals)
	}
	s.trouble = trouble{}
}

// checkLoop tries the store at the start, so that a wrong address is said before a run needs it, and as long as it is in trouble.
func (s *Service) checkLoop(ctx context.Context) {
	tick := time.NewTicker(s.cfg.TidyEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if first || s.Status().Trouble != "" {
			s.check(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Service) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if err := s.cfg.Store.Check(limited); err == nil || errors.Is(err, ErrHeld) { // it takes what is written, and gives it
		s.storeWorks()
	} else if ctx.Err() == nil {
		s.storeFails(err)
	}
}

func (s *Service) storeFails(err error) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	t := &s.trouble
	if t.err == nil {
		t.since = now
	}
	if t.fails == 0 || now.Sub(t.since) > time.Minute && t.fails%10 == 0 {
		s.log.Warn("write outputs of runs to their store", "store", s.cfg.Store.Name(), "error", err)
	}
	t.err, t.until = err, now.Add(min(s.cfg.Rest<<min(t.fails, 10), maxRest))
	t.fails++
	return t.until
}

// placed is where in an object a copy is.
type placed struct{ pos, size, textAt int64 }

// pack compresses copies, small ones together, and says where in the result each is.
func (s *Service) pack(object int64, texts [][]byte) (data []byte, places []placed) {
	places = make([]placed, len(texts))
	var block []byte
	from := 0
	flush := func(upto int) {
		pos := int64(len(data))
		data = s.appendBlock(data, object, block)
		for i := from; i < upto; i++ {
			places[i].pos, places[i].size = pos, int64(len(data))-pos
		}
		block, from = block[:0], upto
	}
	for i, text := range texts {
		places[i].textAt = int64(len(block))
		block = append(block, text...)
		if len(block) >= blockSize {
			flush(i + 1)
		}
	}
	if from < len(texts) {
		flush(len(texts))
	}
	return data, places
}

func (s *Service) appendBlock(data []byte, object int64, block []byte) []byte {
	pos := len(data)
	if s.cfg.Seal == nil {
		return s.enc.EncodeAll(block, append(data, blockPlain))
	}
	return append(append(data, blockSealed), s.cfg.Seal.CloseBytes(s.enc.EncodeAll(block, nil), purpose(object, int64(pos)))...)
}

// purpose binds a sealed block to its place.
func purpose(object, pos int64) string { return fmt.Sprintf("output %d %d", object, pos) }

// newObject notes an object that is about to be made. Nothing is in it yet, so that it is deleted if nothing comes of it.
func (s *Service) newObject(ctx context.Context) (Object, error) {
	now := s.cfg.Now()
	object := Object{Name: now.UTC().Format("2006/01/02/") + rand.Text()}
	id, err := s.queries.InsertOutputObject(ctx, s.cfg.Pool, db.InsertOutputObjectParams{Store: s.cfg.Store.Name(), Name: object.Name, CreatedAt: now.UnixMilli()})
	object.ID = id
	return object, db.Error(err)
}

// writeLimit is how long one write may take.
const writeLimit = 30 * time.Second

func (s *Service) writeObject(ctx context.Context, batch []copied) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	slices.SortFunc(batch, func(a, b copied) int { return cmp.Compare(a.ID, b.ID) })
	texts := make([][]byte, len(batch))
	size := 0
	for i := range batch {
		texts[i] = batch[i].excerpt.Text()
		size += len(texts[i])
	}
	if size == 0 {
		return s.noteKept(ctx, Object{}, 0, nil, batch, make([]placed, len(batch)))
	}
	object, err := s.newObject(ctx)
	if err != nil {
		return err
	}
	data, places := s.pack(object.ID, texts)
	if err := s.cfg.Store.Put(ctx, object, data); err != nil {
		s.metrics.objects.WithLabelValues("refused").Inc()
		return err
	}
	s.metrics.objects.WithLabelValues("written").Inc()
	return s.noteKept(ctx, object, int64(len(data)), newFilter(texts), batch, places)
}

// noteTries is how often copies are noted again because somebody else noted one of them meanwhile.
const noteTries = 3

// noteKept notes copies that are in the store. Copies of runs that are gone, or that another admin has copied meanwhile, are left out.
func (s *Service) noteKept(ctx context.Context, object Object, size int64, f filter, batch []copied, places []placed) error {
	var n noted
	var err error
	for try := range noteTries {
		err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			n = noted{}
			return s.noteIn(ctx, tx, &n, object, size, f, batch, places, try > 0)
		})
		if !errors.Is(err, db.ErrDuplicate) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("note %d outputs as kept: %w", len(batch), err)
	}
	for _, c := range n.over {
		s.knowOver(c.ID, c.overUntil())
	}
	s.metrics.runs.WithLabelValues(outcomeKept).Add(float64(n.kept))
	s.metrics.runs.WithLabelValues(outcomeEmpty).Add(float64(n.empty))
	s.metrics.cut.Add(float64(n.cut))
	s.metrics.pushed.Add(float64(n.pushed))
	s.pushed.Add(int64(n.pushed))
	s.copied.Add(int64(n.kept - n.pushed))
	s.cut.Add(int64(n.cut))
	return nil
}

// noted is what became of copies.
type noted struct {
	kept, empty, cut, pushed int
	over                     []*copied // of which nothing is to be copied any more
}

func (s *Service) noteIn(ctx context.Context, tx *sql.Tx, n *noted, object Object, size int64, f filter, batch []copied, places []placed, twice bool) error {
	now, node := s.cfg.Now().UnixMilli(), s.cfg.Node()
	var ask []int64
	for i := range batch {
		if c := &batch[i]; twice || !c.first(s.cfg.LiveAfter) {
			ask = append(ask, c.ID)
		}
	}
	rows, err := s.lock(ctx, tx, ask)
	if err != nil {
		return err
	}
	runs, err := s.runsOf(ctx, tx, batch, rows)
	if err != nil {
		return err
	}
	var fresh, again []db.Output
	var forget, left []int64
	for i := range batch {
		c := &batch[i]
		old, there := rows[c.ID]
		run := runs[c.ID]
		if !c.fits(&old, there, &run, node) {
			continue
		}
		row := db.Output{LogID: c.ID, JobGroup: c.Group, JobID: c.Job, Node: node, State: c.state(run.open), EndedAt: c.endedAt, KeptAt: now, Pushed: db.Flag(c.pushed)}
		if there {
			left = append(left, old.ObjectID)
		}
		if describe(c.excerpt, &row); row.TextSize == 0 {
			if there {
				forget = append(forget, c.ID)
			}
			if !c.goesOn {
				n.empty++
				n.over = append(n.over, c)
			}
			continue
		}
		if row.State == db.OutputWhole {
			n.over = append(n.over, c)
		}
		if !c.goesOn {
			if n.kept++; row.LeftLines > 0 {
				n.cut++
			}
			if c.pushed {
				n.pushed++
			}
		}
		row.ObjectID, row.Pos, row.Size, row.TextAt = object.ID, places[i].pos, places[i].size, places[i].textAt
		if there {
			again = append(again, row)
		} else {
			fresh = append(fresh, row)
		}
	}
	if live := int64(len(fresh) + len(again)); live > 0 {
		if err := db.InsertOutputs(ctx, tx, fresh); err != nil {
			return err
		}
		if err := db.KeepOutputs(ctx, tx, again); err != nil {
			return err
		}
		if _, err := s.queries.SetOutputObject(ctx, tx, db.SetOutputObjectParams{ID: object.ID, Size: size, Live: live}); err != nil {
			return err
		}
		if err := s.noteFilter(ctx, tx, object.ID, f); err != nil {
			return err
		}
	}
	for part := range chunks(forget) {
		if _, err := s.queries.DeleteOutputs(ctx, tx, part); err != nil {
			return err
		}
	}
	return db.LeaveOutputObjects(ctx, tx, left)
}

// keptRun is a run whose output is about to be noted.
type keptRun struct {
	there  bool
	open   bool // it has no result
	wanted bool // its output is to be kept; for those with a result
}

// runsOf are the runs of copies whose rows do not say what became of them: one that is to be copied later says that its run has ended. What this
// admin copies has ended, and so has what it was pushed and told the end of, which it was because somebody wants it.
func (s *Service) runsOf(ctx context.Context, tx *sql.Tx, batch []copied, rows map[int64]db.LockOutputsRow) (map[int64]keptRun, error) {
	var ended, ask []int64
	s.mu.Lock()
	for i := range batch {
		c := &batch[i]
		switch old, there := rows[c.ID]; {
		case c.goesOn || there && old.State != db.OutputLive:
		case !c.pushed || s.taken[c.ID]:
			ended = append(ended, c.ID)
		default:
			ask = append(ask, c.ID)
		}
	}
	s.mu.Unlock()
	runs := make(map[int64]keptRun, len(ended)+len(ask))
	for part := range chunks(ended) {
		there, err := s.queries.ListRunsThere(ctx, tx, part)
		if err != nil {
			return nil, err
		}
		for _, id := range there {
			runs[id] = keptRun{there: true, wanted: true}
		}
	}
	for part := range chunks(ask) {
		there, err := s.queries.ListRunsToKeep(ctx, tx, part)
		if err != nil {
			return nil, err
		}
		for _, r := range there {
			open := r.HandleCode == 0
			runs[r.ID] = keptRun{there: true, open: open, wanted: !open && s.Wants(jobspec.Keep(r.KeepOutput), r.JobGroup, r.Outcome != event.Succeeded)}
		}
	}
	return runs, nil
}

// lock reads the rows that there are of runs.
func (s *Service) lock(ctx context.Context, tx *sql.Tx, ids []int64) (map[int64]db.LockOutputsRow, error) {
	rows := make(map[int64]db.LockOutputsRow, len(ids))
	for part := range chunks(ids) {
		there, err := s.queries.ListOutputIDs(ctx, tx, part)
		if err != nil {
			return nil, err
		}
		if len(there) == 0 {
			continue
		}
		locked, err := s.queries.LockOutputs(ctx, tx, there)
		if err != nil {
			return nil, err
		}
		for _, r := range locked {
			rows[r.LogID] = r
		}
	}
	return rows, nil
}

// unpack gives the text of a row out of its block.
func (s *Service) unpack(row *db.Output, block []byte) ([]byte, error) {
	text, err := s.unpackBlock(row, block)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) < row.TextAt+row.TextSize {
		return nil, errShort
	}
	return bytes.Clone(text[row.TextAt : row.TextAt+row.TextSize]), nil
}

// unpackBlock gives all that the block of a row holds.
func (s *Service) unpackBlock(row *db.Output, block []byte) ([]byte, error) {
	if len(block) == 0 {
		return nil, errShort
	}
	kind, packed := block[0], block[1:]
	if kind == blockSealed {
		if s.cfg.Seal == nil {
			return nil, errNoKey
		}
		var err error
		if packed, err = s.cfg.Seal.OpenBytes(packed, purpose(row.ObjectID, row.Pos)); err != nil {
			return nil, err
		}
	}
	text, err := s.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return text, nil
}
