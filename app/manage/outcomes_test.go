package manage

import (
	"database/sql"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

func TestTheLastRunOfAJobIsOneWhoseTimeHasCome(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(100_000)
	failed, waits, late := db.Outcome{ID: 1, TriggerCode: 200, HandleCode: 500, PlannedAt: 98_000}, db.Outcome{ID: 3, PlannedAt: 104_000}, db.Outcome{ID: 2, PlannedAt: 99_000}
	second := sql.NullTime{Time: now.Add(-time.Second), Valid: true}
	part := func(id, handled int64, of string) db.Outcome {
		return db.Outcome{ID: id, TriggerCode: 200, HandleCode: handled, PlannedAt: 99_000, TriggerTime: second, Part: of}
	}
	for _, tt := range []struct {
		name string
		list []db.Outcome
		want int64
	}{
		{"claimed ahead", []db.Outcome{waits, failed}, 1},
		{"due and not sent", []db.Outcome{waits, late, failed}, 2},
		{"ended", []db.Outcome{failed}, 1},
		{"the first one ever", []db.Outcome{waits}, 3},
		{"a part of a broadcast failed, and the part after it did not", []db.Outcome{part(7, 200, ""), part(6, 500, "1/3"), part(5, 200, ""), failed}, 6},
		{"a part of a broadcast goes on", []db.Outcome{part(7, 500, "2/3"), part(6, 0, "1/3"), part(5, 200, "")}, 6},
		{"a part of the broadcast before failed", []db.Outcome{part(7, 200, ""), failed}, 7},
		{"two that somebody started in one second", []db.Outcome{part(7, 200, ""), part(6, 500, "")}, 7},
	} {
		if got := LastOutcome(tt.list, now); got.ID != tt.want {
			t.Errorf("%s: run %d, want %d", tt.name, got.ID, tt.want)
		}
	}
}
