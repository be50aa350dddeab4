package client

import "errors"

// limit is how many items a command lists at most; 0 are all.
type limit int

// Validate is called by the parser.
func (l limit) Validate() error {
	if l < 0 {
		return errors.New("0 is for all, and there is no less")
	}
	return nil
}
