package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/CycloneDX/cyclonedx-go"
)

// here is the system the tests run on; the packages of this one are tried, the others are made by the same lines.
var here = "linux/" + runtime.GOARCH

// made is a release of this tree as it is, committed in a copy, and one of another copy of that commit.
type made struct {
	root, once, again string // folders
	public            minisign.PublicKey
	err               error
}

var release = sync.OnceValue(func() (m made) {
	dir, err := os.MkdirTemp("", "punctual-dist-test-")
	if err != nil {
		return made{err: err}
	}
	cleanups = append(cleanups, func() { _ = os.RemoveAll(dir) })
	m = made{root: filepath.Join(dir, "first"), once: filepath.Join(dir, "once"), again: filepath.Join(dir, "again")}
	second := filepath.Join(dir, "elsewhere", "second")
	for _, step := range []func() error{
		func() error { return commitTree(m.root) },
		func() error { return git(dir, "clone", "-q", m.root, second) },
		func() (err error) { m.public, err = writeKey(filepath.Join(dir, "key")); return err },
		func() error {
			return (&dist{root: m.root, out: m.once, key: filepath.Join(dir, "key")}).make(testContext, here)
		},
		func() error {
			if testing.Short() { // then once has to do
				return nil
			}
			return (&dist{root: second, out: m.again, key: filepath.Join(dir, "key")}).make(testContext, here)
		},
	} {
		if m.err = step(); m.err != nil {
			break
		}
	}
	return m
})

// commitTree copies what git knows or would add, and commits it.
func commitTree(to string) error {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from := filepath.Join("..", "..", name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() { // one that was just deleted
			continue
		}
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "As it is"}, {"tag", "v1.2.3"}} {
		if err := git(to, args...); err != nil {
			return err
		}
	}
	return nil
}

func git(dir string, args ...string) error {
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return cmd.Run()
}

func writeKey(path string) (minisign.PublicKey, error) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return public, err
	}
	text, err := private.MarshalText()
	if err != nil {
		return public, err
	}
	return public, os.WriteFile(path, text, 0o600)
}

// needTwoReleases is for what takes long: "go test -short" leaves it out, as make test does; make dist/verify does not.
func needTwoReleases(t *testing.T) made {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long: make dist/verify")
	}
	return needRelease(t)
}

func needRelease(t *testing.T) made {
	t.Helper()
	if runtime.GOOS != "linux" || !slices.Contains(allTargets, here) {
		t.Skip("packages are tried on Linux, amd64 and arm64")
	}
	m := release()
	if m.err != nil {
		t.Fatal(m.err)
	}
	return m
}

// find is the one file of a release that matches.
func find(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// TestTheSameCommitGivesTheSameBytes makes a release twice, of copies in two folders.
func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	m := needTwoReleases(t)
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	once, again := names(m.once), names(m.again)
	if !slices.Equal(once, again) || len(once) < 8 {
		t.Fatalf("made %q, then %q", once, again)
	}
	for _, name := range once {
		a, err := os.ReadFile(filepath.Join(m.once, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(m.again, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s is another one: %d and %d bytes", name, len(a), len(b))
		}
	}
}

func TestTheChecksumsAreSigned(t *testing.T) {
	m := needRelease(t)
	sums, err := os.ReadFile(filepath.Join(m.once, sumsName))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(filepath.Join(m.once, sumsName+".minisig"))
	if err != nil {
		t.Fatal(err)
	}
	message := minisign.NewReader(bytes.NewReader(sums))
	if _, err := io.Copy(io.Discard, message); err != nil || !message.Verify(m.public, signature) {
		t.Errorf("the signature is not of the checksums (%v)", err)
	}
	check := exec.Command("sha256sum", "--check", "--strict", sumsName)
	check.Dir = m.once
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(m.once)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := bytes.Count(sums, []byte("\n")), len(entries)-2; got != want {
		t.Errorf("%d of %d files have a checksum", got, want)
	}
}

// mostBytes of each program. docs/decisions.md says what they are made of.
var mostBytes = map[string]int{"punctual": 64_000_000, "punctual-executor": 11_000_000}

func TestTheArchiveHasBothPrograms(t *testing.T) {
	m := needRelease(t)
	f, err := os.Open(find(t, m.once, "punctual_1.2.3_linux_*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names []string
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(header.Name)
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(dir, name), data, fs.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
		if most := mostBytes[name]; most > 0 && len(data) > most {
			t.Errorf("%s has %d bytes, more than %d: what came with it is worth it, or is not to be in it", name, len(data), most)
		}
	}
	if want := []string{"punctual", "punctual-executor", "LICENSE", "README.md", "changelog.md"}; !slices.Equal(names, want) {
		t.Errorf("packed %q, want %q", names, want)
	}
	version := regexp.MustCompile(`v1\.2\.3 \(commit [0-9a-f]{40}\)\n$`)
	for _, program := range programNames {
		for _, how := range []string{"version", "--version"} {
			if out, err := exec.Command(filepath.Join(dir, program), how).Output(); err != nil || !version.Match(out) {
				t.Errorf("%s %s: %q, %v", program, how, out, err)
			}
		}
		if out, err := exec.Command("ldd", filepath.Join(dir, program)).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a dynamic executable") {
			t.Errorf("%s asks for libraries: %s", program, out)
		}
	}
}

func TestTheBillNamesWhatIsInside(t *testing.T) {
	m := needRelease(t)
	f, err := os.Open(find(t, m.once, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(f, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	urls := make(map[string]bool)
	for _, c := range *bom.Components {
		name, _, _ := strings.Cut(strings.TrimPrefix(c.PackageURL, "pkg:npm/%40"), "@")
		urls[name] = true
	}
	for _, want := range []string{"pkg:golang/stdlib", "pkg:golang/modernc.org/sqlite", "pkg:golang/github.com/labstack/echo/v4", "codemirror/state"} {
		if !urls[want] {
			t.Errorf("%s is not among %d parts", want, len(urls))
		}
	}
}

func TestWindowsGetsAnArchiveOfItsOwnKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"punctual.exe", "punctual-executor.exe"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := dist{root: filepath.Join("..", ".."), out: dir, source: source{version: "v1.2.3", time: time.Unix(1700000000, 0)}}
	if err := d.archive(&programs{target{"windows", "amd64"}, dir}); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(dir, "punctual_1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if len(archive.File) != 5 || !strings.HasSuffix(archive.File[0].Name, "/punctual.exe") {
		t.Errorf("%d files, first %s", len(archive.File), archive.File[0].Name)
	}
}

func TestVersionsOfPackages(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		"v1.2.3":                          "1.2.3",
		"v1.2.3-rc.1":                     "1.2.3~rc.1",
		"v1.2.3-4-gabcdef0":               "1.2.3+4.gabcdef0",
		"v1.2.3-rc.1-4-gabcdef0":          "1.2.3~rc.1+4.gabcdef0",
		"abcdef0":                         "0.0.0~20260102030405.abcdef012345",
		"v1.2.3-dirty":                    "1.2.3+dirty",
		"v1.2.3-4-gabcdef0-dirty":         "1.2.3+4.gabcdef0.dirty",
		"abcdef0-dirty":                   "0.0.0~20260102030405.abcdef012345.dirty",
		"v1.2.3-beta":                     "1.2.3~beta",
		"v1.2.3-beta-12-gabcdef012-dirty": "1.2.3~beta+12.gabcdef012.dirty",
	} {
		s := source{version: text, commit: "abcdef0123456789", time: at, dirty: strings.HasSuffix(text, "-dirty")}
		if got := s.number(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// image reads an image's file.
type imageFile struct {
	root   string // where its files are unpacked
	size   int64  // of them
	config struct {
		Config struct {
			User        string
			Env         []string
			Entrypoint  []string
			Cmd         []string
			Healthcheck struct{ Test []string }
		}
	}
}

func TestTheImageRuns(t *testing.T) {
	m := needTwoReleases(t)
	if os.Geteuid() != 0 {
		t.Skip("an image is tried as root, which may change the root directory")
	}
	image := unpackImage(t, find(t, m.once, "punctual_1.2.3_linux_*.image.tar"))
	packed, err := os.Stat(find(t, m.once, "punctual_1.2.3_linux_*.image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the image has %.1f MB, unpacked %.1f MB", float64(packed.Size())/1e6, float64(image.size)/1e6)
	if packed.Size() > 35e6 {
		t.Errorf("the image has %d bytes, more than 35 MB", packed.Size())
	}
	c := image.config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/usr/bin/punctual", "health"}) {
		t.Errorf("configured as %+v", c)
	}
	port := freePort(t)
	env := append(slices.Clone(c.Env), "PUNCTUAL_LISTEN=127.0.0.1:"+port, "PUNCTUAL_TIME_ZONE=Asia/Shanghai", "PUNCTUAL_SAMPLE=on")
	admin := startIn(t, image.root, env, append(c.Entrypoint, c.Cmd...)...)
	admin.waitFor(t, "Punctual is running")
	health := inRoot(image.root, env, append(slices.Clone(c.Healthcheck.Test[1:]), "--ready")...)
	if out, err := health.CombinedOutput(); err != nil {
		t.Errorf("health: %v, %s", err, out)
	}
	zone := inRoot(image.root, env, "/usr/bin/punctual", "cron", "next", "0 0 2 * * ?", "--zone", "Asia/Shanghai", "-n", "1")
	if out, err := zone.CombinedOutput(); err != nil || !strings.Contains(string(out), "+08:00") {
		t.Errorf("a time zone: %v, %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(image.root, "data/punctual.db")); err != nil {
		t.Error(err)
	}
	admin.stop(t)
}

func unpackImage(t *testing.T, path string) imageFile {
	t.Helper()
	image := imageFile{root: t.TempDir()}
	if err := os.Chmod(image.root, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := make(map[string][]byte)
	for archive := tar.NewReader(f); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if parts[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(parts["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", parts["manifest.json"], err)
	}
	if len(manifest[0].RepoTags) != 1 || !strings.HasSuffix(manifest[0].RepoTags[0], ":1.2.3") {
		t.Errorf("called %q", manifest[0].RepoTags)
	}
	if err := json.Unmarshal(parts[manifest[0].Config], &image.config); err != nil {
		t.Fatal(err)
	}
	for _, layer := range manifest[0].Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(parts[layer]))
		if err != nil {
			t.Fatal(err)
		}
		untar := exec.Command("tar", "-x", "--same-owner", "-p", "-C", image.root)
		var counted countingReader
		counted.Reader = unzipped
		untar.Stdin = &counted
		if out, err := untar.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		image.size += counted.n
	}
	return image
}

type countingReader struct {
	io.Reader
	n int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// TestTheExecutorsImageRunsScripts makes it on a Debian of its own.
func TestTheExecutorsImageRunsScripts(t *testing.T) {
	m := needTwoReleases(t)
	if _, err := exec.LookPath("mmdebstrap"); err != nil || os.Geteuid() != 0 {
		t.Skip("the base of the image takes mmdebstrap, and starting it root")
	}
	d := &dist{root: m.root, out: filepath.Join(t.TempDir(), "out"), base: autoBase}
	if err := d.make(testContext, here); err != nil {
		t.Skipf("no base: %v", err) // Debian's packages cannot be fetched here
	}
	image := unpackImage(t, find(t, d.out, "punctual-executor_*.image.tar"))
	t.Logf("unpacked it has %.1f MB", float64(image.size)/1e6)
	c := image.config.Config
	for _, program := range []string{"bash -c", "python3 -c"} {
		say := map[string]string{"bash -c": "echo it works", "python3 -c": "import ssl, json; print('it works')"}[program]
		args := append([]string{"/usr/bin/env"}, append(strings.Fields(program), say)...)
		if out, err := inRoot(image.root, c.Env, args...).CombinedOutput(); err != nil || string(out) != "it works\n" {
			t.Errorf("%s: %v, %s", program, err, out)
		}
	}
	port := freePort(t)
	env := append(slices.Clone(c.Env), "PUNCTUAL_EXECUTOR_LISTEN=127.0.0.1:"+port, "PUNCTUAL_EXECUTOR_ACCESS_TOKEN=some-lamp-otter-1", "PUNCTUAL_EXECUTOR_ADMIN=http://127.0.0.1:1")
	executor := startIn(t, image.root, env, append(c.Entrypoint, c.Cmd...)...)
	waitUntil(t, "health", func() bool { return inRoot(image.root, env, c.Healthcheck.Test[1:]...).Run() == nil })
	executor.stop(t)
}
