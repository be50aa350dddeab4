//go:build go1.25

package executor

import "os"

// folder is a folder whose files have names made of what others say, such as ids. No name leads out of it.
type folder = os.Root

func openFolder(dir string) (*folder, error) { return os.OpenRoot(dir) }
