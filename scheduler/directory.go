package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// reloadEvery is how soon this node sees what executors told another admin.
const reloadEvery = 2 * time.Second

// directory is the engine's view of the executor groups and of the addresses that are alive, read from the database so
// that all admins agree, and read anew at once when an executor comes or goes through this one.
type directory struct {
	e *Engine

	mu        sync.RWMutex
	groups    map[int64]*group
	shown     map[registration]string // the fingerprints of the tokens that executors registered with
	takesEnv  map[registration]bool   // executors that said that they take an environment
	dialects  map[registration]wire.Dialect
	strangers map[string]struct{}  // app names in lower case that have registered and have no group
	suspects  map[place]suspicion  // executors at whose addresses nobody listened; they are passed over
	away      map[string]time.Time // typed addresses that do not answer when they are asked, and since when; they are passed over too

	declaring sync.Mutex
	declared  map[int64][]string // handlers whose parameter is code, as read last

	reloading chan struct{} // capacity 1: held while the groups are read, which takes as long as the database does

	refreshing sync.Mutex
	next       *reading  // that is about to begin; nil: nobody waits for one
	ended      time.Time // when the last one ended
	took       time.Duration

	// absence is for how long nobody took beats before this admin was there, and until when executors are not blamed for it.
	absence      time.Duration
	absenceUntil time.Time
	leapt        atomic.Int64 // nanoseconds by which the clock was set ahead: so much older do beats look than they are
}

// group is one executor group. It is never changed, only replaced.
type group struct {
	id        int64
	appName   string
	manual    bool
	listed    []string // sorted when automatic, as listed when manual
	addresses []string // those of them that are not taken out of rotation
	dialects  map[string]wire.Dialect
	disabled  map[string]bool
	asked     map[string]asking // what typed addresses answered last
	keep      jobspec.Keep      // of which runs the output is kept, unless a job says so
	limit     int               // runs at a time of all its jobs; 0: as many as come
	idleLost  bool              // a run is lost when its executor has nothing of its job any more, even if it has its log
	beats     map[string]time.Time
	gone      map[string]time.Time // the last beats of executors that fell silent lately, for people to see
	stored    string               // xxl_job_group.address_list
}

// place is what an executor is known by to whoever calls it: its address, but for one that fetches its calls, whose address is its own within
// its group only. In another group it may be another executor's.
type place string

func placeOf(appName, address string) place {
	if wire.Pulls(address) {
		return place(address + " " + strings.ToLower(appName))
	}
	return place(address)
}

func (g *group) place(address string) place { return placeOf(g.appName, address) }

// place is that of an executor to which runs of a group go.
func (d *directory) place(groupID int64, address string) place {
	if !wire.Pulls(address) {
		return place(address)
	}
	if g := d.get(groupID); g != nil {
		return g.place(address)
	}
	return place(address)
}

// limit is how many runs of a group there may be at a time; 0: as many as come.
func (d *directory) limit(groupID int64) int {
	if g := d.get(groupID); g != nil {
		return g.limit
	}
	return 0
}

// limitedGroups are the groups that have a limit.
func (d *directory) limitedGroups() []int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var ids []int64
	for id, g := range d.groups {
		if g.limit > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func newDirectory(e *Engine) *directory {
	return &directory{e: e, groups: make(map[int64]*group), suspects: make(map[place]suspicion), reloading: make(chan struct{}, 1)}
}

func (d *directory) get(id int64) *group {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.groups[id]
}

// isOf says whether a group has an app name.
func (d *directory) isOf(id int64, appName string) bool {
	g := d.get(id)
	return g != nil && strings.EqualFold(g.appName, appName)
}

// idsOf are the groups of an app name: one, or several in a database that XXL-JOB filled.
func (d *directory) idsOf(appName string) []int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var ids []int64
	for id, g := range d.groups {
		if strings.EqualFold(g.appName, appName) {
			ids = append(ids, id)
		}
	}
	return ids
}

// scope are the groups for which a caller may speak if those of one app name only, nil for all; without a group of that name [ErrNoGroup].
func (d *directory) scope(by Caller) ([]int64, error) {
	if by.Scope == "" {
		return nil, nil
	}
	groups := d.idsOf(by.Scope)
	if groups == nil {
		return nil, ErrNoGroup
	}
	return groups, nil
}

func (d *directory) run(ctx context.Context) {
	planned := make(map[string]int64) // calendars, with the revision by which their jobs are planned
	for range tick.Every(ctx, reloadEvery) {
		if err := d.reload(ctx); err != nil && ctx.Err() == nil {
			d.e.log.Warn("read executor groups", "error", err)
		}
		if err := d.e.reloadCalendars(ctx, planned); err != nil && ctx.Err() == nil {
			d.e.log.Warn("read calendars", "error", err)
		}
		if err := d.e.pauses.look(ctx); err != nil && ctx.Err() == nil {
			d.e.log.Warn("read pauses", "error", err)
		}
	}
}

// startsWithin is how long an admin that starts may take beats, those of the executors inside it first of all, before it stands in the
// list of admins.
const startsWithin = 10 * time.Second

// arrive finds out for how long nobody took beats before this admin, or one that came shortly before it and lives, began to: since the
// newest beat from before that.
func (d *directory) arrive(ctx context.Context) error {
	pool := d.e.cfg.Pool
	nodes, err := d.e.queries.ListNodes(ctx, pool)
	if err != nil {
		return err
	}
	entries, err := d.e.queries.ListRegistry(ctx, pool)
	if err != nil {
		return err
	}
	d.reloading <- struct{}{}
	defer func() { <-d.reloading }()
	now := d.e.now()
	began, beaten := now, time.Time{} // the last admin of before
	for _, n := range nodes {
		if at := time.UnixMilli(n.BeatAt); at.After(beaten) {
			beaten = at
		}
		if at := time.UnixMilli(n.StartedAt); n.State == 1 && now.Sub(time.UnixMilli(n.BeatAt)) < d.e.cfg.Lease && at.Before(began) {
			began = at
		}
	}
	d.absence, d.absenceUntil = 0, began.Add(d.e.cfg.DeadAfter)
	for _, r := range entries {
		if !r.UpdateTime.Valid {
			continue
		}
		if s := d.silence(r, now) - now.Sub(began); s >= startsWithin && (d.absence == 0 || s < d.absence) {
			d.absence = s
		}
	}
	if since := began.Add(-d.absence); d.absence > 0 {
		if beaten.After(since) && beaten.Before(began) {
			since = beaten // no executor's beat fell into the last moments of that admin
		}
		d.e.untaken.note(since, began, d.e.cfg.DeadAfter)
	}
	return nil
}

// silence is how long ago the last beat of an executor was.
func (d *directory) silence(r db.ListRegistryRow, now time.Time) time.Duration {
	pool := d.e.cfg.Pool
	return age(now.Sub(pool.FromWall(r.UpdateTime.Time)), pool.Wall(now).Sub(r.UpdateTime.Time))
}

// reading is one that executors who came at the same time wait for.
type reading struct {
	done chan struct{} // closed when err and left are set
	err  error
	left bool // whoever was to do it has left
}

const (
	// readShare is the part of the time, one in so many, that is spent on reading groups because executors come, and longestRest the longest
	// pause that follows from it.
	readShare   = 10
	longestRest = 500 * time.Millisecond
)

// refresh is [directory.reload] for an executor that came: those that come at the same time share it, and where it takes long, because
// there are thousands of them, they wait until more have come.
func (d *directory) refresh(ctx context.Context) error {
	for {
		d.refreshing.Lock()
		r := d.next
		first := r == nil
		if first {
			r = &reading{done: make(chan struct{})}
			d.next = r
		}
		rest := min(readShare*d.took, longestRest) - time.Since(d.ended)
		d.refreshing.Unlock()
		if first {
			return d.lead(ctx, r, rest)
		}
		select {
		case <-r.done:
			if !r.left {
				return r.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lead makes a reading that others wait for as well.
func (d *directory) lead(ctx context.Context, r *reading, rest time.Duration) error {
	if rest > 0 {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
	}
	d.refreshing.Lock()
	d.next = nil // whoever comes now may not be in it
	d.refreshing.Unlock()
	r.err = d.reload(ctx)
	r.left = ctx.Err() != nil
	close(r.done)
	return r.err
}

// keepTo leaves nothing but one address to route to, if it is the group's and in rotation.
func (g *group) keepTo(local string) {
	if local != "" && slices.Contains(g.addresses, local) {
		g.addresses = []string{local}
	}
}

// goneFor is how long an executor that died without a farewell is shown as gone. Where every new version of a program has a
// new address, none of them is missed for longer.
const goneFor = 30 * time.Minute

// age is how long ago a beat was that a row tells in wall-clock time, from the difference of the instants and that of the
// wall clocks. The hour that a clock change repeats or leaves out makes one of the two wrong by an hour, never both, and one
// that lies ahead is the wrong one. Both lie ahead when another admin's clock does.
func age(instants, walls time.Duration) time.Duration {
	switch {
	case instants < 0:
		return walls
	case walls < 0:
		return instants
	}
	return min(instants, walls)
}

// SplitAddresses splits a stored or typed comma-separated list; blanks and empty items fall away.
func SplitAddresses(list string) []string {
	var out []string
	for a := range strings.SplitSeq(list, ",") {
		if a = strings.TrimSpace(a); a != "" && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// GroupsChanged reads the groups anew after an edit in the console.
func (e *Engine) GroupsChanged(ctx context.Context) error { return e.directory.reload(ctx) }

// AddressState is one executor address as an operator wants to see it.
type AddressState struct {
	Address  string
	LastBeat time.Time // zero when it never registered
	Live     bool      // registered and not dead
	Gone     bool      // registered until it died without a farewell, lately; it gets no runs
	InFlight int       // calls to it under way on this admin
	Queued   int       // runs waiting on this admin to be sent to it
	Disabled bool      // taken out of rotation by an operator
	Suspect  bool      // nobody listened there a moment ago
	Era      string    // "J4" when it speaks the protocol of 3.5, else ""
	TooOld   bool      // of XXL-JOB 2.1 or older, whose protocol is not spoken here; it gets no runs

	// What a typed address answered, as long as that counts.
	Asked       time.Time  // zero: it is not watched
	SilentSince time.Time  // of not answering as an executor does; zero: it answered
	Fault       wire.Fault // why not
	Away        bool       // nobody is there: it is passed over while others can be used
}

// AddressStanding is what is known of an address, in a word. Every page and program that tells of one tells this.
type AddressStanding string

const (
	AddressOnline   AddressStanding = "online"   // its last beat is fresh, or it answered when it was asked
	AddressLate     AddressStanding = "late"     // a beat is missing, it is still in rotation
	AddressOffline  AddressStanding = "offline"  // its beats stopped, or it does not answer when it is asked
	AddressRefusing AddressStanding = "refusing" // somebody answers there, but not as an executor that takes our calls
	AddressManual   AddressStanding = "manual"   // typed in by hand and never heard of: it is not watched
	AddressSuspect  AddressStanding = "suspect"  // nobody listened there a moment ago: it is passed over while others can be used
	AddressTooOld   AddressStanding = "tooold"   // of a release whose protocol is not spoken here: it gets no runs
	AddressDisabled AddressStanding = "disabled" // taken out of rotation by an administrator
)

// beatDue is when the next beat of an executor is overdue: they come every 30 s, and one may be on its way.
const beatDue = 45 * time.Second

// Standing is what is known of the address at a moment, the gravest first.
func (a *AddressState) Standing(now time.Time) AddressStanding {
	switch {
	case a.Disabled:
		return AddressDisabled
	case a.TooOld:
		return AddressTooOld
	case a.Suspect:
		return AddressSuspect
	case !a.Asked.IsZero() && a.SilentSince.IsZero():
		return AddressOnline
	case !a.Asked.IsZero() && !a.Away:
		return AddressRefusing
	case !a.Asked.IsZero():
		return AddressOffline
	case a.LastBeat.IsZero():
		return AddressManual
	case !a.Live:
		return AddressOffline
	case now.Sub(a.LastBeat) > beatDue:
		return AddressLate
	}
	return AddressOnline
}

// Addresses tells the state of a group's addresses, as this admin sees them.
func (e *Engine) Addresses(groupID int64) []AddressState {
	g := e.directory.get(groupID)
	if g == nil {
		return nil
	}
	states, now, watching := make([]AddressState, 0, len(g.listed)), e.now(), e.watching()
	for _, a := range g.listed {
		beat, live := g.beats[a]
		queued, inFlight := e.queues.load(string(g.place(a)))
		state := AddressState{Address: a, LastBeat: beat, Live: live, InFlight: inFlight, Queued: queued, Disabled: g.disabled[a]}
		state.Suspect = e.directory.suspected(g.place(a))
		state.TooOld = g.dialects[a] == wire.DialectTooOld
		if g.dialects[a] == wire.DialectTrigger {
			state.Era = "J4"
		}
		if last, dead := g.gone[a]; dead {
			state.LastBeat = last // of an address that somebody typed, which goes on to get runs
		}
		if asked := g.asked[a]; g.manual && !live && watching && e.fresh(asked, now) {
			state.Asked, state.SilentSince, state.Fault, state.Away = asked.at, asked.since, asked.fault, asked.away()
		}
		states = append(states, state)
	}
	for _, a := range slices.Sorted(maps.Keys(g.gone)) {
		if !g.manual {
			states = append(states, AddressState{Address: a, LastBeat: g.gone[a], Gone: true})
		}
	}
	return states
}

// isGone says that an executor is known to be away, so that asking it would only take time.
func (d *directory) isGone(groupID int64, address string) bool {
	g := d.get(groupID)
	if g == nil {
		return true
	}
	_, dead := g.gone[address]
	return dead || !slices.Contains(g.listed, address) || len(d.usable(g, []string{address, ""})) == 1
}

// target is how an executor of a group is called.
func (e *Engine) target(groupID int64, address string) wire.Target {
	to := wire.Target{Address: address}
	if g := e.directory.get(groupID); g != nil {
		to.AppName, to.Dialect = g.appName, g.dialects[address]
	}
	to.Token, to.OtherToken = e.cfg.Token(e.directory.bearer(groupID, address))
	return to
}
