package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// services are the packages: a program, its unit and its settings.
var services = []struct{ name, summary, settings string }{
	{"punctual", "A job scheduling centre that speaks XXL-JOB's protocol", "punctual.env"},
	{"punctual-executor", "Runs scripts, commands and HTTP calls for Punctual or XXL-JOB", "executor.env"},
}

// packages makes a deb and an rpm of each program.
func (d *dist) packages(p *programs) error {
	if p.os != "linux" {
		return nil
	}
	for _, format := range []string{"deb", "rpm"} {
		for _, service := range services {
			if err := d.packageOf(p, format, service.name, service.summary, service.settings); err != nil {
				return fmt.Errorf("%s of %s: %w", format, service.name, err)
			}
		}
	}
	return nil
}

func (d *dist) packageOf(p *programs, format, name, summary, settings string) error {
	scripts, err := d.scripts(p, name)
	if err != nil {
		return err
	}
	deploy := filepath.Join(d.root, "deploy")
	file := func(source, to, kind, group string, mode os.FileMode) *files.Content {
		return &files.Content{Source: source, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: group, Mode: mode, MTime: d.source.time}}
	}
	state := file("", "/var/lib/"+name, files.TypeDir, name, 0o700)
	state.FileInfo.Owner = name
	depends, docs := "passwd", "/usr/share/doc/"+name+"/copyright"
	if format == "rpm" {
		depends, docs = "shadow-utils", "/usr/share/licenses/"+name+"/LICENSE"
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: name, Arch: p.arch, Platform: "linux", Version: d.source.number(), VersionSchema: "none", Release: "1",
		Section: "admin", Priority: "optional", Maintainer: "The Punctual authors <punctual@example.invalid>", License: "Apache-2.0",
		Description: summary, Homepage: "https://github.com/punctual-job/punctual", MTime: d.source.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Depends: []string{depends},
			Contents: files.Contents{
				file(p.path(name), "/usr/bin/"+name, files.TypeFile, "root", 0o755),
				file(filepath.Join(deploy, "systemd", name+".service"), "/usr/lib/systemd/system/"+name+".service", files.TypeFile, "root", 0o644),
				file("", "/etc/punctual", files.TypeDir, "root", 0o755),
				file(filepath.Join(deploy, "packages", settings), "/etc/punctual/"+settings, files.TypeConfigNoReplace, name, 0o640),
				file(filepath.Join(d.root, "LICENSE"), docs, files.TypeFile, "root", 0o644),
				state,
			},
			Scripts: scripts,
			RPM:     nfpm.RPM{BuildHost: "localhost", Summary: summary},
		},
	})
	if format == "deb" {
		info.Deb.Predepends = []string{depends} // the script before the installation makes the user
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	f, err := d.create(packager.ConventionalFileName(info))
	if err != nil {
		return err
	}
	if err := packager.Package(info, f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// scripts fills the name of the program into the scripts that run around an installation.
func (d *dist) scripts(p *programs, name string) (s nfpm.Scripts, err error) {
	for step, into := range map[string]*string{
		"preinstall": &s.PreInstall, "postinstall": &s.PostInstall, "preremove": &s.PreRemove, "postremove": &s.PostRemove,
	} {
		text, err := os.ReadFile(filepath.Join(d.root, "deploy/packages", step+".sh"))
		if err != nil {
			return s, err
		}
		*into = filepath.Join(p.dir, name+"."+step)
		if err := os.WriteFile(*into, []byte(strings.ReplaceAll(string(text), "@NAME@", name)), 0o644); err != nil {
			return s, err
		}
	}
	return s, nil
}
