package manage

import (
	"crypto/sha256"
	"encoding/hex"
)

// digest makes a version out of what a row says.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:digestLength/2])
}

// digestLength is how long a digest is.
const digestLength = 16
