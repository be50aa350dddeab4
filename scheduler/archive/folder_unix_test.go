//go:build unix

package archive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAFolderThatDoesNotAnswer has a pipe in place of objects, which is not opened before somebody opens its other end.
func TestAFolderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	object := Object{ID: 1, Name: "object"}
	for name, call := range map[string]func(context.Context) error{
		"":     func(ctx context.Context) error { _, err := f.Get(ctx, object, 0, 1); return err },
		".new": func(ctx context.Context) error { return f.Put(ctx, object, []byte("text")) },
	} {
		pipe := filepath.Join(dir, object.Name+name)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("object%s: %v", name, err)
		}
		cancel()
		end, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range cap(f.calls) { // until none goes on
			f.calls <- struct{}{}
		}
		for range cap(f.calls) {
			<-f.calls
		}
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(pipe)
	}
}
