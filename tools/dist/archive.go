package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// documents go into every archive beside the programs.
var documents = []string{"LICENSE", "README.md", "docs/changelog.md"}

// packed is a file of an archive.
type packed struct {
	name, path string
	mode       os.FileMode
}

// archive packs the programs for those who install nothing.
func (d *dist) archive(p *programs) (err error) {
	folder := fmt.Sprintf("punctual_%s_%s_%s", d.source.number(), p.os, p.arch)
	var files []packed
	for _, name := range programNames {
		path := p.path(name)
		files = append(files, packed{folder + "/" + filepath.Base(path), path, 0o755})
	}
	for _, name := range documents {
		files = append(files, packed{folder + "/" + filepath.Base(name), filepath.Join(d.root, name), 0o644})
	}
	write, ending := writeTarball, ".tar.gz"
	if p.os == "windows" {
		write, ending = writeZip, ".zip"
	}
	f, err := d.create(folder + ending)
	if err != nil {
		return err
	}
	if err := write(f, files, d.source.time); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func writeTarball(w io.Writer, files []packed, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		data, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		if err := addToTar(archive, &tar.Header{Name: file.name, Mode: int64(file.mode), Uname: "root", Gname: "root"}, data, at); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// addToTar writes an entry as of a time.
func addToTar(w *tar.Writer, header *tar.Header, data []byte, at time.Time) error {
	header.ModTime, header.Size, header.Format = at, int64(len(data)), tar.FormatUSTAR
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func writeZip(w io.Writer, files []packed, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, file := range files {
		data, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: at}
		header.SetMode(file.mode)
		entry, err := archive.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(data)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}
