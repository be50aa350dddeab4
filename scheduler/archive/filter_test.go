package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
)

// FuzzFilter tries that a filter leaves out nothing that stands in a line, as it stands there or in capital letters.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("INFO Order 4711 已结算 in 3 ms\nERROR 超时"), uint16(5), uint16(14), uint8(0))
	f.Add([]byte("\xff\xfe broken \xe8\xb6 \r\n\n"), uint16(0), uint16(9), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, from, size uint16, copies uint8) {
		texts := [][]byte{{}, text}
		for i := range copies { // a filter that is larger
			texts = append(texts, bytes.Repeat(append(text, i), int(copies)))
		}
		rest := text[min(int(from), len(text)):]
		piece, _, _ := bytes.Cut(rest[:min(int(size), len(rest))], []byte{'\n'})
		for _, needle := range [][]byte{piece, bytes.ToUpper(piece)} {
			for line := range bytes.SplitSeq(fold(nil, text), []byte{'\n'}) {
				if needle = fold(nil, needle); bytes.Contains(line, needle) && !newFilter(texts).may(needle) {
					t.Fatalf("%q is left out of %q", needle, line)
				}
			}
		}
	})
}

// TestAFilterLeavesOutWhatIsNotThere for the most part, in few bytes, and nothing that is.
func TestAFilterLeavesOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, lines := range []int{1, 10, 1000, 30_000} {
		var texts [][]byte
		for range 10 {
			var b strings.Builder
			for range max(1, lines/10) {
				fmt.Fprintf(&b, "INFO worker-%d Order %d 已结算 in %d ms\n", random.IntN(9), random.IntN(1e6), random.IntN(900))
			}
			texts = append(texts, []byte(b.String()))
		}
		f := newFilter(texts)
		for range 2000 {
			text := texts[random.IntN(len(texts))]
			line, _, _ := bytes.Cut(text[random.IntN(len(text)):], []byte{'\n'})
			if piece := fold(nil, line[:random.IntN(len(line)+1)]); !f.may(piece) {
				t.Fatalf("%d lines: %q is left out", lines, piece)
			}
		}
		wrong := 0
		for i := range 1000 {
			if f.may(fmt.Appendf(nil, "needle %d", i)) {
				wrong++
			}
		}
		if wrong > 50 {
			t.Errorf("%d lines: %d of 1000 that are not there may be, in %d bytes", lines, wrong, len(f))
		}
		if size := len(bytes.Join(texts, nil)); len(f) > max(minFilter, size/filterShare) {
			t.Errorf("%d lines: %d bytes for %d", lines, len(f), size)
		}
	}
}

func TestASearchFindsTheSameWithoutFilters(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) { findsTheSameWithoutFilters(t, pool, NewDatabase(pool)) })
}

// findsTheSameWithoutFilters searches random outputs in a store, some of which were moved, for texts of which most are there.
func findsTheSameWithoutFilters(t *testing.T, pool *db.Pool, store Store) {
	t.Helper()
	b := newBench(t, pool, func(c *Config) { c.Store = store })
	random := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("Settled settled ORDER-4711 order-4712 已结算 超时 超时了 Timeout java.lang.IllegalStateException naïve ÄÖÜ x \xff\xfe\xfd 3.14159")
	pick := func(n int) string {
		picked := make([]string, n)
		for i := range picked {
			picked[i] = words[random.IntN(len(words))]
		}
		return strings.Join(picked, " ")
	}
	var gone []Run
	for range 12 {
		var outputs [][]string
		for range 1 + random.IntN(4) {
			outputs = append(outputs, []string{pick(1), pick(2), pick(random.IntN(3))})
		}
		runs := b.kept(outputs...)
		gone = append(gone, runs[:len(runs)/2]...)
	}
	for _, r := range gone {
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", r.ID)
		if err := b.s.forget(t.Context(), []int64{r.ID}); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.Add(b.s.cfg.DraftAge + b.s.cfg.TidyEvery)
	b.step(b.s) // moves what is left of objects
	needles := make([]string, 60)
	with := make([]Found, len(needles))
	for i := range needles {
		needles[i] = pick(1 + random.IntN(2))
		if from := random.IntN(len(needles[i])); i%2 == 0 {
			needles[i] = strings.ToUpper(needles[i][from:])
		}
		with[i] = b.search(Search{Text: needles[i], Runs: 1000, Lines: 9})
	}
	b.exec("DELETE FROM punctual_output_filter")
	fewer := 0
	for i, needle := range needles {
		without := b.search(Search{Text: needle, Runs: 1000, Lines: 9})
		if hits(with[i]) != hits(without) || with[i].Looked != without.Looked || with[i].Reached != 0 || with[i].Unreadable+without.Unreadable > 0 {
			t.Errorf("%q: found %+v, and without filters %+v", needle, with[i], without)
		}
		if with[i].Bytes < without.Bytes {
			fewer++
		}
	}
	if fewer == 0 {
		t.Error("no search read less for its filters")
	}
}

// TestASearchReadsOnlyWhatMayHoldTheText, and all that has no filter: that is of an earlier release, or cannot be opened.
func TestASearchReadsOnlyWhatMayHoldTheText(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, sealed := range []bool{false, true} {
			b := newBench(t, pool, func(c *Config) {
				if sealed {
					var err error
					if c.Seal, err = seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes)); err != nil {
						t.Fatal(err)
					}
				}
			})
			if _, err := pool.ExecContext(t.Context(), "DELETE FROM punctual_output"); err != nil {
				t.Fatal(err)
			}
			hidden := b.kept([]string{"a Needle in hay"}, []string{"other hay"})
			for i := range 20 {
				b.kept([]string{fmt.Sprintf("nothing but hay %d", i)})
			}
			read := func(text, want string, most int) {
				t.Helper()
				before := int(b.store.gets.Load())
				if got := hits(b.search(Search{Text: text})); got != want {
					t.Errorf("sealed %t: %q: %q, want %q", sealed, text, got, want)
				}
				if n := int(b.store.gets.Load()) - before; n > most {
					t.Errorf("sealed %t: %q: %d reads of the store, want %d", sealed, text, n, most)
				}
			}
			found := fmt.Sprintf("%d: 1 a Needle in hay", hidden[0].ID)
			read("needle in", found, 2)
			read("NEEDLE", found, 2)
			read("nowhere to be found", "", 1)
			read("eedle", found, 21) // too short
			var bits []byte
			if err := pool.QueryRowContext(t.Context(), "SELECT bits FROM punctual_output_filter ORDER BY object_id DESC LIMIT 1").Scan(&bits); err != nil {
				t.Fatal(err)
			}
			if bits[0] != map[bool]byte{true: blockSealed, false: blockPlain}[sealed] || sealed && len(bits) <= 1+minFilter {
				t.Errorf("sealed %t: %d bytes, %q", sealed, len(bits), bits[0])
			}
			for _, spoil := range []string{"UPDATE punctual_output_filter SET bits = 'x'", "DELETE FROM punctual_output_filter"} {
				if _, err := pool.ExecContext(t.Context(), spoil); err != nil {
					t.Fatal(err)
				}
				read("needle in", found, 21)
			}
			// An earlier release may have deleted an object and not its filter, whose number MySQL 5.7 gives again after a restart.
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_output_filter (object_id, bits) SELECT MAX(id) + 1, ? FROM punctual_output_object",
				append([]byte{blockPlain}, make([]byte, minFilter)...)); err != nil {
				t.Fatal(err)
			}
			read("another day", fmt.Sprintf("%d: 1 it is another day", b.kept([]string{"it is another day"})[0].ID), 25)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	var text bytes.Buffer
	random := rand.New(rand.NewPCG(3, 4))
	for text.Len() < 2<<20 {
		fmt.Fprintf(&text, "2026-03-02 12:00:%02d.%03d INFO  [worker-%d] c.e.orders.SettlementService - order %d settled in %d ms, customer %x\n",
			random.IntN(60), random.IntN(1000), random.IntN(16), random.IntN(1e9), random.IntN(5000), random.Uint64())
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		newFilter([][]byte{text.Bytes()})
	}
}
