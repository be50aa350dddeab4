package executor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// outputPusher hands what runs wrote to the admins that want to keep it, before their results: who hears of a result can read the output,
// even if this process ends at once. What cannot be pushed the admin asks for, as it does of other executors.
type outputPusher struct {
	admins outputTaker
	read   func(logID, triggered int64, budget int) (wire.PushedOutput, error)
	logger *slog.Logger

	mu   sync.Mutex
	rest time.Time // until when nothing is pushed
}

// outputTaker is what it needs of [wire.AdminClient].
type outputTaker interface {
	PushOutputs(ctx context.Context, outputs []wire.PushedOutput) error
}

const (
	// pushTime bounds how much later a batch of results is sent for their outputs.
	pushTime = 2 * time.Second
	// pushRest is how long nothing is pushed after a push that failed, so that results do not wait for an admin that takes none.
	pushRest = 5 * time.Second
	// pushBytes is what one request has of text, unless a single output has more: proxies often allow 1 MB.
	pushBytes = 768 << 10
	// maxPushed bounds the output of one run, whatever an admin asks for.
	maxPushed = 4 << 20
)

// push hands over the outputs of results that are about to be sent, and notes which an admin has taken.
func (p *outputPusher) push(ctx context.Context, results []result) {
	if p == nil || p.rests() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	var batch []wire.PushedOutput
	var of []*result
	size := 0
	send := func() bool {
		if len(batch) == 0 {
			return true
		}
		if err := p.admins.PushOutputs(ctx, batch); err != nil {
			p.failed(err, len(batch))
			return false
		}
		for _, r := range of {
			r.pushed = true
		}
		batch, of, size = nil, nil, 0
		return true
	}
	for i := range results {
		r := &results[i]
		if r.wish == nil || r.pushed {
			continue
		}
		out, err := p.read(r.cb.LogID, r.cb.LogDateTime, min(r.wish.Bytes, maxPushed))
		if err != nil {
			p.logger.Debug("read the output of a run to push it", "log_id", r.cb.LogID, "error", err)
			continue
		}
		if len(batch) > 0 && size+out.Size() > pushBytes && !send() {
			return
		}
		batch, of, size = append(batch, out), append(of, r), size+out.Size()
	}
	send()
}

func (p *outputPusher) rests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.rest)
}

func (p *outputPusher) failed(err error, n int) {
	p.mu.Lock()
	p.rest = time.Now().Add(pushRest)
	p.mu.Unlock()
	p.logger.Info("outputs cannot be pushed; the admin asks for them", "count", n, "error", err)
}

// outputOf is what a run has written so far, within a number of bytes.
func (e *Executor) outputOf(logID, triggered int64, budget int) (wire.PushedOutput, error) {
	from, err := e.openOutput(logID, triggered)
	if err != nil {
		return wire.PushedOutput{}, err
	}
	defer func() { _ = from.Close() }()
	x := &wire.Excerpt{Budget: budget}
	if err := addLines(x, from); err != nil {
		return wire.PushedOutput{}, err
	}
	return wire.PushedOf(logID, x), nil
}

// openOutput opens all that there is of a run's log.
func (e *Executor) openOutput(logID, triggered int64) (io.ReadCloser, error) {
	if live := e.liveLog(logID); live != nil {
		if text, hasFile := live.text(); !hasFile {
			return io.NopCloser(strings.NewReader(text)), nil
		}
	}
	if text, ok := e.logs.remembered(logID); ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	file, err := e.logs.find(logID, time.UnixMilli(triggered))
	if errors.Is(err, fs.ErrNotExist) && e.seen.has(logID) {
		return io.NopCloser(strings.NewReader(logQuiet)), nil
	}
	return file, err
}

// addLines takes all lines of a log. Of one that is longer than what is kept of a line only so much is held.
func addLines(x *wire.Excerpt, from io.Reader) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(long) <= x.Budget {
				long = append(long, part...)
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if len(line) > 0 {
			x.Add(trimEnd(line))
		}
		if long = long[:0]; err != nil {
			return nil
		}
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}
