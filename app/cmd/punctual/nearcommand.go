package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/scheduler/document"
)

// nearCommand adds the command that was probably meant to what the parser says of a word that is none. The parser does so itself only where
// no command stands for no word, as serve and list do.
func nearCommand(root *kong.Node, args []string, err error) error {
	t := typed{node: root, set: make(map[string]string)}
	for _, word := range args {
		before := t.args
		if t.take(word); t.args == before {
			continue
		}
		var names []string
		for _, c := range t.node.Children {
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		near := document.Nearest(word, names)
		if said := err.Error(); near == "" || said != "unexpected argument "+word {
			return err
		}
		parts := []string{root.Name}
		if t.node != root {
			parts = append(parts, t.node.Path())
		}
		return fmt.Errorf("%w, did you mean %q?", err, strings.Join(append(parts, near), " "))
	}
	return err
}
