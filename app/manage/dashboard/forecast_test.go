package dashboard

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAForecastSaysWhereItEnds has more jobs, and more fires, than are followed.
func TestAForecastSaysWhereItEnds(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	at := func(second int) time.Time { return from.Add(time.Duration(second) * time.Second) }
	var rows []db.ListJobsDueWithinRow
	for i, next := range []time.Time{at(-30), at(10), at(70), at(130)} {
		rows = append(rows, db.ListJobsDueWithinRow{ID: int64(i), ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "600", TriggerNextTime: next.UnixMilli()})
	}
	for _, tt := range []struct {
		name        string
		rows        int
		most, steps int
		want        time.Time
	}{
		{"all are followed", 4, 5, 100, time.Time{}},
		{"there may be more jobs", 4, 4, 100, at(130)},
		{"no more fires", 4, 5, 10, at(10)}, // of the first job there are six
		{"what is overdue is too much already", 1, 1, 100, at(0)},
	} {
		f := foreseen{from: from}
		new(Dashboard).follow(&f, rows[:tt.rows], from.Add(forecastMinutes*time.Minute), tt.most, tt.steps)
		if !f.ends.Equal(tt.want) {
			t.Errorf("%s: complete up to %v, want %v", tt.name, f.ends, tt.want)
		}
	}
}
