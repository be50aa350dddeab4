package auth

import (
	"crypto/sha256"
	"crypto/subtle"
)

// sameToken compares two secrets in a time that tells nothing about either, their lengths included.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
