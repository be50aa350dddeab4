package db_test

import (
	"context"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhoeverOpensADatabaseKnowsItsCalendars from the first look on: an admin that starts, and a command that only reads. Otherwise a job is fired by
// the days that the program ships, or its schedule is taken for one that cannot be read.
func TestWhoeverOpensADatabaseKnowsItsCalendars(t *testing.T) {
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			cfg := db.Config{Zone: dbtest.Zone}
			if dialect == db.SQLite {
				cfg.DataDir, cfg.Unsafe = dbtest.Folder(t), true
			} else {
				cfg.URL = dbtest.Migrated(t)
			}
			before, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			for name, body := range map[string]string{"plant": `{"name":"plant","week":["mon"],"days":[]}`, "cn": `{"name":"cn","week":["tue"],"days":[]}`} {
				err = db.New().SetCalendar(t.Context(), before, db.SetCalendarParams{Name: name, Body: body, Revision: 7})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			for name, use := range map[string]func(*db.Pool, context.Context) error{"an admin": (*db.Pool).Migrate, "a reader": (*db.Pool).CheckCurrent} {
				pool, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := use(pool, t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, calendar := range []string{"plant", "cn"} {
					if kept, _ := pool.Calendars().Get(calendar); kept.Revision != 7 {
						t.Errorf("%s has revision %d of %s, want that of the database, 7", name, kept.Revision, calendar)
					}
				}
				if err := pool.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
