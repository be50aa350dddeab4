package app

import (
	"slices"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
)

// TestGroupsAreChosenByTheirTitles: among hundreds of groups one is found where its title stands in the alphabet, and two of one title are
// told from each other by their app names.
func TestGroupsAreChosenByTheirTitles(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	for appName, title := range map[string]string{"a-service": "zebra", "b-service": "Yak", "c-service": "aardvark", "d-service": "Yak"} {
		if _, err := a.manage.Groups.Create(t.Context(), auth.Principal{Name: "admin", Admin: true}, manage.GroupInput{AppName: appName, Title: title}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"aardvark (c-service)", "Yak (b-service)", "Yak (d-service)", "zebra (a-service)"}
	b := open(t, a).mustLogin()
	for _, path := range []string{"/jobs/new", "/pauses", "/runs", "/runs/clear", "/runs/search", "/timeline", "/audit"} {
		got := slices.DeleteFunc(texts(b.get(path).document(t), "select[name=group] option"), func(label string) bool { return !slices.Contains(want, label) })
		if !slices.Equal(got, want) {
			t.Errorf("%s offers %q, want %q", path, got, want)
		}
	}
}
