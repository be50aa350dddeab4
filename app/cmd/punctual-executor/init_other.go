//go:build !linux

package main

func asFirst() (code int, is bool) { return 0, false }
