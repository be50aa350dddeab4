package manage

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/punctual-job/punctual/app/problem"
)

// digest makes a version out of what a row says.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:digestLength/2])
}

// digestLength is how long a digest is.
const digestLength = 16

// ChangedError refuses to replace what somebody else has saved since it was read. It says what that is, so that a form can show it and be
// saved again.
type ChangedError struct {
	Version        string // of what is stored now
	Stored, Wanted Snapshot
}

// Error implements error.
func (e *ChangedError) Error() string { return e.Unwrap().Error() }

// Unwrap is the problem for those who show no more than that.
func (e *ChangedError) Unwrap() error { return problem.New(problem.Conflict, "problem.changed") }

// changedSince makes the error of what is stored, by its version, and of what somebody wants instead; of the two it keeps what differs.
func changedSince(version string, stored, wanted Snapshot) error {
	stored, wanted = changed(stored, wanted)
	return &ChangedError{Version: version, Stored: decode(encode(stored)), Wanted: decode(encode(wanted))}
}
