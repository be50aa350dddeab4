package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stdio are the messages that an assistant writes, one to a line, for a reader that ends the session at the first that it cannot take: what
// is no message is answered here, with an error, and does not come through. A batch, which one version of the protocol had, comes as the
// messages that are in it.
type stdio struct {
	in   *bufio.Reader
	rest []byte // of what comes through

	mu  sync.Mutex // a line is written whole
	out io.Writer
}

func newStdio(in io.Reader, out io.Writer) *stdio {
	return &stdio{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Read reads from the next message. It blocks until there is one.
func (l *stdio) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, tooLong, err := l.line()
		if tooLong {
			l.refuse(jsonrpc.CodeInvalidRequest, "a message may have a megabyte", nil)
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			l.take(line)
		}
		if err != nil && len(l.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads a line, of which no more is kept than may be in a message.
func (l *stdio) line() (line []byte, tooLong bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxMessage; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// take lets what is a message come through.
func (l *stdio) take(line []byte) {
	if !json.Valid(line) {
		l.refuse(jsonrpc.CodeParseError, "this is no JSON; a message is one line of it", nil)
		return
	}
	if line[0] != '[' {
		l.judge(line)
		return
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
		l.refuse(jsonrpc.CodeInvalidRequest, "this batch is empty", nil)
	}
	for _, message := range batch {
		l.judge(message)
	}
}

// judge lets a message come through, or answers that it is none. What asks for nothing has no answer, or two that take each other's
// answers for questions would never be done.
func (l *stdio) judge(message []byte) {
	if _, err := jsonrpc.DecodeMessage(message); err == nil {
		l.rest = append(append(l.rest, message...), '\n')
		return
	}
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(message, &asked); err == nil && asked["method"] == nil {
		return
	}
	l.refuse(jsonrpc.CodeInvalidRequest, `this is no message of JSON-RPC 2.0: an object with "jsonrpc": "2.0" and a method`, asked["id"])
}

// refuse answers what does not come through.
func (l *stdio) refuse(code int, why string, id json.RawMessage) {
	var named any
	if json.Unmarshal(id, &named) != nil {
		named = nil
	}
	switch named.(type) {
	case string, float64:
	default:
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, jsonrpc.Error{Code: int64(code), Message: why}})
	if err == nil {
		_, _ = l.Write(append(answer, '\n')) // who does not read has no answer, nor to what comes next
	}
}

// Write writes lines of the server's.
func (l *stdio) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// Close leaves both ends open: they are the process's.
func (l *stdio) Close() error { return nil }
