//go:build go1.26

package guard

import (
	"os"
	"path/filepath"
	"testing"
)

func TestASecretComesFromAFile(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct {
		name, value, file, want string
		wrong                   bool
	}{
		{"as it is", "abc", "", "abc", false},
		{"none", "", "", "", false},
		{"a file with a line end", "", file("abc\n"), "abc", false},
		{"a file from Windows", "", file("abc\r\nsecond"), "abc", false},
		{"both", "abc", file("abc"), "", true},
		{"an empty file", "", file("\n"), "", true},
		{"no file", "", filepath.Join(t.TempDir(), "nothing"), "", true},
	} {
		if got, err := Secret(tt.value, tt.file); got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}
