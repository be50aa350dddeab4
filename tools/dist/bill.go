package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill writes what the programs are made of (CycloneDX): of Go, what each program itself says that it was built from; of the pages'
// scripts, what their lock file says.
func (d *dist) bill(p *programs) error {
	name := fmt.Sprintf("punctual_%s_%s_%s", d.source.number(), p.os, p.arch)
	bom := cyclonedx.NewBOM()
	seed := sha256.Sum256([]byte(name + d.source.commit))
	seed[6], seed[8] = seed[6]&0x0f|0x80, seed[8]&0x3f|0x80 // a UUID of the kind that somebody's own rule makes
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", seed[:4], seed[4:6], seed[6:8], seed[8:10], seed[10:16])
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: d.source.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{BOMRef: name, Type: cyclonedx.ComponentTypeApplication, Name: "punctual", Version: d.source.version,
			Properties: &[]cyclonedx.Property{{Name: "commit", Value: d.source.commit}, {Name: "system", Value: p.String()}}},
	}
	parts := make(map[string]cyclonedx.Component)
	var dependencies []cyclonedx.Dependency
	for _, program := range programNames {
		made, err := goModules(p.path(program))
		if err != nil {
			return err
		}
		if program == "punctual" {
			scripts, err := npmPackages(filepath.Join(d.root, "static/src/package-lock.json"))
			if err != nil {
				return err
			}
			made = append(made, scripts...)
		}
		var refs []string
		for _, part := range made {
			parts[part.BOMRef] = part
			refs = append(refs, part.BOMRef)
		}
		slices.Sort(refs)
		refs = slices.Compact(refs)
		parts[program] = cyclonedx.Component{BOMRef: program, Type: cyclonedx.ComponentTypeApplication, Name: program, Version: d.source.version}
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: program, Dependencies: &refs})
	}
	components := slices.SortedFunc(maps.Values(parts), func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	own := slices.Clone(programNames)
	bom.Components = &components
	bom.Dependencies = new(append([]cyclonedx.Dependency{{Ref: name, Dependencies: &own}}, dependencies...))
	f, err := d.create(name + ".cdx.json")
	if err != nil {
		return err
	}
	if err := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func library(name, version, url string) cyclonedx.Component {
	return cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url}
}

// goModules are what a program was built from.
func goModules(path string) ([]cyclonedx.Component, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	version, _, _ = strings.Cut(version, " ")
	list := []cyclonedx.Component{library("stdlib", version, "pkg:golang/stdlib@"+version)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			if module = module.Replace; module.Version == "" {
				continue // of this repository
			}
		}
		list = append(list, library(module.Path, module.Version, "pkg:golang/"+module.Path+"@"+module.Version))
	}
	return list, nil
}

// npmPackages are what the pages' scripts and styles are bundled from.
func npmPackages(lock string) ([]cyclonedx.Component, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var locked struct {
		Packages map[string]struct {
			Version  string
			Dev      bool
			Optional bool
		}
	}
	if err := json.Unmarshal(text, &locked); err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	var list []cyclonedx.Component
	for path, one := range locked.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 || one.Dev || one.Optional {
			continue
		}
		name := path[at+len("node_modules/"):]
		list = append(list, library(name, one.Version, "pkg:npm/"+strings.Replace(name, "@", "%40", 1)+"@"+one.Version))
	}
	return list, nil
}
