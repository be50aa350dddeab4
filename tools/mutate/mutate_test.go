package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutantsAreFoundAndSurvive mutates a small module: what its test says is found, what it does not say survives, and a mutant calls
// nothing twice.
func TestMutantsAreFoundAndSurvive(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/sample\n\ngo 1.26\n",
		"sample.go": `package sample

var calls int

func next() int { calls++; return calls }

func Tested(n int) bool { return n > 3 }

func Untested(n int) bool { return n > 3 }

func Called() int { return next() + 1 }

func Least(a, b int) int { return min(a, b) }

var log, metrics talk

type talk struct{}

func (talk) Warn(...any)       {}
func (t talk) Count() talk     { return t }
func (talk) Add(n int)         {}

func Talks(n int) {
	log.Warn("it talks", n+1)
	metrics.Count().Add(n + 1)
	if n > 3 {
		log.Warn("too much", n)
	}
}

func Unreached(n int) bool { return n > 3 }
`,
		"sample_test.go": `package sample

import "testing"

func TestTested(t *testing.T) {
	if !Tested(4) || Tested(3) {
		t.Error("wrong")
	}
}

func TestUntested(t *testing.T) { Untested(3) }

func TestCalled(t *testing.T) {
	if got := Called(); got != 2 || calls != 1 {
		t.Error(got, calls)
	}
}

func TestLeast(t *testing.T) {
	if Least(1, 2) != 1 {
		t.Error("wrong")
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	p, err := load(".", "")
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	binary := filepath.Join(at, "tests")
	if err := p.build(at, binary, "."); err != nil {
		t.Fatal(err)
	}
	for _, m := range p.mutants {
		if strings.Contains(m.what, "log") || strings.Contains(m.what, "n + 1") || strings.Contains(m.what, "metrics") {
			t.Errorf("what only talks is mutated: %s", m)
		}
	}
	r, err := newRunner(options{parallel: 2, embedded: true}, binary, ".")
	if err != nil {
		t.Fatal(err)
	}
	r.reach(at, p.mutants)
	r.try(p.mutants)
	got := make(map[string]string)
	for _, m := range p.mutants {
		if strings.Contains(m.what, "calls++") {
			continue
		}
		found := m.foundBy
		if len(m.reachedBy) == 0 {
			found = "not reached"
		}
		got[m.what+" "+string(rune('0'+m.line/10))+string(rune('0'+m.line%10))] = found
	}
	for what, want := range map[string]string{
		"the edge of n > 3 07": "TestTested", "not n > 3 07": "TestTested",
		"the edge of n > 3 09": "", "not n > 3 09": "",
		"- for + in next() + 1 11":    "TestCalled",
		"max for min in min(a, b) 13": "TestLeast",
		"not n > 3 31":                "not reached",
	} {
		if found, ok := got[what]; !ok || found != want {
			t.Errorf("%s: found by %q, want %q; all: %v", what, found, want, got)
		}
	}
}
