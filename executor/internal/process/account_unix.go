//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Lookup finds the user as whom programs are to run, by name or number. It is nil for "" and for the user that this process is:
// there is nothing to change then. Only root can run programs as somebody else.
func Lookup(name string) (*Account, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if _, bad := strconv.ParseUint(name, 10, 32); bad != nil {
			return nil, err
		}
		if u, err = user.LookupId(name); err != nil {
			return nil, err
		}
	}
	var a Account
	for _, id := range []struct {
		text string
		to   *uint32
	}{{u.Uid, &a.UID}, {u.Gid, &a.GID}} {
		n, err := strconv.ParseUint(id.text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		*id.to = uint32(n)
	}
	if int(a.UID) == os.Geteuid() {
		return nil, nil
	}
	if !Root() {
		return nil, errors.New("only root can run programs as another user")
	}
	a.Name, a.Home = u.Username, u.HomeDir
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of user %s: %w", name, err)
	}
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil {
			a.Groups = append(a.Groups, uint32(n))
		}
	}
	return &a, nil
}

// Root says whether this process may do everything.
func Root() bool { return os.Geteuid() == 0 }

// as has a program run as somebody else, in their home if they have one.
func as(cmd *exec.Cmd, a *Account) {
	if a == nil {
		return
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: a.Groups}
	cmd.Dir = "/"
	if info, err := os.Stat(a.Home); err == nil && info.IsDir() {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == a.UID {
			cmd.Dir = a.Home
		}
	}
}
