package dashboard

import (
	"maps"
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
		new(Dashboard).follow(&f, rows[:tt.rows], new(jobspec.PauseBook), from.Add(forecastMinutes*time.Minute), tt.most, tt.steps)
		if !f.ends.Equal(tt.want) {
			t.Errorf("%s: complete up to %v, want %v", tt.name, f.ends, tt.want)
		}
	}
}

// TestAForecastKeepsToPauses: what falls into a pause is not due, and what its end makes up for is due then.
func TestAForecastKeepsToPauses(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return from.Add(time.Duration(minute) * time.Minute) }
	pause := func(strategy jobspec.Pausing, begins, ends int) *jobspec.Pause {
		p := &jobspec.Pause{Scope: jobspec.PauseTag, Tag: "night", From: at(begins), Strategy: strategy}
		if ends > 0 {
			p.Until = at(ends)
		}
		return p
	}
	every10 := db.ListJobsDueWithinRow{ID: 1, ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "600", TriggerNextTime: at(5).UnixMilli(), Tags: "day,night"}
	held := every10 // of a pause that ends at 20, the first time that fell in was at -15
	held.PausedAt, held.PausedNext = at(-15).UnixMilli(), at(20).UnixMilli()+1
	held.TriggerNextTime = held.PausedNext
	delay := db.ListJobsDueWithinRow{ID: 1, ScheduleType: jobspec.ScheduleFixDelay, ScheduleConf: "600", TriggerNextTime: at(5).UnixMilli(), Tags: "night"}
	other := every10
	other.Tags = "nightly"
	for _, tt := range []struct {
		name   string
		row    db.ListJobsDueWithinRow
		pauses jobspec.Pauses
		want   map[int]int64
	}{
		{"no pause", every10, nil, map[int]int64{5: 1, 15: 1, 25: 1, 35: 1, 45: 1, 55: 1}},
		{"another tag", other, jobspec.Pauses{pause(jobspec.PauseSkip, 0, 0)}, map[int]int64{5: 1, 15: 1, 25: 1, 35: 1, 45: 1, 55: 1}},
		{"skipped", every10, jobspec.Pauses{pause(jobspec.PauseSkip, 10, 40)}, map[int]int64{5: 1, 45: 1, 55: 1}},
		{"one run at the end", every10, jobspec.Pauses{pause(jobspec.PauseOnce, 10, 40)}, map[int]int64{5: 1, 40: 1, 45: 1, 55: 1}},
		{"each at the end", every10, jobspec.Pauses{pause(jobspec.PauseEach, 10, 40)}, map[int]int64{5: 1, 40: 3, 45: 1, 55: 1}},
		{"without an end", every10, jobspec.Pauses{pause(jobspec.PauseEach, 30, 0)}, map[int]int64{5: 1, 15: 1, 25: 1}},
		{"longer than the hour", every10, jobspec.Pauses{pause(jobspec.PauseEach, 30, 90)}, map[int]int64{5: 1, 15: 1, 25: 1}},
		{"held already, skipped", held, jobspec.Pauses{pause(jobspec.PauseSkip, -20, 20)}, map[int]int64{25: 1, 35: 1, 45: 1, 55: 1}},
		{"held already, each", held, jobspec.Pauses{pause(jobspec.PauseEach, -20, 20)}, map[int]int64{20: 4, 25: 1, 35: 1, 45: 1, 55: 1}},
		{"a delay", delay, jobspec.Pauses{pause(jobspec.PauseOnce, 0, 20)}, map[int]int64{20: 1}},
		{"a delay that is skipped", delay, jobspec.Pauses{pause(jobspec.PauseSkip, 0, 20)}, map[int]int64{30: 1}},
	} {
		f, book := foreseen{from: from}, jobspec.NewPauseBook(tt.pauses)
		new(Dashboard).follow(&f, []db.ListJobsDueWithinRow{tt.row}, &book, from.Add(forecastMinutes*time.Minute), 100, 1000)
		got := make(map[int]int64)
		for _, due := range f.fires {
			got[int(due.minute)] += int64(due.times)
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
