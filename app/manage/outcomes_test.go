package manage

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

func TestTheLastRunOfAJobIsOneWhoseTimeHasCome(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(100_000)
	failed, waits, late := db.Outcome{ID: 1, TriggerCode: 200, HandleCode: 500, PlannedAt: 98_000}, db.Outcome{ID: 3, PlannedAt: 104_000}, db.Outcome{ID: 2, PlannedAt: 99_000}
	for _, tt := range []struct {
		name string
		list []db.Outcome
		want int64
	}{
		{"claimed ahead", []db.Outcome{waits, failed}, 1},
		{"due and not sent", []db.Outcome{waits, late, failed}, 2},
		{"ended", []db.Outcome{failed}, 1},
		{"the first one ever", []db.Outcome{waits}, 3},
	} {
		if got := LastOutcome(tt.list, now); got.ID != tt.want {
			t.Errorf("%s: run %d, want %d", tt.name, got.ID, tt.want)
		}
	}
}
