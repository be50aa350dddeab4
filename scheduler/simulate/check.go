package simulate

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// row is a run as it is in the database at the end.
type row struct {
	id, job, planned, owner, origin    int64
	step                               int64 // of a flow
	trigger                            string
	triggerCode, handleCode            int64
	sentAt, finishedAt, retries, alarm int64
	sharding, address, note            string
	outcome                            event.Outcome
	events                             string
}

// totals are what a scenario adds to the figures.
type totals struct {
	scenarios, planned, own, covered, unseen      int64
	runs, sends, begunTwice, sentTwice            int64
	flowRuns, steps, stepsLost, stepsTwice        int64
	simulated                                     time.Duration
	counts                                        map[string]int
	unaccounted, recordedTwice, sentTwiceSilently int64
}

func (t *totals) add(o totals) {
	t.scenarios += o.scenarios
	t.planned += o.planned
	t.own += o.own
	t.covered += o.covered
	t.unseen += o.unseen
	t.runs += o.runs
	t.sends += o.sends
	t.flowRuns += o.flowRuns
	t.steps += o.steps
	t.stepsLost += o.stepsLost
	t.stepsTwice += o.stepsTwice
	t.begunTwice += o.begunTwice
	t.sentTwice += o.sentTwice
	t.simulated += o.simulated
	t.unaccounted += o.unaccounted
	t.recordedTwice += o.recordedTwice
	t.sentTwiceSilently += o.sentTwiceSilently
	if t.counts == nil {
		t.counts = make(map[string]int)
	}
	for k, v := range o.counts {
		t.counts[k] += v
	}
}

// checker holds the database against the schedule and against what was seen leaving the nodes.
type checker struct {
	w     *world
	rows  []row
	byID  map[int64]*row
	of    map[int64][]*row // by origin
	byJob map[int64][]*row
	totals
}

// check looks at everything, after the scenario has been played.
func (w *world) check(ctx context.Context) (totals, error) {
	c := &checker{w: w, byID: make(map[int64]*row), of: make(map[int64][]*row), byJob: make(map[int64][]*row)}
	c.scenarios = 1
	if err := c.load(ctx); err != nil {
		return c.totals, err
	}
	for _, j := range w.jobs {
		c.account(j)
	}
	c.departures()
	c.ends()
	c.attempts()
	c.children()
	c.limits()
	if err := c.flows(ctx); err != nil {
		return c.totals, err
	}
	err := c.counters(ctx)
	c.counts = w.counts
	return c.totals, err
}

func (c *checker) load(ctx context.Context) error {
	found, err := c.w.oracle.QueryContext(ctx, `SELECT id, job_id, planned_at, owner_node, origin_log_id, trigger_type, trigger_code, handle_code,
		sent_at, finished_at, executor_fail_retry_count, alarm_status, COALESCE(executor_sharding_param, ''), COALESCE(executor_address, ''),
		CASE WHEN trigger_type = 'MISFIRE' THEN COALESCE(trigger_msg, '') ELSE '' END, outcome, CASE WHEN trigger_type = 'MISFIRE' OR events LIKE '%["lost",%' THEN COALESCE(events, '') ELSE '' END, flow_step
		FROM xxl_job_log ORDER BY id`)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var r row
		if err := found.Scan(&r.id, &r.job, &r.planned, &r.owner, &r.origin, &r.trigger, &r.triggerCode, &r.handleCode, &r.sentAt, &r.finishedAt,
			&r.retries, &r.alarm, &r.sharding, &r.address, &r.note, &r.outcome, &r.events, &r.step); err != nil {
			return err
		}
		c.rows = append(c.rows, r)
	}
	c.runs = int64(len(c.rows))
	for i := range c.rows {
		r := &c.rows[i]
		c.byID[r.id] = r
		if c.passedOver(r) {
			continue
		}
		c.byJob[r.job] = append(c.byJob[r.job], r)
		if r.origin != 0 {
			c.of[r.origin] = append(c.of[r.origin], r)
		}
	}
	return found.Err()
}

// passedOver reports whether a row is no shard of a broadcast, but tells of an executor that got none because it is dead: each
// shard's row names its part. Such a row may end as any other that is not sent: it may be found too late, or be killed.
func (c *checker) passedOver(r *row) bool {
	j := c.w.byID[r.job]
	if j == nil || j.route != jobspec.RouteShardingBroadcast || r.sharding != "" {
		return false
	}
	if r.trigger != string(jobspec.TriggerMisfire) {
		return true
	}
	_, stands := event.Parse(r.events).Last(event.StandsFor) // a row of skipped fires has no part either
	return stands
}

// stretch is planned times that one row stands for.
type stretch struct {
	n           int64
	more        bool
	first, last int64
	by          *row
}

var (
	oneFire   = regexp.MustCompile(`(?:skipped: |stands for )the fire planned for (\S+ \S+ \S+)`)
	manyFires = regexp.MustCompile(`(?:skipped: |stands for )(\d+)(\+?) fires planned from (\S+ \S+ \S+) to (\S+ \S+ \S+)`)
)

// stands reads for which planned times a misfire's row stands.
func stands(r *row) (s stretch, ok bool) {
	for _, e := range event.Parse(r.events) {
		if e.Key == event.StandsFor || e.Key == event.SkippedFires || e.Key == event.PausedFires || e.Key == event.MadeBefore {
			return stretch{n: e.Number(0), more: e.Text(1) != "", first: e.Time(2).UnixMilli(), last: e.Time(3).UnixMilli(), by: r}, true
		}
	}
	const layout = "2006-01-02 15:04:05 -0700"
	at := func(text string) int64 {
		t, err := time.Parse(layout, strings.TrimSuffix(text, ";"))
		ok = ok && err == nil
		return t.UnixMilli()
	}
	ok = true
	if m := manyFires.FindStringSubmatch(r.note); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		return stretch{n: n, more: m[2] != "", first: at(m[3]), last: at(m[4]), by: r}, ok
	}
	if m := oneFire.FindStringSubmatch(r.note); m != nil {
		t := at(m[1])
		return stretch{n: 1, first: t, last: t, by: r}, ok
	}
	return stretch{}, false
}

// account holds a job's rows against its planned fires: each is in exactly one of them.
func (c *checker) account(j *job) {
	w := c.w
	var planned []int64
	for i := range j.epochs {
		e := &j.epochs[i]
		if e.when.kind == jobspec.ScheduleFixDelay {
			continue
		}
		if !e.stopped && e.until.Before(e.ended.Add(-time.Second)) {
			// Somebody stopped or edited it before anybody had looked at these.
			c.unseen += int64(len(e.when.fires(later(e.until, e.first), e.ended)))
		}
		planned = append(planned, e.when.fires(e.first, e.until)...)
	}
	slices.Sort(planned)
	planned = slices.Compact(planned) // an edit may plan what the schedule before it had planned too
	known := make(map[int64]int, len(planned))
	for i, at := range planned {
		known[at] = i
	}
	count := make([]int, len(planned))
	shards := make(map[int64]map[string]int64)
	var stretches []stretch
	unsaid := 0
	for _, r := range c.byJob[j.id] {
		switch r.trigger {
		case string(jobspec.TriggerCron):
			if j.epochs == nil || j.delayed() {
				c.own++
				c.planned++
				continue
			}
			i, ok := known[r.planned]
			if !ok {
				w.violate("run that was never planned", "job %s (%s): run %d for %s; %s", j.name, j.when.conf(), r.id, stamp(r.planned), j.history())
				continue
			}
			if r.sharding == "" || strings.HasSuffix(r.sharding, "/1") {
				count[i]++
				continue
			}
			of := shards[r.planned]
			if of == nil {
				of = make(map[string]int64)
				shards[r.planned] = of
				count[i]++
			}
			if first := of[r.sharding]; first != 0 {
				w.violate("recorded twice", "job %s: shard %s for %s by runs %d and %d", j.name, r.sharding, stamp(r.planned), first, r.id)
				c.recordedTwice++
			}
			of[r.sharding] = r.id
		case string(jobspec.TriggerMisfire):
			if s, ok := stands(r); ok {
				if r.sharding == "" || strings.HasPrefix(r.sharding, "0/") {
					stretches = append(stretches, s)
				}
				continue
			}
			unsaid++ // a later note has taken the place of what it stands for
		}
	}
	for at, of := range shards {
		for s := range of {
			_, total, _ := strings.Cut(s, "/")
			if n, _ := strconv.Atoi(total); n != len(of) {
				w.violate("broadcast in pieces", "job %s for %s: %v", j.name, stamp(at), of)
				break
			}
		}
	}
	for _, n := range count {
		c.own += int64(min(n, 1))
	}
	for _, s := range stretches {
		n := int64(0)
		from, _ := slices.BinarySearch(planned, s.first)
		for i := from; i < len(planned) && planned[i] <= s.last; i++ {
			count[i]++
			n++
		}
		c.covered += n
		if n != s.n && !s.more {
			w.violate("wrong number of fires", "job %s: run %d says %d from %s to %s, there are %d", j.name, s.by.id, s.n, stamp(s.first), stamp(s.last), n)
		}
	}
	for i, n := range count {
		switch {
		case n == 0 && unsaid > 0:
			w.count("planned fire for which a row stands that does not say so any more")
		case n == 0:
			w.violate("planned fire in no row", "job %s (%s %s) id %d for %s", j.name, j.when.kind, j.when.conf(), j.id, stamp(planned[i]))
			c.unaccounted++
		case n > 1:
			w.violate("recorded twice", "job %s (%s %s) id %d for %s: %d times", j.name, j.when.kind, j.when.conf(), j.id, stamp(planned[i]), n)
			c.recordedTwice++
		}
	}
	c.planned += int64(len(planned))
}

// history is by what a job was due.
func (j *job) history() string {
	var b strings.Builder
	for _, e := range j.epochs {
		fmt.Fprintf(&b, "[%s %s from %s: %s to %s, %s]", e.when.kind, e.when.conf(), stamp(e.began.UnixMilli()), stamp(e.first.UnixMilli()), stamp(e.until.UnixMilli()), stamp(e.ended.UnixMilli()))
	}
	return b.String()
}

func (j *job) delayed() bool { return j.when.kind == jobspec.ScheduleFixDelay }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("01-02 15:04:05.000") }

// departures holds what left the nodes against what the rows say.
func (c *checker) departures() {
	w := c.w
	for id, list := range w.sends {
		c.sends += int64(len(list))
		r := c.byID[id]
		if r == nil {
			w.violate("sent and then deleted", "run %d", id)
			continue
		}
		if len(list) > 1 {
			c.sentTwice++
			said := w.saidAgain(id)
			if !said {
				c.sentTwiceSilently++
				w.violate("sent twice without saying so", "run %d of job %d: %v", id, r.job, list)
			}
		}
	}
	for id, n := range w.begun {
		if n > 1 {
			c.begunTwice++
			if len(w.sends[id]) < n {
				w.violate("simulation", "run %d begun %d times and sent %d times", id, n, len(w.sends[id]))
			}
		}
	}
	for i := range c.rows {
		if r := &c.rows[i]; r.triggerCode == wire.CodeSuccess && len(w.sends[r.id]) == 0 && !w.doubted[r.id] && (w.byID[r.job] == nil || w.byID[r.job].def == nil) {
			w.violate("recorded as sent and never was", "run %d of job %d", r.id, r.job)
		}
	}
}

// saidAgain reports whether a run's row says that it was taken over, found again, or sent again.
func (w *world) saidAgain(id int64) bool {
	var note, events string
	_ = w.oracle.QueryRowContext(context.Background(), "SELECT COALESCE(trigger_msg, ''), COALESCE(events, '') FROM xxl_job_log WHERE id = ?", id).Scan(&note, &events)
	for _, e := range event.Parse(events) {
		if e.Key == event.TakenOver || e.Key == event.FoundAgain || e.Key == event.SentAgain {
			return true
		}
	}
	return strings.Contains(note, "taken over: ") || strings.Contains(note, "found again: ") || strings.Contains(note, "has never had the run: sent again")
}

func (c *checker) ends() {
	for i := range c.rows {
		r := &c.rows[i]
		if r.handleCode == 0 && (r.triggerCode == 0 || r.triggerCode == wire.CodeSuccess) {
			c.w.suspect(r.id)
			c.w.violate("run without an end", "run %d of job %d, trigger code %d, owner %d, planned %s, sent %v, at %s", r.id, r.job, r.triggerCode, r.owner, stamp(r.planned), c.w.sends[r.id], c.w.stateOf(r))
		}
	}
}

// stateOf tells what an executor had of a run's job when the scenario was over.
func (w *world) stateOf(r *row) string {
	x := w.executors[r.address]
	if x == nil {
		return "nobody"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	s := fmt.Sprintf("%s (%d), begun %d times, %d results unsaid", x.address, x.kind, w.begun[r.id], len(x.unsaid))
	if x.last != nil && x.last.threads[r.job] != nil {
		s += fmt.Sprintf(", %d wait", len(x.last.threads[r.job].waiting))
	}
	return s
}

// attempts checks the retries: at most as many as the job may have, one for each failure, none of a success.
func (c *checker) attempts() {
	for i := range c.rows {
		r := &c.rows[i]
		retries := 0
		for _, o := range c.of[r.id] {
			if o.trigger == string(jobspec.TriggerRetry) {
				retries++
			}
		}
		if retries > 1 {
			c.w.violate("retried twice", "run %d of job %d has %d retries", r.id, r.job, retries)
		}
		if r.trigger == string(jobspec.TriggerRetry) {
			depth := int64(0)
			for o := r; o != nil && o.trigger == string(jobspec.TriggerRetry) && depth < 100; o = c.byID[o.origin] {
				depth++
			}
			if j := c.w.byID[r.job]; j != nil && depth > j.retries {
				c.w.violate("too many retries", "run %d of job %d is retry %d of %d", r.id, r.job, depth, j.retries)
			}
		}
		if r.outcome == event.Killed && retries > 0 { // of one that had failed before, its retry is ended
			c.w.violate("killed and retried", "run %d of job %d", r.id, r.job)
		}
	}
}

// children checks what followed each fire: its attempts have one success that counts, whichever comes first, and that one starts each child.
// More than one may succeed, where a run that was taken for lost ended well after its retry had been made.
func (c *checker) children() {
	fires := make(map[int64][]*row) // by their first attempts
	for i := range c.rows {
		r := &c.rows[i]
		first := r
		for first.trigger == string(jobspec.TriggerRetry) && c.byID[first.origin] != nil {
			first = c.byID[first.origin]
		}
		fires[first.id] = append(fires[first.id], r)
	}
	for _, attempts := range fires {
		first := attempts[0]
		j := c.w.byID[first.job]
		if j == nil {
			continue
		}
		got := make(map[int64]map[string]int)
		success, asked := false, false
		for _, r := range attempts {
			success = success || r.handleCode == wire.CodeSuccess
			asked = asked || c.w.asked[r.id]
			for _, o := range c.of[r.id] {
				if o.trigger != string(jobspec.TriggerParent) {
					continue
				}
				if got[o.job] == nil {
					got[o.job] = make(map[string]int)
				}
				got[o.job][o.sharding]++
			}
		}
		want := make(map[int64]bool)
		for _, k := range j.children {
			if first.step != 0 { // what follows is its flow's to say
				break
			}
			want[c.w.jobs[k].id] = true
		}
		for id, shards := range got {
			for s, n := range shards {
				if times := c.times(j, id); n > times {
					c.w.violate("child started twice", "the fire of run %d of job %d: child %d %s %d times", first.id, first.job, id, s, n)
				}
			}
			if !success || !want[id] {
				c.w.violate("child without a success", "the fire of run %d of job %d: child %d", first.id, first.job, id)
			}
		}
		if success && !asked {
			for id := range want {
				if got[id] == nil {
					c.w.violate("success without its child", "the fire of run %d of job %d: child %d", first.id, first.job, id)
				}
			}
		}
	}
}

// times is how often a child is in its parent's list.
func (c *checker) times(j *job, id int64) (n int) {
	for _, k := range j.children {
		if c.w.jobs[k].id == id {
			n++
		}
	}
	return n
}

// limits checks that no job and no group had more runs at a time than it may have, from their sending to their recorded end.
func (c *checker) limits() {
	for _, j := range c.w.jobs {
		if j.limit > 0 {
			c.limit(fmt.Sprintf("job %d", j.id), j.limit, j)
		}
	}
	for i, g := range c.w.groups {
		if g.limit == 0 {
			continue
		}
		c.limit("group "+g.app, g.limit, slices.DeleteFunc(slices.Clone(c.w.jobs), func(j *job) bool { return j.group != i || j.def != nil })...)
	}
}

func (c *checker) limit(of string, limit int64, jobs ...*job) {
	type edge struct {
		at, more int64
	}
	var edges []edge
	for _, j := range jobs {
		for _, r := range c.byJob[j.id] {
			list := c.w.sends[r.id]
			if r.triggerCode != wire.CodeSuccess || len(list) == 0 || r.finishedAt == 0 {
				continue
			}
			if from, until := list[0].at.UnixMilli(), r.end(); until > from {
				edges = append(edges, edge{from, 1}, edge{until, -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
	running := int64(0)
	for _, e := range edges {
		if running += e.more; running > limit {
			var who []string
			for _, j := range jobs {
				who = append(who, c.underWay(j, e.at)...)
			}
			c.w.violate("too many at a time", "%s has %d runs at %s and may have %d: %s", of, running, stamp(e.at), limit, strings.Join(who, "; "))
			break
		}
	}
}

// end is when a run came to its end: also where its result came after it had been given up.
func (r *row) end() int64 {
	for _, e := range event.Parse(r.events) {
		if e.Key == event.LostRun {
			return e.At
		}
	}
	return r.finishedAt
}

// underWay tells of a job's runs that were under way at a moment.
func (c *checker) underWay(j *job, at int64) (found []string) {
	for _, r := range c.byJob[j.id] {
		if list := c.w.sends[r.id]; len(list) > 0 && list[0].at.UnixMilli() <= at && r.end() > at {
			found = append(found, fmt.Sprintf("run %d %s planned %s sent %v by %s, ended %s with %d", r.id, r.trigger, stamp(r.planned),
				list[0].at.UTC().Format("15:04:05.000"), list[0].node, stamp(r.finishedAt), r.handleCode))
		}
	}
	return found
}

func (t *totals) String() string {
	return fmt.Sprintf("%d scenarios, %v simulated: %d planned fires (%d in a row of their own, %d in a row that stands for them or says that they were skipped), %d runs, %d requests sent; "+
		"unaccounted %d, recorded twice %d, sent twice without saying so %d (sent again and said so: %d; begun twice by executors: %d; stopped by hand before anybody looked: %d); %d runs of flows with %d runs of steps: lost %d, doubled %d",
		t.scenarios, t.simulated.Round(time.Second), t.planned, t.own, t.covered, t.runs, t.sends, t.unaccounted, t.recordedTwice, t.sentTwiceSilently, t.sentTwice-t.sentTwiceSilently, t.begunTwice, t.unseen, t.flowRuns, t.steps, t.stepsLost, t.stepsTwice)
}

// countersHold are the themes in which no counter may be wrong at the end: nobody was killed before it wrote its own, and no
// commit of them was of unknown fate. Elsewhere the recount of the night puts them right.
var countersHold = map[string]bool{"calm": true, "executors": true, "clocks": true}

// counters holds the daily counters against the rows.
func (c *checker) counters(ctx context.Context) error {
	if !countersHold[c.w.theme] {
		return nil
	}
	var running, succeeded, failed, skipped int64
	err := c.w.oracle.QueryRowContext(ctx, "SELECT COALESCE(SUM(running_count), 0), COALESCE(SUM(suc_count), 0), COALESCE(SUM(fail_count), 0), COALESCE(SUM(skip_count), 0) FROM xxl_job_log_report").
		Scan(&running, &succeeded, &failed, &skipped)
	if err != nil {
		return err
	}
	var want struct{ succeeded, failed, passed int64 }
	for i := range c.rows {
		r := &c.rows[i]
		switch {
		case r.outcome == event.Cancelled, r.outcome.Retried() && r.retries > 0: // an attempt: its fire has another
		case r.handleCode == wire.CodeSuccess && r.outcome != event.Killed:
			want.succeeded++
		case r.outcome.Passed():
			want.passed++
		default:
			want.failed++
		}
	}
	if running != 0 || succeeded != want.succeeded || failed != want.failed || skipped != want.passed {
		c.w.violate("wrong counters", "%d running, %d succeeded, %d failed, %d skipped; the rows say 0, %d, %d and %d", running, succeeded, failed, skipped, want.succeeded, want.failed, want.passed)
	}
	return nil
}
