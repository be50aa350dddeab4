package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const root = ".."

// sources calls f with every file of the repository that has one of the endings, and its text.
func sources(t *testing.T, f func(path, text string), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "dist", "data", "bin"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(endings, filepath.Ext(name)) {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(path, string(raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCitedSectionsExist reads the citations of docs/compat.md in comments: their sections are headings, and the defects are in the
// table of their section.
func TestCitedSectionsExist(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("compat.md")
	if err != nil {
		t.Fatal(err)
	}
	var (
		heading = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?)\.? `)
		row     = regexp.MustCompile(`^\| (\d+) \|`)
		cites   = regexp.MustCompile(`docs/compat\.md ((?:§\d+(?:\.\d+)?(?:–[\d.]*\d)?(?: #\d+)?(?:, )?)+)`)
		section = regexp.MustCompile(`§?(\d+(?:\.\d+)?)(?: #(\d+))?`)
		former  = "spec " + "§"
	)
	there, in := make(map[string]bool), ""
	for line := range strings.Lines(string(raw)) {
		if m := heading.FindStringSubmatch(line); m != nil {
			in = m[1]
			there[in] = true
		}
		if m := row.FindStringSubmatch(line); m != nil && strings.HasPrefix(in, "8.") {
			there[in+" #"+m[1]] = true
		}
	}
	cited := 0
	sources(t, func(path, text string) {
		if strings.Contains(text, former) {
			t.Errorf("%s cites a document that is not in the repository (%s)", path, former)
		}
		for _, c := range cites.FindAllStringSubmatch(text, -1) {
			for _, s := range section.FindAllStringSubmatch(c[1], -1) {
				name := s[1]
				if s[2] != "" {
					name += " #" + s[2]
				}
				if cited++; !there[name] {
					t.Errorf("%s cites docs/compat.md §%s, which is not there", path, name)
				}
			}
		}
	}, ".go", ".sql", ".templ", ".md", ".js", ".sh")
	if cited < 90 {
		t.Errorf("%d citations found; the search misses some", cited)
	}
}

// TestNamedTestsExist looks for the tests that pages name: each is the beginning of a test's name, as go test -run reads it, and where the
// page says in which package, it is there.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	tests := make(map[string][]string) // by folder
	sources(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			tests[folder] = append(tests[folder], m[1])
		}
	}, ".go")
	exists := func(name, folder string) bool {
		for in, names := range tests {
			if folder != "" && in != folder && !strings.HasPrefix(in, folder+"/") {
				continue
			}
			if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) {
				return true
			}
		}
		return false
	}
	var (
		named   = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
		command = regexp.MustCompile("go test ([^`\n]*)")
		folder  = regexp.MustCompile(`\./([\w/]+)`)
	)
	sources(t, func(path, text string) {
		for _, name := range named.FindAllString(text, -1) {
			if !exists(name, "") {
				t.Errorf("%s names %s, which is no test", path, name)
			}
		}
		for _, c := range command.FindAllStringSubmatch(text, -1) {
			folders := folder.FindAllStringSubmatch(c[1], -1)
			if len(folders) != 1 {
				continue
			}
			for _, name := range named.FindAllString(c[1], -1) {
				if !exists(name, strings.TrimSuffix(folders[0][1], "/")) {
					t.Errorf("%s looks for %s in %s, where it is not", path, name, folders[0][1])
				}
			}
		}
	}, ".md")
}

// TestNamedFilesExist looks for the files of the sources that pages name by their path, and for those that they link to.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("[`(]((?:app|db|docs|executor|locales|queries|scheduler|static|views)/[\\w./-]*\\.(?:go|md|json|sql|js|templ))[`)]")
	linked := regexp.MustCompile(`\]\(([^()#:\s]+)(?:#[^()\s]*)?\)`)
	example := regexp.MustCompile("(?ms)^```.*?^```$")
	sources(t, func(path, text string) {
		text = example.ReplaceAllString(text, "")
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
	}, ".md")
}

// TestTheFieldsOfTheJobMethodsAreNamed has the manual name what only our jobs have: a field that is misspelt is refused with a pointer there.
func TestTheFieldsOfTheJobMethodsAreNamed(t *testing.T) {
	t.Parallel()
	for page, heading := range map[string]string{"operations.md": "## Programs that look after jobs", "zh-CN/operations.md": "## 通过程序管理任务"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(string(raw), "\n"+heading+"\n")
		if !ok {
			t.Fatalf("%s has no %q", page, heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, f := range jobspec.Fields {
			if f.API != "" && f.Since > 0 && !strings.Contains(section, "`"+f.API+"`") {
				t.Errorf("%s does not name %s", page, f.API)
			}
		}
	}
}
