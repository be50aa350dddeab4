package dbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const (
	diskSize = 400 << 20
	// shortDir is where its path leaves room for the name of a socket, and where pages cost no time.
	shortDir = "/dev/shm"
)

// Disk is a file system of its own, which can be filled.
type Disk struct {
	Dir string // where it is mounted
	tb  testing.TB
}

// NewDisk makes one for a test, which is skipped for who may not mount it. It is in a file and not a tmpfs: a server that maps its log into
// memory is killed when that is full, as by no disk.
func NewDisk(tb testing.TB) *Disk {
	tb.Helper()
	base, err := os.MkdirTemp(shortDir, "pdd")
	if err != nil {
		tb.Skipf("needs %s: %v", shortDir, err)
	}
	d := &Disk{Dir: filepath.Join(base, "d"), tb: tb}
	tb.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := d.mount(filepath.Join(base, "image")); err != nil {
		tb.Skipf("needs the right to mount a file system (run as root): %v", err)
	}
	tb.Cleanup(func() { _ = exec.Command("umount", "-l", d.Dir).Run() })
	return d
}

func (d *Disk) mount(image string) error {
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(image, diskSize); err != nil {
		return err
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", "-m", "0", image}, {"mount", "-o", "loop", image, d.Dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
	}
	return os.Remove(filepath.Join(d.Dir, "lost+found")) // a server would take it for a database
}

func (d *Disk) filler() string { return filepath.Join(d.Dir, "filler") }

// Fill leaves no room on the disk. What has been reserved before can still be written.
func (d *Disk) Fill() {
	d.tb.Helper()
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.tb.Fatal(err)
	}
	size := int64(0)
	for part := int64(64 << 20); part > 0; part /= 4 {
		for err = nil; err == nil; {
			if err = syscall.Fallocate(int(f.Fd()), 0, size, part); err == nil {
				size += part
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			d.tb.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		d.tb.Fatal(err)
	}
}

// Free makes room again.
func (d *Disk) Free() {
	d.tb.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.tb.Fatal(err)
	}
}
