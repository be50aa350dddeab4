package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a system.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// hostArch is of the machine this runs on, whose root file system the base of the executor's image is.
const hostArch = runtime.GOARCH

var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

func parseTargets(text string) ([]target, error) {
	var list []target
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allTargets, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(allTargets, ", "))
		}
		system, arch, _ := strings.Cut(name, "/")
		list = append(list, target{system, arch})
	}
	return list, nil
}

// source is what is built.
type source struct {
	version string // as the programs say it
	commit  string
	time    time.Time
	dirty   bool
}

// readSource asks git.
func readSource(ctx context.Context, root string) (s source, err error) {
	git := func(args ...string) string {
		if err != nil {
			return ""
		}
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, failed := cmd.Output()
		if failed != nil {
			err = fmt.Errorf("git %s: %w", strings.Join(args, " "), failed)
		}
		return strings.TrimSpace(string(out))
	}
	s.version = git("describe", "--tags", "--always", "--dirty", "--match", "v*")
	s.commit = git("rev-parse", "HEAD")
	seconds := git("show", "-s", "--format=%ct", "HEAD")
	s.dirty = git("status", "--porcelain") != ""
	if err != nil {
		return s, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	s.time = time.Unix(unix, 0).UTC()
	return s, err
}

// described is what git describe says of a commit after a tag.
var described = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.]+?))??(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

// number is the version as packages compare it: 1.2.3, 1.2.3~rc.1 before it, 1.2.3+4.gabcdef after it, and before the first release a
// time, so that a later commit counts as newer.
func (s source) number() string {
	dirty := ""
	if s.dirty {
		dirty = ".dirty"
	}
	m := described.FindStringSubmatch(s.version)
	if m == nil {
		return "0.0.0~" + s.time.Format("20060102150405") + "." + s.commit[:min(12, len(s.commit))] + dirty
	}
	number := m[1]
	if m[2] != "" {
		number += "~" + m[2]
	}
	if m[3] != "" {
		number += "+" + m[3] + ".g" + m[4]
	}
	if dirty != "" && m[3] == "" {
		return number + "+dirty"
	}
	return number + dirty
}

// programNames are what is built.
var programNames = []string{"punctual", "punctual-executor"}

// programs are the programs for a system, in a folder.
type programs struct {
	target
	dir string
}

func (p *programs) path(name string) string {
	if p.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(p.dir, name)
}

// compile builds the programs for a system, both at once.
func (d *dist) compile(ctx context.Context, t target, dir string) (*programs, error) {
	args := []string{"build", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", d.source.version, d.source.commit), "-o", dir + string(filepath.Separator)}
	for _, name := range programNames {
		args = append(args, "./app/cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = d.root
	// What is set around it shall not be in it.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOFLAGS=") || strings.HasPrefix(v, "GOWORK=") || strings.HasPrefix(v, "GOEXPERIMENT=")
	}), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w\n%s", t, err, out)
	}
	return &programs{target: t, dir: dir}, nil
}
