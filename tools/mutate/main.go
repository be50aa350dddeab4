// Mutate counts how many small faults in the source the tests of it find. Each place where the program could be wrong by one sign,
// one edge or one forgotten statement is a mutant; a mutant that no test notices has survived, and either is equivalent to the
// original or says which test is missing.
//
// All mutants are compiled into one test binary, each behind a switch in the environment, so that a run costs the tests alone:
// first each test by itself, to learn which mutants it reaches, then for each mutant the tests that reach it, the most particular
// first, until one fails; and that one once more, so that a test that failed because the machine was busy finds nothing. Nothing is
// written into the tree.
//
// What only logs or counts for a metric is left alone, and so is an if around nothing else: a missing line of a log is no fault that a
// test should be written for.
//
// Tests that want a database server start one, which takes longer than most mutants. With -embedded they do not; the last line of the
// answer names the mutants that are left, to be tried once more without it.
//
//	cd tools && go build -o ../bin/mutate ./mutate && cd .. && bin/mutate -skip '/MariaDB' ./scheduler/jobspec
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	files, tests, run, skip, exec  string
	every, parallel                int
	short, list, verbose, embedded bool
	only                           string
	longest                        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.files, "files", "", "only files whose name matches (regular expression)")
	flag.StringVar(&o.tests, "tests", "", "package whose tests are run (default: the mutated one)")
	flag.StringVar(&o.run, "run", "", "only tests that match (regular expression)")
	flag.StringVar(&o.skip, "skip", "", "no tests or parts of tests that match, as go test -skip")
	flag.StringVar(&o.exec, "exec", "", "run test binaries by this program")
	flag.StringVar(&o.only, "only", "", "only the mutants with these numbers, with commas")
	flag.IntVar(&o.every, "every", 1, "only one mutant in so many")
	flag.IntVar(&o.parallel, "p", 1, "tests and mutants tried at once")
	flag.BoolVar(&o.embedded, "embedded", false, "start no database servers: tests that want one are skipped")
	flag.DurationVar(&o.longest, "longest", 0, "tests that take longer take no part (default: all do)")
	flag.BoolVar(&o.short, "short", false, "as go test -short")
	flag.BoolVar(&o.list, "list", false, "list the mutants and try none")
	flag.BoolVar(&o.verbose, "v", false, "say of each mutant which test found it")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [flags] PACKAGE")
		os.Exit(2)
	}
	if err := work(o, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func work(o options, pkg string) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := load(pkg, o.files)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range p.mutants {
			fmt.Println(m)
		}
		return nil
	}
	binary := filepath.Join(dir, "tests")
	if err := p.build(dir, binary, cmp.Or(o.tests, pkg)); err != nil {
		return err
	}
	p.choose(o)
	r, err := newRunner(o, binary, cmp.Or(o.tests, pkg))
	if err != nil {
		return err
	}
	r.reach(dir, p.mutants)
	r.try(p.mutants)
	return report(p.mutants)
}

// choose leaves out the mutants that nobody asked for.
func (p *mutated) choose(o options) {
	only := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	i := 0
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
		i++
		return i%o.every != 0 || len(only) > 0 && !slices.Contains(only, strconv.Itoa(m.id))
	})
}

// report prints what survived and the score of each file.
func report(mutants []*mutant) error {
	type score struct{ found, hung, survived, unreached int }
	files := make(map[string]*score)
	var names []string
	all := &score{}
	var left []string
	for _, m := range mutants {
		if files[m.file] == nil {
			files[m.file] = &score{}
			names = append(names, m.file)
		}
		for _, s := range []*score{files[m.file], all} {
			switch {
			case m.foundBy != "":
				s.found++
				if m.hung() {
					s.hung++
				}
			case len(m.reachedBy) == 0:
				s.unreached++
			default:
				s.survived++
			}
		}
		if m.foundBy == "" {
			left = append(left, strconv.Itoa(m.id))
		}
		switch {
		case m.hung():
			fmt.Println("not ended:", m)
		case m.foundBy != "":
		case len(m.reachedBy) == 0:
			fmt.Println("not reached:", m)
		default:
			fmt.Println("survived:", m)
		}
	}
	if len(mutants) == 0 {
		return errors.New("there is nothing to mutate")
	}
	line := func(name string, s *score) {
		n := s.found + s.survived + s.unreached
		fmt.Printf("%-32s %4d of %4d found (%.1f %%), %d of them by not ending, %d survived, %d not reached\n",
			name, s.found, n, 100*float64(s.found)/float64(n), s.hung, s.survived, s.unreached)
	}
	slices.Sort(names)
	for _, name := range names {
		line(name, files[name])
	}
	line("all", all)
	if len(left) > 0 {
		fmt.Println("left: -only", strings.Join(left, ","))
	}
	return nil
}

// mutant is one possible fault.
type mutant struct {
	id        int
	file      string
	line      int
	what      string
	reachedBy []*test
	foundBy   string
}

// hung says whether no test failed with the mutant, but they did not end in time: on a busy machine that may be the machine's
// doing, so it is worth another look.
func (m *mutant) hung() bool { return m.foundBy == late }

func (m *mutant) String() string { return fmt.Sprintf("%d %s:%d: %s", m.id, m.file, m.line, m.what) }

// number finds the mutants in a line of mutated source.
var number = regexp.MustCompile(`mutate(?:Not|On|And|Or|Edge|Add|Sub|Mul|Quo|Rem|Min|Max)\((\d+)`)

// patience is how long tests may take with a mutant.
func patience(tests []*test) time.Duration {
	limit := 20 * time.Second
	for _, t := range tests {
		limit += 6 * t.took
	}
	return limit
}
