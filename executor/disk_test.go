//go:build go1.26

package executor_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestRealFullDisk fills a small file system under the data folder.
func TestRealFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("needs the right to mount a tmpfs (run as root): %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 900<<10), 0o600); err != nil { // so that the journal can make no room for what is to come
		t.Fatal(err)
	}
	h := newBlocker()
	b := setup(t, executortest.Handlers{
		"h": func(ctx context.Context, run *executor.Run) error {
			if err := h.handle(ctx, run); err != nil {
				return err
			}
			run.Logf("%s", strings.Repeat("x", 5000))
			run.SetResult("worked")
			return nil
		},
	}, func(c *executor.Config) { c.DataDir, c.NoSync = dir, false })
	b.mustRun(t, request(1))
	<-h.begun
	file, err := os.OpenFile(filler, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	for err = nil; err == nil; {
		_, err = file.Write([]byte{0})
	}
	_ = file.Close()
	refusal := ""
	for id := int64(2); id < 100 && refusal == ""; id++ { // the journal's last page may have some room
		if answer := b.run(t, request(id)); !answer.OK() {
			refusal = answer.Msg
		}
	}
	if !strings.Contains(refusal, "cannot write its journal: write ") || !strings.Contains(refusal, "no space left on device") {
		t.Errorf("a run on a full disk is answered %q", refusal)
	}
	close(h.free)
	if cb := b.admin.Result(t, 1); cb.HandleCode != 200 || !strings.HasPrefix(cb.HandleMsg, "worked [the run log is incomplete: no space left on device]") {
		t.Errorf("the run that was going on: %+v", cb)
	}
	// Not removed: a program that another test starts has the file open for a moment, and its room would not be there before.
	if err := os.Truncate(filler, 0); err != nil {
		t.Fatal(err)
	}
	id := int64(1000)
	poll(t, "acceptance after there is room again", func(context.Context) bool {
		id++
		return b.run(t, request(id)).OK()
	})
	if cb := b.admin.Result(t, id); cb.HandleCode != 200 || cb.HandleMsg != "worked" {
		t.Errorf("a run after that: %+v", cb)
	}
}
