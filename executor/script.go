package executor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/executor/internal/process"
	"github.com/punctual-job/punctual/executor/wire"
)

// scriptStore writes the scripts that admins send to {DataDir}/gluesource, and runs them.
type scriptStore struct {
	root     *folder
	dir      string
	instance string
	as       *process.Account // whose programs the scripts are; nil: this process's user's
	outputs  atomic.Int64     // how many files of outputs were made
	mu       sync.Mutex       // one writer at a time
}

// openScriptStore opens the folder of the scripts. Those that run as another user are in a folder of their own under the system's
// one for temporary files: nobody else gets into the data folder.
func openScriptStore(dir, instance string, as *process.Account) (*scriptStore, error) {
	s := &scriptStore{dir: dir, instance: instance, as: as}
	if as != nil {
		s.removeTemporary()
		return s, s.openTemporary()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // scripts hold passwords more often than they should
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s.root, s.dir = root, dir
	s.removeHidden()
	return s, nil
}

// removeHidden removes the files of scripts that were being written, and of outputs that were not read, when an earlier life was killed.
func (s *scriptStore) removeHidden() {
	entries, _ := fs.ReadDir(s.root.FS(), ".") // what cannot be removed is in nobody's way
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			_ = s.root.Remove(entry.Name())
		}
	}
}

// temporary begins the names of this executor's folders under the system's one for temporary files.
func (s *scriptStore) temporary() string { return "punctual-scripts-" + s.instance + "-" }

// removeTemporary removes the folders that an earlier life left when it was killed.
func (s *scriptStore) removeTemporary() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), s.temporary()+"*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}

// openTemporary makes the folder of scripts that run as another user, who may read it and no more.
func (s *scriptStore) openTemporary() error {
	dir, err := os.MkdirTemp("", s.temporary())
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chown(dir, os.Getuid(), int(s.as.GID)), os.Chmod(dir, 0o750)); err != nil {
		return err
	}
	s.dir = dir
	s.root, err = openFolder(dir)
	return err
}

func (s *scriptStore) close() {
	_ = s.root.Close()
	if s.as != nil {
		_ = os.RemoveAll(s.dir)
	}
}

func (s *scriptStore) handler(lang wire.GlueInfo, req *wire.RunRequest) Handler {
	source, updated := req.GlueSource, req.GlueUpdateTime
	return func(ctx context.Context, run *Run) error {
		program, err := process.Find(lang.Commands...)
		if err != nil {
			return Fail(wire.CodeFail, fmt.Sprintf("script exit value(-1) is failed: %v", err))
		}
		file, err := s.file(run.JobID, updated, lang.Suffix, source)
		if err != nil {
			return fmt.Errorf("script file: %w", err)
		}
		output, err := s.outputFile(run.LogID)
		if err != nil {
			return fmt.Errorf("output file: %w", err)
		}
		defer s.takeOutput(run, output)
		run.Logf("----------- script file:%s -----------", file)
		result := process.Run(ctx, process.Program{
			Path: program,
			Args: append(append([]string(nil), lang.Arguments...), file, run.Param, strconv.Itoa(run.Shard.Index), strconv.Itoa(run.Shard.Total)),
			Env:  append(environment(run), "PUNCTUAL_OUTPUT="+filepath.Join(s.dir, output)), Mark: s.mark(run.LogID), Out: run, As: s.as,
		})
		if result.Background {
			run.Logf("something the script has started goes on and still held its output")
		}
		switch {
		case result.Err != nil:
			return Fail(wire.CodeFail, fmt.Sprintf("script exit value(%d) is failed: %v", result.ExitCode, result.Err))
		case result.ExitCode != 0:
			return Fail(wire.CodeFail, fmt.Sprintf("script exit value(%d) is failed", result.ExitCode))
		}
		return nil
	}
}

// environment is what a run's program finds in its environment beside ours.
func environment(run *Run) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(run.env)) {
		if value := run.env[name]; name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			env = append(env, name+"="+value)
		}
	}
	if run.TraceParent != "" {
		env = append(env, "TRACEPARENT="+run.TraceParent)
	}
	return append(env, // ours are last, and so count
		"PUNCTUAL_JOB_ID="+strconv.FormatInt(run.JobID, 10),
		"PUNCTUAL_LOG_ID="+strconv.FormatInt(run.LogID, 10),
		"PUNCTUAL_LOG_FILE="+run.LogFile(),
		"PUNCTUAL_PARAM="+run.Param,
		"PUNCTUAL_PLANNED_AT="+run.Planned.Format(time.RFC3339Nano),
		"PUNCTUAL_SHARD_INDEX="+strconv.Itoa(run.Shard.Index),
		"PUNCTUAL_SHARD_TOTAL="+strconv.Itoa(run.Shard.Total),
	)
}

// file makes sure that the script is on disk and returns its path. Older versions of the job's script go; one that is
// still running has its file open.
func (s *scriptStore) file(jobID, updated int64, suffix, source string) (string, error) {
	name := fmt.Sprintf("%d_%d%s", jobID, updated, suffix)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.as != nil {
		if _, err := os.Stat(s.dir); err != nil { // whatever clears temporary files has been there
			_ = s.root.Close()
			if err := s.openTemporary(); err != nil {
				return "", err
			}
		}
	}
	if present, err := s.root.ReadFile(name); err == nil && string(present) == source {
		return filepath.Join(s.dir, name), nil
	}
	temporary := "." + name + ".tmp"
	if err := s.root.WriteFile(temporary, []byte(source), 0o700); err != nil {
		return "", err
	}
	if s.as != nil {
		if err := errors.Join(s.root.Chown(temporary, os.Getuid(), int(s.as.GID)), s.root.Chmod(temporary, 0o750)); err != nil {
			return "", err
		}
	}
	if err := s.root.Rename(temporary, name); err != nil {
		return "", err
	}
	s.removeOthers(jobID, name)
	return filepath.Join(s.dir, name), nil
}

func (s *scriptStore) removeOthers(jobID int64, keep string) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return
	}
	prefix := strconv.FormatInt(jobID, 10) + "_"
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) && entry.Name() != keep {
			_ = s.root.Remove(entry.Name())
		}
	}
}

// mark is what the processes of a run carry in their environment.
func (s *scriptStore) mark(logID int64) string {
	return s.instance + "-" + strconv.FormatInt(logID, 10)
}

// endLeftovers ends the processes of runs that an earlier life of this executor had begun: their runs are about to be
// reported failed, and may be retried.
func (s *scriptStore) endLeftovers(logIDs []int64) {
	marks := make([]string, len(logIDs))
	for i, id := range logIDs {
		marks[i] = s.mark(id)
	}
	process.EndMarked(marks)
}

// Command runs a program for a run, with its output in the run's log, and returns its exit code. It is ended with
// everything it has started when ctx ends. No shell is involved. Its environment tells it about the run, as a script's.
func (e *Executor) Command(ctx context.Context, run *Run, name string, args ...string) (exitCode int, err error) {
	program, err := process.Find(name)
	if err != nil {
		return -1, err
	}
	output, err := e.scripts.outputFile(run.LogID)
	if err != nil {
		return -1, err
	}
	defer e.scripts.takeOutput(run, output)
	env := append(environment(run), "PUNCTUAL_OUTPUT="+filepath.Join(e.scripts.dir, output))
	result := process.Run(ctx, process.Program{Path: program, Args: args, Env: env, Mark: e.scripts.mark(run.LogID), Out: run, As: e.scripts.as})
	if result.Err != nil {
		return result.ExitCode, result.Err
	}
	return result.ExitCode, nil
}

// newMark makes a name nobody else has.
func newMark() string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		panic(errors.Join(errors.New("no randomness"), err)) // cannot happen since Go 1.24
	}
	return hex.EncodeToString(b)
}
