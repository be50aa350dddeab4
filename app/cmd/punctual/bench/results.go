package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results are what was measured. A table is printed as it grows, JSON at the end.
type results struct {
	plain io.Writer
	json  bool
	err   error // of printing

	Machine   host              `json:"machine"`
	Databases map[string]string `json:"databases"`
	Rows      []row             `json:"results"`
}

// host is what the figures depend on.
type host struct {
	Date    string `json:"date"`
	Cores   int    `json:"cores"`
	CPU     string `json:"cpu"`
	System  string `json:"system"`
	Go      string `json:"go"`
	Version string `json:"version"`
	Command string `json:"command"`
}

// row is one result: the figures as data where a program can use them, and as people read them.
type row struct {
	Database string   `json:"database"`
	Scenario string   `json:"scenario"`
	Text     string   `json:"text"`
	Figures  []figure `json:"figures,omitempty"`
}

type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

func machine(version string) host {
	model := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				model = strings.TrimSpace(v)
				break
			}
		}
	}
	system := runtime.GOOS
	if kernel, err := exec.Command("uname", "-sr").Output(); err == nil {
		system = strings.TrimSpace(string(kernel))
	}
	return host{time.Now().Format(time.DateOnly), runtime.NumCPU(), model, system, runtime.Version(), version, command(os.Args)}
}

// command is how the program was called, without what is nobody else's business.
func command(args []string) string {
	said := make([]string, len(args))
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "--database-url="):
			a = "--database-url=…"
		case i > 0 && args[i-1] == "--database-url":
			a = "…"
		}
		said[i] = a
	}
	return strings.Join(said, " ")
}

func (r *results) begin() {
	r.Databases = make(map[string]string)
	m := r.Machine
	note := ""
	if !measured {
		note = "CPU and memory are measured on Linux only: 0 stands for unknown.\n"
	}
	r.print("%s · %d cores of %s · %s · %s · punctual %s\ncommand: %s\n%s\n%-8s %-28s %s\n", m.Date, m.Cores, m.CPU, m.System, m.Go, m.Version, m.Command, note,
		"database", "scenario", "figures")
}

func (r *results) known(database string) bool { return r.Databases[database] != "" }

func (r *results) database(name, text string) {
	r.Databases[name] = text
	r.print("%-8s %-28s %s\n", name, "", text)
}

func (r *results) end() error {
	if r.json && r.err == nil {
		e := json.NewEncoder(r.plain)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		r.err = e.Encode(r)
	}
	return r.err
}

func (r *results) print(format string, args ...any) {
	if !r.json && r.err == nil {
		_, r.err = fmt.Fprintf(r.plain, format, args...)
	}
}

// report notes a result as people read it.
func (s *Settings) report(database, name, format string, args ...any) {
	s.reportFigures(database, name, nil, format, args...)
}

// reportFigures notes a result with its figures as data.
func (s *Settings) reportFigures(database, name string, figures []figure, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !measured {
		figures = slices.DeleteFunc(figures, func(f figure) bool { return f.Unit == "cores" || f.Unit == "MB" })
	}
	s.out.Rows = append(s.out.Rows, row{database, name, text, figures})
	s.out.print("%-8s %-28s %s\n", database, name, text)
}
