package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// test is one test function.
type test struct {
	name    string
	took    time.Duration
	reaches int
}

// runner runs the tests of the binary with all mutants.
type runner struct {
	o      options
	binary string
	dir    string // where tests are run
	tests  []*test
}

var errTooLong = errors.New("it does not come to an end")

// late is what found a mutant whose tests did not end.
var late = "(" + errTooLong.Error() + ")"

func newRunner(o options, binary, pkg string) (*runner, error) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return nil, err
	}
	r := &runner{o: o, binary: binary, dir: strings.TrimSpace(string(dir))}
	list := exec.Command(binary, "-test.list", cmp.Or(o.run, "."))
	list.Dir = r.dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list tests: %w", err)
	}
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
			r.tests = append(r.tests, &test{name: name})
		}
	}
	if len(r.tests) == 0 {
		return nil, errors.New("there are no tests")
	}
	return r, nil
}

// reach runs each test by itself, without a mutant. One that fails takes no part.
func (r *runner) reach(dir string, mutants []*mutant) {
	byID := make(map[int]*mutant)
	for _, m := range mutants {
		byID[m.id] = m
	}
	var mu sync.Mutex
	r.each(len(r.tests), func(i int) {
		t, file := r.tests[i], filepath.Join(dir, "reached"+strconv.Itoa(i))
		began := time.Now()
		failed := r.run([]*test{t}, 5*time.Minute, "MUTATE_REACHED="+file)
		t.took = time.Since(began)
		raw, err := os.ReadFile(file)
		mu.Lock()
		defer mu.Unlock()
		if failed != "" {
			fmt.Printf("%s fails by itself and takes no part\n", t.name)
			return
		}
		if r.o.longest > 0 && t.took > r.o.longest {
			fmt.Printf("%s takes %v and takes no part\n", t.name, t.took.Round(time.Second/10))
			return
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			panic(err)
		}
		for line := range strings.Lines(string(raw)) {
			id, _ := strconv.Atoi(strings.TrimSpace(line))
			if m := byID[id]; m != nil {
				m.reachedBy = append(m.reachedBy, t)
				t.reaches++
			}
		}
	})
}

// each calls f for every number below n, some at once.
func (r *runner) each(n int, f func(int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, r.o.parallel)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	all.Wait()
}

// try tries each mutant.
func (r *runner) try(mutants []*mutant) {
	r.each(len(mutants), func(i int) {
		r.tryOne(mutants[i])
		if r.o.verbose {
			fmt.Printf("%s: %s\n", mutants[i], cmp.Or(mutants[i].foundBy, "SURVIVED"))
		}
	})
}

// tryOne runs the tests that reach a mutant: first the few that are most about it, then the others.
func (r *runner) tryOne(m *mutant) {
	slices.SortStableFunc(m.reachedBy, func(a, b *test) int {
		return cmp.Or(cmp.Compare(a.reaches, b.reaches), cmp.Compare(a.took, b.took))
	})
	const first = 8
	for _, some := range [][]*test{m.reachedBy[:min(first, len(m.reachedBy))], m.reachedBy[min(first, len(m.reachedBy)):]} {
		if len(some) == 0 {
			continue
		}
		if m.foundBy = r.find(m, some); m.foundBy != "" {
			return
		}
	}
}

// find says which of the tests fails with a mutant, again and again; empty: none does.
func (r *runner) find(m *mutant, tests []*test) string {
	env := "MUTANT=" + strconv.Itoa(m.id)
	for len(tests) > 0 {
		found := r.run(tests, patience(tests), env)
		i := slices.IndexFunc(tests, func(t *test) bool { return t.name == found })
		if i < 0 || r.run(tests[i:i+1], patience(tests[i:i+1]), env) != "" {
			return found
		}
		if r.o.verbose {
			fmt.Printf("%s failed once with %s\n", found, m)
		}
		tests = slices.Delete(slices.Clone(tests), i, i+1) // it is no proof
	}
	return ""
}

// run says which test failed first; empty: none did.
func (r *runner) run(tests []*test, limit time.Duration, env string) string {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.name
	}
	args := []string{r.binary, "-test.v", "-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.parallel", "4", "-test.timeout", "10m"}
	if r.o.skip != "" {
		args = append(args, "-test.skip", r.o.skip)
	}
	if r.o.short {
		args = append(args, "-test.short")
	}
	args = append(strings.Fields(r.o.exec), args...)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	temp, err := os.MkdirTemp("", "m") // tests that are killed do not clean up
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(temp)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), env, "TMPDIR="+temp, "RAPID_NOFAILFILE=true", "TEST_PATIENCE=8s")
	if r.o.embedded {
		cmd.Env = append(cmd.Env, "TEST_DB=", "TEST_DATABASE_URL=", "TEST_DB_ROOT="+temp) // a folder without a server
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a test may have started servers
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var begins sync.Once
	var timer *time.Timer
	failed := ""
	out, in, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	in.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// Waiting for a place to run is not the tests' time.
		begins.Do(func() { timer = time.AfterFunc(limit, func() { cancel(errTooLong) }) })
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(lines.Bytes()), []byte("--- FAIL: ")); ok && failed == "" {
			name, _, _ = bytes.Cut(name, []byte(" "))
			name, _, _ = bytes.Cut(name, []byte("/"))
			failed = string(name)
			cancel(nil)
		}
	}
	err = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	if failed == "" && err != nil {
		err = cmp.Or(context.Cause(ctx), err)
		failed = "(" + err.Error() + ")" // late, if it was stopped
	}
	return failed
}
