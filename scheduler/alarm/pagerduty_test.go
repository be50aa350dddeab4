package alarm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
)

const routingKey = "R0utingKey0123456789abcdef012345"

// pager answers as PagerDuty's Events API v2 does, and keeps the incidents of its service: a trigger opens one or joins the open one of
// its key, the other two do nothing to a key without an open incident.
type pager struct {
	*receiver
	mu        sync.Mutex
	busy      int      // so many calls more are refused with 429
	incidents []string // "key state severity", in the order in which they were opened
	summaries []string
}

func newPager(t *testing.T) *pager {
	t.Helper()
	p := new(pager)
	p.receiver = newReceiver(t, false, p.take)
	return p
}

func (p *pager) take(w http.ResponseWriter, r *http.Request) {
	calls := p.received()
	body := calls[len(calls)-1].body
	var e struct {
		Key     string `json:"routing_key"`
		Action  string `json:"event_action"`
		Dedup   string `json:"dedup_key"`
		Payload struct{ Summary, Source, Severity, Timestamp string }
	}
	invalid := func(why string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"status":"invalid event","message":"Event object is invalid","errors":[%q]}`, why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch err := json.Unmarshal(body, &e); {
	case p.busy > 0:
		p.busy--
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"status":"throttle exceeded","message":"Requests for this service are arriving too quickly."}`))
		return
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/v2/enqueue" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		invalid("JSON parse error")
		return
	case e.Key != routingKey:
		invalid("Length of 'routing_key' is incorrect (should be 32 characters): " + e.Key)
		return
	case e.Dedup == "" || len(e.Dedup) > 255 || !slices.Contains([]string{"trigger", "acknowledge", "resolve"}, e.Action):
		invalid("'event_action' is missing or blank")
		return
	case e.Action == "trigger":
		_, wrong := time.Parse(time.RFC3339, e.Payload.Timestamp)
		if wrong != nil || e.Payload.Summary == "" || len(e.Payload.Summary) > 1024 || e.Payload.Source == "" || !slices.Contains([]string{"critical", "error", "warning", "info"}, e.Payload.Severity) {
			invalid("'payload' is invalid")
			return
		}
	}
	at := slices.IndexFunc(p.incidents, func(i string) bool {
		return strings.HasPrefix(i, e.Dedup+" ") && !strings.Contains(i, " resolved ")
	})
	switch {
	case e.Action == "trigger" && at < 0:
		p.incidents = append(p.incidents, e.Dedup+" triggered "+e.Payload.Severity)
		p.summaries = append(p.summaries, e.Payload.Summary)
	case at < 0:
	case e.Action == "acknowledge":
		p.incidents[at] = strings.Replace(p.incidents[at], " triggered ", " acknowledged ", 1)
	case e.Action == "resolve":
		p.incidents[at] = strings.Replace(strings.Replace(p.incidents[at], " acknowledged ", " resolved ", 1), " triggered ", " resolved ", 1)
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"status":"success","message":"Event processed","dedup_key":%q}`, e.Dedup)
}

// kept are the states and severities of the incidents whose key ends so.
func (p *pager) kept(suffix string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []string
	for _, i := range p.incidents {
		if key, rest, _ := strings.Cut(i, " "); strings.HasSuffix(key, suffix) {
			found = append(found, rest)
		}
	}
	return found
}

func pagerChannel(p *pager) Channel {
	return Channel{Name: "on call", Kind: KindPagerDuty, Settings: Settings{URL: p.URL + "/v2/enqueue", Secret: routingKey}}
}

func (b *bundle) wantKept(p *pager, jobID int64, want ...string) {
	b.t.Helper()
	b.work()
	if got := p.kept("-job-" + strconv.FormatInt(jobID, 10)); !slices.Equal(got, want) {
		b.t.Errorf("the incidents of job %d are %q, want %q; %+v", jobID, got, want, b.deliveries())
	}
}

func TestAJobIsOneIncident(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AckLink = func(string) string { return "https://punctual.test/ack" } })
		p := newPager(t)
		other := b.addJob("other", "")
		// The route asks for no recoveries: incidents end all the same.
		b.addChannel(pagerChannel(p), scheduler.AlarmFailed, scheduler.AlarmTimeout, scheduler.AlarmSlow)

		run := b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.raise(other, scheduler.AlarmFailed, "boom")
		b.wantKept(p, b.job, "triggered error")
		trigger := p.received()[0].body
		if got := deep(t, trigger, "payload", "summary"); got != "[Punctual] Failed: nightly <b>report</b>" {
			t.Errorf("the summary is %v", got)
		}
		if deep(t, trigger, "links", 0, "href") != link(b.job, run) || deep(t, trigger, "links", 1, "href") != "https://punctual.test/ack" || deep(t, trigger, "payload", "class") != "failed" {
			t.Errorf("the event is %s", trigger)
		}
		has(t, deep(t, trigger, "payload", "custom_details", "text"), "boom", link(b.job, run))

		b.clock.add(time.Minute) // another cause of the same job joins
		b.raise(b.job, scheduler.AlarmTimeout, "late")
		b.wantKept(p, b.job, "triggered error")

		b.clock.add(time.Minute)
		b.success(b.job, b.clock.now())
		b.wantKept(p, b.job, "resolved error")
		b.wantKept(p, other, "triggered error")

		b.clock.add(10 * time.Minute)
		b.raise(b.job, scheduler.AlarmFailed, "again")
		b.wantKept(p, b.job, "resolved error", "triggered error")

		// A slow run ends by itself: nothing would resolve it with the job's failures.
		b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: b.addRun(b.job, 0, time.Time{}), Cause: scheduler.AlarmSlow, At: b.clock.now()})
		b.work()
		p.mu.Lock()
		last := p.incidents[len(p.incidents)-1]
		p.mu.Unlock()
		if !strings.Contains(last, "-slow-") || !strings.HasSuffix(last, " triggered warning") {
			t.Errorf("the slow run is %q", last)
		}
	})
}

// TestAnIncidentIsAcknowledgedWithItsAlarm: only that of the job, once, and only where the service was told of it.
func TestAnIncidentIsAcknowledgedWithItsAlarm(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		p, untold := newPager(t), newPager(t)
		other := b.addJob("other", "")
		b.addChannel(pagerChannel(p))
		c := pagerChannel(untold)
		c.Name = "nobody's"
		b.addChannel(c, scheduler.AlarmMisfire)
		run := b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.raise(other, scheduler.AlarmFailed, "boom")
		b.work()
		if err := b.a.Acknowledge(t.Context(), b.job, "jo", "on it", nil); err != nil {
			t.Fatal(err)
		}
		b.wantKept(p, b.job, "acknowledged error")
		b.wantKept(p, other, "triggered error")
		if n := len(untold.received()); n != 0 {
			t.Errorf("a service that knows nothing of it was told %d times", n)
		}
		if list := b.deliveries(); !list[0].Acked || list[0].State != Sent || list[1].Acked {
			t.Errorf("the messages are %+v", list)
		}
		if status := b.alarmStatus(run); status != runTold {
			t.Errorf("alarm_status is %d", status)
		}
		b.clock.add(time.Minute)
		b.success(b.job, b.clock.now())
		b.wantKept(p, b.job, "resolved error")
	})
}

// TestAnIncidentIsWhatItsJobIsWhenTheMessageArrives: the service was away, and meanwhile the jobs went on.
func TestAnIncidentIsWhatItsJobIsWhenTheMessageArrives(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		p := newPager(t)
		id := b.addChannel(pagerChannel(p))
		recovered, acked, again := b.job, b.addJob("acked", ""), b.addJob("again", "")
		jobs := []int64{recovered, acked, again}
		ended, goesOn := b.addRun(b.addJob("ended", ""), 200, b.clock.now()), b.addRun(b.addJob("goes on", ""), 0, time.Time{})
		p.busy = 1 << 20
		for _, run := range []int64{ended, goesOn} {
			b.event(scheduler.AlarmEvent{JobID: recovered, GroupID: b.group, LogID: run, Cause: scheduler.AlarmSlow, At: b.clock.now()})
			b.work()
		}
		for range 3 {
			for _, job := range jobs {
				b.raise(job, scheduler.AlarmFailed, "boom")
			}
		}
		b.work()
		b.clock.add(time.Second)
		b.success(recovered, b.clock.now())
		b.success(again, b.clock.now())
		b.work()
		if err := b.a.Acknowledge(t.Context(), acked, "jo", "", nil); err != nil {
			t.Fatal(err)
		}
		b.clock.add(time.Second)
		b.raise(again, scheduler.AlarmFailed, "boom")
		b.work()
		if got := p.kept(""); len(got) != 0 {
			t.Fatalf("incidents %q of a service that takes nothing", got)
		}
		p.mu.Lock()
		p.busy = 0
		p.mu.Unlock()
		for range 4 { // the waits, the window of what followed, and the rest
			b.clock.add(10 * time.Minute)
			b.a.wakeChannel(id)
			b.work()
		}
		b.wantKept(p, recovered, "resolved error")
		b.wantKept(p, acked, "acknowledged error")
		b.wantKept(p, again, "triggered error")
		for notice, want := range map[int]string{1: "resolved warning", 2: "triggered warning"} { // the one of a run that has ended asks nobody to end it
			if got := p.kept("-slow-" + strconv.Itoa(notice)); !slices.Equal(got, []string{want}) {
				t.Errorf("the incident of a long run is %q, want %q", got, want)
			}
		}
		for _, d := range b.deliveries() {
			if d.State != Sent {
				t.Errorf("a message is left: %+v", d)
			}
		}
	})
}

// TestManyAlarmsAreAnIncidentEach: where a chat gets one message of a heap of them.
func TestManyAlarmsAreAnIncidentEach(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	p := newPager(t)
	b.addChannel(pagerChannel(p))
	for i := range 2 * mergeAbove {
		b.raise(b.addJob(fmt.Sprint("job ", i), ""), scheduler.AlarmFailed, "boom")
	}
	b.work()
	if got := p.kept(""); len(got) != 2*mergeAbove {
		t.Errorf("%d incidents: %q", len(got), got)
	}
}

// TestTheSecondChannelsIncidentEndsToo: nobody asked for it in a route of its own.
func TestTheSecondChannelsIncidentEndsToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		chat, p := newReceiver(t, false, says(200, "ok")), newPager(t)
		first := Channel{Name: "chat", Kind: KindWebhook, Enabled: true, Settings: Settings{URL: chat.URL}}
		second := pagerChannel(p)
		second.Enabled = true
		var err error
		if first.ID, err = b.a.CreateChannel(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if second.ID, err = b.a.CreateChannel(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if _, err := b.a.CreateRoute(t.Context(), Route{ChannelID: first.ID, Scope: ScopeAll, EscalateAfter: 10, EscalateTo: second.ID}); err != nil {
			t.Fatal(err)
		}
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.wantKept(p, b.job)
		b.clock.add(11 * time.Minute)
		b.wantKept(p, b.job, "triggered critical")
		b.success(b.job, b.clock.now())
		b.wantKept(p, b.job, "resolved critical")
	})
}

func TestPagerDutySaysWhyItRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, key, want string
		busy            int
		wait            time.Duration
	}{
		{"another key", "AnotherR0utingKeyOfSomebody", "the webhook answered 400: ", 0, 0},
		{"too much", routingKey, "the webhook answered 429: ", 1 << 20, 90 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), nil)
			p := newPager(t)
			p.busy = tt.busy
			c := pagerChannel(p)
			c.Settings.Secret = tt.key
			id := b.addChannel(c)
			b.raise(b.job, scheduler.AlarmFailed, "boom")
			b.work()
			d := b.deliveries()[0]
			if d.State != Waiting || !strings.Contains(d.Error.English(), tt.want) {
				t.Errorf("delivery %+v, want an error with %q", d, tt.want)
			}
			if tt.wait > 0 && !d.NextAt.Equal(noon.Add(tt.wait)) {
				t.Errorf("tried again at %s, want after %s", d.NextAt, tt.wait)
			}
			err := b.a.Test(t.Context(), id)
			if err == nil {
				t.Error("a test says that all is well")
			}
			shown, _ := b.a.Channel(t.Context(), id)
			if shown.Settings.Secret != "" || !shown.HasSecret {
				t.Errorf("the key shows: %+v", shown)
			}
			for _, text := range []string{string(d.Error), string(shown.LastError), fmt.Sprint(err), b.log.String(), d.Error.In(texts.Printer(locales.Chinese))} {
				if strings.Contains(text, "R0uting") {
					t.Errorf("the key shows: %s", text)
				}
			}
		})
	}
}

// TestAServiceThatIsNoneTakesNoIncidents: it says 200 to anything, so a wrong address looks like success.
func TestAServiceThatIsNoneTakesNoIncidents(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	r := newReceiver(t, false, says(200, "<html>welcome"))
	b.addChannel(Channel{Name: "x", Kind: KindPagerDuty, Settings: Settings{URL: r.URL, Secret: routingKey}})
	b.raise(b.job, scheduler.AlarmFailed, "boom")
	b.work()
	if d := b.deliveries()[0]; d.State != Waiting || !strings.Contains(d.Error.English(), "<html>welcome") {
		t.Errorf("delivery %+v", d)
	}
}

func TestPagerDutysTestLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	p := newPager(t)
	c := pagerChannel(p)
	c.Settings.Subject = "{{jobName}} of {{group}}"
	id := b.addChannel(c)
	if err := b.a.Test(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := p.kept(""); !slices.Equal(got, []string{"resolved info"}) || !strings.Contains(p.summaries[0], "Test message: Nightly settlement (an example) of ") {
		t.Errorf("incidents %q %q", got, p.summaries)
	}
	drawn, err := b.a.Preview(t.Context(), c)
	if err != nil || !strings.HasPrefix(drawn.Title, "Nightly settlement (an example) of ") || len(p.received()) != 2 {
		t.Errorf("the preview is %+v, %v", drawn, err)
	}
	bare, err := b.a.CreateChannel(t.Context(), Channel{Name: "bare", Kind: KindPagerDuty, Settings: Settings{Secret: " " + routingKey + " "}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := b.a.readChannel(t.Context(), bare)
	if err != nil || stored.settings.URL != pagerDutyAPI || stored.settings.Secret != routingKey || strings.Contains(stored.row.Config, "R0uting") {
		t.Errorf("stored %+v, %v", stored.settings, err)
	}
	if _, err := b.a.CreateChannel(t.Context(), Channel{Name: "none", Kind: KindPagerDuty}); err == nil || err.Error() != "invalid: secret: alarm.error.required" {
		t.Errorf("without a key: %v", err)
	}
}
