//go:build !linux

package dbtest

import "testing"

// Disk is a file system of its own, which can be filled.
type Disk struct{ Dir string }

// NewDisk skips the test.
func NewDisk(tb testing.TB) *Disk {
	tb.Helper()
	tb.Skip("only Linux has them")
	return nil
}

// Fill leaves no room on the disk.
func (*Disk) Fill() {}

// Free makes room again.
func (*Disk) Free() {}
