//go:build !linux

package logpipe

func toJournal() bool { return false }
