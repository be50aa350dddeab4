package guard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// wipe writes zeros over variables in the block that the kernel filled at the start.
func wipe(names []string) error {
	start, end, err := block()
	if err != nil {
		return err
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	environ := make([]byte, end-start)
	if _, err := memory.ReadAt(environ, start); err != nil {
		return fmt.Errorf("read the environment's memory: %w", err)
	}
	at := start
	for _, entry := range bytes.Split(environ, []byte{0}) {
		name, _, _ := strings.Cut(string(entry), "=")
		if slices.Contains(names, name) {
			if _, err := memory.WriteAt(make([]byte, len(entry)), at); err != nil {
				return fmt.Errorf("write the environment's memory: %w", err)
			}
		}
		at += int64(len(entry)) + 1
	}
	return nil
}

// block is where the environment of this process lies in its memory: fields 50 and 51 of /proc/self/stat.
func block() (start, end int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const first, last = 50 - 3, 51 - 3
	if len(fields) <= last {
		return 0, 0, errors.New("/proc/self/stat does not say where the environment is")
	}
	start, err1 := strconv.ParseInt(fields[first], 10, 64)
	end, err2 := strconv.ParseInt(fields[last], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if start <= 0 || end < start || end-start > 16<<20 {
		return 0, 0, errors.New("/proc/self/stat does not say where the environment is")
	}
	return start, end, nil
}

// Undumpable keeps other processes of the same user out of this one's memory and of most of its /proc files.
func Undumpable() error {
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setDumpable, 0, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", errno)
	}
	return nil
}
