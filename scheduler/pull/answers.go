package pull

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Why an answer is refused.
var (
	ErrNoCall = errors.New("an answer is to no call that an admin has made for this executor")
	ErrFull   = errors.New("too many answers of this executor wait for the admins that asked")
)

const (
	// afterwards is for how long answers are taken to a call whose time is up: the clocks of two admins are not the same.
	afterwards = time.Second

	// Bounds of the answers that wait in the database for the admins that asked, of one executor and of all. One request has less, and an
	// executor of ours has 256 calls at a time; an admin that lives reads them within milliseconds.
	maxWaiting         = 1000
	maxWaitingBytes    = 16 << 20
	maxAllWaiting      = 20_000
	maxAllWaitingBytes = 256 << 20
)

// load is how many answers wait, and their bytes.
type load struct{ answers, bytes int64 }

func (l load) plus(o load) load { return load{l.answers + o.answers, l.bytes + o.bytes} }

func (l load) minus(o load) load { return load{l.answers - o.answers, l.bytes - o.bytes} }

// answer gives answers to the calls that they are about. Those that other admins made it writes down for them, or leaves them to whoever
// sent them if that is what is asked for. What nobody has asked for is refused; what came with it is taken all the same.
func (m *Mailbox) answer(ctx context.Context, of box, answers []wire.PulledAnswer, apart bool) (left []string, err error) {
	var refused error
	var others []db.PullAnswer
	now := m.cfg.Now()
	for _, a := range answers {
		asker, expires, ok := m.readID(a.ID, of)
		until := expires.Add(afterwards)
		switch {
		case !ok:
			refused = ErrNoCall
		case asker == m.name:
			m.deliver(of, a.ID, a.Answer)
		case now.After(until), !m.cfg.Others() && m.cfg.Pool.Alone(): // nobody waits: the one that asked is no more
		case apart:
			left = append(left, a.ID)
		default:
			others = append(others, db.PullAnswer{ID: a.ID, Asker: asker, AppName: of.app, Address: of.address, Body: m.seal(a.ID, a.Answer), ExpiresAt: until.UnixMilli()})
		}
	}
	if len(others) == 0 {
		return left, refused
	}
	return nil, errors.Join(m.store(ctx, of, others), refused)
}

// store writes down answers for the admins that made the calls, as far as there is room.
func (m *Mailbox) store(ctx context.Context, of box, answers []db.PullAnswer) error {
	mine := load{answers: int64(len(answers))}
	for i := range answers {
		mine.bytes += int64(len(answers[i].Body))
	}
	// What other requests are about to write is not in the database yet.
	m.mu.Lock()
	own, all := m.storing[of].plus(mine), m.storingAll.plus(mine)
	m.storing[of], m.storingAll = own, all
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.storingAll = m.storingAll.minus(mine)
		if m.storing[of] = m.storing[of].minus(mine); m.storing[of].answers == 0 {
			delete(m.storing, of)
		}
	}()
	room, err := m.room(ctx, of, own, all)
	if err == nil && !room {
		// Answers for an admin that has died wait for nobody once the calls are over.
		if _, err = m.queries.DeletePullAnswersBefore(ctx, m.cfg.Pool, m.cfg.Now().UnixMilli()); err == nil {
			room, err = m.room(ctx, of, own, all)
		}
	}
	if err != nil {
		return err
	}
	if !room {
		return ErrFull
	}
	return db.InsertPullAnswers(ctx, m.cfg.Pool, answers)
}

// room says whether there is room in the database for what is to be written of one executor, and of all.
func (m *Mailbox) room(ctx context.Context, of box, own, all load) (bool, error) {
	n, err := m.queries.CountPullAnswers(ctx, m.cfg.Pool, db.CountPullAnswersParams{Address: of.address, AppName: of.app})
	if err != nil || n.Answers+own.answers > maxWaiting || n.Bytes+own.bytes > maxWaitingBytes {
		return false, err
	}
	total, err := m.queries.CountAllPullAnswers(ctx, m.cfg.Pool)
	return total.Answers+all.answers <= maxAllWaiting && total.Bytes+all.bytes <= maxAllWaitingBytes, err
}

// deliver ends a call with its answer, if it is its executor's.
func (m *Mailbox) deliver(of box, id string, answer []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil || c.box != of {
		return
	}
	delete(m.calls, id)
	if c.row {
		m.done = append(m.done, id)
		poke(m.wake)
	}
	c.result <- answer
}
