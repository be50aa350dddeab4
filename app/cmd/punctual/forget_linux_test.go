package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheProgramLetsGoOfItsFile reads all of it into memory first.
func TestTheProgramLetsGoOfItsFile(t *testing.T) {
	var size uintptr
	err := eachPart(func(from, n uintptr) error {
		size += n
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, n, unix.MADV_POPULATE_READ); errno != 0 {
			return errno
		}
		return nil
	})
	if errors.Is(err, unix.EINVAL) {
		t.Skip("needs Linux 5.14")
	}
	if err != nil || size < 1<<20 {
		t.Fatalf("%d bytes of the program, %v", size, err)
	}
	before := ofFiles(t)
	if err := forgetStart(); err != nil {
		t.Fatal(err)
	}
	if after := ofFiles(t); after > before-int(size)/2 {
		t.Errorf("%d bytes of files in memory, of which %d are the program; then %d", before, size, after)
	}
}

// ofFiles is how much of files this process has in memory.
func ofFiles(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var kB int
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kB); err == nil {
			return kB << 10
		}
	}
	t.Skip("the kernel does not say what of a process is of files")
	return 0
}
