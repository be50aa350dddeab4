//go:build !go1.25

package executor

type folder = plainFolder

func openFolder(dir string) (*folder, error) { return openPlainFolder(dir) }
