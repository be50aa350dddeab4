package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Folder keeps objects as files. Where there are several admins, it has to be one that all of them see, so it is often on a file system of
// another machine, which may hang.
type Folder struct {
	root  *os.Root
	calls chan struct{} // holds one for each call that goes on
	limit time.Duration // of one call
}

const (
	// folderCalls is how many calls go on at a time. Each that a file system does not answer holds a thread of this process.
	folderCalls = 64
	// folderLimit is how long a call is waited for by those who would wait longer.
	folderLimit = 30 * time.Second
)

// OpenFolder makes the store of a folder, and the folder where there is none.
func OpenFolder(folder string) (*Folder, error) {
	if err := os.MkdirAll(filepath.Clean(folder), 0o700); err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	return &Folder{root: root, calls: make(chan struct{}, folderCalls), limit: folderLimit}, nil
}

// Name implements [Store].
func (f *Folder) Name() string { return "folder" }

// waits calls the file system, and waits for it as long as ctx goes on. Nothing ends a call that a file system does not answer: whoever
// waited goes on without it, and late is called should it succeed afterwards.
func (f *Folder) waits(ctx context.Context, call func() error, late func()) error {
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	if ctx.Err() == nil {
		select {
		case f.calls <- struct{}{}:
			return f.waitsFor(ctx, call, late)
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("the folder's file system does not answer: %w", ctx.Err())
}

func (f *Folder) waitsFor(ctx context.Context, call func() error, late func()) error {
	var decided atomic.Bool // the call has ended, or is not waited for any more
	done := make(chan error, 1)
	go func() {
		defer func() { <-f.calls }()
		err := call()
		if !decided.CompareAndSwap(false, true) && err == nil {
			late()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if !decided.CompareAndSwap(false, true) {
			return <-done
		}
		return fmt.Errorf("the folder's file system does not answer: %w", ctx.Err())
	}
}

// Put implements [Store]. A file is there as a whole or not at all, and after a crash of the machine too.
func (f *Folder) Put(ctx context.Context, object Object, data []byte) error {
	return f.waits(ctx, func() error { return f.put(object, data) }, func() { _ = f.remove(object) }) // nobody knows of it
}

func (f *Folder) put(object Object, data []byte) error {
	if err := f.root.MkdirAll(path.Dir(object.Name), 0o700); err != nil {
		return err
	}
	draft := object.Name + ".new"
	file, err := f.root.OpenFile(draft, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.root.Rename(draft, object.Name)
	}
	if err != nil {
		_ = f.root.Remove(draft) // it may be that nothing can be written
	}
	return err
}

// Get implements [Store].
func (f *Folder) Get(ctx context.Context, object Object, pos, size int64) ([]byte, error) {
	data := make([]byte, size)
	if err := f.waits(ctx, func() error { return f.read(object, data, pos) }, func() {}); err != nil {
		return nil, err
	}
	return data, nil
}

func (f *Folder) read(object Object, data []byte, pos int64) error {
	file, err := f.root.Open(object.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoObject
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.ReadAt(data, pos); errors.Is(err, io.EOF) {
		return errShort
	} else if err != nil {
		return err
	}
	return nil
}

// Delete implements [Store]. Folders that are empty go too.
func (f *Folder) Delete(ctx context.Context, object Object) error {
	return f.waits(ctx, func() error { return f.remove(object) }, func() {})
}

func (f *Folder) remove(object Object) error {
	if err := f.root.Remove(object.Name); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(object.Name); dir != "."; dir = path.Dir(dir) {
		if f.root.Remove(dir) != nil { // there is something in it
			break
		}
	}
	return nil
}

// Check implements [Store].
func (f *Folder) Check(ctx context.Context) error {
	if err := check(ctx, f, Object{Name: "check/" + rand.Text()}); err != nil {
		return fmt.Errorf("output store in a folder: %w", err)
	}
	return nil
}

// Close gives the folder back.
func (f *Folder) Close() error { return f.root.Close() }
