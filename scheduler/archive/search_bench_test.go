package archive

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// BenchmarkSearch says how long a search takes to what lies so far back, in a folder with BENCH_OUTPUT_MB (200) of text: runs of 10 KiB
// as a Java program writes them. It counts from the question to the first hit.
func BenchmarkSearch(b *testing.B) {
	size := 200
	if n, err := strconv.Atoi(os.Getenv("BENCH_OUTPUT_MB")); err == nil {
		size = n
	}
	const runBytes = 10 << 10
	pool, err := db.Open(b.Context(), db.Config{DataDir: b.TempDir(), Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pool.Close() })
	if err := pool.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	store, err := OpenFolder(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	s, err := New(Config{
		Pool: pool, Logger: slog.New(slog.DiscardHandler), Store: store, Limits: func() Limits { return Limits{RunBytes: 64 << 10} },
		Read:  func(context.Context, Run, int) (wire.LogResult, error) { return wire.LogResult{}, errDown },
		Node:  func() int64 { return 1 },
		Alive: func() []int64 { return []int64{1} }, Mine: func() func(int64) bool { return func(int64) bool { return true } },
	})
	if err != nil {
		b.Fatal(err)
	}
	runs := size << 20 / runBytes
	random := rand.New(rand.NewPCG(1, 2))
	text := func(id int) *excerpt {
		x := &excerpt{Budget: 64 << 10}
		for x.Size() < runBytes {
			x.Add(fmt.Appendf(nil, "2026-03-02 12:00:%02d.%03d INFO  [worker-%d] c.e.orders.SettlementService - order %d settled in %d ms, customer %x", random.IntN(60), random.IntN(1000), random.IntN(16), random.IntN(1e9), random.IntN(5000), random.Uint64()))
		}
		for _, share := range []int{1, 50, 100} { // of 100, counted from the newest
			if id == runs-runs*share/100+1 {
				x.Add(fmt.Appendf(nil, "needle-%d", share))
			}
		}
		return x
	}
	const together = 200
	for id := 1; id <= runs; id += together {
		var batch []copied
		for i := id; i < min(id+together, runs+1); i++ {
			batch = append(batch, copied{Run: Run{ID: int64(i), Group: 1, Job: 7}, goesOn: true, excerpt: text(i)})
		}
		s.write(b.Context(), batch)
	}
	if st := s.Status(); st.Trouble != "" {
		b.Fatal(st.Trouble)
	}
	for _, share := range []int{1, 50, 100} {
		b.Run(fmt.Sprintf("%d%%", share), func(b *testing.B) {
			for b.Loop() {
				f, err := s.Search(b.Context(), Search{Job: 7, Text: fmt.Sprintf("NEEDLE-%d", share), Before: 1 << 40, Runs: 1, Lines: 1, Time: time.Hour})
				if err != nil || len(f.Hits) != 1 {
					b.Fatalf("%+v, %v", f, err)
				}
				b.SetBytes(f.Bytes)
			}
		})
	}
}
