package gallery

import (
	"io"
	"testing"
	"time"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/runs"
)

// What drawing costs on top of the queries: a page of 50 jobs and one of 50 runs.
func BenchmarkRender(b *testing.B) {
	f := fakes{Printer: locales.New().Printer(locales.Chinese), now: time.Now()}
	j, r := f.jobs(), f.runs()
	for len(j.Rows) < 50 {
		j.Rows = append(j.Rows, j.Rows[len(j.Rows)%10])
	}
	for len(r.Rows) < 50 {
		r.Rows = append(r.Rows, r.Rows[len(r.Rows)%10])
	}
	b.Run("jobs", func(b *testing.B) {
		for b.Loop() {
			if err := jobs.List(j).Render(b.Context(), io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			if err := runs.List(r).Render(b.Context(), io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}
