// Package guard keeps the secrets of a process from the programs that run beside it, its own scripts above all: a script of the
// same user could otherwise read them from /proc/PID/environ, or out of the memory of the process.
//
// Taking a variable out of a process's environment does not change what /proc/PID/environ shows, which is the block that the
// kernel filled at the start. Of the ways around that, starting the program anew without the variables needs another way to hand
// the secrets over and changes the process that a service manager watches; moving the block (PR_SET_MM) needs a capability that
// programs do not have. [Forget] writes over the block through /proc/self/mem, which every process may do with its own memory.
// [Undumpable] then closes both, and ptrace, to everybody but root; after it a process cannot write its own block any more, so
// Forget comes first.
package guard

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Secret is a secret that is given as it is or in a file, of which the first line counts. Both together are an error.
func Secret(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", errors.New("the secret is given as it is too: choose one")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s begins with an empty line", file)
	}
	return line, nil
}

// Forget takes variables out of the environment of this process, and out of what other programs can read of it. The variables are
// gone from the former also when an error says that the latter did not work.
func Forget(names ...string) error {
	there := false
	for _, name := range names {
		if _, ok := os.LookupEnv(name); ok {
			there = true
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	if !there {
		return nil
	}
	return wipe(names)
}
