package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
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

// TestWhatTheLoaderChangedStays: in a program that runs at any address, the loader writes into what is only read from then on.
func TestWhatTheLoaderChangedStays(t *testing.T) {
	t.Parallel()
	mapping := func(head string, anonymous, swap int) string {
		return fmt.Sprintf("%s\nSize:  12 kB\nRss:  12 kB\nAnonymous:  %d kB\nSwap:  %d kB\nVmFlags: rd ex mr mw me \n", head, anonymous, swap)
	}
	smaps := mapping("1000-4000 r-xp 00000000 fe:00 247741      /usr/bin/punctual", 0, 0) +
		mapping("4000-5000 r--p 00003000 fe:00 247741      /usr/bin/punctual", 8, 0) + // relocated
		mapping("5000-6000 r--p 00004000 fe:00 247741      /usr/bin/punctual", 0, 8) + // and swapped out
		mapping("6000-8000 rw-p 00005000 fe:00 247741      /usr/bin/punctual", 0, 0) +
		mapping("8000-9000 r--p 00000000 fe:00 247741      /usr/lib/punctual", 0, 0) +
		mapping("9000-a000 rw-p 00000000 00:00 0", 0, 0) +
		mapping("a000-b000 ---p 00005000 fe:00 247741      /usr/bin/punctual", 0, 0) +
		mapping("7ffc0b8c0000-7ffc0b8e1000 r--p 00007000 fe:00 247741      /usr/bin/punctual", 0, 0)
	got, err := unchanged(strings.NewReader(smaps), "/usr/bin/punctual")
	if want := []part{{0x1000, 0x3000}, {0x7ffc0b8c0000, 0x21000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	if got, err := unchanged(strings.NewReader("1000-4000 r-xp 00000000 fe:00 247741 /usr/bin/punctual\nSize: 12 kB\n"), "/usr/bin/punctual"); err != nil || len(got) != 0 {
		t.Errorf("of which nothing is said: %x, %v", got, err)
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
