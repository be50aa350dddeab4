package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// An executor hands over what a run wrote together with its result, if it was told with the run that this is wanted: it posts a
// [PushedOutput] of each to /api/output, compressed by gzip, and then says in the result that it did. Executors of XXL-JOB are not told, and admins of XXL-JOB tell nobody: then the admin asks for the output at /log, if at all.

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
	LogID      int64
	Head, Tail string
	LeftLines  int // between the two
	LeftFaults int // how many of these tell of an error
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
	x := &Excerpt{Budget: budget, Head: make([]byte, 0, min(len(p.Head)+1, budget/2))}
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
	MaxPushedText    = 16 << 20 // bytes, when they are not compressed
	maxLeftLines     = 1 << 40  // more lines than any disk has
)

// ErrPushTooLarge says that a push is larger than is read.
var ErrPushTooLarge = errors.New("the outputs are larger than is read at once")

var errPush = errors.New("not outputs")

// pushHead is the line of JSON before the texts of a run. As JSON themselves they took most of the time that taking them does.
type pushHead struct {
	LogID      int64 `json:"logId"`
	Head       int   `json:"head"` // bytes of each
	Tail       int   `json:"tail,omitempty"`
	LeftLines  int   `json:"leftLines,omitempty"`
	LeftFaults int   `json:"leftFaults,omitempty"`
}

// maxPushHead is more than any such line has.
const maxPushHead = 200

// DecodeOutputs reads the body of /api/output, and refuses what no executor sends. Of several outputs of a run the last one counts.
func DecodeOutputs(body []byte) ([]PushedOutput, error) {
	return NewOutputReader(new(gzip.Reader)).Decode(body)
}

// Unzip reads what gzip has packed, as the reader of compress/gzip does, and those of others that take less time for it.
type Unzip interface {
	io.Reader
	Reset(from io.Reader) error
}

// OutputReader reads bodies of /api/output, one after the other, and keeps what that needs: much more than most bodies have.
type OutputReader struct {
	zip  Unzip
	text bytes.Buffer
}

// NewOutputReader makes a reader that unpacks with zip.
func NewOutputReader(zip Unzip) *OutputReader { return &OutputReader{zip: zip} }

// maxUnzipped is how large a text may have been whose room is kept for the next.
const maxUnzipped = 1 << 20

// Decode is [DecodeOutputs].
func (r *OutputReader) Decode(body []byte) ([]PushedOutput, error) {
	defer r.letGo()
	if err := r.zip.Reset(bytes.NewReader(body)); err != nil {
		return nil, fmt.Errorf("%w: the body is not compressed by gzip", errPush)
	}
	_, err := r.text.ReadFrom(io.LimitReader(r.zip, MaxPushedText+1))
	text := r.text.Bytes() // of which nothing is kept: the outputs are copies
	if len(text) > MaxPushedText {
		return nil, ErrPushTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the body is broken gzip", errPush)
	}
	at := make(map[int64]int)
	var kept []PushedOutput
	for n := 1; len(text) > 0; n++ {
		if n > MaxPushedOutputs {
			return nil, ErrPushTooLarge
		}
		var o PushedOutput
		if o, text, err = nextOutput(text); err != nil {
			return nil, err
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

// quickPushHead reads the line before a text as encoding/json does.
func quickPushHead(line []byte) (h pushHead, ok bool) {
	if !quickFields(line, member{"logId", &h.LogID}, member{"head", &h.Head}, member{"tail", &h.Tail},
		member{"leftLines", &h.LeftLines}, member{"leftFaults", &h.LeftFaults}) {
		return pushHead{}, false
	}
	return h, true
}

func (r *OutputReader) letGo() {
	if r.text.Cap() > maxUnzipped {
		r.text = bytes.Buffer{}
	}
	r.text.Reset()
	_ = r.zip.Reset(strings.NewReader("")) // of the body
}

// nextOutput reads the first of some outputs.
func nextOutput(text []byte) (o PushedOutput, rest []byte, err error) {
	line, _, found := bytes.Cut(text[:min(len(text), maxPushHead)], []byte{'\n'})
	h, ok := quickPushHead(line)
	if !found || !ok && json.Unmarshal(line, &h) != nil {
		return o, nil, fmt.Errorf("%w: the line before a text is no JSON of an output", errPush)
	}
	rest = text[len(line)+1:]
	switch {
	case h.LogID <= 0:
		return o, nil, fmt.Errorf("%w: a logId is missing", errPush)
	case h.LeftLines < 0 || h.LeftLines > maxLeftLines || h.LeftFaults < 0 || h.LeftFaults > h.LeftLines:
		return o, nil, fmt.Errorf("%w: the left lines of run %d are no number of lines", errPush, h.LogID)
	case h.Head < 0 || h.Tail < 0 || h.Head > len(rest) || h.Tail > len(rest)-h.Head:
		return o, nil, fmt.Errorf("%w: the text of run %d is not whole", errPush, h.LogID)
	}
	o = PushedOutput{LogID: h.LogID, Head: validText(rest[:h.Head]), Tail: validText(rest[h.Head : h.Head+h.Tail]), LeftLines: h.LeftLines, LeftFaults: h.LeftFaults}
	return o, rest[h.Head+h.Tail:], nil
}

func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// EncodeOutputs is the body of /api/output.
func EncodeOutputs(outputs []PushedOutput) ([]byte, error) {
	var body bytes.Buffer
	zip := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	zip.Reset(&body)
	for i := range outputs {
		o := &outputs[i]
		line, err := json.Marshal(pushHead{o.LogID, len(o.Head), len(o.Tail), o.LeftLines, o.LeftFaults})
		if err != nil {
			return nil, err
		}
		for _, part := range []string{string(line), "\n", o.Head, o.Tail} {
			if _, err := io.WriteString(zip, part); err != nil {
				return nil, err
			}
		}
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
	for _, a := range c.order(0) {
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
