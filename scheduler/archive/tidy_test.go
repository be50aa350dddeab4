package archive

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestObjectsOfAnotherStoreHoldNothingUp: those that are empty stay until their store is set again, however many they are.
func TestObjectsOfAnotherStoreHoldNothingUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		looks := 0
		b := newBench(t, pool, func(c *Config) {
			c.Leads = func() bool {
				looks++
				return looks < 1000 // or a look without an end is none to wait for
			}
		})
		for i := range emptyObjects {
			b.exec("INSERT INTO punctual_output_object (store, name, created_at) VALUES ('database', ?, ?)", fmt.Sprintf("old-%d", i), b.now.UnixMilli())
		}
		b.now = b.now.Add(time.Minute)
		o, err := b.s.newObject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Put(t.Context(), o, []byte("x")); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
		b.step(b.s)
		if looks >= 1000 {
			t.Error("the look did not end by itself")
		}
		if len(b.store.objects) != 0 {
			t.Error("an empty object of the store that is set is left")
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object WHERE store = 'database'"); n != emptyObjects {
			t.Errorf("%d objects of the other store are left of %d", n, emptyObjects)
		}
	})
}

// TestAnObjectThatTheStoreHoldsHoldsNothingUp: those behind it are deleted, it is said, and it goes when the store lets it.
func TestAnObjectThatTheStoreHoldsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.store.held = make(map[string]bool)
		for i := range emptyObjects + 50 {
			o, err := b.s.newObject(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.store.Put(t.Context(), o, []byte("x")); err != nil {
				t.Fatal(err)
			}
			b.store.held[o.Name] = i < emptyObjects+20
		}
		tidy := func(left int, held int64) {
			t.Helper()
			b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
			if err := b.s.tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(b.store.objects) != left || b.s.Status().Held != held {
				t.Errorf("%d objects are left, and %d are held; want %d and %d", len(b.store.objects), b.s.Status().Held, left, held)
			}
		}
		tidy(emptyObjects+50, emptyObjects) // as many as it tries in a round
		tidy(emptyObjects+20, emptyObjects+20)
		clear(b.store.held)
		tidy(0, 0)

		b.store.held["all"] = true
		if b.s.check(t.Context()); b.s.Status().Trouble != "" {
			t.Errorf("a store that takes and gives everything is in trouble: %+v", b.s.Status())
		}
	})
}

// TestAStoreInTroubleIsAskedToDeleteNothing: each call may wait for its limit, while what waits to be copied is not found.
func TestAStoreInTroubleIsAskedToDeleteNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		o, err := b.s.newObject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Put(t.Context(), o, []byte("x")); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
		b.s.storeFails(errors.New("it does not answer"))
		if err := b.s.tidy(t.Context()); err != nil || len(b.store.objects) != 1 {
			t.Errorf("%v, and %d objects are left", err, len(b.store.objects))
		}
		b.s.storeWorks()
		if err := b.s.tidy(t.Context()); err != nil || len(b.store.objects) != 0 {
			t.Errorf("then %v, and %d objects are left", err, len(b.store.objects))
		}
	})
}

// keepFour has four outputs kept in one object.
func (b *bench) keepFour() []Run {
	return b.kept([]string{"run 0"}, []string{"run 1"}, []string{"run 2"}, []string{"run 3"})
}

// TestACopyThatCannotBeReadHoldsNothingUp: an object that the store has lost, or has not as it was written, is moved nowhere; others are
// moved, and empty ones deleted.
func TestACopyThatCannotBeReadHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(objects map[string][]byte){
		"lost": func(objects map[string][]byte) { clear(objects) },
		"altered": func(objects map[string][]byte) {
			for _, data := range objects {
				data[len(data)/2] ^= 0xff
			}
		},
		"short": func(objects map[string][]byte) {
			for name, data := range objects {
				objects[name] = data[:len(data)/2]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := newBench(t, pool)
				lost := b.keepFour()
				breaks(b.store.objects)
				stays := len(b.store.objects) // as long as one run of it is there
				left, empty := b.keepFour(), b.keepFour()
				for _, gone := range append(append(append([]Run(nil), lost[1:]...), left[1:]...), empty...) {
					b.exec("DELETE FROM xxl_job_log WHERE id = ?", gone.ID)
					if err := b.s.forget(t.Context(), []int64{gone.ID}); err != nil {
						t.Fatal(err)
					}
				}
				before := b.row(left[0].ID).ObjectID
				for range 2 { // one round finds what is thin, and the next what is empty
					b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
					if err := b.s.tidy(t.Context()); err != nil && !errors.Is(err, ErrNoObject) {
						t.Error(err)
					}
				}
				if b.row(left[0].ID).ObjectID == before || b.text(b.s, left[0].ID) != "run 0" {
					t.Error("what was left in the other object was not moved")
				}
				if len(b.store.objects) != stays+1 {
					t.Errorf("%d objects are in the store, of one output", len(b.store.objects)-stays)
				}
				if _, err := b.s.Read(t.Context(), lost[0].ID); !errors.Is(err, ErrUnread) {
					t.Errorf("of what cannot be read it is said: %v", err)
				}
			})
		})
	}
}

// TestWhatAnotherInstallationHasStaysInTheStore: a copy of its database forgets objects of before, and deletes only its own from a store that
// both may use. The database as a store is the copy's alone.
func TestWhatAnotherInstallationHasStaysInTheStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		thin, theirs := b.keepFour(), b.keepFour()
		b.limit.Shared = b.row(theirs[0].ID).ObjectID
		before := maps.Clone(b.store.objects)
		place := b.row(thin[0].ID).ObjectID
		ours := b.keepFour()
		for _, gone := range slices.Concat(thin[1:], theirs, ours) {
			b.exec("DELETE FROM xxl_job_log WHERE id = ?", gone.ID)
			if err := b.s.forget(t.Context(), []int64{gone.ID}); err != nil {
				t.Fatal(err)
			}
		}
		tidy := func() {
			t.Helper()
			for range 2 {
				b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
				if err := b.s.tidy(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		tidy()
		if !maps.EqualFunc(b.store.objects, before, bytes.Equal) {
			t.Errorf("%d objects are in the store, want the %d of before", len(b.store.objects), len(before))
		}
		if b.row(thin[0].ID).ObjectID != place || b.text(b.s, thin[0].ID) != "run 0" {
			t.Error("what is left in an object of both was moved")
		}
		if n := b.count("SELECT COUNT(*) FROM punctual_output_object"); n != 1 {
			t.Errorf("%d objects are known, want the one in which there is something", n)
		}
		b.limit.Shared = 0
		if tidy(); len(b.store.objects) != len(before) || b.row(thin[0].ID).ObjectID == place {
			t.Error("the store is this installation's, and what is left is not moved")
		}

		mine := NewDatabase(pool)
		b.s = b.service(func(c *Config) { c.Store = mine })
		kept := b.keepFour()
		at := b.row(kept[0].ID).ObjectID
		b.limit.Shared = at
		for _, r := range kept {
			b.exec("DELETE FROM xxl_job_log WHERE id = ?", r.ID)
			if err := b.s.forget(t.Context(), []int64{r.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if tidy(); b.count("SELECT COUNT(*) FROM punctual_output_blob WHERE object_id = ?", at) != 0 {
			t.Error("what is kept in the copy itself stays")
		}
	})
}

// TestARunThatHasWrittenNothingLetsItsExecutorBe: one that waits in its executor's queue has no output there yet.
func TestARunThatHasWrittenNothingLetsItsExecutorBe(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		waits := b.run()
		b.s.refused(waits.executor(), b.now)
		b.now = noon.Add(time.Minute)
		if err := b.s.followOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if until := b.s.restsUntil(waits.executor(), b.now); !until.IsZero() {
			t.Errorf("the executor, which answered, rests for %s", until.Sub(b.now))
		}
		if r := b.s.resting[waits.executor()]; r != nil {
			t.Error("that it could not be asked before is remembered although it has answered")
		}
	})
}
