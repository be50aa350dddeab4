package executor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
)

// A script gives outputs ([Run.SetOutput]) by writing lines KEY=VALUE into the file that PUNCTUAL_OUTPUT names. The file is its own, and goes
// with it.

// outputFile makes the empty file for a program of a run, which may have several at a time, and gives its name in the folder of the scripts.
func (s *scriptStore) outputFile(logID int64) (name string, err error) {
	name = fmt.Sprintf(".output-%d-%d", logID, s.outputs.Add(1))
	if err := s.root.WriteFile(name, nil, 0o600); err != nil {
		return "", err
	}
	if s.as != nil {
		if err := errors.Join(s.root.Chown(name, os.Getuid(), int(s.as.GID)), s.root.Chmod(name, 0o660)); err != nil {
			return "", err
		}
	}
	return name, nil
}

const (
	// maxOutputFile is how much of what a script wrote is read. A script may write a key anew with each of its steps.
	maxOutputFile = 16 << 20
	// maxOutputNotes is for how many lines that are left out it is said why.
	maxOutputNotes = 20
)

// takeOutput reads what a script wrote, says in the run's log what of it is left out, and deletes the file.
func (s *scriptStore) takeOutput(run *Run, name string) {
	defer func() { _ = s.root.Remove(name) }()
	file, err := s.root.Open(name)
	if err != nil {
		return // deleted by the script
	}
	defer file.Close()
	out := 0
	leave := func(format string, args ...any) {
		if out++; out <= maxOutputNotes {
			run.Logf("PUNCTUAL_OUTPUT: "+format, args...)
		}
	}
	rest := &io.LimitedReader{R: file, N: maxOutputFile}
	lines := bufio.NewReaderSize(rest, 2*wire.MaxOutputs)
	for err == nil {
		var text []byte
		text, err = lines.ReadSlice('\n')
		line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		if errors.Is(err, bufio.ErrBufferFull) {
			leave("a line that is too long is left out: %.80q", line)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			continue
		}
		if err != nil && rest.N <= 0 { // the line may go on
			leave("the rest is left out: it is longer than %d bytes", maxOutputFile)
			break
		}
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			leave("a line without = is left out: %.80q", line)
			continue
		}
		if err := run.SetOutput(strings.TrimSpace(key), value); err != nil {
			leave("left out: %v", err)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		leave("the rest is left out: %v", err)
	}
	if more := out - maxOutputNotes; more > 0 {
		run.Logf("PUNCTUAL_OUTPUT: %d lines more are left out", more)
	}
}
