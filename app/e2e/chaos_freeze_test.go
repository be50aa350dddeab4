package e2e

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
)

// freeze stops the program where it is, as a debugger, a suspended container or a machine out of memory does.
func (p *process) freeze(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// On a busy machine it may do some work before the signal comes to it.
	if _, err := syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
}

// thaw lets it go on.
func (p *process) thaw(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// freezeInClaim stops an admin in the middle of a claim: with rows of jobs locked, and no word to the database for as long as it is
// stopped. It returns when that was, in seconds of the load. A claim takes some milliseconds twice a second, so it takes some tries.
func (l *load) freezeInClaim(t *testing.T, a *admin) float64 {
	t.Helper()
	for tries, end := 0, time.Now().Add(patience); time.Now().Before(end); tries++ {
		a.freeze(t)
		at := time.Since(l.begin)
		if n := l.lockedJobs(t); n > 0 {
			until(t, l.begin.Add(at+30*time.Millisecond)) // the others' claims are over by then
			if n = l.lockedJobs(t); n > 0 {
				t.Logf("stopped in a claim of %d jobs at %.3f s, try %d", n, at.Seconds(), tries+1)
				return at.Seconds()
			}
		}
		a.thaw(t)
		until(t, time.Now().Add(time.Duration(rand.IntN(20))*time.Millisecond)) // another moment
	}
	t.Fatal("the admin was never met in a claim")
	return 0
}

// lockedJobs is how many jobs' rows somebody has locked.
func (l *load) lockedJobs(t *testing.T) int {
	t.Helper()
	tx, err := l.database.sql.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	rows, err := tx.QueryContext(t.Context(), "SELECT id FROM xxl_job_info FOR UPDATE SKIP LOCKED")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	locked := len(l.jobs)
	for rows.Next() {
		locked--
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return locked
}

// away is a time during which one admin was there and did nothing, in seconds of the load.
type away struct {
	node     int64 // its id in the cluster before
	from, to float64
}

// What an admin that stops without dying may cost: the others nothing that anybody would notice, and its own fires the
// time until it is known to be gone.
const (
	othersLate = time.Second
	goneLate   = 6 * time.Second
)

// nodeID is the id of the node that an admin is in the cluster just now.
func (l *load) nodeID(t *testing.T, i int) int64 {
	t.Helper()
	return l.database.count(t, "SELECT MAX(id) FROM punctual_node WHERE state = 1 AND address LIKE ?", "%:"+l.ports[i])
}

// undisturbed checks how late each fire arrived at the executor while an admin was away.
func (l *load) undisturbed(t *testing.T, times ...away) {
	t.Helper()
	runs := l.database.runs(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	// What is late on this machine when nothing happens is not the fault of what did.
	var usual time.Duration
	for _, r := range runs {
		at := time.UnixMilli(r.planned).Sub(l.begin).Seconds()
		quiet := at > 1
		for _, a := range times {
			quiet = quiet && (at < a.from-1 || at > a.to+goneLate.Seconds())
		}
		if _, ok := l.received[r.id]; ok && quiet {
			usual = max(usual, l.lateness(r))
		}
	}
	for _, a := range times {
		from, to := l.begin.Add(time.Duration(a.from*float64(time.Second))), l.begin.Add(time.Duration(a.to*float64(time.Second)))
		its := make(map[int64]bool) // jobs that were its own when it stopped: it had claimed the newest of their fires
		last := make(map[int64]int64)
		for _, r := range runs {
			claim, claimed := r.events.Last(event.Claimed)
			if claimed && time.UnixMilli(claim.At).Before(from) && r.planned > last[r.job] {
				its[r.job], last[r.job] = claim.Number(1) == a.node, r.planned
			}
		}
		jobs := 0
		for _, yes := range its {
			if yes {
				jobs++
			}
		}
		var others, own time.Duration
		tooLate := 0
		judge := func(r run, limit time.Duration, most *time.Duration) {
			late := l.lateness(r)
			*most = max(*most, late)
			if late > limit {
				if tooLate++; tooLate <= 3 {
					t.Errorf("a fire of job %d planned for %.3f s arrived %v late, node %d was away from %.3f s to %.3f s and the job was its own: %v\n%s",
						r.job, time.UnixMilli(r.planned).Sub(l.begin).Seconds(), late, a.node, a.from, a.to, its[r.job], r.message)
				}
			}
		}
		var gone []run
		for _, r := range runs {
			at := time.UnixMilli(r.planned)
			if _, ok := l.received[r.id]; !ok || at.Before(from.Add(-time.Second)) || at.After(to.Add(2*time.Second)) {
				continue // what was not sent at all is for account to judge
			}
			if _, taken := r.events.Last(event.TakenOver); taken || its[r.job] { // it had claimed this one
				gone = append(gone, r)
			} else {
				judge(r, usual+othersLate, &others)
			}
		}
		for _, r := range gone { // a machine that kept the others waiting kept these too
			judge(r, usual+goneLate+min(others, othersLate), &own)
		}
		t.Logf("node %d away from %.3f s for %.1f s: its %d jobs at most %v late, the others' %v; otherwise %v",
			a.node, a.from, a.to-a.from, jobs, own.Round(time.Millisecond), others.Round(time.Millisecond), usual.Round(time.Millisecond))
		if tooLate > 3 {
			t.Errorf("%d fires were too late", tooLate)
		}
	}
}

// TestFreezeOneOfThreeAdmins stops one admin of three for long, in the middle of a claim: the worst moment, since the others need
// the rows. PUNCTUAL_TEST_FREEZE is for how many seconds.
func TestFreezeOneOfThreeAdmins(t *testing.T) {
	waits(t)
	seconds := 12.0
	if text := os.Getenv("PUNCTUAL_TEST_FREEZE"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	l := newLoad(t, db.MySQL, 3, 100, int(seconds)+18)
	admins := []*admin{l.start(t, 0), l.start(t, 1), l.start(t, 2)}
	l.at(t, 4)
	gone := away{node: l.nodeID(t, 0)}
	gone.from = l.freezeInClaim(t, admins[0])
	gone.to = gone.from + seconds
	l.at(t, gone.to)
	admins[0].thaw(t)
	l.account(t)
	l.undisturbed(t, gone)
	for _, a := range admins[1:] {
		a.noPanic(t)
	}
}

// TestFreezeAtRandomMoments stops admins for just so long that they are declared gone and wake into it, in the middle of copying outputs as well.
// PUNCTUAL_TEST_FREEZES is how often.
func TestFreezeAtRandomMoments(t *testing.T) {
	waits(t)
	times, err := strconv.Atoi(cmp.Or(os.Getenv("PUNCTUAL_TEST_FREEZES"), "2"))
	if err != nil {
		t.Fatal(err)
	}
	const length, pause = 7.0, 5.0
	l := newLoad(t, db.MySQL, 3, 100, 6+times*int(length+pause))
	l.keepAll(t)
	admins := []*admin{l.start(t, 0), l.start(t, 1), l.start(t, 2)}
	var gone []away
	for k := range times {
		at := 3 + float64(k)*(length+pause) + rand.Float64()
		t.Logf("stop %d at %.3f s", k%3, at)
		l.at(t, at)
		a := away{node: l.nodeID(t, k%3), from: at, to: at + length}
		admins[k%3].freeze(t)
		l.at(t, a.to)
		admins[k%3].thaw(t)
		gone = append(gone, a)
	}
	l.account(t)
	l.accountOutputs(t)
	l.undisturbed(t, gone...)
	for _, a := range admins {
		a.noPanic(t)
	}
}

// TestNetworkOfOneAdminGone swallows all that one admin of three sends and receives, to the database and to executors.
func TestNetworkOfOneAdminGone(t *testing.T) {
	waits(t)
	l := newLoad(t, db.MySQL, 3, 100, 26)
	cfg, err := mysql.ParseDSN(l.database.url)
	if err != nil {
		t.Fatal(err)
	}
	network := dbtest.NewProxy(t, "unix", cfg.Addr)
	s := l.database.settings()
	s.databaseURL, s.port = "mysql://root@"+network.Addr()+"/"+cfg.DBName, l.ports[0]
	admins := []*admin{startAdmin(t, s), l.start(t, 1), l.start(t, 2)}
	at := somewhen(t, 4)
	l.at(t, at)
	gone := away{node: l.nodeID(t, 0), from: at, to: at + 12}
	network.Swallow()
	l.at(t, gone.to)
	network.Restore()
	l.account(t)
	l.undisturbed(t, gone)
	for _, a := range admins[1:] {
		a.noPanic(t)
	}
}
