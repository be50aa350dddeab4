package executor

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// plainFolder does for a program built with a Go before 1.25 what [os.Root] does: it has those methods of it that are needed here. It
// is stricter, because it follows no link at all, and weaker against one that is made between its look and its step.
type plainFolder struct{ dir string }

func openPlainFolder(dir string) (*plainFolder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrInvalid}
	}
	return &plainFolder{dir: dir}, nil
}

// path is where name is, or an error if a part of it leads elsewhere.
func (f *plainFolder) path(op, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
	}
	at := f.dir
	for _, part := range strings.Split(filepath.ToSlash(name), "/") {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
		}
	}
	return at, nil
}

func (f *plainFolder) Name() string { return f.dir }
func (f *plainFolder) Close() error { return nil }
func (f *plainFolder) FS() fs.FS    { return os.DirFS(f.dir) }

func (f *plainFolder) Open(name string) (*os.File, error) {
	return f.OpenFile(name, os.O_RDONLY, 0)
}

func (f *plainFolder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	path, err := f.path("open", name)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, perm)
}

func (f *plainFolder) ReadFile(name string) ([]byte, error) {
	path, err := f.path("read", name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (f *plainFolder) WriteFile(name string, data []byte, perm fs.FileMode) error {
	path, err := f.path("write", name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, perm)
}

func (f *plainFolder) Mkdir(name string, perm fs.FileMode) error {
	path, err := f.path("mkdir", name)
	if err != nil {
		return err
	}
	return os.Mkdir(path, perm)
}

func (f *plainFolder) Chown(name string, uid, gid int) error {
	path, err := f.path("chown", name)
	if err != nil {
		return err
	}
	return os.Chown(path, uid, gid)
}

func (f *plainFolder) Chmod(name string, perm fs.FileMode) error {
	path, err := f.path("chmod", name)
	if err != nil {
		return err
	}
	return os.Chmod(path, perm)
}

func (f *plainFolder) Rename(from, to string) error {
	fromPath, err := f.path("rename", from)
	if err != nil {
		return err
	}
	toPath, err := f.path("rename", to)
	if err != nil {
		return err
	}
	return os.Rename(fromPath, toPath)
}

func (f *plainFolder) Remove(name string) error {
	path, err := f.path("remove", name)
	if err != nil {
		return err
	}
	return os.Remove(path)
}

func (f *plainFolder) RemoveAll(name string) error {
	path, err := f.path("remove", name)
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}
