package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// DoctorReport is what is found to be looked at in an installation, by reading alone.
type DoctorReport struct {
	Database string `json:"database"`
	Server   string `json:"server"`
	Zone     string `json:"zone"`
	Version  string `json:"version"` // of this program
	CheckFindings
	Nodes     []DoctorNode      `json:"nodes"`
	Variables map[string]string `json:"variables,omitempty"` // of the database's server
	Jobs      int               `json:"startedJobs"`
	Unwatched int               `json:"unwatchedAddresses"` // typed by hand, and nobody knows whether they are there

	Certificates int `json:"certificates"` // that were looked at
	reached
}

// DoctorNode is an admin that works on the database.
type DoctorNode struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Conditions []string `json:"conditions,omitempty"`
	Silent     bool     `json:"silent,omitempty"` // it gave no sign of life
}

// The bounds of the doctor.
const (
	doctorClock   = time.Second         // by which a clock may be off
	doctorOverdue = time.Minute         // by which a started job may be overdue
	doctorBeat    = 90 * time.Second    // from which on a registration is dead
	doctorSilent  = 10 * time.Second    // after which an admin, which beats every second, is looked at twice
	doctorUnused  = 90 * 24 * time.Hour // a token that nobody used for so long
	doctorJobs    = 200_000             // started jobs that are read
	doctorPacket  = 16 << 20            // the least max_allowed_packet
)

// Doctor looks an installation over, beside admins that run. It changes nothing. Of certificates that o names, the keys are not needed.
func Doctor(ctx context.Context, o Options) (r DoctorReport, err error) {
	named := o
	o.TLSCert, o.TLSKey = "", ""
	o, pool, err := openToRead(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	found, err := pool.Inspect(ctx)
	if err != nil {
		return r, err
	}
	now := time.Now().Add(found.Lead)
	r = DoctorReport{
		Database: pool.String(), Server: pool.Product(), Zone: zoneWithOffset(pool.Zone(), now), Version: o.Version,
		CheckFindings: CheckFindings{Verdict: CheckReady}, Variables: found.Variables,
	}
	if found.Lead.Abs() > doctorClock+found.Within/2 {
		r.say("clock", fmt.Sprintf("the clock of this machine and that of the database differ by %s", found.Lead.Abs().Round(time.Millisecond)), nil)
	}
	if err := pool.CheckLog(ctx); errors.Is(err, db.ErrLogOfStatements) {
		r.fail("db.log", err.Error(), nil)
	} else if err != nil {
		return r, err
	}
	r.settings(found.Variables)
	r.disks(o)
	r.sayOf("indexes", "%d {index is|indexes are} missing, so that whole tables are read", found.MissingIndexes)
	q := db.New()
	return r, errors.Join(r.nodes(ctx, q, pool, o.Version, now), r.jobsAtRisk(ctx, q, pool, now), r.calendars(ctx, q, pool, now), r.doctorTokens(ctx, q, pool, now),
		r.certificates(ctx, named, q, pool, now, r.databaseTLS(found.TLS, "database "+r.Database)), r.reach(ctx, o, q, pool))
}

// deniedAddresses says where nobody is called by the rule of the installation.
func deniedAddresses(ctx context.Context, o Options, pool *db.Pool) (func(hostPort string) error, error) {
	settings, err := readSettings(ctx, o, pool)
	return manage.NewAddressRule(settings, nil, nil).Dial, err
}

// settings judges the database's server.
func (r *DoctorReport) settings(v map[string]string) {
	if v == nil {
		return
	}
	number := func(name string) (n int64) { n, _ = strconv.ParseInt(v[name], 10, 64); return n }
	if strings.EqualFold(v["log_bin"], "ON") && !strings.EqualFold(v["binlog_format"], "ROW") {
		r.say("db.binlog", "binlog_format is "+v["binlog_format"]+": with ROW alone is what the replicas have what the server has", nil)
	}
	if isolation := v["transaction_isolation"] + v["tx_isolation"]; strings.Contains(isolation, "SERIALIZABLE") || strings.Contains(isolation, "UNCOMMITTED") {
		r.say("db.isolation", "the isolation level is "+isolation+": use READ-COMMITTED or REPEATABLE-READ", nil)
	}
	if n := number("max_allowed_packet"); n < doctorPacket {
		r.say("db.packet", fmt.Sprintf("max_allowed_packet is %d bytes: at least %d hold a batch of long results", n, doctorPacket), nil)
	}
	if c := v["character_set_database"]; c != "utf8mb4" {
		r.say("db.charset", "the character set of the database is "+c+": utf8mb4 holds every text", nil)
	}
	if strings.EqualFold(v["read_only"], "ON") {
		r.say("db.readonly", "the server is read-only: it is a replica, or somebody is at work on it", nil)
	}
	if n := v["innodb_flush_log_at_trx_commit"]; n != "" && n != "1" {
		r.say("db.flush", "innodb_flush_log_at_trx_commit is "+n+": a crash of the server forgets runs that were sent, which are then sent again", nil)
	}
	if n := number("wait_timeout"); v["wait_timeout"] != "" && n < 60 {
		r.say("db.waittimeout", fmt.Sprintf("wait_timeout is %d s: connections are ended while they are in use", n), nil)
	}
}

// nodes looks at the admins that are in the cluster.
func (r *DoctorReport) nodes(ctx context.Context, q *db.Queries, pool *db.Pool, version string, now time.Time) error {
	nodes, err := q.ListNodes(ctx, pool)
	if err != nil {
		return fmt.Errorf("read the admins: %w", db.Error(err))
	}
	silent, err := silentNodes(ctx, q, pool, nodes, now)
	if err != nil {
		return err
	}
	var clocks, versions, troubled, dead []string
	for _, n := range nodes {
		if n.State != 1 {
			continue
		}
		one := DoctorNode{Name: n.Name, Version: n.Version, Silent: silent[n.ID]}
		if one.Silent { // what it says of itself is old
			dead = append(dead, fmt.Sprintf("%s: %s", n.Name, time.UnixMilli(n.BeatAt).In(pool.Zone()).Format(time.DateTime)))
			r.Nodes = append(r.Nodes, one)
			continue
		}
		figures, _ := scheduler.ParseFigures(n.LoadFigures)
		for _, c := range figures.Conditions {
			one.Conditions = append(one.Conditions, string(c.Key))
		}
		if figures.Own.Abs() > doctorClock {
			clocks = append(clocks, fmt.Sprintf("%s: %s", n.Name, figures.Own.Round(time.Millisecond)))
		}
		if len(one.Conditions) > 0 {
			troubled = append(troubled, n.Name+": "+strings.Join(one.Conditions, ", "))
		}
		if n.Version != version && !slices.Contains(versions, n.Version) {
			versions = append(versions, n.Version)
		}
		r.Nodes = append(r.Nodes, one)
	}
	r.failOf("nodes.silent", "%d {admin is gone, or cannot write to the database: it schedules|admins are gone, or cannot write to the database: they schedule} nothing, and the last sign of life is of", dead)
	if len(r.Nodes) == 0 {
		r.say("nodes.none", "no admin works on this database: nothing is scheduled", nil)
	}
	r.sayOf("nodes.clock", "%d {admin has|admins have} a clock that is off", clocks)
	r.sayOf("nodes.conditions", "%d {admin has|admins have} something that is not as it should be", troubled)
	atWork := len(r.Nodes) - len(dead)
	for _, name := range []string{"max_connections", "max_user_connections"} { // the second is 0 where there is no bound
		if given, _ := strconv.Atoi(r.Variables[name]); given > 0 && atWork*db.MySQLConns > given {
			r.say("db.connections", Counted(fmt.Sprintf("%s is %d: %%d {admin takes|admins take} up to %d of them", name, given, atWork*db.MySQLConns), atWork), nil)
		}
	}
	r.sayOf("nodes.version", "%d other {version|versions} than this program's ("+strings.ReplaceAll(version, "%", "")+") {is|are} at work", versions)
	return nil
}

// silentNodes are those of which nothing new is heard. Clocks may be off, so one whose last beat looks old is looked at again.
func silentNodes(ctx context.Context, q *db.Queries, pool *db.Pool, nodes []db.Node, now time.Time) (map[int64]bool, error) {
	beats := make(map[int64]int64)
	for _, n := range nodes {
		if n.State == 1 && now.Sub(time.UnixMilli(n.BeatAt)) > doctorSilent {
			beats[n.ID] = n.Beat
		}
	}
	if len(beats) == 0 {
		return nil, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(lookForNodes):
	}
	again, err := q.ListNodes(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("read the admins again: %w", db.Error(err))
	}
	silent := make(map[int64]bool)
	for _, n := range again {
		beat, looked := beats[n.ID]
		silent[n.ID] = looked && n.State == 1 && n.Beat == beat
	}
	return silent, nil
}

// jobsAtRisk looks at started jobs and at those whom they are for.
func (r *DoctorReport) jobsAtRisk(ctx context.Context, q *db.Queries, pool *db.Pool, now time.Time) error {
	jobs, err := db.ListDueWithin(ctx, pool, db.ListJobsDueWithinParams{UntilMs: math.MaxInt64, Limit: doctorJobs})
	if err != nil {
		return fmt.Errorf("read jobs: %w", db.Error(err))
	}
	groups, err := q.ListGroups(ctx, pool)
	if err != nil {
		return fmt.Errorf("read executor groups: %w", db.Error(err))
	}
	registered, err := q.ListRegistry(ctx, pool)
	if err != nil {
		return fmt.Errorf("read registrations: %w", db.Error(err))
	}
	live := make(map[string]bool)
	var lost []string
	for _, e := range registered {
		if e.UpdateTime.Valid && now.Sub(pool.FromWall(e.UpdateTime.Time)) < doctorBeat {
			live[strings.ToLower(e.RegistryKey)] = true
		} else {
			lost = append(lost, e.RegistryKey+" "+e.RegistryValue)
		}
	}
	asked, err := q.ListExecutors(ctx, pool)
	if err != nil {
		return fmt.Errorf("read what is known of addresses: %w", db.Error(err))
	}
	served := make(map[int64]bool)
	var away []string
	for _, g := range groups {
		served[g.ID] = live[strings.ToLower(g.AppName)]
		if g.AddressType != 1 {
			continue
		}
		for _, a := range scheduler.SplitAddresses(string(g.AddressList)) {
			e, fresh := lastAsked(asked, g.AppName, a, now)
			switch {
			case fresh && scheduler.Away(wire.Fault(e.Fault)):
				away = append(away, g.AppName+" "+a+": "+time.UnixMilli(e.SilentSince).In(pool.Zone()).Format(time.DateTime)+" "+e.Fault)
				continue
			case !fresh:
				r.Unwatched++
			}
			served[g.ID] = true
		}
	}
	book, err := db.ReadPauses(ctx, pool, now)
	if err != nil {
		return err
	}
	var overdue, unread, alone []string
	r.Jobs = len(jobs)
	for _, j := range jobs {
		id := strconv.FormatInt(j.ID, 10)
		_, paused := book.Holding(j.ID, j.JobGroup, j.Tags, now)
		if next := time.UnixMilli(j.TriggerNextTime); !paused && now.Sub(next) > doctorOverdue {
			overdue = append(overdue, id+": "+next.In(pool.Zone()).Format(time.DateTime))
		}
		if err := readable(j, pool.Calendars(), pool.Zone(), now); err != nil {
			unread = append(unread, fmt.Sprintf("%s: %s: %v", id, string(j.ScheduleConf), err))
		}
		if !served[j.JobGroup] {
			alone = append(alone, id)
		}
	}
	r.sayOf("executors.lost", "%d {address has|addresses have} not registered for more than a minute and a half", lost)
	r.sayOf("executors.away", "%d {address that somebody typed does|addresses that somebody typed do} not answer", away)
	r.sayOf("jobs.overdue", "%d started {job is|jobs are} overdue by more than a minute: nobody claims {it|them}", overdue)
	r.sayOf("jobs.unread", "%d started {job has|jobs have} a schedule that is not understood: {it stops at its|they stop at their} next fire", unread)
	r.sayOf("jobs.alone", "%d started {job belongs|jobs belong} to a group without an executor", alone)
	return nil
}

// lastAsked is what an address that somebody typed answered last, and whether that counts still.
func lastAsked(known []db.Executor, appName, address string, now time.Time) (db.Executor, bool) {
	i := slices.IndexFunc(known, func(e db.Executor) bool { return strings.EqualFold(e.AppName, appName) && e.Address == address })
	if i < 0 {
		return db.Executor{}, false
	}
	return known[i], known[i].AskedAt > 0 && now.Sub(time.UnixMilli(known[i].AskedAt)) <= doctorBeat
}

// calendars looks whether a calendar that jobs keep to knows the days of the year that is about to begin.
func (r *DoctorReport) calendars(ctx context.Context, q *db.Queries, pool *db.Pool, now time.Time) error {
	used, err := q.CountCalendarJobs(ctx, pool)
	if err != nil {
		return fmt.Errorf("count the jobs of calendars: %w", db.Error(err))
	}
	jobs := make(map[string]int64)
	for _, u := range used {
		jobs[u.Calendar] += u.Jobs
	}
	var missing []string
	for _, c := range pool.Calendars().All() {
		if year := c.Missing(now); year != 0 && jobs[c.Name] > 0 {
			missing = append(missing, fmt.Sprintf("%s knows no days of %d; ", c.Name, year)+Counted("%d {job uses|jobs use} it", int(jobs[c.Name])))
		}
	}
	r.sayOf("calendars.missing", "%d {calendar does|calendars do} not know the days of a year that has begun, or begins soon", missing)
	return nil
}

// readable reports why the schedule of a started job gives no times.
func readable(j db.ListJobsDueWithinRow, calendars *db.Calendars, zone *time.Location, now time.Time) error {
	s := jobspec.Schedule{Type: j.ScheduleType, Conf: string(j.ScheduleConf), Zone: zone}
	loc, err := jobspec.Location(j.TimeZone)
	if err != nil {
		return err
	}
	if loc != nil {
		s.Zone = loc
	}
	if s, err = calendars.Keep(s, j.Calendar, j.CalendarRule); err != nil {
		return err
	}
	_, err = s.Next(now)
	return err
}

// doctorTokens looks at what programs and executors show.
func (r *DoctorReport) doctorTokens(ctx context.Context, q *db.Queries, pool *db.Pool, now time.Time) error {
	tokens, err := q.ListAPITokens(ctx, pool, db.ListAPITokensParams{Limit: 10_000})
	if err != nil {
		return fmt.Errorf("read tokens: %w", db.Error(err))
	}
	var endless, unused []string
	for _, t := range tokens {
		name := t.Username + " " + t.Name
		if t.RevokedAt != 0 || t.ExpiresAt != 0 && t.ExpiresAt < now.UnixMilli() {
			continue
		}
		if t.ExpiresAt == 0 {
			endless = append(endless, name)
		}
		if now.Sub(time.UnixMilli(max(t.UsedAt, t.CreatedAt))) > doctorUnused {
			unused = append(unused, name)
		}
	}
	r.sayOf("tokens.endless", "%d {token of a program never expires|tokens of programs never expire}", endless)
	r.sayOf("tokens.unused", "%d {token of a program was|tokens of programs were} not used for three months: revoke {it|them}", unused)
	adopted, err := pool.GroupTokens(ctx)
	if err != nil {
		return err
	}
	var known []string
	for app, token := range adopted {
		if token != "" && auth.KnownToken(token) {
			known = append(known, app)
		}
	}
	slices.Sort(known)
	r.sayOf("tokens.known", "%d {group has|groups have} a token of XXL-JOB's that everybody knows: give {its|their} executors another", known)
	return nil
}
