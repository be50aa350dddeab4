package process

import (
	"bytes"
	"os"
	"strconv"
)

// marked finds the processes whose environment carries one of the marks. A zombie has no environment any more, so it does
// not count.
func marked(marks []string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	wanted := make(map[string]bool, len(marks))
	for _, mark := range marks {
		wanted[mark] = true
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil {
			continue
		}
		for _, kv := range bytes.Split(environ, []byte{0}) {
			if mark, ok := bytes.CutPrefix(kv, []byte(MarkVariable+"=")); ok && wanted[string(mark)] {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
