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
)

// Folder keeps objects as files. Where there are several admins, it has to be one that all of them see.
type Folder struct{ root *os.Root }

// OpenFolder makes the store of a folder, and the folder where there is none.
func OpenFolder(folder string) (*Folder, error) {
	if err := os.MkdirAll(filepath.Clean(folder), 0o700); err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	return &Folder{root: root}, nil
}

// Name implements [Store].
func (f *Folder) Name() string { return "folder" }

// Put implements [Store]. A file is there as a whole or not at all, and after a crash of the machine too.
func (f *Folder) Put(_ context.Context, object Object, data []byte) error {
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
func (f *Folder) Get(_ context.Context, object Object, pos, size int64) ([]byte, error) {
	file, err := f.root.Open(object.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoObject
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data := make([]byte, size)
	if _, err := file.ReadAt(data, pos); errors.Is(err, io.EOF) {
		return nil, errShort
	} else if err != nil {
		return nil, err
	}
	return data, nil
}

// Delete implements [Store]. Folders that are empty go too.
func (f *Folder) Delete(_ context.Context, object Object) error {
	if err := f.root.Remove(object.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
