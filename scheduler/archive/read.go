package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// errNoKey says that a copy is sealed, and there is no secret key to open it.
var errNoKey = errors.New("the kept output is sealed with a secret key that is not set")

// ErrUnread is in what comes of a copy that is kept and cannot be read: the store does not give it, or what it gives is not what was written.
var ErrUnread = errors.New("its store does not give it")

// errBroken says that a block is not what was written.
var errBroken = errors.New("the object in the store is not what was written")

// Copy is what is kept of a run's output.
type Copy struct {
	State  int64 // as db has it
	KeptAt int64 // epoch ms
	// Head and Tail are whole lines; between them Left lines are missing.
	Head, Tail  [][]byte
	Left        int
	Interrupted bool // its end is missing
}

// Lines is how many lines the output has, with those that are not kept.
func (c *Copy) Lines() int { return len(c.Head) + c.Left + len(c.Tail) }

// From is the kept lines from a line on, as far as they follow each other, and within a number: the lines, the number of the first of
// them, and how many lines are missing before it. There are none beyond the end.
func (c *Copy) From(line, most int) (lines [][]byte, first, missing int) {
	line = max(line, 1)
	if line <= len(c.Head) {
		lines = c.Head[line-1:]
		return lines[:min(most, len(lines))], line, 0
	}
	first = max(line, len(c.Head)+c.Left+1)
	if line <= len(c.Head)+c.Left {
		missing = first - line
	}
	if at := first - len(c.Head) - c.Left - 1; at < len(c.Tail) {
		lines = c.Tail[at:]
		return lines[:min(most, len(lines))], first, missing
	}
	return nil, line, 0
}

// Read is the copy of a run's output; nil where there is no row of it.
func (s *Service) Read(ctx context.Context, runID int64) (*Copy, error) {
	if s == nil {
		return nil, nil
	}
	row, text, err := s.load(ctx, runID)
	if err != nil || row == nil {
		return nil, err
	}
	c := &Copy{State: row.State, KeptAt: row.KeptAt, Left: int(row.LeftLines), Interrupted: row.State != db.OutputWhole}
	head := min(int(row.HeadSize), len(text))
	c.Head, c.Tail = linesOf(text[:head]), linesOf(text[head:])
	return c, nil
}

// Has says from the row alone whether anything is kept of a run.
func (s *Service) Has(ctx context.Context, runID int64) (bool, error) {
	if s == nil {
		return false, nil
	}
	row, err := s.queries.GetOutput(ctx, s.cfg.Pool, runID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return err == nil && row.ObjectID > 0, err
}

func linesOf(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
}

// loadTries is how often a row is read again whose object went meanwhile, because what was in it moved.
const loadTries = 3

// load gives a run's row and text; nil where there is none.
func (s *Service) load(ctx context.Context, runID int64) (*db.Output, []byte, error) {
	for try := 1; ; try++ {
		row, err := s.queries.GetOutput(ctx, s.cfg.Pool, runID)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return nil, nil, nil
		} else if err != nil {
			return nil, nil, err
		}
		if row.ObjectID == 0 {
			return &row, nil, nil
		}
		text, err := s.textOf(ctx, &row)
		if err == nil {
			return &row, text, nil
		}
		if try == loadTries || !errors.Is(err, ErrNoObject) {
			return nil, nil, fmt.Errorf("kept output of run %d: %w", runID, err)
		}
	}
}

func (s *Service) textOf(ctx context.Context, row *db.Output) ([]byte, error) {
	o, err := s.queries.GetOutputObject(ctx, s.cfg.Pool, row.ObjectID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, ErrNoObject
	} else if err != nil {
		return nil, err
	}
	if o.Store != s.cfg.Store.Name() {
		return nil, fmt.Errorf("%w: it is in one of kind %q, and the one that is set is of kind %q", ErrUnread, o.Store, s.cfg.Store.Name())
	}
	block, err := s.cfg.Store.Get(ctx, Object{ID: o.ID, Name: o.Name}, row.Pos, row.Size)
	var text []byte
	if err == nil {
		text, err = s.unpack(row, block)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrUnread, err)
	}
	return text, err
}

// ignoreUnreadable lets a copy that cannot be read be made anew.
func ignoreUnreadable(err error) error {
	if errors.Is(err, ErrNoObject) || errors.Is(err, errShort) || errors.Is(err, errBroken) || errors.Is(err, errNoKey) || errors.Is(err, seal.ErrOther) {
		return nil
	}
	return err
}
