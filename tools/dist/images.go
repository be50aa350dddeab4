package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// imageUser is the number of the user in every image; it is nobody's on a usual machine.
const imageUser = 65532

// image is a container image of one system.
type image struct {
	name     string // in front of the version
	base     string // tar file of a root file system; empty: from nothing
	programs []string
	config   v1.Config
}

// images writes the images as files that "docker load" and its like read. Zones and authorities are in the programs themselves.
func (d *dist) images(p *programs) error {
	if p.os != "linux" {
		return nil
	}
	admin := image{name: "punctual", programs: programNames, config: v1.Config{
		Entrypoint: []string{"/usr/bin/punctual"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "PUNCTUAL_DATA_DIR=/data", "PUNCTUAL_EXECUTOR_DATA_DIR=/data/executor"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Healthcheck: asked("/usr/bin/punctual"),
	}}
	list := []image{admin}
	if d.base != "" && p.arch == hostArch {
		list = append(list, image{name: "punctual-executor", base: d.base, programs: []string{"punctual-executor"}, config: v1.Config{
			Entrypoint: []string{"/usr/bin/punctual-executor"}, Cmd: []string{"serve"},
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "PUNCTUAL_EXECUTOR_DATA_DIR=/data"},
			ExposedPorts: map[string]struct{}{"9999/tcp": {}}, Healthcheck: asked("/usr/bin/punctual-executor"),
		}})
	}
	for _, one := range list {
		if err := d.image(p, one); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// asked is a program that is asked how it is by itself, as there may be no other.
func asked(program string) *v1.HealthConfig {
	return &v1.HealthConfig{Test: []string{"CMD", program, "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3}
}

func (d *dist) image(p *programs, one image) error {
	var history []mutate.Addendum
	add := func(what string, open tarball.Opener) error {
		layer, err := tarball.LayerFromOpener(open)
		if err != nil {
			return err
		}
		history = append(history, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: d.source.time}, CreatedBy: "dist: " + what}})
		return nil
	}
	if one.base != "" {
		if err := add("shell and Python", func() (io.ReadCloser, error) { return os.Open(one.base) }); err != nil {
			return err
		}
	}
	own, err := d.layer(p, one)
	if err != nil {
		return err
	}
	if err := add("programs", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(own)), nil }); err != nil {
		return err
	}
	made, err := mutate.Append(empty.Image, history...)
	if err != nil {
		return err
	}
	file, err := made.ConfigFile()
	if err != nil {
		return err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = p.os, p.arch, v1.Time{Time: d.source.time}
	file.Config = one.config
	file.Config.User = fmt.Sprintf("%d:%d", imageUser, imageUser)
	file.Config.WorkingDir = "/data"
	file.Config.Volumes = map[string]struct{}{"/data": {}}
	file.Config.StopSignal = "SIGTERM"
	file.Config.Labels = map[string]string{
		"org.opencontainers.image.title": one.name, "org.opencontainers.image.version": d.source.version, "org.opencontainers.image.revision": d.source.commit,
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/punctual-job/punctual",
	}
	if made, err = mutate.ConfigFile(made, file); err != nil {
		return err
	}
	tag, err := name.NewTag(one.name+":"+tagOf(d.source.number()), name.WithDefaultRegistry(""))
	if err != nil {
		return err
	}
	return tarball.WriteToFile(filepath.Join(d.out, fmt.Sprintf("%s_%s_linux_%s.image.tar", one.name, d.source.number(), p.arch)), tag, made)
}

// tagOf writes a version as a tag may be.
func tagOf(number string) string {
	tag := []byte(number)
	for i, c := range tag {
		if c == '~' || c == '+' {
			tag[i] = '-'
		}
	}
	return string(tag)
}

// layer is what an image has of ours: programs, the folder for data, one for temporary files, and the user's name.
func (d *dist) layer(p *programs, one image) ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	folder := func(name string, mode int64, owner int) error {
		return addToTar(w, &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner}, nil, d.source.time)
	}
	file := func(name string, mode int64, data []byte) error {
		return addToTar(w, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, data, d.source.time)
	}
	if one.base == "" {
		for _, err := range []error{
			folder("etc/", 0o755, 0), folder("tmp/", 0o1777, 0), folder("usr/", 0o755, 0), folder("usr/bin/", 0o755, 0),
			file("etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\npunctual:x:%d:%d:Punctual:/data:/sbin/nologin\n", imageUser, imageUser)),
			file("etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\npunctual:x:%d:\n", imageUser)),
		} {
			if err != nil {
				return nil, err
			}
		}
	}
	if err := folder("data/", 0o700, imageUser); err != nil {
		return nil, err
	}
	for _, program := range one.programs {
		data, err := os.ReadFile(p.path(program))
		if err == nil {
			err = file("usr/bin/"+program, 0o755, data)
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(filepath.Join(d.root, "LICENSE"))
	if err == nil {
		err = file("usr/share/doc/punctual/LICENSE", 0o644, text)
	}
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}
