package executor

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
)

// A script gives outputs ([Run.SetOutput]) by writing lines KEY=VALUE into the file that PUNCTUAL_OUTPUT names. The file is its own, and goes
// with the run.

// outputFile makes the empty file for a run and gives its name in the folder of the scripts.
func (s *scriptStore) outputFile(logID int64) (name string, err error) {
	name = ".output-" + strconv.FormatInt(logID, 10)
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

// takeOutput reads what a script wrote, says in the run's log what of it is left out, and deletes the file.
func (s *scriptStore) takeOutput(run *Run, name string) {
	defer func() { _ = s.root.Remove(name) }()
	file, err := s.root.Open(name)
	if err != nil {
		return // deleted by the script
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, 2*wire.MaxOutputs))
	lines.Buffer(nil, 2*wire.MaxOutputs)
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			run.Logf("PUNCTUAL_OUTPUT: a line without = is left out: %.80q", line)
			continue
		}
		if err := run.SetOutput(strings.TrimSpace(key), value); err != nil {
			run.Logf("PUNCTUAL_OUTPUT: left out: %v", err)
		}
	}
	if err := lines.Err(); err != nil {
		run.Logf("PUNCTUAL_OUTPUT: the rest is left out: %v", err)
	}
}
