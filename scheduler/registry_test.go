package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestExecutorsDeclareHandlersWhoseParameterIsCode(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		declared := func() (names []string) {
			rows, err := b.engine.queries.ListCodeHandlers(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.GroupID != b.group {
					t.Errorf("declared for group %d, which said nothing", r.GroupID)
				}
				names = append(names, r.Handler)
			}
			slices.Sort(names)
			return names
		}
		beat := func(app string, names ...string) {
			r := entry(app, addressA)
			r.CodeHandlers = names
			if err := b.engine.Register(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		beat("orders", "runIt", "", "runIt", "RunIt", "a\xff")
		beat("nobody-knows", "x")
		beat("orders", "runIt", "second")
		beat("orders") // an executor of another make, which declares nothing
		if got, want := declared(), []string{"RunIt", "runIt", "second"}; !slices.Equal(got, want) {
			t.Errorf("declared are %q, want %q", got, want)
		}
		var many []string
		for i := range 2 * maxCodeHandlers {
			many = append(many, fmt.Sprintf("h%d", i))
		}
		beat("orders", many...)
		beat("orders", many[maxCodeHandlers:]...)
		if got := len(declared()); got != maxCodeHandlers {
			t.Errorf("%d are kept, want %d", got, maxCodeHandlers)
		}
	})
}

func TestNamesWithoutAGroupAreBounded(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	b := setup(t, pool, nil)
	for i := range maxUnknownNames {
		if err := b.engine.Register(t.Context(), entry(fmt.Sprintf("stranger-%d", i), addressA)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.engine.Register(t.Context(), entry("one-too-many", addressA)); !errors.Is(err, ErrUnknownNames) {
		t.Errorf("one more: %v", err)
	}
	for _, app := range []string{"orders", "stranger-7", "STRANGER-8"} {
		if err := b.engine.Register(t.Context(), entry(app, addressB)); err != nil {
			t.Errorf("%s: %v", app, err)
		}
	}
}
