//go:build go1.26

package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNoNameLeadsOutOfAFolder is about both kinds of folders; the plain one is for programs built with an older Go.
func TestNoNameLeadsOutOfAFolder(t *testing.T) {
	t.Parallel()
	type opened interface {
		ReadFile(name string) ([]byte, error)
		WriteFile(name string, data []byte, perm fs.FileMode) error
		Mkdir(name string, perm fs.FileMode) error
		Rename(from, to string) error
		RemoveAll(name string) error
		Close() error
	}
	for name, open := range map[string]func(string) (opened, error){
		"root":  func(dir string) (opened, error) { return openFolder(dir) },
		"plain": func(dir string) (opened, error) { return openPlainFolder(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			secret := filepath.Join(outside, "secret")
			if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(outside, "in")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(outside, filepath.Join(dir, "away")), os.Symlink(secret, filepath.Join(dir, "link"))); err != nil {
				t.Fatal(err)
			}
			f, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, name := range []string{"../secret", secret, "away/secret", "link", "in/../../secret"} {
				if _, err := f.ReadFile(name); err == nil {
					t.Errorf("%s is read", name)
				}
				if err := f.WriteFile(name, []byte("y"), 0o600); err == nil {
					t.Errorf("%s is written", name)
				}
			}
			if err := errors.Join(f.Mkdir("day", 0o700), f.WriteFile("day/1.tmp", []byte("z"), 0o600), f.Rename("day/1.tmp", "day/1")); err != nil {
				t.Fatal(err)
			}
			if got, err := f.ReadFile("day/1"); err != nil || string(got) != "z" {
				t.Errorf("%q, %v", got, err)
			}
			if err := f.RemoveAll("day"); err != nil {
				t.Error(err)
			}
			if _, err := f.ReadFile("day/1"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed file: %v", err)
			}
			if got, err := os.ReadFile(secret); err != nil || string(got) != "x" {
				t.Errorf("outside is %q, %v", got, err)
			}
		})
	}
	if _, err := openPlainFolder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
