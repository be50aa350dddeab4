package manage

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// TestACalendarThatIsKeptIsSaidToBe, also where this admin cannot read it anew afterwards, as it does by itself every few seconds: somebody who was
// told of an error would do again what is done.
func TestACalendarThatIsKeptIsSaidToBe(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := dbtest.Watch(t, pool)
		b := setup(t, pool, nil)
		kept := func() int { return len(dbtest.Column(t, pool, "SELECT name FROM punctual_calendar")) }
		w.Refuse("ListCalendarRevisions", 1, mysql.ErrInvalidConn)
		if err := b.Calendars.Put(t.Context(), b.admin, &calendar.Calendar{Name: "plant", Week: []string{"mon"}}); err != nil || kept() != 1 || !w.Refused() {
			t.Errorf("put: %v, %d calendars", err, kept())
		}
		w.Refuse("ListCalendarRevisions", 1, mysql.ErrInvalidConn)
		if err := b.Calendars.Delete(t.Context(), b.admin, "plant"); err != nil || kept() != 0 || !w.Refused() {
			t.Errorf("delete: %v, %d calendars", err, kept())
		}
	})
}
