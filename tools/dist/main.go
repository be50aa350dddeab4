// Command dist makes what a release consists of, from a commit: archives with both programs, deb and rpm packages, container images,
// a bill of materials for each system, checksums and, with a key, their signature. Nothing is published and no registry is asked.
//
// The same commit and the same Go give the same bytes, wherever it runs: times are the commit's, owners and orders are fixed, paths
// are trimmed, and what Go would read off the folder .git is handed over, as worktrees and copies have none.
//
// It is a program of its own rather than a configuration of goreleaser because that one is built for minutes (its module asks for
// the clients of every cloud), calls docker for images and another program for the bill of materials. What does the work is kept by
// others all the same: nfpm writes the packages, go-containerregistry the images, cyclonedx-go the bill, minisign the signature.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	var d dist
	var targets string
	flag.StringVar(&d.root, "root", ".", "the repository")
	flag.StringVar(&d.out, "out", "dist", "where to put everything; it is emptied first")
	flag.StringVar(&targets, "targets", strings.Join(allTargets, ","), "systems to build for")
	flag.StringVar(&d.key, "key", os.Getenv("DIST_KEY"), "file of a minisign key to sign the checksums with (DIST_KEY; its password: DIST_KEY_PASSWORD)")
	flag.StringVar(&d.base, "base", os.Getenv("DIST_BASE"), "tar file of a root file system with a shell and Python, for the executor's image (DIST_BASE); auto: one of Debian is made; empty: that image is left out")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := d.make(ctx, targets); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// dist is one making of a release.
type dist struct {
	root, out, key, base string
	source               source
}

// make makes everything, in one straight line.
func (d *dist) make(ctx context.Context, targets string) (err error) {
	list, err := parseTargets(targets)
	if err != nil {
		return err
	}
	if d.source, err = readSource(ctx, d.root); err != nil {
		return err
	}
	if d.source.dirty {
		fmt.Println("there are changes that are not committed: this is not what a release is made of")
	}
	if err := os.RemoveAll(d.out); err != nil {
		return err
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	build, err := os.MkdirTemp("", "punctual-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(build)
	if d.base == autoBase {
		d.base = filepath.Join(build, "base.tar")
		if err := d.debianBase(ctx, d.base); err != nil {
			return err
		}
	}
	for _, t := range list {
		fmt.Printf("%s %s: programs", d.source.version, t)
		made, err := d.compile(ctx, t, filepath.Join(build, t.os+"_"+t.arch))
		if err != nil {
			return err
		}
		for _, step := range []struct {
			name string
			make func(*programs) error
		}{{"archive", d.archive}, {"bill", d.bill}, {"packages", d.packages}, {"images", d.images}} {
			fmt.Printf(", %s", step.name)
			if err := step.make(made); err != nil {
				fmt.Println()
				return fmt.Errorf("%s: %s: %w", t, step.name, err)
			}
		}
		fmt.Println()
	}
	return d.sums()
}

// create makes a file among what is made.
func (d *dist) create(name string) (*os.File, error) { return os.Create(filepath.Join(d.out, name)) }
