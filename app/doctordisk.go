package app

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Below these somebody makes room, or nothing can be written any more.
const (
	diskLow   = 1 << 30  // bytes, if it is less than a tenth of the disk
	diskFull  = 16 << 20 // about a log of changes of the embedded database
	filesFull = 100
)

// space is how much a file system has left for programs that are not root's.
type space struct {
	total, free      uint64 // bytes
	files, freeFiles uint64 // inodes; files is 0 where they are made as needed
	readOnly         bool
}

// judge says what is wrong with a file system, and whether nothing can be written to it; "" where nothing is.
func (s space) judge() (trouble string, full bool) {
	switch {
	case s.readOnly:
		return "is mounted read-only", true
	case s.total == 0:
		return "", false // nothing is known
	case s.free < diskFull:
		return fmt.Sprintf("has %d MB left", s.free>>20), true
	case s.files > 0 && s.freeFiles < filesFull:
		return fmt.Sprintf("has %d inodes left", s.freeFiles), true
	case s.free < diskLow && s.free < s.total/10:
		return fmt.Sprintf("has %d MB left of %d", s.free>>20, s.total>>20), false
	}
	return "", false
}

// disks looks at the file systems of this machine that the installation writes to.
func (r *DoctorReport) disks(o Options) {
	var places, low, full []string
	if o.DatabaseURL == "" {
		places = append(places, o.DataDir)
	}
	if filepath.IsAbs(o.OutputStore) && !slices.Contains(places, o.OutputStore) {
		places = append(places, o.OutputStore)
	}
	for _, place := range places {
		s, err := spaceOf(place)
		if err != nil {
			low = append(low, err.Error())
			continue
		}
		switch trouble, is := s.judge(); {
		case is:
			full = append(full, place+" "+trouble)
		case trouble != "":
			low = append(low, place+" "+trouble)
		}
	}
	r.failOf("disk.full", "%d {folder|folders} cannot be written to: make room, and what waits goes on by itself", full)
	r.sayOf("disk.low", "%d {folder is|folders are} on a disk that is nearly full, or cannot be looked at", low)
}
