package app

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// watching is an open stream.
type watching struct {
	events chan string // names and data; closed when the stream ends
}

func (b *browser) watch(path string) watching {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream") // as browsers do
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

// until waits for a line, or with "" for the end of the stream, and says how long that took.
func (w watching) until(t *testing.T, line string) time.Duration {
	t.Helper()
	since := time.Now()
	late := time.After(20 * time.Second)
	for {
		select {
		case got, open := <-w.events:
			if !open && line == "" || open && line != "" && strings.Contains(got, line) {
				return time.Since(since)
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
		if took := list.until(t, "event: gone"); took > 5*time.Second {
			t.Errorf("the list goes on for %s", took)
		}
		if took := output.until(t, ""); took > 5*time.Second {
			t.Errorf("the output goes on for %s", took)
		}
		things(t, a, groups[1], secret+"2")
		list.quiet(t, "the list", 3*time.Second)

		disabled := right(groups[0])
		disabled.Set("state", "disabled")
		if got := admin.post(user, disabled); got.status != http.StatusSeeOther {
			t.Fatalf("disable: %d %s", got.status, got.body)
		}
		if took := list.until(t, ""); took > 5*time.Second {
			t.Errorf("the list of a disabled user goes on for %s", took)
		}
	})
}

func TestRightsAreCompared(t *testing.T) {
	t.Parallel()
	p := auth.NewPrincipal(1, "ann", auth.RoleUser, "1")
	if !p.SameRights(auth.NewPrincipal(1, "ann", auth.RoleUser, "1")) || p.SameRights(p.Grant(2, auth.RightView)) || p.SameRights(auth.NewPrincipal(1, "ann", auth.RoleAdmin, "1")) {
		t.Error("rights are told apart wrongly")
	}
}
