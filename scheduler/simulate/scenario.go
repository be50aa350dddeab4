package simulate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// scenario is all that a seed decides beforehand: the cluster, the jobs, and which faults and hands come when.
type scenario struct {
	seed   uint64
	theme  string
	nodes  int
	begin  time.Time
	length time.Duration // in which there are faults
	groups []groupPlan
	jobs   []*job
	faults []fault
	acts   []act
	cuts   float64 // how likely it is that a request that is held is cut
}

type groupPlan struct {
	app       string
	executors []kind
	asks      []asking // by executor
	limit     int64    // runs at a time; 0: as many as come
}

// job is a definition, and how its work goes.
type job struct {
	id       int64
	name     string
	group    int // index
	when     when
	misfire  jobspec.Misfire
	mostLate int64 // of MisfireFireLast, and of MisfireFireWithin in minutes
	route    jobspec.Route
	block    wire.Block
	retries  int64
	limit    int64
	policy   jobspec.Concurrency
	priority jobspec.Priority
	crowded  bool  // its group has a limit
	children []int // indexes
	takes    time.Duration
	spread   time.Duration
	fails    float64
	def      *flow.Definition // of a flow; nil: an ordinary job

	row    db.InsertJobParams
	held   bool    // somebody is changing it; guarded by world.mu
	epochs []epoch // what it was due by, in turn
}

// epoch is a time in which a job was started and its schedule stayed as it was.
type epoch struct {
	when    when
	first   time.Time // next time at its beginning
	began   time.Time
	until   time.Time // its next time at the end: what is due from then on is no longer planned
	ended   time.Time
	stopped bool // the engine had stopped it, because its schedule was over
}

// fault is something that goes wrong for a while.
type fault struct {
	at, lasts time.Duration
	what      string
	node      int     // -1: all
	executor  int     // index over all groups
	trouble   trouble // of a link
	offset    time.Duration
	clean     bool
}

// act is something that somebody does by hand.
type act struct {
	at   time.Duration
	what string
	job  int
	draw uint64
}

// themes are the kinds of faults that a scenario is made of; one has all of them.
var themes = []string{"everything", "frozen", "killed", "commits", "database", "network", "executors", "calm", "stopped", "clocks", "outage"}

// draw makes the scenario of a seed, of a theme if one is given. A small one is over in a few seconds; a crowd is so many times
// the jobs, of which more are claimed, sent and recorded at once.
func draw(seed uint64, theme string, small bool, crowd int) *scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scenario{seed: seed, nodes: 2 + r.IntN(2), length: time.Duration(90+r.IntN(360)) * time.Second}
	if small {
		s.length = time.Duration(60+r.IntN(60)) * time.Second
	}
	if r.IntN(4) == 0 {
		s.nodes = 4 + r.IntN(2)
	}
	s.theme = "everything"
	if r.IntN(3) > 0 {
		s.theme = themes[r.IntN(len(themes))]
	}
	if theme != "" {
		s.theme = theme
	}
	s.begin = beginning(r)
	for i := range 1 + r.IntN(3) {
		g := groupPlan{app: fmt.Sprintf("app-%d", i)}
		for range 1 + r.IntN(4) {
			g.executors = append(g.executors, pick(r, ours, java, java, handoff))
			g.asks = append(g.asks, called)
		}
		s.groups = append(s.groups, g)
	}
	size := 30 + r.IntN(80)
	if r.IntN(4) == 0 {
		size += 150
	}
	if small {
		size = 10 + r.IntN(30)
	}
	for i := range size * crowd {
		s.jobs = append(s.jobs, s.drawJob(r, i))
	}
	s.drawMoments(rand.New(rand.NewPCG(seed, 15)))
	s.drawChildren(r)
	s.drawFaults(r)
	s.drawActs(r)
	if !small {
		s.drawFlows(rand.New(rand.NewPCG(seed, 9)))
		if r := rand.New(rand.NewPCG(seed, 11)); r.IntN(2) == 0 {
			s.drawAsking(r, called, asksAll, asksOneByOne)
		}
	}
	s.drawGroupLimits(rand.New(rand.NewPCG(seed, 13)))
	return s
}

// drawMoments has many runs come together at executors that take several in a call: half of the jobs become those of a group whose executors are ours.
func (s *scenario) drawMoments(r *rand.Rand) {
	if r.IntN(2) > 0 {
		return
	}
	for i := range s.groups[0].executors {
		s.groups[0].executors[i] = ours
	}
	for _, j := range s.jobs {
		if r.IntN(2) > 0 {
			j.group = 0
		}
	}
}

// drawGroupLimits gives some groups a limit, above what their jobs need on average and below what is due on the second.
func (s *scenario) drawGroupLimits(r *rand.Rand) {
	for i := range s.groups {
		if r.IntN(3) > 0 {
			continue
		}
		var load time.Duration // of work that comes in a second
		for _, j := range s.jobs {
			if j.group != i || j.def != nil {
				continue
			}
			takes := j.takes + j.spread/2
			if j.route == jobspec.RouteShardingBroadcast {
				takes *= time.Duration(len(s.groups[i].executors))
			}
			if takes > time.Second {
				takes /= 20
			}
			load += takes
			j.crowded = true
		}
		s.groups[i].limit = 3 + int64(load*3/time.Second) + r.Int64N(6) // flows run the same jobs
	}
}

// drawAsking says which executors ask for their calls.
func (s *scenario) drawAsking(r *rand.Rand, among ...asking) {
	for i := range s.groups {
		for k := range s.groups[i].asks {
			s.groups[i].asks[k] = pick(r, among...)
		}
	}
	if s.theme != "calm" {
		s.cuts = pick(r, 0, 0.02, 0.2)
	}
}

// beginning is some time of some day: often before midnight, or in a night in which clocks change.
func beginning(r *rand.Rand) time.Time {
	day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 1+r.IntN(700))
	switch r.IntN(6) {
	case 0: // midnight in the installation's zone
		return day.Add(16*time.Hour - time.Duration(1+r.IntN(200))*time.Second)
	case 1: // New York leaves an hour out
		return time.Date(2000, 4, 2, 6, 56, r.IntN(200), 0, time.UTC)
	case 2: // and repeats one
		return time.Date(2000, 10, 29, 4, 56+60*r.IntN(2), r.IntN(200), 0, time.UTC)
	}
	return day.Add(time.Duration(r.IntN(86_400)) * time.Second)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var newYork = func() *time.Location {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return zone
}()

func (s *scenario) drawJob(r *rand.Rand, i int) *job {
	j := &job{
		name: fmt.Sprintf("job-%d", i), group: r.IntN(len(s.groups)),
		misfire: pick(r, jobspec.MisfireDoNothing, jobspec.MisfireFireOnceNow, jobspec.MisfireDoNothing, jobspec.MisfireFireOnceNow,
			jobspec.MisfireFireAll, jobspec.MisfireFireLast, jobspec.MisfireFireWithin),
		route: pick(r, jobspec.RouteFirst, jobspec.RouteRound, jobspec.RouteRandom, jobspec.RouteConsistentHash,
			jobspec.RouteLeastFrequentlyUsed, jobspec.RouteLast, jobspec.RouteRound, jobspec.RouteLeastRecentlyUsed),
		block:   pick(r, wire.BlockSerial, wire.BlockSerial, wire.BlockSerial, wire.BlockDiscardLater, wire.BlockCoverEarly),
		retries: pick[int64](r, 0, 0, 1, 2, 3),
		takes:   time.Duration(1+r.IntN(40)) * time.Millisecond, spread: time.Duration(1+r.IntN(300)) * time.Millisecond,
		fails: pick(r, 0, 0, 0, 0.02, 0.2),
	}
	if j.misfire.Each() {
		j.mostLate = 1 + r.Int64N(20)
	}
	switch r.IntN(12) {
	case 0:
		j.route = jobspec.RouteFailover
	case 1:
		j.route = jobspec.RouteBusyover
	case 2:
		j.route = jobspec.RouteShardingBroadcast
	}
	j.when = s.drawWhen(r)
	quick := j.when.kind == jobspec.ScheduleCron && len(j.when.second.values) > 2 || j.when.kind == jobspec.ScheduleFixRate && j.when.every < 30
	if !quick && r.IntN(4) == 0 {
		j.takes = time.Duration(1+r.IntN(30)) * time.Second
	}
	if !quick && r.IntN(20) == 0 {
		j.takes = time.Duration(60+r.IntN(60)) * time.Second
	}
	j.priority = pick(r, append(jobspec.AllPriorities, "", "")...)
	if r.IntN(8) == 0 {
		j.limit, j.policy = 1+r.Int64N(3), pick(r, jobspec.ConcurrencyQueue, jobspec.ConcurrencyDiscard)
		if quick {
			j.takes, j.spread = time.Duration(1+r.IntN(20))*time.Millisecond, 50*time.Millisecond
		}
	}
	return j
}

func (s *scenario) drawWhen(r *rand.Rand) when {
	w := when{zone: installation}
	if r.IntN(4) == 0 {
		w.zone, w.zoneName = newYork, "America/New_York"
	}
	w.kind = jobspec.ScheduleCron
	w.second, w.minute, w.hour = anyOf(59), anyOf(59), anyOf(23)
	switch x := r.IntN(20); {
	case x < 11: // every second
	case x < 12:
		w.second = step(r.IntN(5), 2+r.IntN(9), 59)
	case x < 13:
		w.second, w.minute = list(r.IntN(60), r.IntN(60)), step(0, 1+r.IntN(2), 59)
	case x < 14:
		from := r.IntN(40)
		w.second = span(from, from+1+r.IntN(15))
	case x < 15:
		w.second, w.minute, w.hour = list(r.IntN(60)), list(r.IntN(60), r.IntN(60), r.IntN(60), r.IntN(60)), anyOf(23)
	case x < 18:
		w.kind, w.every = jobspec.ScheduleFixRate, pick[int64](r, 1, 1, 2, 5, 7, 30, 60)
	case x < 19:
		w.kind, w.every = jobspec.ScheduleFixDelay, pick[int64](r, 1, 2, 5, 20)
	default:
		w.kind, w.at = jobspec.ScheduleOnce, s.begin.Add(time.Duration(10+r.IntN(int(s.length/time.Second)))*time.Second)
	}
	if w.kind != jobspec.ScheduleOnce && r.IntN(10) == 0 {
		w.start = s.begin.Add(time.Duration(20+r.IntN(60)) * time.Second)
	}
	if w.kind != jobspec.ScheduleOnce && r.IntN(10) == 0 {
		w.end = s.begin.Add(s.length - time.Duration(r.IntN(60))*time.Second)
	}
	return w
}

// drawChildren lets some jobs start others, never in a circle.
func (s *scenario) drawChildren(r *rand.Rand) {
	for i, j := range s.jobs {
		if i < 5 || r.IntN(10) > 0 || len(j.when.second.values) > 30 && r.IntN(8) > 0 {
			continue
		}
		for range 1 + r.IntN(2) {
			child := r.IntN(i)
			if j.route != jobspec.RouteShardingBroadcast && s.jobs[child].when.kind != jobspec.ScheduleFixDelay {
				j.children = append(j.children, child)
			}
		}
	}
}

func (s *scenario) executors() (n int) {
	for _, g := range s.groups {
		n += len(g.executors)
	}
	return n
}

func (s *scenario) drawFaults(r *rand.Rand) {
	if s.theme == "calm" {
		return
	}
	kinds := map[string][]string{
		"everything": {"freeze", "freeze", "kill", "stop", "trouble", "trouble", "away", "hole", "dead executor", "frozen executor", "slow executor", "lossy executor", "step"},
		"frozen":     {"freeze"},
		"killed":     {"kill"},
		"commits":    {"trouble"},
		"database":   {"away", "hole", "trouble"},
		"network":    {"hole", "slow executor", "lossy executor"},
		"executors":  {"dead executor", "frozen executor", "slow executor", "lossy executor"},
		"stopped":    {"stop", "kill"},
		"clocks":     {"step"},
		"outage":     {"outage", "outage", "trouble"},
	}[s.theme]
	for range 2 + r.IntN(8) {
		f := fault{
			at: time.Duration(5+r.IntN(int(s.length/time.Second)-5)) * time.Second, lasts: lasting(r),
			what: kinds[r.IntN(len(kinds))], node: r.IntN(s.nodes), executor: r.IntN(s.executors()),
		}
		f.at += time.Duration(r.IntN(1000)) * time.Millisecond
		some := func(top float64) float64 { return top * r.Float64() }
		switch f.what {
		case "trouble":
			if r.IntN(2) == 0 {
				f.node = -1
			}
			f.trouble = trouble{cutBefore: some(0.1), cutAfter: some(0.1), conflict: some(0.2), stall: some(0.1),
				stallFor: time.Duration(1+r.IntN(6000)) * time.Millisecond}
			if r.IntN(4) == 0 {
				f.trouble = trouble{stall: 0.01, stallFor: time.Duration(20+r.IntN(100)) * time.Second}
			}
		case "outage": // of the whole cluster, or of its database; sometimes too long for what is missed to be counted one by one
			f.lasts = time.Duration(20+r.IntN(pick(r, 200, 1800))) * time.Second
			f.clean = r.IntN(3) == 0
			f.node, f.trouble = -1, trouble{away: r.IntN(3) == 0}
		case "away":
			if r.IntN(2) == 0 {
				f.node = -1
			}
			f.trouble = trouble{away: true}
		case "hole":
			f.trouble = trouble{hole: true}
		case "slow executor":
			f.trouble = trouble{slow: some(0.5), slowFor: time.Duration(1+r.IntN(8)) * time.Second}
		case "lossy executor":
			f.trouble = trouble{lost: some(0.2), unheard: some(0.2), late: some(0.1)}
		case "step":
			f.offset = pick(r, 5*time.Second, -5*time.Second, time.Hour, -time.Hour, time.Duration(r.IntN(4000)-2000)*time.Millisecond)
		case "kill", "stop":
			f.clean = f.what == "stop"
			f.lasts = min(f.lasts, 2*time.Minute)
		}
		s.faults = append(s.faults, f)
	}
}

// lasting is how long a fault lasts: mostly seconds, sometimes minutes.
func lasting(r *rand.Rand) time.Duration {
	top := pick(r, 3_000, 8_000, 15_000, 45_000, 150_000)
	return time.Duration(50+r.IntN(top)) * time.Millisecond
}

func (s *scenario) drawActs(r *rand.Rand) {
	for range r.IntN(40) {
		s.acts = append(s.acts, act{
			at:   time.Duration(3000+r.IntN(int(s.length/time.Millisecond))) * time.Millisecond,
			what: pick(r, "trigger", "trigger", "trigger", "restart", "edit", "kill", "kill", "stop"), job: r.IntN(len(s.jobs)), draw: r.Uint64(),
		})
	}
}

// String is what a scenario is like, in a line.
func (s *scenario) String() string {
	var faults []string
	for _, f := range s.faults {
		faults = append(faults, fmt.Sprintf("%s@%v+%v", f.what, f.at, f.lasts))
	}
	asks := 0
	for _, g := range s.groups {
		for _, a := range g.asks {
			if a != called {
				asks++
			}
		}
	}
	return fmt.Sprintf("seed %d: %s, %d nodes, %d jobs, %d of %d executors ask, %v from %s; %s", s.seed, s.theme, s.nodes, len(s.jobs), asks, s.executors(), s.length,
		s.begin.Format(time.RFC3339), strings.Join(faults, ", "))
}

// nothing reports whether a misfire of the job is to be left alone. Where runs wait for each other they come late on purpose.
func (j *job) nothing() bool {
	return j.misfire == jobspec.MisfireDoNothing && j.limit == 0 && !j.crowded && j.def == nil
}
