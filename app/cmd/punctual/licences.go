package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// licences are those of everything that is in this program, as .ci/licences lists them.
//
//go:embed licences.txt.gz
var licences []byte

type licencesCmd struct{}

func (licencesCmd) Run(s streams) error {
	text, err := gzip.NewReader(bytes.NewReader(licences))
	if err != nil {
		return err
	}
	_, err = io.Copy(s.out, text)
	return err
}
