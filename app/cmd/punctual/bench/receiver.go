package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

const (
	downRate = 1000 // runs a second beside which the receiver is away
	downFew  = 50   // every so many jobs are in the group whose sendings are told too
)

// receiverDown runs 1,000 jobs a second while those who are told of their ends are away for -seconds: how late the jobs are
// with the receivers there, away and back, and whether every run of the log was told in the end, in its order. One webhook is told
// of the end of every run, the other of sending and end of each fiftieth job's. With -waiting, so many events more wait from the moment on
// at which they go away, of runs that are in the log from the beginning: what an hour makes can be seen in minutes.
func receiverDown(ctx context.Context, s Settings, database string) error {
	r, y, admin, first, err := withReceivers(ctx, s, database)
	if err != nil {
		return err
	}
	defer r.down()
	defer y.close()
	minute := min(time.Minute, time.Duration(s.Seconds)*time.Second)
	say := func(what string, w window) {
		all, few := r.count()
		behindAll, behindFew := r.behind()
		s.report(database, "receivers "+what, "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; CPU admin %.2f, executor %.2f, database %.2f cores; admin %.0f MB; events taken %d and %d, the newest %.1f and %.1f s old",
			float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.adminCPU, w.execCPU, w.dbCPU, w.adminRSS, all, few, behindAll.Seconds(), behindFew.Seconds())
	}
	w, err := y.window(ctx, time.Until(first)+10*time.Second, minute)
	if err != nil {
		return err
	}
	say("there", w)

	r.down()
	if err := y.leaveWaiting(ctx, s.Waiting); err != nil {
		return err
	}
	away := time.Now()
	var p99 []float64
	worst := 0.0
	for left := time.Duration(s.Seconds) * time.Second; left > 0; left = time.Duration(s.Seconds)*time.Second - time.Since(away) {
		if w, err = y.window(ctx, 0, min(left, minute)); err != nil {
			return err
		}
		p99, worst = append(p99, w.executor.P99), max(worst, w.executor.Max)
		say(fmt.Sprintf("away, %.0f min", time.Since(away).Minutes()), w)
	}
	all, _ := r.count()
	if err := r.up(); err != nil {
		return err
	}
	back := time.Now()
	if err := poll(ctx, 10*time.Minute, func() error {
		if n, _ := r.count(); n == all {
			return errors.New("the receivers were not tried again")
		}
		return nil
	}); err != nil {
		return err
	}
	noticed := time.Since(back)

	// Until they know of what happened two seconds ago.
	caughtUp := time.Duration(0)
	for caughtUp == 0 && time.Since(back) < max(20*time.Minute, time.Duration(s.Seconds)*time.Second) {
		if w, err = y.window(ctx, 0, minute); err != nil {
			return err
		}
		say(fmt.Sprintf("back, %.0f min", time.Since(back).Minutes()), w)
		if behind, _ := r.behind(); behind < 2*time.Second {
			caughtUp = time.Since(back)
		}
	}
	if err := admin.stopAll(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	empty := time.Since(back)
	y.stopAdmin()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	missing, unknown, runs, err := r.compare(ctx, pool)
	if err != nil {
		return err
	}
	var dropped int64
	if err := pool.QueryRowContext(ctx, "SELECT SUM(dropped) FROM punctual_webhook").Scan(&dropped); err != nil {
		return err
	}
	slices.Sort(p99)
	late := "not caught up with meanwhile"
	if caughtUp > 0 {
		late = fmt.Sprintf("caught up with within %.0f min", caughtUp.Minutes())
	}
	s.report(database, "receivers away", "for %.0f min at %d runs/s: p99 of the minutes' lateness, median %.1f and at most %.1f ms, one run at most %.0f ms; tried again %.0f s after they came back; %s, with the jobs stopped the last event came %.0f min after they were back",
		float64(s.Seconds)/60, downRate, p99[len(p99)/2], p99[len(p99)-1], worst, noticed.Seconds(), late, empty.Minutes())
	again, outOfOrder, onlyEnd := r.faults()
	s.report(database, "receivers away", "of %d ended runs %d not told; %d events told again, %d of unknown runs, %d not kept; of the runs told with their sending %d in the wrong order, %d with their end alone",
		runs, missing, again, unknown, dropped, outOfOrder, onlyEnd)
	return nil
}

// withReceivers is an installation with the jobs, the first of which is due some seconds later, and with both webhooks.
func withReceivers(ctx context.Context, s Settings, database string) (r *receivers, y *system, admin caller, first time.Time, err error) {
	if s.Waiting%1000 != 0 || s.Waiting > 0 && database == embedded {
		return r, y, admin, first, errors.New("-waiting is for MariaDB, and in thousands")
	}
	if r, err = newReceivers(); err != nil {
		return r, y, admin, first, err
	}
	defer func() {
		if err != nil {
			r.down()
		}
	}()
	y, err = prepared(ctx, s, database, func(pool *db.Pool) error {
		began := time.Now()
		if err := addRuns(ctx, pool, s.Waiting, began.Add(-time.Hour), began); err != nil {
			return err
		}
		first = time.Now().Add(20 * time.Second)
		if err := addJobs(ctx, pool, downRate, time.Second, first, true); err != nil {
			return err
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_group (app_name, title, address_type) VALUES ('bench', 'few', 0)"); err != nil {
			return err
		}
		_, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET job_group = (SELECT MAX(id) FROM xxl_job_group) WHERE id % ? = 0", downFew)
		return err
	})
	if err != nil {
		return r, y, admin, first, err
	}
	if admin, err = y.tellReceivers(ctx, database, r); err == nil && time.Now().After(first) {
		err = errors.New("the first job was due before the webhooks were there")
	}
	if err != nil {
		y.close()
	}
	return r, y, admin, first, err
}

// downRounds are how often receiverRounds has its webhooks on and off.
const downRounds = 5

// receiverRounds runs 1,000 jobs a second with receivers that are away and by turns with the webhooks switched off, -seconds each: how
// late the jobs are with events that nobody takes, and without any. Whatever else the machine does, it does to both.
func receiverRounds(ctx context.Context, s Settings, database string) error {
	r, y, admin, first, err := withReceivers(ctx, s, database)
	if err != nil {
		return err
	}
	defer y.close()
	r.down()
	if err := y.leaveWaiting(ctx, s.Waiting); err != nil {
		return err
	}
	if err := wait(ctx, time.Until(first)+10*time.Second); err != nil {
		return err
	}
	var p50, p99 [2][]float64
	var cpu [2]float64
	states := []string{"on", "off"}
	for round := range downRounds {
		for turn := range states {
			i := (round + turn) % 2 // each begins a round as often, since what a window left undone burdens the next
			state := states[i]
			for hook := range 2 {
				if err := admin.call(ctx, http.MethodPatch, fmt.Sprintf("/webhooks/%d", hook+1), map[string]any{"enabled": state == "on"}, nil); err != nil {
					return err
				}
			}
			w, err := y.window(ctx, 5*time.Second, time.Duration(s.Seconds)*time.Second) // both admins and deliveries know of it by then
			if err != nil {
				return err
			}
			p50[i], p99[i], cpu[i] = append(p50[i], w.executor.P50), append(p99[i], w.executor.P99), cpu[i]+(w.adminCPU+w.dbCPU)/downRounds
			s.report(database, "receivers, "+state, "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; CPU admin %.2f, database %.2f cores; admin %.0f MB",
				float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.adminCPU, w.dbCPU, w.adminRSS)
		}
	}
	for i := range states {
		slices.Sort(p50[i])
		slices.Sort(p99[i])
	}
	rows, size, err := y.waiting(ctx, database)
	if err != nil {
		return err
	}
	s.report(database, "receivers by turns", "away against off, medians of %d rounds: lateness p50 %.1f and %.1f ms, p99 %.1f and %.1f ms, admin and database %.2f and %.2f cores; %d events wait in %.0f MB",
		downRounds, p50[0][downRounds/2], p50[1][downRounds/2], p99[0][downRounds/2], p99[1][downRounds/2], cpu[0], cpu[1], rows, size)
	return nil
}

// waiting is how many events wait, and how many MB their table has; of the embedded database that is not known.
func (y *system) waiting(ctx context.Context, database string) (rows int64, size float64, err error) {
	if database == embedded {
		y.stopAdmin() // one process's at a time
	}
	pool, err := y.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer pool.Close()
	if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_webhook_delivery").Scan(&rows); err != nil || database == embedded {
		return rows, 0, err
	}
	err = pool.QueryRowContext(ctx, "SELECT (data_length + index_length) / 1e6 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'punctual_webhook_delivery'").Scan(&size)
	return rows, size, err
}

// tellReceivers makes the two webhooks, and an administrator who may stop the jobs.
func (y *system) tellReceivers(ctx context.Context, database string, r *receivers) (caller, error) {
	pages, err := y.login(ctx, "admin")
	if err != nil {
		return caller{}, err
	}
	if database == embedded { // one process's at a time
		y.stopAdmin()
	}
	pool, err := y.open(ctx)
	if err == nil {
		err = errors.Join(pages.giveToken(ctx, pool), pool.Close())
	}
	if err == nil && database == embedded {
		stop(y.executor, 15)
		if _, err = y.startAdmin(ctx); err == nil {
			err = y.startExecutor(ctx)
		}
	}
	if err != nil {
		return caller{}, err
	}
	c := caller{base: y.address + "/api/v1", token: pages.token}
	var groups struct {
		Items []struct {
			ID    int64  `json:"id"`
			Title string `json:"title"`
		} `json:"items"`
	}
	if err := c.call(ctx, http.MethodGet, "/groups", nil, &groups); err != nil {
		return c, err
	}
	few := []int64{}
	for _, g := range groups.Items {
		if g.Title == "few" {
			few = append(few, g.ID)
		}
	}
	for _, hook := range []map[string]any{
		{"name": "all", "url": r.url("all"), "types": []string{"punctual.run.finished"}},
		{"name": "few", "url": r.url("few"), "types": []string{"punctual.run.sent", "punctual.run.finished"}, "group_ids": few},
	} {
		if err := c.call(ctx, http.MethodPost, "/webhooks", hook, nil); err != nil {
			return c, err
		}
	}
	return c, nil
}

// leaveWaiting has n events wait, of the oldest runs.
func (y *system) leaveWaiting(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	at := time.Now().UnixMilli()
	return insert(ctx, pool, "punctual_webhook_delivery (webhook_id, type, job_group, job_id, log_id, happened_at, outcome, code)", n, func(i int) []any {
		return []any{1, "punctual.run.finished", 100, 1_000_000, i + 1, at, int64(event.Succeeded), 200}
	})
}

// caller is a program with a token.
type caller struct{ base, token string }

func (c caller) call(ctx context.Context, method, path string, body, answer any) error {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// stopAll stops the jobs.
func (c caller) stopAll(ctx context.Context) error {
	for id := range int64(downRate) {
		if id%100 == 99 { // no more than the API lets anybody ask
			if err := wait(ctx, time.Second); err != nil {
				return err
			}
		}
		if err := c.call(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/stop", id+1), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// What a run was told of.
const (
	toldSent = 1 << iota
	toldEnd
	toldWrongly
)

// receivers are both receivers on one port, and what they were told.
type receivers struct {
	address string

	mu     sync.Mutex
	server *http.Server
	all    []byte // by run
	few    []byte
	events [2]int // taken, the second's too
	again  int
	latest [2]time.Time // when the newest of them happened
}

func newReceivers() (*receivers, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &receivers{address: "127.0.0.1:" + port}
	return r, r.up()
}

func (r *receivers) url(which string) string { return "http://" + r.address + "/" + which }

func (r *receivers) up() error {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r}
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	go server.Serve(l)
	return nil
}

func (r *receivers) down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		_ = r.server.Close()
	}
}

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var e struct {
		Type string    `json:"type"`
		Time time.Time `json:"time"`
		Data struct {
			Run struct {
				ID int64 `json:"id"`
			} `json:"run"`
		} `json:"data"`
	}
	if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	told := byte(toldSent)
	if e.Type == "punctual.run.finished" {
		told = toldEnd
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list, which := &r.all, 0
	if strings.HasSuffix(req.URL.Path, "few") {
		list, which = &r.few, 1
	}
	r.events[which]++
	if e.Time.After(r.latest[which]) {
		r.latest[which] = e.Time
	}
	id := int(e.Data.Run.ID)
	for len(*list) <= id {
		*list = append(*list, make([]byte, 1<<16)...)
	}
	before := (*list)[id]
	switch {
	case before&told != 0:
		r.again++
	case told == toldSent && before&toldEnd != 0:
		told |= toldWrongly
	}
	(*list)[id] = before | told
}

func (r *receivers) count() (all, few int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[0], r.events[1]
}

// behind is how long ago happened what they were told last.
func (r *receivers) behind() (all, few time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.latest[0]), time.Since(r.latest[1])
}

// settle waits until nothing more comes.
func (r *receivers) settle(ctx context.Context) error {
	for before := -1; ; {
		all, few := r.count()
		if all+few == before {
			return nil
		}
		before = all + few
		if err := wait(ctx, 30*time.Second); err != nil {
			return err
		}
	}
}

// compare holds what was told against the log.
func (r *receivers) compare(ctx context.Context, pool *db.Pool) (missing, unknown, runs int, err error) {
	rows, err := pool.QueryContext(ctx, "SELECT id FROM xxl_job_log WHERE finished_at > 0 ORDER BY id")
	if err != nil {
		return 0, 0, 0, err
	}
	defer rows.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return 0, 0, 0, err
		}
		runs++
		if id >= len(r.all) || r.all[id]&toldEnd == 0 {
			missing++
		}
	}
	told := 0
	for _, what := range r.all {
		if what&toldEnd != 0 {
			told++
		}
	}
	return missing, told - (runs - missing), runs, rows.Err()
}

func (r *receivers) faults() (again, outOfOrder, onlyEnd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, what := range r.few {
		if what&toldWrongly != 0 {
			outOfOrder++
		}
		if what == toldEnd {
			onlyEnd++
		}
	}
	return r.again, outOfOrder, onlyEnd
}
