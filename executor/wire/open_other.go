//go:build !unix

package wire

// open cannot ask here; a request to a peer that has closed meanwhile is one of unknown fate.
func (c *plainConn) open() bool { return true }
