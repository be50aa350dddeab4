//go:build !linux

package e2e

import (
	"errors"
	"os/exec"
	"testing"
)

func dieWithTest(*exec.Cmd) {}

func mountTmpfs(string, int) error { return errors.ErrUnsupported }

func unmount(testing.TB, string) {}

func deafPort(t *testing.T) string {
	t.Helper()
	t.Skip("a listener whose queue is full refuses here")
	return ""
}
