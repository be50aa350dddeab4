package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
)

// tries does something so many times at once, and returns what came of each.
func tries[T any](n int, do func(i int) T) []T {
	all := make([]T, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			all[i] = do(i)
		})
	}
	close(begin)
	wg.Wait()
	return all
}

// TestARequestWithAKeyIsDoneOnceThoughItComesTenTimes at the same moment: one job is made, and whoever is told of one is told of that.
func TestARequestWithAKeyIsDoneOnceThoughItComesTenTimes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		const body = `{"group_id":1,"description":"ten times","author":"a","handler":"h"}`
		made := make(map[string]bool)
		for _, got := range tries(10, func(int) answer { return c.do(http.MethodPost, "/jobs", body, "Idempotency-Key", "k") }) {
			switch got.status {
			case http.StatusCreated:
				made[got.header.Get("Location")] = true
			case http.StatusConflict: // while the first is under way
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		var list struct{ Items []struct{ ID int } }
		c.json(http.StatusOK, &list, http.MethodGet, "/jobs?text=ten+times", "")
		if len(made) != 1 || len(list.Items) != 1 {
			t.Errorf("made: %v, there are %v", made, list.Items)
		}
	})
}

// TestOfManyChangesWithOneETagOneIsMade, and the others are told that it is no longer that.
func TestOfManyChangesWithOneETagOneIsMade(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var job struct{ ID int }
		etag := c.json(http.StatusCreated, &job, http.MethodPost, "/jobs", `{"group_id":1,"description":"wanted","author":"a","handler":"h"}`).header.Get("ETag")
		var done []int
		for i, got := range tries(8, func(i int) answer {
			return c.do(http.MethodPatch, fmt.Sprintf("/jobs/%d", job.ID), fmt.Sprintf(`{"retries":%d}`, i+1), "If-Match", etag)
		}) {
			switch got.status {
			case http.StatusOK:
				done = append(done, i+1)
			case http.StatusPreconditionFailed:
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		var now struct{ Retries int }
		c.json(http.StatusOK, &now, http.MethodGet, fmt.Sprintf("/jobs/%d", job.ID), "")
		if len(done) != 1 || now.Retries != done[0] {
			t.Errorf("told that they are done: %v, and there is %d", done, now.Retries)
		}
	})
}

// TestPagesOfJobsMissNoneThatStays: while others come and go between the pages, each job that is there all the time is listed once.
func TestPagesOfJobsMissNoneThatStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		create := func(name string) (id int) {
			t.Helper()
			var made struct{ ID int }
			c.json(http.StatusCreated, &made, http.MethodPost, "/jobs", fmt.Sprintf(`{"group_id":1,"description":%q,"author":"a","handler":"h","schedule":"CRON","cron":"0 0 2 * * ?"}`, name))
			return made.ID
		}
		for _, sort := range []string{"", "&sort=name", "&sort=-name", "&sort=next"} {
			stays, goes := make(map[int]int), []int{}
			for i := range 6 {
				stays[create(fmt.Sprintf("stays %d %s", i, sort))] = 0
				goes = append(goes, create(fmt.Sprintf("goes %d %s", i, sort)))
			}
			for cursor, page := "", 0; ; page++ {
				var list struct {
					Items []struct{ ID int }
					Next  string
				}
				c.json(http.StatusOK, &list, http.MethodGet, "/jobs?limit=3"+sort+cursor, "")
				for _, j := range list.Items {
					if _, ok := stays[j.ID]; ok {
						stays[j.ID]++
					}
				}
				if list.Next == "" {
					break
				}
				cursor = "&cursor=" + list.Next
				if page < len(goes) {
					c.json(http.StatusOK, new(struct{}), http.MethodDelete, fmt.Sprintf("/jobs/%d", goes[page]), "")
					create(fmt.Sprintf("comes %d %s", page, sort))
				}
			}
			for id, n := range stays {
				if n != 1 {
					t.Errorf("%q: job %d was listed %d times", sort, id, n)
				}
			}
		}
	})
}

// TestTwoPipelinesAtOnce apply files of the same source, with prune: what is there afterwards is what one of them wanted, whole.
func TestTwoPipelinesAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		file := func(jobs ...string) string {
			text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
			for _, j := range jobs {
				text += "      - {author: ann, handler: h, schedule: CRON, cron: '0 0 2 * * ?', description: " + j + "}\n"
			}
			body, err := json.Marshal(map[string]any{"files": []any{map[string]string{"name": "a.yaml", "text": text}}, "source": "team/jobs", "prune": true})
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		for round := range 4 {
			wants := [][]string{{"both", fmt.Sprintf("left %d", round), "l"}, {"both", fmt.Sprintf("right %d", round)}}
			done, refusals := 0, ""
			for _, got := range tries(6, func(i int) answer { return c.do(http.MethodPost, "/jobs/apply", file(wants[i%2]...)) }) {
				switch got.status {
				case http.StatusOK:
					done++
				case http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity: // somebody was faster
					refusals += got.body
				default:
					t.Errorf("%d %s", got.status, got.body)
				}
			}
			var list struct {
				Items []struct{ Description string }
			}
			c.json(http.StatusOK, &list, http.MethodGet, "/jobs", "")
			names := make(map[string]int)
			for _, j := range list.Items {
				names[j.Description]++
			}
			got := slices.Sorted(maps.Keys(names))
			if len(list.Items) != len(got) || done == 0 || !slices.ContainsFunc(wants, func(want []string) bool { return slices.Equal(slices.Sorted(slices.Values(want)), got) }) {
				t.Errorf("round %d, %d were done: %v\n%s", round, done, names, refusals)
			}
		}
	})
}

// TestTenReplicasDeclareOneJob though they start at the same moment.
func TestTenReplicasDeclareOneJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		form := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}, "token_manages": {"on"}}
		if got := open(t, a).mustLogin().post("/executors/"+strconv.FormatInt(groups["orders"], 10), form); got.status != http.StatusSeeOther {
			t.Fatalf("let the token manage: %d %s", got.status, got.body)
		}
		var replicas []*executor.Executor
		ran := make(chan struct{}, 100)
		for range 10 {
			ex, err := executor.New(executor.Config{AppName: "orders", Admins: []string{orders.base}, Token: orders.token, DataDir: t.TempDir(), Listen: "127.0.0.1:0", BeatInterval: 50 * time.Millisecond, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			ex.Handle("pulse", func(context.Context, *executor.Run) error { ran <- struct{}{}; return nil })
			for i := range 3 {
				ex.Declare(executor.Job{Name: "pulse" + strings.Repeat("2", i), Handler: "pulse", Description: "pulse " + strconv.Itoa(i), Schedule: executor.Every(time.Second)})
			}
			replicas = append(replicas, ex)
		}
		for _, err := range tries(len(replicas), func(i int) error { return replicas[i].Start(t.Context()) }) {
			if err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(func() {
			for _, ex := range replicas {
				_ = ex.Stop(context.Background())
			}
		})
		for range 6 { // each job twice, or about that: all have declared by then
			<-ran
		}
		rows, err := db.New().ListJobNames(t.Context(), a.pool, db.ListJobNamesParams{JobGroup: groups["orders"], Limit: 100})
		if err != nil || len(rows) != 3 {
			t.Errorf("%d jobs, %v: %+v", len(rows), err, rows)
		}
	})
}
