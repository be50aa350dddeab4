package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// forgetStart lets go of the pages of the program's file: a start touches most of them, and what runs from then on a part. Nothing is written to
// them, so that the system gives back at once what is needed again, from its cache or from the disk.
func forgetStart() error {
	return eachPart(func(from, size uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
		return nil
	})
}

// eachPart calls use for each part of the program's file that is in memory and that is only read.
func eachPart(use func(from, size uintptr) error) error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		var from, to uintptr
		var may, offset, device, node string
		n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %s", &from, &to, &may, &offset, &device, &node)
		if n < 6 || may[1] != '-' || !bytes.HasSuffix(lines.Bytes(), []byte(" "+program)) {
			continue
		}
		if err := use(from, to-from); err != nil {
			return err
		}
	}
	return lines.Err()
}
