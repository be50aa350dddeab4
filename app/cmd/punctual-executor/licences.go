package main

import (
	_ "embed"
	"fmt"
	"io"
)

// licences are those of everything that is in this program, as .ci/licences lists them.
//
//go:embed licences.txt
var licences string

type licencesCmd struct{}

// Run prints them.
func (licencesCmd) Run(out io.Writer) error {
	_, err := fmt.Fprint(out, licences)
	return err
}
