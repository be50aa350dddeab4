// Package cmd holds the programs. Here is tested that a release of them can be installed, and what the executor asks of a program that
// imports it.
package cmd

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const (
	mainPath     = "github.com/punctual-job/punctual"
	executorPath = mainPath + "/executor"
	root         = "../.."
)

// release is a proxy, in a folder, that has both modules of this tree under the version that go.mod requires of the executor: what
// the next release will be.
type release struct{ proxy, version string }

var published = sync.OnceValues(func() (*release, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	if len(file.Replace) > 0 {
		return nil, fmt.Errorf("go.mod replaces %s: go install refuses it", file.Replace[0].Old.Path)
	}
	r := &release{}
	for _, required := range file.Require {
		if required.Mod.Path == executorPath {
			r.version = required.Mod.Version
		}
	}
	if r.proxy, err = os.MkdirTemp("", "punctual-release-"); err != nil {
		return nil, err
	}
	for path, dir := range map[string]string{mainPath: root, executorPath: filepath.Join(root, "executor")} {
		if err := r.publish(path, dir); err != nil {
			return nil, fmt.Errorf("publish %s: %w", path, err)
		}
	}
	return r, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if r, err := published(); err == nil {
		_ = os.RemoveAll(r.proxy)
	}
	os.Exit(code)
}

// publish puts a module into the proxy, with the files that git knows or would add.
func (r *release) publish(path, dir string) error {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	var files []modzip.File
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() { // not one that was just deleted
			files = append(files, treeFile{dir, filepath.ToSlash(name)})
		}
	}
	var zipped bytes.Buffer
	if err := modzip.Create(&zipped, module.Version{Path: path, Version: r.version}, files); err != nil {
		return err
	}
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	return r.write(path, r.version, gomod, zipped.Bytes())
}

// stub puts a module into the proxy that consists of an empty package.
func (r *release) stub(t *testing.T, path, version, requires string) {
	t.Helper()
	gomod := "module " + path + "\n\ngo 1.20\n" + requires
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	for name, text := range map[string]string{"go.mod": gomod, "stub.go": "package stub\n"} {
		file, err := w.Create(path + "@" + version + "/" + name)
		if err == nil {
			_, err = io.WriteString(file, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.write(path, version, []byte(gomod), zipped.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func (r *release) write(path, version string, gomod, zipped []byte) error {
	dir := filepath.Join(r.proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-01T00:00:00Z"})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": gomod, version + ".zip": zipped} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type treeFile struct{ dir, name string }

func (f treeFile) Path() string                 { return f.name }
func (f treeFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(filepath.Join(f.dir, f.name)) }
func (f treeFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.dir, f.name)) }

// machine is somebody else's: it has a module cache of its own, and gets modules from the release, then from what this machine
// has, and then from where this machine gets them.
type machine struct {
	*release
	home string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	r, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{release: r, home: t.TempDir()}
}

// run runs the go tool.
func (m *machine) run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.Fields(string(cache))
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOTOOLCHAIN=local", "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath",
		"GOMODCACHE="+filepath.Join(m.home, "mod"), "GOBIN="+m.bin(),
		"GOPROXY="+strings.Join([]string{"file://" + m.proxy, "file://" + filepath.Join(here[0], "cache", "download"), here[1]}, ","))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (m *machine) bin() string { return filepath.Join(m.home, "bin") }

func TestTheProgramsAreInstalledFromARelease(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.run(t, m.home, "install", mainPath+"/app/cmd/punctual@"+m.version, mainPath+"/app/cmd/punctual-executor@"+m.version)
	for _, program := range []string{"punctual", "punctual-executor"} {
		out, err := exec.Command(filepath.Join(m.bin(), program), "version").Output()
		if said := strings.Fields(string(out)); err != nil || len(said) == 0 || said[len(said)-1] != m.version {
			t.Errorf("%s version says %q (%v), want %s", program, out, err, m.version)
		}
	}
}

// A program with an old Go and old versions of what the admin is made of.
const (
	oldProgram = `module example.com/old

go 1.23

require (
	github.com/go-sql-driver/mysql v1.7.1
	github.com/labstack/echo/v4 v4.9.1
	golang.org/x/crypto v0.14.0
)

require golang.org/x/net v0.17.0 // indirect
`
	oldSource = `package main

import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/labstack/echo/v4"
	_ "golang.org/x/crypto"

	"github.com/punctual-job/punctual/executor"
	_ "github.com/punctual-job/punctual/executor/builtin"
	_ "github.com/punctual-job/punctual/executor/executortest"
)

func main() {
	if _, err := executor.New(executor.Config{AppName: "old", DataDir: "data", Token: "secret"}); err != nil {
		panic(err)
	}
}
`
)

func TestTheExecutorAsksNothingOfAProgram(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.stub(t, "github.com/go-sql-driver/mysql", "v1.7.1", "")
	m.stub(t, "github.com/labstack/echo/v4", "v4.9.1", "\nrequire golang.org/x/net v0.17.0\n")
	m.stub(t, "golang.org/x/crypto", "v0.14.0", "")
	m.stub(t, "golang.org/x/net", "v0.17.0", "")
	program := func() string {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": oldProgram, "main.go": oldSource} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}

	dir := program()
	m.run(t, dir, "get", executorPath+"@"+m.version)
	m.run(t, dir, "mod", "tidy")
	m.run(t, dir, "run", ".")
	want, goLine := requirements(t, []byte(oldProgram))
	want = append(want, executorPath+"@"+m.version)
	slices.Sort(want)
	want = slices.DeleteFunc(want, func(s string) bool { return s == "golang.org/x/net@v0.17.0" }) // no package of it is used here
	if got, gotLine := requirementsOf(t, dir); !slices.Equal(got, want) || gotLine != goLine {
		t.Errorf("with the executor the program requires %q and go %s, want %q and go %s", got, gotLine, want, goLine)
	}

	// The admin does ask for more: what is compared here can be moved.
	dir = program()
	m.run(t, dir, "get", mainPath+"@"+m.version)
	got, gotLine := requirementsOf(t, dir)
	for _, old := range want {
		if slices.Contains(got, old) && !strings.HasPrefix(old, mainPath) {
			t.Errorf("with the admin %s stays", old)
		}
	}
	if gotLine == goLine {
		t.Errorf("with the admin go %s stays", gotLine)
	}
}

func requirementsOf(t *testing.T, dir string) (required []string, goLine string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	return requirements(t, data)
}

func requirements(t *testing.T, gomod []byte) (required []string, goLine string) {
	t.Helper()
	file, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		required = append(required, r.Mod.String())
	}
	slices.Sort(required)
	if file.Toolchain != nil {
		required = append(required, "toolchain "+file.Toolchain.Name)
	}
	return required, file.Go.Version
}
