package main

import (
	_ "embed"
	"fmt"
)

// licences are those of everything that is in this program, as .ci/licences lists them.
//
//go:embed licences.txt
var licences string

type licencesCmd struct{}

func (licencesCmd) Run(s streams) error {
	_, err := fmt.Fprint(s.out, licences)
	return err
}
