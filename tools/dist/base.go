package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// autoBase asks for the root file system that [debianBase] makes.
const autoBase = "auto"

// debianBase makes a Debian with a shell and Python, from where this machine gets its packages, for this machine's kind of processor.
// It is as new as they are: the image on top of it is the one thing of a release that another day makes otherwise.
func (d *dist) debianBase(ctx context.Context, to string) error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return fmt.Errorf("the executor's image is built on what mmdebstrap makes, which is not there: %w", err)
	}
	args := []string{"--quiet", "--variant=essential", "--include=bash,python3,ca-certificates,tzdata",
		"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-include=/usr/share/doc/*/copyright", "--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*", "--aptopt=APT::Install-Recommends false",
		// Nobody installs anything in an image: the lists and caches of packages are of no use there.
		`--customize-hook=rm -rf "$1"/var/cache/* "$1"/var/lib/apt/lists/* "$1"/var/log/*`,
		fmt.Sprintf(`--customize-hook=echo "punctual:x:%d:%d:Punctual:/data:/bin/bash" >> "$1"/etc/passwd; echo "punctual:x:%d:" >> "$1"/etc/group`, imageUser, imageUser, imageUser),
		"--format=tar", "", to}
	for _, pattern := range []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		args = append(args, found...)
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", d.source.time.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mmdebstrap: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
