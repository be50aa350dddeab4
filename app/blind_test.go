package app

import (
	"net/http"
	"net/url"
	"testing"
)

// TestWhoSeesNoExecutorHasNoFigures: zeros would say that nothing runs, where nothing may be seen.
func TestWhoSeesNoExecutorHasNoFigures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		if got := root.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		mina := open(t, a)
		mina.login("mina", testPassword)
		for who, b := range map[string]*browser{"mina": mina, "root": root} {
			doc := b.get("/").document(t)
			if n, want := doc.Find("#dashboard .counts").Length(), map[string]int{"root": 1}[who]; n != want {
				t.Errorf("%s has %d figures, want %d", who, n, want)
			}
		}
	})
}
