package manage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhateverSomebodyLooksFor is found, or not, and is no fault of ours.
func TestWhateverSomebodyLooksFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.create(t, nil)
		for _, text := range []string{strings.Repeat("x", 70_000), strings.Repeat("%", 70_000), strings.Repeat("长", 30_000)} {
			for _, f := range []JobFilter{{Text: text}, {Handler: text}, {Author: text}, {Tag: text}} {
				f.Status, f.Limit = AnyStatus, 5
				if list, err := b.Jobs.List(t.Context(), b.user, f); err != nil || len(list.Jobs) != 0 {
					t.Errorf("jobs: %d, %v", len(list.Jobs), err)
				}
			}
			for _, f := range []RunFilter{{Text: text, Limit: 5}, {Executor: text, Limit: 5}} {
				if list, err := b.Runs.List(t.Context(), b.admin, f); err != nil || len(list.Runs) != 0 {
					t.Errorf("runs: %d, %v", len(list.Runs), err)
				}
			}
			if list, err := b.Audit.List(t.Context(), b.admin, AuditFilter{Text: text, Limit: 5}); err != nil || len(list.Entries) != 0 {
				t.Errorf("audit: %d, %v", len(list.Entries), err)
			}
		}
	})
}

func TestASearchThatTakesLongSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		var ids []int64
		for i := range 40 {
			message := "plain"
			if i == 3 {
				message = "needle"
			}
			ids = append(ids, dbtest.InsertRun(t, pool, b.group, job, b.now.Add(time.Duration(i)*time.Minute), 200, 200, message))
		}
		b.Runs.search = search{quick: time.Nanosecond, deep: time.Minute, first: 10}
		f := RunFilter{Text: "needle", Limit: 5}
		list, err := b.Runs.List(t.Context(), b.admin, f)
		if err != nil || len(list.Runs) != 0 || !list.Searched || list.Older != ids[30] || !list.Reached.Equal(b.now.Add(30*time.Minute)) {
			t.Fatalf("the first look: %+v, %v", list, err)
		}
		f.Before = list.Older
		if list, err = b.Runs.List(t.Context(), b.admin, f); err != nil || !list.Searched || list.Older != ids[20] || list.Newer != ids[30]-1 {
			t.Errorf("the next look: %+v, %v", list, err)
		}
		f.Deep = true
		if list, err = b.Runs.List(t.Context(), b.admin, f); err != nil || len(list.Runs) != 1 || list.Runs[0].ID != ids[3] || list.Searched || list.Older != 0 {
			t.Errorf("to the end: %+v, %v", list, err)
		}
		// Who says for how long is not held to the rest, however short or long.
		b.Runs.search.deep = time.Nanosecond
		if list, err = b.Runs.List(t.Context(), b.admin, RunFilter{Text: "needle", Limit: 5, Look: time.Minute}); err != nil || len(list.Runs) != 1 || list.Searched {
			t.Errorf("for a minute: %+v, %v", list, err)
		}
		b.Runs.search.deep = time.Minute
		// The run with the number is found however far back it lies.
		number := RunFilter{Text: strconv.FormatInt(ids[1], 10), Limit: 5}
		if list, err = b.Runs.List(t.Context(), b.admin, number); err != nil || len(list.Runs) == 0 || list.Runs[len(list.Runs)-1].ID != ids[1] {
			t.Errorf("by number: %+v, %v", list, err)
		}
		// Upwards the same: what lies between is neither shown twice nor left out.
		list, err = b.Runs.List(t.Context(), b.admin, RunFilter{Text: "needle", After: ids[4], Limit: 5})
		if err != nil || list.Newer != ids[14] {
			t.Errorf("upwards: %+v, %v", list, err)
		}
		list, err = b.Runs.List(t.Context(), b.admin, RunFilter{Text: "needle", Limit: 5, Deep: true})
		if err != nil || len(list.Runs) != 1 || list.Searched {
			t.Errorf("a long search: %+v, %v", list, err)
		}
		// Where there is enough near by, nothing is said.
		if list, err = b.Runs.List(t.Context(), b.admin, RunFilter{Text: "plain", Limit: 5}); err != nil || len(list.Runs) != 5 || list.Searched || list.Older != list.Runs[4].ID {
			t.Errorf("a full page: %+v, %v", list, err)
		}
	})
}

func TestWalk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		from, before int64
		down         bool
		enough       int64 // the id at which there is enough
		want         int64
	}{
		{"down to the end", 1, 1_000_000, true, -1, 1},
		{"up to the end", 1, 1_000_000, false, -1, 1_000_000},
		{"down until there is enough", 1, 5_000, true, 4_500, 4_000},
		{"up until there is enough", 1, 5_000, false, 500, 1_001},
		{"nothing to look through", 7, 7, true, -1, 7},
		{"a top below the bottom", 9, 7, true, -1, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var seen [][2]int64
			got, err := search{first: 1000}.walk(tt.from, tt.before, time.Hour, tt.down, func(from, before int64) (bool, error) {
				seen = append(seen, [2]int64{from, before})
				return from <= tt.enough && tt.enough < before, nil
			})
			if err != nil || got != tt.want {
				t.Errorf("stopped at %d, %v, want %d", got, err, tt.want)
			}
			if tt.down {
				slices.Reverse(seen)
			}
			for i := 1; i < len(seen); i++ {
				if seen[i][0] != seen[i-1][1] {
					t.Errorf("a gap or an overlap: %v", seen)
				}
			}
		})
	}
}

// TestARunIsFoundByItsNumberOnce on the first page, however many pages there are and whatever ends them.
func TestARunIsFoundByItsNumberOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		var ids []int64
		for i := range 40 {
			ids = append(ids, dbtest.InsertRun(t, pool, b.group, job, b.now.Add(time.Duration(i)*time.Minute), 200, 200, "plain"))
		}
		far, near := ids[1], ids[38]
		for _, id := range []int64{ids[39], ids[20], ids[5]} { // they tell of both
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_msg = ? WHERE id = ?", fmt.Sprintf("made anew for %d and %d", far, near), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, number := range []int64{far, near} {
			want := []int64{ids[39], ids[20], ids[5]}
			for _, limit := range []int{1, 2, 50} {
				for name, quick := range map[string]time.Duration{"pages end by time": time.Nanosecond, "pages are full": time.Hour} {
					b.Runs.search = search{quick: quick, deep: time.Minute, first: 10}
					f := RunFilter{Text: strconv.FormatInt(number, 10), Limit: limit}
					var got []int64
					for page := 0; ; page++ {
						list, err := b.Runs.List(t.Context(), b.admin, f)
						if err != nil {
							t.Fatal(err)
						}
						for _, r := range list.Runs {
							got = append(got, r.ID)
						}
						if page == 0 && !slices.Contains(got, number) {
							t.Errorf("%s: the first page of %d has not run %d: %v", name, limit, number, got)
						}
						if list.Older == 0 {
							break
						}
						f.Before = list.Older
					}
					slices.Sort(got)
					if want := slices.Sorted(slices.Values(append(want, number))); !slices.Equal(got, want) {
						t.Errorf("%s of %d: %v, want %v", name, limit, got, want)
					}
				}
			}
		}
		b.Runs.search = search{quick: time.Hour, deep: time.Hour, first: 10}
		list, err := b.Runs.List(t.Context(), b.admin, RunFilter{Text: strconv.FormatInt(far, 10), After: ids[5], Limit: 1})
		if err != nil || len(list.Runs) != 1 || list.Runs[0].ID != ids[20] {
			t.Errorf("the page above: %+v, %v", list, err)
		}
	})
}
