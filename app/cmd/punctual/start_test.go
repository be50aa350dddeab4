package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	// startBytes is what may be allocated before main begins, by all packages together: 3.2 MB are.
	startBytes = 4 << 20
	// packageBytes is the same for one: the largest, the authorities for machines that have none, takes 663 kB.
	packageBytes = 1 << 20
)

// TestAStartLoadsLittle because every command pays for it: what only some need is to be read when they do.
func TestAStartLoadsLittle(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sum, packages := 0, 0
	for line := range strings.Lines(string(out)) {
		// init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs
		var name string
		var at, took float64
		var bytes, allocations int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &allocations); err != nil {
			continue
		}
		sum, packages = sum+bytes, packages+1
		if bytes > packageBytes {
			t.Errorf("%s allocates %d bytes when a program begins", name, bytes)
		}
	}
	t.Logf("%d packages allocate %d bytes", packages, sum)
	if packages < 50 || sum > startBytes {
		t.Errorf("%d packages allocate %d bytes when a program begins, more than %d", packages, sum, startBytes)
	}
}
