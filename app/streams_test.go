package app

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// watching is an open stream.
type watching struct {
	events chan string // names and data; closed when the stream ends
}

func (b *browser) watch(path string, header ...string) watching {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream") // as browsers do
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := *b.http
	client.Timeout = 0
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %v %v", path, resp, err)
	}
	w := watching{events: make(chan string, 10_000)}
	go func() {
		defer close(w.events)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			w.events <- lines.Text()
		}
	}()
	return w
}

// until waits for a line, or with "" for the end of the stream.
func (w watching) until(t *testing.T, line string) {
	t.Helper()
	late := time.After(executortest.Patience)
	for {
		select {
		case got, open := <-w.events:
			if !open && line == "" || open && line != "" && strings.Contains(got, line) {
				return
			}
			if !open {
				t.Fatalf("the stream ended before %q came", line)
			}
		case <-late:
			t.Fatalf("%q did not come", line)
		}
	}
}

// quiet fails when something secret still comes.
func (w watching) quiet(t *testing.T, what string, d time.Duration) {
	t.Helper()
	over := time.After(d)
	for {
		select {
		case got, open := <-w.events:
			if strings.Contains(got, secret) {
				t.Errorf("%s still gets %s", what, got)
				return
			}
			if !open {
				return
			}
		case <-over:
			return
		}
	}
}

func TestStreamsFollowTheRightsOfWhoWatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		groups := make([]int64, 2)
		for i, name := range []string{"orders", "stock"} {
			id, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: name, Title: name})
			if err != nil {
				t.Fatal(err)
			}
			groups[i] = id
		}
		mine, theirs := things(t, a, groups[0], "plain"), things(t, a, groups[1], secret)
		// A run that is open: its stream goes on.
		for _, id := range []int64{mine.run, theirs.run} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_code = 200, handle_code = 0 WHERE id = ?", id); err != nil {
				t.Fatal(err)
			}
		}
		right := func(groups ...int64) url.Values {
			form := url.Values{"role": {"user"}, "state": {"active"}}
			for _, g := range groups {
				form.Add("right", strconv.FormatInt(g, 10)+".view")
			}
			return form
		}
		form := right(groups...)
		form.Set("name", "jonas")
		form.Set("password", "a-long-lamp-otter")
		if got := admin.post("/users", form); got.status != http.StatusSeeOther && got.status != http.StatusOK {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		u, err := db.New().GetUserByName(t.Context(), a.pool, "jonas")
		if err != nil {
			t.Fatal(err)
		}
		user := "/users/" + strconv.FormatInt(u.ID, 10)
		jonas := open(t, a)
		if got := jonas.login("jonas", "a-long-lamp-otter"); got.status != http.StatusSeeOther {
			t.Fatalf("login: %d", got.status)
		}
		list := jonas.watch("/runs/events")
		output := jonas.watch("/runs/" + strconv.FormatInt(theirs.run, 10) + "/events?from=1")
		list.until(t, secret)
		output.until(t, "event: ")

		if got := admin.post(user, right(groups[0])); got.status != http.StatusSeeOther {
			t.Fatalf("take the right away: %d %s", got.status, got.body)
		}
		list.until(t, "event: gone")
		output.until(t, "")
		things(t, a, groups[1], secret+"2")
		list.quiet(t, "the list", 3*time.Second)

		disabled := right(groups[0])
		disabled.Set("state", "disabled")
		if got := admin.post(user, disabled); got.status != http.StatusSeeOther {
			t.Fatalf("disable: %d %s", got.status, got.body)
		}
		list.until(t, "")
	})
}

// TestAListTellsOfErrorsFoundLater: an output is kept, and its errors counted, only once its run has ended and nothing else of its row
// changes any more.
func TestAListTellsOfErrorsFoundLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		run := things(t, a, group, "plain").run
		list := admin.watch("/runs/events")
		list.until(t, "plain")
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_output (log_id, job_group, state, object_id, faults) VALUES (?, ?, 2, 1, 7)", run, group); err != nil {
			t.Fatal(err)
		}
		list.until(t, "7 lines with errors")
	})
}

func TestRightsAreCompared(t *testing.T) {
	t.Parallel()
	p := auth.NewPrincipal(1, "ann", auth.RoleUser, "1")
	if !p.SameRights(auth.NewPrincipal(1, "ann", auth.RoleUser, "1")) || p.SameRights(p.Grant(2, auth.RightView)) || p.SameRights(auth.NewPrincipal(1, "ann", auth.RoleAdmin, "1")) {
		t.Error("rights are told apart wrongly")
	}
}

// TestProgramsFollowRuns follows all runs and one of them, as a person who may see one of two groups.
func TestProgramsFollowRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		hold := make(chan struct{})
		ex := executortest.New(t, c.base, executortest.Handlers{
			"hang": func(ctx context.Context, r *executor.Run) error {
				r.Logf("hello")
				<-hold
				r.Logf("bye")
				return nil
			},
		}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
		var group struct{ Addresses []string }
		c.json(200, &group, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"hang","author":"a","handler":"hang"}`)
		root := open(t, a).mustLogin()
		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		jonas.login("jonas", testPassword)
		token := makeToken(t, jonas, url.Values{"name": {"watch"}, "scope": {"view"}, "days": {"7"}})
		program := &browser{t: t, base: c.base, http: http.DefaultClient}
		follow := func(path string, header ...string) watching {
			return program.watch("/api/v1"+path, append(header, "Authorization", "Bearer "+token)...)
		}
		all := follow("/runs/live?group_id=1")
		var ran struct{ Runs []int64 }
		c.json(201, &ran, "POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
		at := fmt.Sprintf("/runs/%d/live", ran.Runs[0])
		all.until(t, fmt.Sprintf(`"id":%d`, ran.Runs[0]))
		one := follow(at)
		one.until(t, "event: run")
		one.until(t, "hello")
		close(hold)
		var rest strings.Builder // the result and the last of the output, in the order in which they were seen
		for line := range one.events {
			rest.WriteString(line + "\n")
		}
		for _, want := range []string{"bye", `"state":"success"`, "event: end"} {
			if !strings.Contains(rest.String(), want) {
				t.Errorf("the stream ended without %s:\n%s", want, rest.String())
			}
		}
		all.until(t, `"state":"success"`)

		again := follow(at, "Last-Event-ID", "1000") // who comes again hears nothing twice
		again.until(t, "event: run")
		for line := range again.events {
			if strings.Contains(line, "hello") {
				t.Errorf("a client that has it all gets %s", line)
			}
		}

		if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log WHERE id = ?", ran.Runs[0]); err != nil {
			t.Fatal(err)
		}
		all.until(t, "event: gone")
		things(t, a, 2, secret)
		everything := follow("/runs/live")
		everything.until(t, "event: beat")
		everything.quiet(t, "who may not see it", 2*time.Second)

		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET disabled = 1 WHERE username = 'jonas'"); err != nil {
			t.Fatal(err)
		}
		everything.until(t, "")
	})
}

// TestProgramsFollowLists follows each list that changes by itself: what is there comes at once, then what changes, and what is gone. Who may
// see it no more hears no more.
func TestProgramsFollowLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		jonas.login("jonas", testPassword)
		seen := makeToken(t, jonas, url.Values{"name": {"watch"}, "scope": {"view"}, "days": {"7"}})
		follow := func(token, path string) watching {
			return (&browser{t: t, base: c.base, http: http.DefaultClient}).watch("/api/v1"+path, "Authorization", "Bearer "+token)
		}

		things(t, a, 2, secret)
		jobs := follow(seen, "/jobs/live?sort=name")
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"pulse","author":"a","handler":"h","schedule":"CRON","cron":"0 0 2 * * ?"}`)
		at := fmt.Sprintf("/jobs/%d", made.ID)
		jobs.until(t, "event: job")
		jobs.until(t, `"state":"stopped"`)
		c.json(200, new(struct{}), "POST", at+"/start", "")
		jobs.until(t, `"state":"running"`)

		backfills := follow(seen, at+"/backfills/live")
		c.json(201, new(struct{}), "POST", at+"/backfills", `{"from":"2026-01-01T00:00:00Z","until":"2026-01-03T00:00:00Z"}`)
		backfills.until(t, "event: backfill")

		addresses := follow(seen, "/groups/1/addresses/live")
		addresses.until(t, `"disabled":false`)
		c.json(200, new(struct{}), "POST", "/groups/1/rotation", `{"address":"http://127.0.0.1:1/","disabled":true}`)
		addresses.until(t, `"disabled":true`)
		c.json(200, new(struct{}), "PATCH", "/groups/1", `{"addresses":["http://127.0.0.1:2/"]}`)
		addresses.until(t, "127.0.0.1:2")
		addresses.until(t, `data: {"id":"http://127.0.0.1:1/"}`)

		nodes := follow(c.token, "/nodes/live")
		nodes.until(t, "event: node")

		messages := follow(c.token, "/alarms/messages/live")
		c.json(201, new(struct{}), "POST", "/alarms/channels", `{"name":"chat","kind":"dingtalk","url":"http://127.0.0.1:1/robot","every_job":true}`)
		c.json(201, new(struct{}), "POST", at+"/trigger", "") // nobody is there to run it
		messages.until(t, "event: message")

		if got := c.do("DELETE", at, ""); got.status != http.StatusOK {
			t.Fatalf("delete: %d %s", got.status, got.body)
		}
		jobs.until(t, "event: gone")
		jobs.quiet(t, "who has seen it all", 3*time.Second)
		backfills.until(t, "event: end") // its job is gone
		if got := (&caller{t: t, base: c.base, token: seen}).do("GET", "/nodes/live", ""); got.status != http.StatusForbidden {
			t.Errorf("who may not see the admins follows them: %d", got.status)
		}
	})
}

// TestWhatIsHeldEndsWithItsToken holds requests open for a run that hangs and for one that never stops talking, and revokes their token.
func TestWhatIsHeldEndsWithItsToken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		hang := func(ctx context.Context, _ *executor.Run) error {
			<-ctx.Done()
			return nil
		}
		talk := func(ctx context.Context, r *executor.Run) error {
			for line := strings.Repeat("talk ", 2000); ctx.Err() == nil; {
				r.Logf("%s", line)
			}
			return nil
		}
		ex := executortest.New(t, c.base, executortest.Handlers{"hang": hang, "talk": talk}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
		c.json(200, new(struct{}), "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
		runs := map[string]int64{}
		for _, handler := range []string{"hang", "talk"} {
			var made struct{ ID int }
			c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"`+handler+`","author":"a","handler":"`+handler+`"}`)
			var ran struct{ Runs []int64 }
			c.json(201, &ran, "POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
			runs[handler] = ran.Runs[0]
		}
		held := &caller{t: t, base: c.base, token: makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"held"}, "scope": {"admin"}, "days": {"7"}})}
		var tokens struct {
			Items []struct {
				ID   int64
				Name string
			}
		}
		c.json(200, &tokens, "GET", "/tokens", "")
		id := tokens.Items[slices.IndexFunc(tokens.Items, func(token struct {
			ID   int64
			Name string
		}) bool {
			return token.Name == "held"
		})].ID
		stream := (&browser{t: t, base: c.base, http: http.DefaultClient}).watch(fmt.Sprintf("/api/v1/runs/%d/live", runs["talk"]), "Authorization", "Bearer "+held.token)
		stream.until(t, "talk")
		answered := make(chan answer, 1)
		go func() { answered <- held.do("GET", fmt.Sprintf("/runs/%d?wait=60s", runs["hang"]), "") }()
		for range 20 { // by then it was let in
			c.json(200, new(struct{}), "GET", "/whoami", "")
		}
		if got := c.do("DELETE", fmt.Sprintf("/tokens/%d", id), ""); got.status != http.StatusOK {
			t.Fatalf("revoke: %d %s", got.status, got.body)
		}
		stream.until(t, "")
		select {
		case got := <-answered:
			if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "token.revoked") {
				t.Errorf("who waits for a run with a token that is revoked gets %d %s", got.status, got.body)
			}
		case <-time.After(executortest.Patience):
			t.Error("who waits for a run with a token that is revoked goes on waiting")
		}
	})
}

// openRuns inserts runs that have been sent, and returns the ids of the first and of the last.
func openRuns(t *testing.T, a *App, job objects, n int) (first, last int64) {
	t.Helper()
	rows := make([]db.NewRun, n)
	for i := range rows {
		rows[i] = db.NewRun{JobGroup: job.group, JobID: job.job, TriggerTime: a.pool.Wall(time.Now()), PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}
	}
	ids, err := a.pool.Numbered(t.Context(), a.pool, n, func() (int64, error) { return db.InsertRuns(t.Context(), a.pool, rows) })
	if err != nil {
		t.Fatal(err)
	}
	return ids[0], ids[n-1]
}

func endRun(t *testing.T, a *App, id int64) {
	t.Helper()
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 200, outcome = ? WHERE id = ?", int64(event.Succeeded), id); err != nil {
		t.Fatal(err)
	}
}

// TestProgramsFollowOpenRunsBelowTheNewest: one that newer ones have pushed off is gone for who asks for open runs when it ends, and of more
// than are looked at it is said that some are left out.
func TestProgramsFollowOpenRunsBelowTheNewest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		job := things(t, a, 1, "plain")
		program := &browser{t: t, base: c.base, http: http.DefaultClient}
		list := program.watch("/api/v1/runs/live?result=open", "Authorization", "Bearer "+c.token)
		first, last := openRuns(t, a, job, 100)
		list.until(t, fmt.Sprintf(`{"id":%d,`, last))
		_, last = openRuns(t, a, job, 30)
		list.until(t, fmt.Sprintf(`{"id":%d,`, last))
		endRun(t, a, first)
		for id, late := fmt.Sprintf(`{"id":%d`, first), time.After(executortest.Patience); ; {
			select {
			case got := <-list.events:
				if !strings.Contains(got, id+"}") && !strings.Contains(got, id+",") {
					continue
				}
				if got != "data: "+id+"}" {
					t.Errorf("of open runs: %s", got)
				}
			case <-late:
				t.Error("it is not told that the run is gone")
			}
			break
		}
		openRuns(t, a, job, 100)
		list.until(t, "event: many")
	})
}

// TestAProgramThatComesAgainIsToldWhatItMayHaveMissed: of runs that newer ones have pushed off meanwhile, and of none but those.
func TestAProgramThatComesAgainIsToldWhatItMayHaveMissed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		job := things(t, a, 1, "plain")
		program := &browser{t: t, base: c.base, http: http.DefaultClient}
		// begin opens a stream and reads as far as a run: whether it said many, and the id of the run's event.
		begin := func(last string, until int64) (many bool, id string) {
			t.Helper()
			list := program.watch("/api/v1/runs/live", "Authorization", "Bearer "+c.token, "Last-Event-ID", last)
			for late := time.After(executortest.Patience); ; {
				select {
				case got, open := <-list.events:
					many = many || got == "event: many"
					if value, is := strings.CutPrefix(got, "id: "); is {
						id = value
					}
					if strings.Contains(got, fmt.Sprintf(`{"id":%d,`, until)) {
						return many, id
					}
					if !open {
						t.Fatal("the stream ended")
					}
				case <-late:
					t.Fatalf("run %d did not come", until)
				}
			}
		}
		first, last := openRuns(t, a, job, 100)
		for id := first + 1; id <= last; id++ {
			endRun(t, a, id)
		}
		many, id := begin("", last)
		if many || id != strconv.FormatInt(first, 10) {
			t.Errorf("a new one: many %t, id %s", many, id)
		}
		if many, _ = begin(id, last); many {
			t.Error("one that has missed nothing is told of many")
		}
		_, newest := openRuns(t, a, job, 1) // the first is pushed off, and may end now
		if many, _ = begin(id, newest); !many {
			t.Error("one that may have missed the end of a run is not told")
		}
		if many, _ = begin("", newest); many {
			t.Error("a new one is told of many")
		}
		endRun(t, a, newest)
		if _, id = begin("", newest); id != strconv.FormatInt(newest+1, 10) {
			t.Errorf("who has heard of the end of all has the id %s", id)
		}
		_, newest = openRuns(t, a, job, 100)
		if many, _ = begin(id, newest); many {
			t.Error("one that finds all new runs listed is told of many")
		}
		_, newest = openRuns(t, a, job, 1)
		if many, _ = begin(id, newest); !many {
			t.Error("one for which there was one run too many is not told")
		}
	})
}

// TestAListTellsOfTheEndOfRunsBelowItsPage under a name of their own: who does not show them any more does not take them for new.
func TestAListTellsOfTheEndOfRunsBelowItsPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		job := things(t, a, group, "plain")
		first, _ := openRuns(t, a, job, 1)
		list := admin.watch("/runs/events")
		list.until(t, fmt.Sprintf(`id="run-%d"`, first))
		_, last := openRuns(t, a, job, 200) // more than a page
		list.until(t, "event: many")
		openRuns(t, a, job, 1)
		list.until(t, fmt.Sprintf(`id="run-%d"`, last+1))
		endRun(t, a, first)
		list.until(t, "event: ended")
		list.until(t, fmt.Sprintf(`id="run-%d"`, first))
	})
}
