package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	spans    = regexp.MustCompile("`((?:bin/)?punctual [^`]+)`")
	examples = regexp.MustCompile(`(?m)^ *(?:- |run: )?((?:bin/)?punctual [a-z][^\n]*)`)
	rest     = regexp.MustCompile(` +#.*| > .*| \\?\|.*| &&.*| ….*|\\$|\$\([^)]*\)`) // what is no part of the command, or stands for anything
)

// TestTheManualNamesCommandsThatThereAre: each command and flag that a page names, in its text or an example, is one of the program. What
// follows them may be left out there, since a page may only say which command it means.
func TestTheManualNamesCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	chinese, err := filepath.Glob("../../../docs/zh-CN/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, file := range append(files, chinese...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, m := range append(spans.FindAllStringSubmatch(text, -1), examples.FindAllStringSubmatch(text, -1)...) {
			line := rest.ReplaceAllString(strings.Join(strings.Fields(m[1]), " "), "")
			if named[line] {
				continue
			}
			named[line] = true
			var c commands
			parser, err := kong.New(&c, words, kong.Name("punctual"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(shellWords(line)[1:]); err != nil && !left(err) {
				t.Errorf("%s: %s: %v", strings.TrimPrefix(file, "../../../"), line, err)
			}
		}
	}
	if len(named) < 100 {
		t.Errorf("only %d commands were found", len(named))
	}
}

// TestTheManualNamesEveryCommand, in full: what a page calls `pause`, `resume` nobody finds who looks for it. Every command and flag says what it does.
func TestTheManualNamesEveryCommand(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(commands), words, kong.Name("punctual"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pages := range []string{"../../../docs/*.md", "../../../docs/zh-CN/*.md"} {
		files, err := filepath.Glob(pages)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, file := range files {
			if strings.HasSuffix(file, "changelog.md") {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(raw)
		}
		for _, command := range parser.Model.Leaves(true) {
			if command.Parent.DefaultCmd == command { // it is named by what it belongs to
				continue
			}
			if !named(text.String(), command.Path()) {
				t.Errorf("%s: no page names %s", pages, command.Path())
			}
			for _, v := range append(slices.Clone(command.Positional), flagValues(command)...) {
				if command.Help == "" || v.Help == "" {
					t.Errorf("%s %s: the help says nothing", command.Path(), v.Summary())
				}
			}
		}
	}
}

// named reports whether a text has a command in a code span or an example.
func named(text, command string) bool {
	for _, before := range []string{"`", "punctual "} {
		for _, behind := range []string{"`", " ", "\n"} {
			if strings.Contains(text, before+command+behind) {
				return true
			}
		}
	}
	return false
}

func flagValues(command *kong.Node) (values []*kong.Value) {
	for _, f := range command.Flags {
		values = append(values, f.Value)
	}
	return values
}

// left says that something was left out at the end of a command.
func left(err error) bool {
	said := err.Error()
	return strings.HasPrefix(said, "expected ") || strings.HasPrefix(said, "missing flags") || strings.Contains(said, `but got "EOL"`)
}

// shellWords splits a line as a shell does.
func shellWords(line string) (list []string) {
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open {
				list = append(list, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		list = append(list, word.String())
	}
	return list
}
