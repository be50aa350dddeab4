package auth

import (
	"math/bits"
	"os"
	"strings"
	"testing"
)

// A right is one bit, one name, and a word in the manual.
func TestEveryRightHasOneNameAndIsInTheManual(t *testing.T) {
	t.Parallel()
	var named Rights
	for _, x := range rightNames {
		if bits.OnesCount8(uint8(x.right)) != 1 || named.Has(x.right) || RightNamed(x.name) != x.right {
			t.Errorf("%q is no right of its own", x.name)
		}
		named |= x.right
	}
	if named != AllRights {
		t.Errorf("%05b are named of %05b", named, AllRights)
	}
	for file, heading := range map[string]string{"../../docs/operations.md": "## People and rights", "../../docs/sign-in.md": "and rights (`"} {
		manual, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, part, found := strings.Cut(string(manual), heading)
		part, _, _ = strings.Cut("`"+part, "\n## ")
		if !found {
			t.Fatalf("%s has no %q", file, heading)
		}
		for _, x := range rightNames {
			if !strings.Contains(part, "`"+x.name+"`") {
				t.Errorf("%s does not tell of %s", file, x.name)
			}
		}
	}
}
