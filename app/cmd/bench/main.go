// Command bench measures the whole system as a user would run it: the admin program, a private MariaDB or the embedded
// database with full durability, and a real HTTP executor in a process of its own, all on this machine. It prints the
// machine, the command and a table.
//
//	make bench                      everything, on both databases
//	make bench BENCH='-db sqlite -only lateness'
//
// What the columns mean, and how a figure is taken, stands beside each scenario in scenarios.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	binary   string
	memory   string
	database string
	only     string
	seconds  int
	rate     int
	steps    int
	runs     int
	jobs     int
	waiting  int
	dir      string
	page     string
	profile  string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "executor" {
		runExecutor(os.Args[2:])
		return
	}
	var s settings
	flag.StringVar(&s.binary, "binary", "bin/punctual", "the admin program")
	flag.StringVar(&s.database, "db", "mariadb,sqlite", "databases to measure")
	flag.StringVar(&s.only, "only", "", "scenarios whose name contains this")
	flag.IntVar(&s.seconds, "seconds", 15, "length of each measurement")
	flag.IntVar(&s.rate, "rate", 20_000, "offered triggers/s of the saturation scenario")
	flag.IntVar(&s.steps, "steps", 10_000, "offered steps/s of flows")
	flag.IntVar(&s.runs, "runs", bigRuns, "runs in the log of the scenarios about a big one")
	flag.IntVar(&s.jobs, "jobs", 100_000, "jobs of the scenarios about pages and the audit")
	flag.IntVar(&s.waiting, "waiting", 0, "events that the scenario about receivers begins with when they go away, as if they had been away before")
	flag.StringVar(&s.dir, "dir", "", "folder in which the scenario about pages keeps its databases, to measure them again without filling them")
	flag.StringVar(&s.memory, "memory", "4G", "MariaDB's buffer pool")
	flag.StringVar(&s.page, "page", "", "pages whose name contains this")
	flag.StringVar(&s.profile, "profile", "", "folder for CPU profiles of the admin, one of each window that is measured")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	machine()
	failed := false
	for _, database := range strings.Split(s.database, ",") {
		for _, sc := range scenarios(s) {
			if !strings.Contains(sc.name, s.only) {
				continue
			}
			if ctx.Err() != nil {
				os.Exit(1)
			}
			if err := sc.measure(ctx, s, database); err != nil {
				fmt.Printf("%-8s %-28s FAILED: %v\n", database, sc.name, err)
				failed = true
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// machine prints what the figures depend on.
func machine() {
	model := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				model = strings.TrimSpace(v)
				break
			}
		}
	}
	kernel, _ := exec.Command("uname", "-r").Output()
	fmt.Printf("%s · %d cores of %s · Linux %s · %s\n", time.Now().Format(time.DateOnly), runtime.NumCPU(), model, strings.TrimSpace(string(kernel)), runtime.Version())
	fmt.Printf("command: %s\n\n", strings.Join(os.Args, " "))
	fmt.Printf("%-8s %-28s %s\n", "database", "scenario", "figures")
}
