package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// TestACommandIsTheSameWithoutTheOthers compares what the parser knows of each command when it is made for that one with what it knows among all.
func TestACommandIsTheSameWithoutTheOthers(t *testing.T) {
	all, err := kong.New(new(commands), words, kong.Name("punctual"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Model.Children {
		known := new(commands)
		known.MCP.Version = "kept"
		made := narrowed(known, []string{c.Name, "--listen", "x"})
		if c.Name == "complete" { // which is asked about the others
			if made != any(known) {
				t.Errorf("%s knows %T", c.Name, made)
			}
			continue
		}
		one, err := kong.New(made, words, kong.Name("punctual"))
		if err != nil || len(one.Model.Children) != 1 {
			t.Fatalf("%s: %d commands, %v", c.Name, len(one.Model.Children), err)
		}
		if diff := cmp.Diff(described(c), described(one.Model.Children[0])); diff != "" {
			t.Errorf("%s (- among all, + alone):\n%s", c.Name, diff)
		}
		if diff := cmp.Diff(flagsOf(all.Model.Node), flagsOf(one.Model.Node)); diff != "" {
			t.Errorf("flags of all commands beside %s:\n%s", c.Name, diff)
		}
		if mcp := reflect.ValueOf(made).Elem().FieldByName("MCP"); mcp.IsValid() && mcp.FieldByName("Version").String() != "kept" {
			t.Errorf("%s lost what it was given", c.Name)
		}
	}
	for _, args := range [][]string{nil, {"serve"}} {
		if one, err := kong.New(narrowed(new(commands), args), words); err != nil || len(one.Model.Children) != 1 || one.Model.Children[0].Name != "serve" {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"--listen", ":1"}, {"--help"}, {"srve"}, {""}, {"Serve"}, {"print-version"}} {
		known := new(commands)
		if made := narrowed(known, args); made != any(known) {
			t.Errorf("%q knows %T", args, made)
		}
	}
}

// described is all that a command takes and says, a line each.
func described(n *kong.Node) []string {
	lines := []string{fmt.Sprintf("%s: %s %s %s %v", n.Path(), n.Help, n.Detail, strings.Join(n.Aliases, ","), n.Hidden)}
	if n.Group != nil {
		lines = append(lines, "of "+n.Group.Key)
	}
	lines = append(lines, flagsOf(n)...)
	for _, p := range n.Positional {
		lines = append(lines, fmt.Sprint(p.Summary(), " ", p.Help))
	}
	if n.DefaultCmd != nil {
		lines = append(lines, "by default "+n.DefaultCmd.Name)
	}
	for _, c := range n.Children {
		lines = append(lines, described(c)...)
	}
	return lines
}

func flagsOf(n *kong.Node) (lines []string) {
	for _, f := range n.Flags {
		lines = append(lines, fmt.Sprint(f.String(), " ", f.Help, f.Default, f.Envs, f.Enum, f.Negated, f.Hidden))
	}
	return lines
}
