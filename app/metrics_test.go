package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// What is in the registry is what is published, whether it has been counted yet or not.
func TestMetricsAreThoseOfTheManual(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	published := make(map[string]bool)
	descriptions := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(descriptions); close(descriptions) }()
	form := regexp.MustCompile(`fqName: "(punctual_\w+)".*variableLabels: \{([\w,]*)\}`)
	for d := range descriptions {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			published[labelled(m[1], m[2])] = true
		}
	}
	if len(published) < 25 {
		t.Fatalf("only %d metrics are published", len(published))
	}
	manual, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "| metric | meaning |")
	table, _, _ = strings.Cut(table, "\n\n")
	said := make(map[string]bool)
	for _, m := range regexp.MustCompile("`(punctual_\\w+)(?:\\{([\\w,]*)\\})?`").FindAllStringSubmatch(table, -1) {
		said[labelled(m[1], m[2])] = true
	}
	for name := range published {
		if !said[name] {
			t.Errorf("%s is not in the table of docs/monitoring.md", name)
		}
	}
	for name := range said {
		if !published[name] {
			t.Errorf("%s of docs/monitoring.md is not published", name)
		}
	}
}

func labelled(name, labels string) string {
	if labels == "" {
		return name
	}
	return name + "{" + labels + "}"
}

// A metric is published by being made (promauto), so that none can be made and forgotten.
func TestMetricsAreMadeWhereTheyArePublished(t *testing.T) {
	t.Parallel()
	alone := regexp.MustCompile(`prometheus\.New(Counter|Gauge|Histogram|Summary|Untyped)\w*\(`)
	var files int
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if call := alone.Find(source); call != nil {
			t.Errorf("%s calls %s…): make it with promauto, which publishes it", path, call)
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("%d files: %v", files, err)
	}
}
