package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/app/client"
)

// The scripts ask "punctual complete" for each word, and know no command themselves.
var (
	//go:embed completion/punctual.bash
	completionBash string
	//go:embed completion/punctual.zsh
	completionZsh string
	//go:embed completion/punctual.fish
	completionFish string
	//go:embed completion/punctual.ps1
	completionPowerShell string
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Run prints the script.
func (c completionCmd) Run(s streams) error {
	_, err := io.WriteString(s.out, map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish, "powershell": completionPowerShell}[c.Shell])
	return err
}

type completeCmd struct {
	Last  string   `help:"The word to complete; may be empty."`
	Words []string `arg:"" optional:"" help:"The words between the program's name and that one."`
}

// Run prints what the word can become, one a line, with a tab and its help behind it. Nothing means a file's name, or nothing.
func (c completeCmd) Run(ctx context.Context, s streams, of *kong.Context) error {
	for _, candidate := range complete(ctx, of.Model.Node, c.Words, c.Last) {
		if _, err := fmt.Fprintln(s.out, candidate); err != nil {
			return err
		}
	}
	return nil
}

// typed is how far a line has come.
type typed struct {
	node    *kong.Node
	waiting *kong.Value // the flag whose value comes next
	args    int         // how many arguments of the command stand there
	plain   bool        // after --, where no flag follows
	set     map[string]string
}

// complete is what a word can become behind others.
func complete(ctx context.Context, root *kong.Node, words []string, word string) []string {
	t := typed{node: root, set: make(map[string]string)}
	for _, w := range words {
		t.take(w)
	}
	if word == "=" && t.waiting != nil { // where a shell takes --flag=value apart
		word = ""
	}
	name, value, joined := strings.Cut(word, "=")
	switch {
	case t.waiting != nil:
		return t.values(ctx, t.waiting, "", word)
	case joined && !t.plain && strings.HasPrefix(name, "--"):
		if f := t.flag(name); f != nil {
			return t.values(ctx, f.Value, name+"=", value)
		}
		return nil
	case !t.plain && strings.HasPrefix(word, "-"):
		return t.flags(word)
	}
	return t.commands(ctx, word)
}

func (t *typed) take(word string) {
	switch {
	case t.waiting != nil && word == "=":
	case t.waiting != nil:
		t.set[t.waiting.Name], t.waiting = word, nil
	case t.plain:
		t.args++
	case word == "--":
		t.plain = true
	case strings.HasPrefix(word, "-") && len(word) > 1:
		name, value, joined := strings.Cut(word, "=")
		if f := t.flag(name); f != nil && joined {
			t.set[f.Name] = value
		} else if f != nil && !f.IsBool() && !f.IsCounter() {
			t.waiting = f.Value
		}
	default:
		for _, c := range t.node.Children {
			if c.Name == word || slices.Contains(c.Aliases, word) {
				t.node = c
				return
			}
		}
		t.args++
	}
}

// known are the flags that a command takes here: its own, those above it, and those of what it does without a word.
func (t *typed) known() (flags []*kong.Flag) {
	at := t.node
	if at.DefaultCmd != nil {
		at = at.DefaultCmd
	}
	for _, group := range at.AllFlags(true) {
		flags = append(flags, group...)
	}
	return flags
}

// flag is the one that is written as --name or -n; nil when there is none.
func (t *typed) flag(text string) *kong.Flag {
	for _, f := range t.known() {
		if "--"+f.Name == text || f.Short != 0 && "-"+string(f.Short) == text {
			return f
		}
	}
	return nil
}

func (t *typed) flags(word string) (found []string) {
	for _, f := range t.known() {
		if text := "--" + f.Name; strings.HasPrefix(text, word) {
			found = append(found, text+"\t"+f.Help)
		}
	}
	return found
}

// commands are those below, or what the next argument can be.
func (t *typed) commands(ctx context.Context, word string) (found []string) {
	for _, c := range t.node.Children {
		if !c.Hidden && strings.HasPrefix(c.Name, word) {
			found = append(found, c.Name+"\t"+c.Help)
		}
	}
	at := t.node
	if at.DefaultCmd != nil {
		at = at.DefaultCmd
	}
	if n := len(at.Positional); n > 0 {
		arg := at.Positional[min(t.args, n-1)]
		if t.args < n || arg.IsSlice() {
			found = append(found, t.values(ctx, arg, "", word)...)
		}
	}
	return found
}

// values are what a flag or an argument can be: those of its list, or what the admin knows of the kind that its tag names.
func (t *typed) values(ctx context.Context, v *kong.Value, before, word string) (found []string) {
	all := v.EnumSlice()
	if kind := v.Tag.Get("complete"); kind != "" {
		all = client.Suggest(ctx, kind, client.Admin{Context: t.set["context"], URL: t.set["url"], Token: t.set["token"], CAFile: t.set["ca-file"]}, word)
	}
	for _, value := range all {
		if strings.HasPrefix(value, word) && value != "" {
			found = append(found, before+value)
		}
	}
	return found
}
