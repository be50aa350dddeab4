package alarm

import (
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

// BenchmarkStorm is a thousand jobs that fail at the same moment, from event to delivery, without the sending.
func BenchmarkStorm(b *testing.B) {
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		b.Run(string(dialect), func(b *testing.B) {
			pool := dbtest.New(b, dialect)
			a, err := New(Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Key: key, Printer: catalogue})
			if err != nil {
				b.Fatal(err)
			}
			id, err := a.CreateChannel(b.Context(), Channel{Name: "hook", Kind: KindWebhook, Enabled: true, Settings: Settings{URL: "https://hook.example.com/x"}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := a.CreateRoute(b.Context(), Route{ChannelID: id, Scope: ScopeAll}); err != nil {
				b.Fatal(err)
			}
			const jobs = 1000
			job := int64(0)
			for b.Loop() {
				now := time.Now()
				events := make([]scheduler.AlarmEvent, jobs)
				for i := range events {
					job++
					events[i] = scheduler.AlarmEvent{JobID: job, GroupID: 1, LogID: job, Cause: scheduler.AlarmFailed, Planned: now.UnixMilli(), At: now, Text: "boom"}
				}
				if err := pool.Tx(b.Context(), func(tx *sql.Tx) error { return a.Raise(b.Context(), tx, events) }); err != nil {
					b.Fatal(err)
				}
				if _, err := a.gather(b.Context(), now); err != nil {
					b.Fatal(err)
				}
				if n, err := a.expand(b.Context(), now); err != nil || n != jobs {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(jobs*float64(b.N)/b.Elapsed().Seconds(), "alarms/s")
		})
	}
}

// BenchmarkWanted is what every result costs while nobody needs to hear of it.
func BenchmarkWanted(b *testing.B) {
	a, err := New(Config{Pool: dbtest.New(b, db.SQLite), Logger: slog.New(slog.DiscardHandler), Key: key, Printer: catalogue})
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if a.Wanted(scheduler.AlarmRecovered, 1) {
				b.Error("wanted")
			}
		}
	})
}
