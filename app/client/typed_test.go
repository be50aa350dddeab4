package client

import (
	"strings"
	"testing"
)

// TestASecretIsNotCut: of one that is too long the admin has to see that it is, also where it would be cut at the end of a line.
func TestASecretIsNotCut(t *testing.T) {
	t.Parallel()
	const most = 16 << 10
	whole := strings.Repeat("x", most)
	for in, want := range map[string]bool{whole: true, whole + "\n": true, whole + "\r\n": true, whole + "\r\nmore\r\n": false, whole + "y\n": false, whole + "\n\n": false} {
		got, err := readSecret(t.Context(), Streams{In: strings.NewReader(in)}, "")
		if err != nil || (got == whole) != want || !want && len(got) <= most {
			t.Errorf("of %d characters %d were read, %v", len(in), len(got), err)
		}
	}
}
