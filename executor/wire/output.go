package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// An executor hands over what a run wrote together with its result, if it was told with the run that this is wanted: it posts a
// [PushedOutput] of each to /api/output, as JSON compressed by gzip, and then says in the result that it did. Executors of XXL-JOB are
// not told, and admins of XXL-JOB tell nobody: then the admin asks for the output at /log, if at all.

// OutputWish says with a run that its output is wanted when it ends.
type OutputWish struct {
	FailedOnly bool `json:"failedOnly,omitempty"` // not if it succeeds
	Bytes      int  `json:"bytes"`                // how much of its beginning and end together
}

// Wants says whether the output of a run with this result code is wanted.
func (w *OutputWish) Wants(code int) bool {
	return w != nil && w.Bytes > 0 && (!w.FailedOnly || code != CodeSuccess)
}

// PushedOutput is what a run wrote: whole lines of its beginning and its end.
type PushedOutput struct {
	LogID      int64  `json:"logId"`
	Head       string `json:"head"`
	Tail       string `json:"tail,omitempty"`
	LeftLines  int    `json:"leftLines,omitempty"`  // between the two
	LeftFaults int    `json:"leftFaults,omitempty"` // how many of these tell of an error
}

// Size is about how many bytes it takes.
func (p *PushedOutput) Size() int { return len(p.Head) + len(p.Tail) + 64 }

// PushedOf is the output of a run as it is pushed.
func PushedOf(logID int64, x *Excerpt) PushedOutput {
	x.End()
	p := PushedOutput{LogID: logID, Head: string(x.Head), Tail: string(x.Tail), LeftLines: x.Left(), LeftFaults: x.Faults}
	for _, part := range [][]byte{x.Head, x.Tail} {
		eachLine(part, func(line []byte) {
			if isFault(line) {
				p.LeftFaults--
			}
		})
	}
	p.LeftFaults = max(p.LeftFaults, 0) // a long line may have had its word in what was cut
	return p
}

// Excerpt is the output within a number of bytes.
func (p *PushedOutput) Excerpt(budget int) *Excerpt {
	x := &Excerpt{Budget: budget}
	eachLine([]byte(p.Head), x.Add)
	x.Skip(p.LeftLines, p.LeftFaults)
	eachLine([]byte(p.Tail), x.Add)
	x.End()
	return x
}

// eachLine goes through the lines of a text, without their ends.
func eachLine(text []byte, each func(line []byte)) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		each(bytes.TrimRight(line, "\r"))
	}
}

// Bounds of a push.
const (
	MaxPushedOutputs = 1000
	MaxPushedText    = 16 << 20 // bytes of JSON, when it is not compressed
	maxLeftLines     = 1 << 40  // more lines than any disk has
)

// ErrPushTooLarge says that a push is larger than is read.
var ErrPushTooLarge = errors.New("the outputs are larger than is read at once")

var errPush = errors.New("not outputs")

type outputPush struct {
	Outputs []PushedOutput `json:"outputs"`
}

// DecodeOutputs reads the body of /api/output, and refuses what no executor sends. Of several outputs of a run the last one counts.
func DecodeOutputs(body []byte) ([]PushedOutput, error) {
	unzip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the body is not compressed by gzip", errPush)
	}
	text, err := io.ReadAll(io.LimitReader(unzip, MaxPushedText+1))
	if len(text) > MaxPushedText {
		return nil, ErrPushTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the body is broken gzip", errPush)
	}
	var p outputPush
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%w: the body is not the JSON of outputs", errPush)
	}
	if len(p.Outputs) > MaxPushedOutputs {
		return nil, ErrPushTooLarge
	}
	at := make(map[int64]int, len(p.Outputs))
	kept := p.Outputs[:0]
	for _, o := range p.Outputs {
		switch {
		case o.LogID <= 0:
			return nil, fmt.Errorf("%w: a logId is missing", errPush)
		case o.LeftLines < 0 || o.LeftLines > maxLeftLines || o.LeftFaults < 0 || o.LeftFaults > o.LeftLines:
			return nil, fmt.Errorf("%w: the left lines of run %d are no number of lines", errPush, o.LogID)
		}
		if i, twice := at[o.LogID]; twice {
			kept[i] = o
			continue
		}
		at[o.LogID] = len(kept)
		kept = append(kept, o)
	}
	return kept, nil
}

// EncodeOutputs is the body of /api/output.
func EncodeOutputs(outputs []PushedOutput) ([]byte, error) {
	text, err := encode(outputPush{outputs})
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	zip := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	zip.Reset(&body)
	if _, err := zip.Write(text); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

var zippers = sync.Pool{New: func() any {
	return newZipper(nil)
}}

func newZipper(to io.Writer) *gzip.Writer {
	w, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // the level is one
	return w
}

type zippedKey struct{}

// PushOutputs hands outputs to one of the admins. One that does not take them now is not thought worse of: it may take results.
func (c *AdminClient) PushOutputs(ctx context.Context, outputs []PushedOutput) error {
	if len(c.admins) == 0 {
		return errNoAdmin
	}
	body, err := EncodeOutputs(outputs)
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	ctx = context.WithValue(ctx, zippedKey{}, true)
	var errs []error
	for _, a := range c.order() {
		attempt, cancel := context.WithTimeout(ctx, c.timeout)
		err := c.try(attempt, a, "/api/output", body)
		cancel()
		if err == nil {
			return nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}
