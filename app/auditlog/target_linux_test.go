package auditlog

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAFileThatHangsIsGivenUp: a pipe that nobody reads keeps whoever opens it. What was not written goes again, once.
func TestAFileThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	targets, err := ParseTargets("file://"+path, "here")
	if err != nil {
		t.Fatal(err)
	}
	target, entry := targets[0], []Line{{Seq: 7}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := target.Send(ctx, entry); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("nobody reads: %v", err)
	}
	if err := target.Send(t.Context(), entry); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("while the first one hangs: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	executortest.Eventually(t, "the file is taken again", func() error {
		if err := target.Send(t.Context(), entry); err != nil && strings.Contains(err.Error(), "before") {
			return executortest.ErrNotYet
		}
		return nil
	})
	var got Line
	d := json.NewDecoder(reader)
	if err := d.Decode(&got); err != nil || got.Seq != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}
