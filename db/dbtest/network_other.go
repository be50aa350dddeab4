//go:build !linux

package dbtest

import (
	"errors"
	"os/exec"
)

type network struct{}

func newNetwork() (*network, error)                  { return nil, errors.New("only Linux has them") }
func (*network) remove()                             {}
func (*network) host(int) string                     { return "" }
func (*network) launch(*exec.Cmd, int, string) error { return nil }
func (*network) plug(int, bool) error                { return nil }
