package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
)

// hits are what a search found, as "run: number line, …".
func hits(f Found) string {
	var all []string
	for _, h := range f.Hits {
		var lines []string
		for _, l := range h.Lines {
			lines = append(lines, fmt.Sprintf("%d %s", l.Number, l.Text))
		}
		if h.More > 0 {
			lines = append(lines, fmt.Sprintf("+%d", h.More))
		}
		all = append(all, fmt.Sprintf("%d: %s", h.RunID, strings.Join(lines, ", ")))
	}
	return strings.Join(all, "; ")
}

// kept has outputs kept, those of a call in one object.
func (b *bench) kept(outputs ...[]string) (runs []Run) {
	b.t.Helper()
	for _, lines := range outputs {
		runs = append(runs, b.run(lines...))
	}
	b.s.Offer(b.ends(runs...))
	b.step(b.s)
	return runs
}

func (b *bench) search(q Search) Found {
	b.t.Helper()
	if q.Job == 0 && q.Groups == nil {
		q.Job = 7
	}
	q.Runs = cmp.Or(q.Runs, 10)
	q.Lines = cmp.Or(q.Lines, 2)
	q.Before = cmp.Or(q.Before, 1<<40)
	q.Time = cmp.Or(q.Time, time.Minute)
	f, err := b.s.Search(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func TestKeptOutputsAreSearched(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		key, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, pool, func(c *Config) { c.Seal = key })
		first := b.kept([]string{"begins", "Timeout of DB-1"}, []string{"well"}, []string{"a timeout", "b", "TIMEOUT 2", "timeout 3", "timeout 4"})
		long := numbered(4000)
		long[3990] = "late timeout " + strings.Repeat("超", 300) + " ends"
		second := b.kept(long, []string{"other"})
		want := fmt.Sprintf("%d: 3991 %s; %d: 1 a timeout, 3 TIMEOUT 2, +2; %d: 2 Timeout of DB-1", second[0].ID, "late timeout "+strings.Repeat("超", 129), first[2].ID, first[0].ID)
		f := b.search(Search{Text: "tiMeOut"})
		if got := hits(f); got != want {
			t.Errorf("found\n%s\nwant\n%s", got, want)
		}
		if f.Looked != 5 || f.Unreadable != 0 || f.Reached != 0 || !f.Hits[0].Lines[0].Cut {
			t.Errorf("it looked at %d, %d unreadable, reached %d, %+v", f.Looked, f.Unreadable, f.Reached, f.Hits[0].Lines)
		}
		if got := hits(b.search(Search{Text: "超 ends"})); !strings.HasSuffix(got, "超 ends") || !strings.HasPrefix(got, fmt.Sprintf("%d: 3991 超", second[0].ID)) {
			t.Errorf("in the middle of a long line is found %s", got)
		}
		if got := hits(b.search(Search{Groups: []int64{1}, Text: "timeout"})); got != want {
			t.Errorf("of the group is found\n%s", got)
		}
		for name, q := range map[string]Search{
			"another job's": {Job: 8, Text: "timeout"}, "another group's": {Groups: []int64{2}, Text: "timeout"}, "in other groups": {Job: 7, Groups: []int64{2, 3}, Text: "timeout"},
			"older": {Before: first[0].ID, Text: "timeout"}, "newer": {From: second[1].ID, Text: "timeout"}, "over two lines": {Text: "begins\ntimeout"}, "nothing": {},
		} {
			if got := hits(b.search(q)); got != "" {
				t.Errorf("%s: %s", name, got)
			}
		}
		// It goes on from where it ended, whatever ended it, and in the end has it all.
		for name, q := range map[string]Search{"hits": {Runs: 1}, "bytes": {Bytes: 1}} {
			q.Text, q.Before = "timeout", 1<<40
			var all []string
			for rounds := 0; q.Before > 0; rounds++ {
				f := b.search(q)
				if f.Reached >= q.Before || rounds > 9 {
					t.Fatalf("limited by %s it does not go on: %+v", name, f)
				}
				if len(f.Hits) > 0 {
					all = append(all, hits(f))
				}
				q.Before = f.Reached
			}
			if got := strings.Join(all, "; "); got != want {
				t.Errorf("limited by %s is found\n%s", name, got)
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if f, err := b.s.Search(over, Search{Job: 7, Text: "timeout", Before: 1 << 40, Runs: 1, Lines: 1, Time: time.Minute}); err != nil || f.Reached != 1<<40 || f.Hits != nil {
			t.Errorf("stopped: %+v, %v", f, err)
		}
	})
}

// What cannot be read is counted, and stops nobody: an object that is gone, a store that is away, a key that is not there any more.
func TestASearchSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		one, two := b.kept([]string{"timeout 1"}, []string{"timeout 2"}), b.kept([]string{"timeout 3"})
		var name string
		if err := pool.QueryRowContext(t.Context(), "SELECT name FROM punctual_output_object ORDER BY id LIMIT 1").Scan(&name); err != nil {
			t.Fatal(err)
		}
		delete(b.store.objects, name)
		f := b.search(Search{Text: "timeout"})
		if got := hits(f); got != fmt.Sprintf("%d: 1 timeout 3", two[0].ID) || f.Unreadable != len(one) || f.Reached != 0 {
			t.Errorf("beside an object that is gone: %s, %+v", got, f)
		}
		b.store.down = errors.New("away")
		if f := b.search(Search{Text: "timeout"}); f.Hits != nil || f.Unreadable != 3 {
			t.Errorf("of a store that is away: %+v", f)
		}
	})
}

// deleting is a store whose objects go, with their runs, before it has read them.
type deleting struct {
	*memory
	forget func()
}

func (d deleting) Get(ctx context.Context, o Object, pos, size int64) ([]byte, error) {
	d.forget()
	return d.memory.Get(ctx, o, pos, size)
}

// TestWhatIsDeletedDuringASearchIsNotSaidToBeUnreadable: a run that goes while its copy is looked for is no copy that cannot be read.
func TestWhatIsDeletedDuringASearchIsNotSaidToBeUnreadable(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for n := 1; n <= 2; n++ { // those of one object are read together
			b := newBench(t, pool)
			runs := b.kept([][]string{{"needle"}, {"needle"}}[:n]...)
			b.s.cfg.Store = deleting{b.store, sync.OnceFunc(func() {
				for _, r := range runs {
					if err := b.s.forget(t.Context(), []int64{r.ID}); err != nil {
						t.Error(err)
					}
				}
				clear(b.store.objects)
			})}
			if found := b.search(Search{Text: "needle"}); found.Looked != n || found.Unreadable != 0 || len(found.Hits) != 0 {
				t.Errorf("of %d runs: %+v", n, found)
			}
		}
	})
}

// TestASearchGoesOnPageAfterPage, whether or not the last one is full, and whatever of it lies in the same object.
func TestASearchGoesOnPageAfterPage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		runs := b.kept([]string{"needle 1"}, []string{"needle 2"}, []string{"needle 3"})
		runs = append(runs, b.kept([]string{"needle 4"})...)
		var want []string
		for i, r := range slices.Backward(runs) {
			want = append(want, fmt.Sprintf("%d: 1 needle %d", r.ID, i+1))
		}
		for rows := 1; rows <= 5; rows++ {
			b.s.pageRows = rows
			for _, q := range []Search{{Text: "needle"}, {Text: "needle", Groups: []int64{runs[0].Group}}} {
				if f := b.search(q); hits(f) != strings.Join(want, "; ") || f.Looked != 4 || f.Reached != 0 {
					t.Errorf("%d rows at a time: %s, %+v", rows, hits(f), f)
				}
			}
			if f := b.search(Search{Text: "needle", Runs: 3}); hits(f) != strings.Join(want[:3], "; ") || f.Looked != 3 || f.Reached != runs[1].ID {
				t.Errorf("%d rows at a time, three runs: %s, %+v", rows, hits(f), f)
			}
			if f := b.search(Search{Text: "needle", From: runs[2].ID}); hits(f) != strings.Join(want[:2], "; ") || f.Reached != runs[2].ID {
				t.Errorf("%d rows at a time, from the third on: %s, %+v", rows, hits(f), f)
			}
		}
	})
}

// silent is a store that does not answer.
type silent struct{ *memory }

func (silent) Get(ctx context.Context, _ Object, _, _ int64) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestASearchGetsOn however little time it is given, or says that it does not: who asks it to go on from where it ended would else ask for ever.
func TestASearchGetsOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		runs := append(b.kept([]string{"needle 1"}), b.kept([]string{"needle 2"}, []string{"needle 3"})...)
		q := Search{Job: 7, Text: "needle", Before: 1 << 40, Runs: 10, Lines: 1, Time: 1}
		for _, r := range slices.Backward(runs) {
			f, err := b.s.Search(t.Context(), q)
			if err != nil || f.Looked != 1 || f.Reached != r.ID || len(f.Hits) != 1 {
				t.Fatalf("before %d: %+v, %v", q.Before, f, err)
			}
			q.Before = f.Reached
		}
		if f, err := b.s.Search(t.Context(), q); err != nil || f.Reached != 0 || f.Looked != 0 {
			t.Errorf("in the end: %+v, %v", f, err)
		}
		q.Before, q.Time = 1<<40, 0
		for range searchesBeing {
			b.s.searches <- struct{}{} // others search
		}
		if f, err := b.s.Search(t.Context(), q); err != nil || f.Reached != q.Before || f.Looked != 0 {
			t.Errorf("without any time: %+v, %v", f, err)
		}
		for range searchesBeing {
			<-b.s.searches
		}
		b.s.cfg.Store, b.s.begins, q.Time = silent{b.store}, time.Millisecond, 1
		if f, err := b.s.Search(t.Context(), q); !errors.Is(err, ErrStalled) || f.Reached != q.Before {
			t.Errorf("of a store that does not answer: %+v, %v", f, err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.s.Search(over, q); err != nil {
			t.Errorf("of which nobody wants to know any more: %v", err)
		}
	})
}

// TestASearchWhoseDatabaseFailsSaysSo: neither where outputs are nor what they cannot have is taken for nothing.
func TestASearchWhoseDatabaseFailsSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		b.kept([]string{"something"})
		for _, table := range []string{"punctual_output_filter", "punctual_output"} {
			if _, err := pool.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
				t.Fatal(err)
			}
			f, err := b.s.Search(t.Context(), Search{Job: 7, Text: "needle", Before: 1 << 40, Runs: 1, Lines: 1, Time: time.Minute})
			if err == nil || f.Reached != 1<<40 {
				t.Errorf("without %s: %v, %+v", table, err, f)
			}
		}
	})
}

// An object that holds more than is read at a time is read in pieces, each once.
func TestASearchReadsAnObjectInFewPieces(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := newBench(t, pool)
		var outputs [][]string
		for i := range 300 {
			outputs = append(outputs, []string{fmt.Sprintf("run %d ", i) + strings.Repeat("x", 1000), "needle"})
		}
		runs := b.kept(outputs...)
		b.store.gets.Store(0)
		f := b.search(Search{Text: "NEEDLE", Runs: 1000})
		if len(f.Hits) != 300 || b.store.gets.Load() != 1 {
			t.Errorf("%d hits with %d calls to the store", len(f.Hits), b.store.gets.Load())
		}
		if !slices.IsSortedFunc(f.Hits, func(a, b Hit) int { return int(b.RunID - a.RunID) }) || f.Hits[0].RunID != runs[299].ID {
			t.Error("the newest do not come first")
		}
	})
}

// A search reads the whole rows of those runs only whose objects may have the text. What it reads then may have gone or moved since.
func TestASearchReadsTheRowsThatMayHaveTheText(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		watched := dbtest.Watch(t, pool)
		b := newBench(t, pool)
		hidden := b.kept([]string{"a needle in hay"}, []string{"other hay"})
		for i := range 20 {
			b.kept([]string{fmt.Sprintf("nothing but hay %d", i)})
		}
		if got := b.search(Search{Text: "needle in"}); hits(got) != fmt.Sprintf("%d: 1 a needle in hay", hidden[0].ID) || got.Looked != 22 {
			t.Errorf("found %q in %d runs", hits(got), got.Looked)
		}
		pages, rows := watched.Transactions("ListKeptOfJob"), watched.Transactions("ListKept")
		if len(pages) != 1 || len(rows) == 0 || len(rows) > 2 { // a filter is wrong at times
			t.Errorf("%d pages and the rows of %d objects were read", len(pages), len(rows))
		}

		gone := b.run()
		p := part{object: 1 << 40, ids: []int64{gone.ID, hidden[1].ID, hidden[0].ID}, looks: make(chan []look, 1)}
		w := &searching{s: b.s, q: Search{Lines: 1}, needle: []byte("needle")}
		w.look(t.Context(), &p)
		looks := <-p.looks
		if looks[0] != (look{}) || looks[1] != (look{bytes: 10}) || looks[2].hit == nil || looks[2].bytes != 16 {
			t.Errorf("it came to %+v", looks)
		}
	})
}

func TestRowsAreReadTogetherWithinBounds(t *testing.T) {
	t.Parallel()
	var rows []db.Output
	for _, r := range [][2]int64{{1, 10}, {1, 20}, {2, searchText}, {2, 1}, {2, searchText - 1}, {3, 2 * searchText}, {3, 1}} {
		rows = append(rows, db.Output{LogID: int64(len(rows)), ObjectID: r[0], TextSize: r[1]})
	}
	var got []string
	for part := range together(rows) {
		got = append(got, fmt.Sprintf("%d from %d", len(part), part[0].LogID))
	}
	if want := []string{"2 from 0", "1 from 2", "2 from 3", "1 from 5", "1 from 6"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFold holds each byte at each place of eight against small.
func TestFold(t *testing.T) {
	t.Parallel()
	var text []byte
	for c := range 256 {
		text = append(text, byte(c))
	}
	for from := range 9 {
		for to := len(text) - 9; to <= len(text); to++ {
			want := []byte("kept")
			for _, c := range text[from:to] {
				want = append(want, small(c))
			}
			if got := fold([]byte("kept"), text[from:to]); !bytes.Equal(got, want) {
				t.Fatalf("the bytes %d to %d are folded to %q", from, to, got)
			}
		}
	}
}
