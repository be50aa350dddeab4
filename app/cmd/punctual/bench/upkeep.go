package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// Days of the log that [upkeepOfBig] fills: one is older than a month, and the others are not, in February either.
const (
	upkeepKept = 27
	upkeepDays = upkeepKept + 1
)

// upkeepOfBig measures what a log of --runs runs asks for now and then beside 500 triggers/s: a text that nothing matches is looked for in a day and in
// a week, the runs of one day are deleted, row by row, and, with MariaDB, the log becomes one in partitions, of which one with the runs of a day is dropped.
// The figures of triggers say how much they feel of each.
func upkeepOfBig(ctx context.Context, s Settings, database string) error {
	const name = "upkeep"
	u := &bigLog{s: s, database: database, day: s.Runs / upkeepDays}
	u.name = fmt.Sprintf("%s, %d runs", name, s.Runs)
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error { return u.fill(ctx, pool) })
	if err != nil {
		return err
	}
	defer y.close()
	u.system = y
	w, err := y.window(ctx, 15*time.Second, time.Duration(s.Seconds)*time.Second)
	if err != nil {
		return err
	}
	u.tell("before", w)
	if u.agent, err = y.login(ctx, "admin"); err != nil {
		return err
	}
	u.agent.token = u.token
	for _, days := range []int{1, 7} {
		if err := u.search(ctx, days); err != nil {
			return err
		}
	}
	if err := u.deletion(ctx); err != nil {
		return err
	}
	if database == embedded {
		return nil
	}
	return u.partitions(ctx)
}

// bigLog is a system with a big log.
type bigLog struct {
	*system
	s              Settings
	database, name string
	agent          agent
	token          string
	day            int // runs of a day
}

func (u *bigLog) tell(when string, w window) {
	u.s.report(u.database, u.name+", "+when, "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; CPU admin %.2f, database %.2f cores",
		float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.adminCPU, w.dbCPU)
}

func (u *bigLog) fill(ctx context.Context, pool *db.Pool) error {
	const rate = 500
	began := time.Now()
	err := addRuns(ctx, pool, u.day, began.AddDate(0, 0, -33), began.AddDate(0, 0, -32))
	if err == nil {
		err = addRuns(ctx, pool, u.s.Runs-u.day, began.AddDate(0, 0, -upkeepKept), began.Add(-time.Minute))
	}
	if err != nil {
		return err
	}
	u.s.report(u.database, u.name, "filled in %.0f s", time.Since(began).Seconds())
	hash, err := auth.NewPasswords(1).Hash(ctx, pagePassword)
	if err != nil {
		return err
	}
	if _, err := db.New().InsertUser(ctx, pool, db.InsertUserParams{Username: "admin", Password: hash, Role: auth.RoleAdmin}); err != nil {
		return err
	}
	a := agent{name: "admin"}
	if err := a.giveToken(ctx, pool); err != nil {
		return err
	}
	u.token = a.token
	return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
}

// search looks for a text that no run of the newest days has, as a program does that asks until all of them were looked through.
func (u *bigLog) search(ctx context.Context, days int) error {
	until := time.Now().Add(-time.Minute).UTC()
	query := url.Values{"text": {"nothing like it"}, "look": {"10s"}, "since": {until.AddDate(0, 0, -days).Format(time.RFC3339)}, "until": {until.Format(time.RFC3339)}}
	requests, longest := 0, time.Duration(0)
	w, err := u.during(func() error {
		for {
			began := time.Now()
			next, err := u.agent.runsAfter(ctx, query)
			if err != nil {
				return err
			}
			requests, longest = requests+1, max(longest, time.Since(began))
			if next == "" {
				return nil
			}
			query.Set("cursor", next)
		}
	})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	what := fmt.Sprintf("a text in %d days", days)
	u.tell("during the search of "+what, w)
	u.s.report(u.database, u.name, "%s, some %d runs: %.1f s in %d requests of up to %.1f s, %.0f runs/s", what, days*u.day, w.seconds, requests, longest.Seconds(), float64(days*u.day)/w.seconds)
	return nil
}

// runsAfter asks for a page of runs, and returns the cursor of the next one.
func (a agent) runsAfter(ctx context.Context, query url.Values) (next string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/api/v1/runs?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	answer, err := a.http.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var page struct{ Next string }
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %d", r.URL, answer.StatusCode)
	}
	return page.Next, json.NewDecoder(answer.Body).Decode(&page)
}

// deletion deletes the day that is older than a month, by the page for clearing: the nightly one goes the same way.
func (u *bigLog) deletion(ctx context.Context) error {
	longest, end := u.watch(ctx)
	w, err := u.during(func() error { return u.agent.clear(ctx) })
	end()
	if err != nil {
		return err
	}
	u.tell("during the deletion of a day", w)
	said := ""
	if u.database == privateMaria {
		said = fmt.Sprintf("; the longest statement some %.0f ms", ms(*longest))
	}
	u.s.report(u.database, u.name, "%d runs deleted in %.1f s: %.0f/s%s", u.day, w.seconds, float64(u.day)/w.seconds, said)
	return nil
}

// watch looks every few milliseconds for how long a deletion has been at work, which MariaDB can tell. End waits for the last look.
func (u *bigLog) watch(ctx context.Context) (longest *time.Duration, end func()) {
	longest = new(time.Duration)
	if u.database != privateMaria {
		return longest, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		pool, err := u.open(ctx)
		if err != nil {
			return // the figure is 0 then
		}
		defer pool.Close()
		for wait(ctx, 5*time.Millisecond) == nil {
			var at sql.NullFloat64
			err := pool.QueryRowContext(ctx, "SELECT MAX(time_ms) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE '%DELETE FROM xxl_job_log%'").Scan(&at)
			if err == nil {
				*longest = max(*longest, time.Duration(at.Float64*float64(time.Millisecond)))
			}
		}
	})
	return longest, func() { cancel(); looking.Wait() }
}

// partitions makes the log one in partitions while no admin works, as has to be, fills one with the runs of a day, and drops that beside the triggers.
func (u *bigLog) partitions(ctx context.Context) error {
	u.stopAdmin()
	began := time.Now()
	cmd := exec.CommandContext(ctx, u.binary, "log", "partition", "--apply")
	cmd.Env = append(plainEnvironment(), "PUNCTUAL_DATABASE_URL="+u.url, "PUNCTUAL_DATA_DIR="+u.dir, "PUNCTUAL_TIME_ZONE=UTC")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("log partition: %w: %s", err, out)
	}
	u.s.report(u.database, u.name, "log partition --apply: %.1f s", time.Since(began).Seconds())
	pool, err := u.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	list, err := pool.LogPartitions(ctx)
	if err == nil && len(list) < 2 {
		err = errors.New("the log has no second partition")
	}
	if err != nil {
		return err
	}
	second := list[1]
	// What is written from here on is in the second one.
	if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (?, 0, 0, 200, 200)", second.From); err != nil {
		return err
	}
	now := time.Now()
	if err := addRuns(ctx, pool, u.day, now.AddDate(0, 0, -1), now); err != nil {
		return err
	}
	stop(u.executor, 9) // its admin is gone
	if _, err := u.startAdmin(ctx); err != nil {
		return err
	}
	if err := u.startExecutor(ctx); err != nil {
		return err
	}
	if err := wait(ctx, 10*time.Second); err != nil {
		return err
	}
	var took time.Duration
	w, err := u.during(func() error {
		began := time.Now()
		err := pool.DropLogPartition(ctx, second.Name)
		took = time.Since(began)
		return errors.Join(err, wait(ctx, 5*time.Second))
	})
	if err != nil {
		return err
	}
	u.tell("while a partition is dropped", w)
	u.s.report(u.database, u.name, "a partition with %d runs dropped in %.2f s (%s)", u.day, took.Seconds(), strings.ToLower(second.Name))
	return nil
}
