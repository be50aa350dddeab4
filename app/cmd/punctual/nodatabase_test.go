package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestACommandMakesNoDatabase types what somebody types who has forgotten the settings of the service. An empty database made for the
// occasion would say that the user does not exist, or that there are no jobs.
func TestACommandMakesNoDatabase(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"user reset-password admin", "user reset-second-factor admin", "export", "doctor", "audit --from 1h", "audit-log verify",
		"log partitions", "migrate back", "migrate finish", "migrate groups",
	} {
		dir := t.TempDir()
		var out bytes.Buffer
		code := run(append(strings.Fields(args), "--data-dir", dir), &out, &out)
		if said := out.String(); code == 0 || !strings.Contains(said, "there is no embedded database in "+dir+" (PUNCTUAL_DATA_DIR") {
			t.Errorf("%s: %d, %s", args, code, said)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v (%v)", args, left, err)
		}
	}
	// An import fills a new one: so an installation moves from a server to the embedded database.
	var out bytes.Buffer
	if code := run([]string{"import", os.DevNull, "--data-dir", t.TempDir()}, &out, &out); strings.Contains(out.String(), "there is no embedded database") {
		t.Errorf("import: %d, %s", code, out.String())
	}
}
