package auth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPreferencesAreReadAsTheyWereKept also where somebody has damaged them, or chose what is usual.
func TestPreferencesAreReadAsTheyWereKept(t *testing.T) {
	t.Parallel()
	plain := Preferences{NoKeys: true}
	chosen := plain.With("jobs", ListLook{Hidden: []string{"next", "author"}, Rows: 100}).With("runs", ListLook{})
	want := Preferences{NoKeys: true, Lists: map[string]ListLook{"jobs": {Hidden: []string{"author", "next"}, Rows: 100}}}
	if diff := cmp.Diff(want, readPreferences(chosen.Text())); diff != "" {
		t.Error(diff)
	}
	if len(plain.Lists) != 0 {
		t.Errorf("what they came from was changed: %+v", plain)
	}
	if text := (Preferences{}).With("jobs", ListLook{}).Text(); text != "" {
		t.Errorf("as it comes is kept as %q", text)
	}
	for _, damaged := range []string{"{", "[]", `{"dense":"yes","no_keys":true}`} {
		if diff := cmp.Diff(Preferences{}, readPreferences(damaged)); diff != "" {
			t.Errorf("%s: %s", damaged, diff)
		}
	}
}
