package route

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var three = []string{"http://10.0.0.1:9999/", "http://10.0.0.2:9999/", "http://10.0.0.3:9999/"}

func TestHashIsTheFirstFourBytesOfMD5LittleEndian(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint32{
		"":                                   0xd98c1dd4, // MD5 d41d8cd9…
		"1":                                  943901380,
		"SHARD-http://10.0.0.1:9999/-NODE-0": 3725898238,
	} {
		if got := hash(text); got != want {
			t.Errorf("hash(%q) = %d, want %d", text, got, want)
		}
	}
}

// The wanted addresses were computed from the description in docs/compat.md §4.7 by a program of another language.
func TestConsistentHashGivesUpstreamsAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		addresses []string
		want      map[int64]int // job id → index of the address
	}{
		{"three addresses", three, map[int64]int{1: 2, 2: 2, 3: 0, 4: 2, 5: 0, 6: 2, 7: 1, 8: 1, 9: 0, 10: 0, 11: 0, 12: 0,
			13: 2, 14: 2, 15: 0, 16: 1, 17: 1, 18: 0, 19: 0, 20: 0}},
		{"a job beyond the last point gets the first", three, map[int64]int{769: 0, 1698: 0, 1800: 0, 1947: 0, 2540: 0}},
		{"without the second address only its jobs move", []string{three[0], three[2]}, map[int64]int{1: 1, 2: 1, 3: 0, 4: 1, 5: 0,
			6: 1, 7: 0, 8: 1, 9: 0, 10: 0, 16: 1, 17: 1, 18: 0}},
		{"one address", []string{"a"}, map[int64]int{1: 0, 2: 0, 3: 0, 2147483647: 0}},
		{"short addresses", []string{"a", "b"}, map[int64]int{1: 0, 2: 0, 3: 1, 2147483647: 1}},
		{"addresses without a scheme", []string{"127.0.0.1:9999", "192.168.1.7:9999"}, map[int64]int{1: 0, 2: 1, 3: 1, 2147483647: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := NewTable()
			for job, index := range tt.want {
				for range 2 { // the second answer comes from the kept ring
					got, err := table.Pick(jobspec.RouteConsistentHash, job, tt.addresses)
					if err != nil || got != tt.addresses[index] {
						t.Errorf("job %d goes to %q (%v), want %q", job, got, err, tt.addresses[index])
					}
				}
			}
		})
	}
}

func TestConsistentHashWrapsAround(t *testing.T) {
	t.Parallel()
	r := newRing(three)
	last := r.points[len(r.points)-1]
	if key := hash("769"); key <= last.hash {
		t.Fatalf("job 769 hashes to %d, which is not beyond the last point %d: the test says nothing", key, last.hash)
	}
	if got := r.pick(769); got != r.points[0].address || got == last.address {
		t.Errorf("got %q, want the address of the first point, %q", got, r.points[0].address)
	}
}

// A point of each of these two has the hash 1682474698, and it is the next one for job 44.
func TestOfTwoAddressesWithOneHashTheLaterWins(t *testing.T) {
	t.Parallel()
	a, b := "http://10.0.4.100:9999/", "http://10.0.4.149:9999/"
	for _, addresses := range [][]string{{a, b}, {b, a}} {
		if got := newRing(addresses).pick(44); got != addresses[1] {
			t.Errorf("of %v it is %s", addresses, got)
		}
	}
	key := hash("44")
	for _, tt := range []struct {
		name   string
		points []point
		want   string
	}{
		{"a point with the hash of the job itself", []point{{key - 1, "a"}, {key, "b"}, {key + 1, "c"}}, "b"},
		{"three with one hash", []point{{key - 1, "a"}, {key + 1, "b"}, {key + 1, "c"}, {key + 1, "d"}, {key + 2, "e"}}, "d"},
		{"at the end of the ring", []point{{key - 1, "a"}, {key, "b"}, {key, "c"}}, "c"},
		{"a next point with another hash", []point{{key - 1, "a"}, {key, "b"}, {key + 1, "c"}, {key + 1, "d"}}, "b"},
		{"around the end", []point{{key - 3, "a"}, {key - 3, "b"}, {key - 1, "c"}}, "b"},
	} {
		if got := (&ring{points: tt.points}).pick(44); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRingsAreKept(t *testing.T) {
	t.Parallel()
	var c ringCache
	for i := range maxRings {
		c.pick(1, []string{strconv.Itoa(i)})
		if len(c.rings) != i+1 {
			t.Fatalf("%d rings are kept of %d", len(c.rings), i+1)
		}
	}
	kept := c.rings["7\n"]
	if c.pick(1, []string{"7"}); kept == nil || c.rings["7\n"] != kept {
		t.Error("a ring is made again")
	}
}

func TestRingsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	var c ringCache
	for i := range 2*maxRings + 1 {
		c.pick(1, []string{strconv.Itoa(i)})
		if len(c.rings) > maxRings {
			t.Fatalf("%d rings are kept, want at most %d", len(c.rings), maxRings)
		}
	}
}

func TestTwoListsDoNotShareARing(t *testing.T) {
	t.Parallel()
	var c ringCache
	if got := c.pick(1, []string{"ab"}); got != "ab" {
		t.Errorf("got %q", got)
	}
	if got := c.pick(1, []string{"a", "b"}); got == "ab" {
		t.Errorf("got %q, which is not in the list", got)
	}
}

func TestRoundTakesTurnsFromARandomStart(t *testing.T) {
	t.Parallel()
	starts := make(map[string]bool)
	for job := range int64(200) {
		table := NewTable()
		first, _ := table.Pick(jobspec.RouteRound, job, three)
		starts[first] = true
		at := slices.Index(three, first)
		for i := 1; i < 10; i++ {
			got, _ := table.Pick(jobspec.RouteRound, job, three)
			if want := three[(at+i)%3]; got != want {
				t.Fatalf("turn %d is %q, want %q", i, got, want)
			}
		}
	}
	if len(starts) != 3 {
		t.Errorf("200 jobs all began at %v", starts)
	}
}

func TestRoundCountsEachJobForItself(t *testing.T) {
	t.Parallel()
	table := NewTable()
	first := make([]string, 10)
	for job := range first {
		first[job], _ = table.Pick(jobspec.RouteRound, int64(job), three)
	}
	for job := range first {
		got, _ := table.Pick(jobspec.RouteRound, int64(job), three)
		if want := three[(slices.Index(three, first[job])+1)%3]; got != want {
			t.Errorf("job %d: second turn %q after %q", job, got, first[job])
		}
	}
}

func TestRoundStartsOverAtAMillion(t *testing.T) {
	t.Parallel()
	table := NewTable()
	table.round[1] = 1_000_000
	if got := table.nextRound(1); got != 1_000_000 {
		t.Errorf("counter = %d, want a million", got)
	}
	if got := table.nextRound(1); got >= 100 {
		t.Errorf("counter after the million = %d, want below 100", got)
	}
}

func TestLeastFrequentlyUsed(t *testing.T) {
	t.Parallel()
	t.Run("the smallest count wins, the first in order among equals, and is counted", func(t *testing.T) {
		t.Parallel()
		table := NewTable()
		table.usageOf(1).counts = map[string]int{"a": 5, "b": 3, "c": 3}
		var got []string
		for range 6 {
			a, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, []string{"a", "b", "c"})
			got = append(got, a)
		}
		if want := []string{"b", "c", "b", "c", "a", "b"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("addresses that are gone are forgotten", func(t *testing.T) {
		t.Parallel()
		table := NewTable()
		table.usageOf(1).counts = map[string]int{"a": 500, "b": 400}
		table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, []string{"b"})
		if _, ok := table.used[1].counts["a"]; ok {
			t.Error("the count of the gone address is kept")
		}
		if got, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, []string{"a", "b"}); got != "a" {
			t.Errorf("got %q, want the one that came back", got)
		}
	})
	t.Run("a new address starts below the number of addresses", func(t *testing.T) {
		t.Parallel()
		for range 100 {
			table := NewTable()
			picked, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, three)
			for a, n := range table.used[1].counts {
				if a == picked {
					n--
				}
				if n < 0 || n > 2 {
					t.Fatalf("%s starts at %d", a, n)
				}
			}
		}
	})
	t.Run("a count beyond a million starts anew", func(t *testing.T) {
		t.Parallel()
		table := NewTable()
		table.usageOf(1).counts = map[string]int{"a": 1_000_001, "b": 50}
		if got, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, []string{"a", "b"}); got != "a" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a count of a million counts", func(t *testing.T) {
		t.Parallel()
		table := NewTable()
		table.usageOf(1).counts = map[string]int{"a": 1_000_000, "b": 999_999}
		if got, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, []string{"a", "b"}); got != "b" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("many runs are shared evenly", func(t *testing.T) {
		t.Parallel()
		table := NewTable()
		counts := make(map[string]int)
		for range 300 {
			a, _ := table.Pick(jobspec.RouteLeastFrequentlyUsed, 1, three)
			counts[a]++
		}
		for a, n := range counts {
			if n < 97 || n > 103 {
				t.Errorf("%s got %d of 300", a, n)
			}
		}
	})
}

func TestLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name      string
		addresses []string
		want      string
	}{
		{"new addresses queue in order", []string{"a", "b", "c"}, "a"},
		{"the eldest use wins", []string{"a", "b", "c"}, "b"},
		{"a new one queues behind the known", []string{"d", "a", "b", "c"}, "c"},
		{"then the one used first", []string{"d", "a", "b", "c"}, "a"},
		{"one that is gone is passed over", []string{"d", "a", "c"}, "d"},
		{"and is new when it comes back", []string{"d", "a", "b", "c"}, "c"},
		{"so its turn comes after the others'", []string{"d", "a", "b", "c"}, "a"},
		{"", []string{"d", "a", "b", "c"}, "d"},
		{"", []string{"d", "a", "b", "c"}, "b"},
	}
	table := NewTable()
	for i, tt := range steps {
		got, err := table.Pick(jobspec.RouteLeastRecentlyUsed, 7, tt.addresses)
		if err != nil || got != tt.want {
			t.Fatalf("step %d, %s: got %q (%v), want %q", i, tt.name, got, err, tt.want)
		}
	}
}

func TestAnAddressThatIsListedTwiceHasOneTurn(t *testing.T) {
	t.Parallel()
	table := NewTable()
	for i, want := range []string{"a", "b", "a", "b"} {
		if got, _ := table.Pick(jobspec.RouteLeastRecentlyUsed, 7, []string{"a", "a", "b"}); got != want {
			t.Errorf("turn %d is %q, want %q", i, got, want)
		}
	}
}

func TestSimpleStrategies(t *testing.T) {
	t.Parallel()
	table := NewTable()
	if got, err := table.Pick(jobspec.RouteFirst, 1, three); err != nil || got != three[0] {
		t.Errorf("FIRST: %q, %v", got, err)
	}
	if got, err := table.Pick(jobspec.RouteLast, 1, three); err != nil || got != three[2] {
		t.Errorf("LAST: %q, %v", got, err)
	}
	seen := make(map[string]int)
	for range 300 {
		got, err := table.Pick(jobspec.RouteRandom, 1, three)
		if err != nil {
			t.Fatal(err)
		}
		seen[got]++
	}
	if len(seen) != 3 {
		t.Errorf("RANDOM used only %v", seen)
	}
}

func TestWhatCannotChooseOneAddressIsAnError(t *testing.T) {
	t.Parallel()
	for _, s := range []jobspec.Route{jobspec.RouteFailover, jobspec.RouteBusyover, jobspec.RouteShardingBroadcast, "", "NEAREST"} {
		if got, err := NewTable().Pick(s, 1, three); err == nil {
			t.Errorf("%q chose %q", s, got)
		}
	}
	for s, want := range map[jobspec.Route]bool{jobspec.RouteFailover: true, jobspec.RouteBusyover: true, jobspec.RouteFirst: false, jobspec.RouteShardingBroadcast: false} {
		if got := Probing(s); got != want {
			t.Errorf("Probing(%s) = %t", s, got)
		}
	}
}

func TestForgetDropsEverythingRemembered(t *testing.T) {
	t.Parallel()
	table := NewTable()
	for _, s := range []jobspec.Route{jobspec.RouteRound, jobspec.RouteLeastFrequentlyUsed, jobspec.RouteLeastRecentlyUsed} {
		table.Pick(s, 1, three)
	}
	table.Forget()
	if len(table.round)+len(table.used) != 0 {
		t.Errorf("kept: %v %v", table.round, table.used)
	}
}

func TestATableMayBeUsedByMany(t *testing.T) {
	t.Parallel()
	table := NewTable()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				for _, s := range []jobspec.Route{jobspec.RouteRound, jobspec.RouteLeastFrequentlyUsed, jobspec.RouteLeastRecentlyUsed, jobspec.RouteConsistentHash} {
					if _, err := table.Pick(s, int64(i%3), three[:1+i%3]); err != nil {
						t.Error(err)
					}
				}
				table.Forget()
			}
		})
	}
	wg.Wait()
}

func FuzzConsistentHash(f *testing.F) {
	f.Add(int64(1), "a", "b")
	f.Add(int64(-1), "", "")
	f.Add(int64(1)<<62, "\xff\x00", "http://例.cn/")
	f.Fuzz(func(t *testing.T, job int64, a, b string) {
		addresses := []string{a, b}
		got, err := NewTable().Pick(jobspec.RouteConsistentHash, job, addresses)
		if err != nil || !slices.Contains(addresses, got) {
			t.Errorf("got %q, %v", got, err)
		}
		if again := newRing(addresses).pick(job); again != got {
			t.Errorf("got %q and then %q", got, again)
		}
	})
}

func ExampleTable_Pick() {
	table := NewTable()
	for range 3 {
		a, _ := table.Pick(jobspec.RouteLeastRecentlyUsed, 1, []string{"east", "west"})
		fmt.Println(a)
	}
	// Output:
	// east
	// west
	// east
}
