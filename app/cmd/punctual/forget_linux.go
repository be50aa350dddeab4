package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart lets go of the pages of the program's file: a start touches most of them, and what runs from then on a part. The system gives
// back at once what is needed again, from its cache or from the disk.
func forgetStart() error {
	return eachPart(func(from, size uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
		return nil
	})
}

// eachPart calls use for each part of the program's file that is in memory as it is in the file.
func eachPart(use func(from, size uintptr) error) error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer maps.Close()
	parts, err := unchanged(maps, program)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := use(p.from, p.size); err != nil {
			return err
		}
	}
	return nil
}

// part is one of a process's memory.
type part struct{ from, size uintptr }

// unchanged finds in /proc/PID/smaps the parts of a file that may not be written and were not: what the loader has relocated, in a program
// that runs at any address (-buildmode=pie), can be read only from then on, and is not in the file.
func unchanged(smaps io.Reader, file string) (parts []part, err error) {
	lines := bufio.NewScanner(smaps)
	candidate, clean := part{}, 0
	end := func() {
		if candidate.size > 0 && clean == 2 {
			parts = append(parts, candidate)
		}
		candidate, clean = part{}, 0
	}
	for lines.Scan() {
		line := lines.Text()
		var from, to uintptr
		var may string
		if n, _ := fmt.Sscanf(line, "%x-%x %4s ", &from, &to, &may); n == 3 {
			end()
			if strings.HasSuffix(line, " "+file) && may[0] == 'r' && may[1] == '-' {
				candidate = part{from, to - from}
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		if (name == "Anonymous" || name == "Swap") && strings.TrimSpace(value) == "0 kB" {
			clean++
		}
	}
	end()
	return parts, lines.Err()
}
