package app

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// CheckVerdict is what a check comes to.
type CheckVerdict string

const (
	CheckReady   CheckVerdict = "ready"   // nothing that somebody has to look at
	CheckLook    CheckVerdict = "look"    // it would be adopted; the points say what is another thing then
	CheckRefused CheckVerdict = "refused" // a start would refuse it
	CheckFailed  CheckVerdict = "failed"  // of the doctor: something cannot work
)

// CheckReport is everything that an adoption of a database would mean, found by reading alone.
type CheckReport struct {
	Database string `json:"database"`
	Server   string `json:"server"`
	Zone     string `json:"zone"`
	Release  string `json:"release"` // the line of releases that the tables are of
	CheckFindings
	Steps   []string      `json:"steps"`        // what is done to the tables
	Runs    int64         `json:"runs"`         // in the log, by the database's estimate
	Bytes   int64         `json:"bytes"`        // of the log with its indexes
	Seconds int64         `json:"indexSeconds"` // that its new indexes are likely to take; on a big log after the start, beside the work
	Jobs    CheckedJobs   `json:"jobs"`
	Users   []CheckedUser `json:"users"`
	Groups  []CheckedApp  `json:"executors"`
}

// CheckFindings are what somebody should look at.
type CheckFindings struct {
	Verdict CheckVerdict `json:"verdict"`
	Points  []CheckPoint `json:"points"`
}

// CheckPoint is something that somebody should look at.
type CheckPoint struct {
	Key     string   `json:"key"` // stable, for programs
	Text    string   `json:"text"`
	Refuses bool     `json:"refuses,omitempty"`
	Fails   bool     `json:"fails,omitempty"` // of the doctor
	Of      []string `json:"of,omitempty"`    // the jobs, users or groups that it is about
}

// CheckedJobs counts jobs.
type CheckedJobs struct {
	Total   int            `json:"total"`
	Started int            `json:"started"`
	ByType  map[string]int `json:"byType"`
	ByGlue  map[string]int `json:"byKind"`
}

// CheckedUser is somebody with the rights that they will have.
type CheckedUser struct {
	Name   string   `json:"name"`
	Admin  bool     `json:"admin"`
	Groups []string `json:"executors,omitempty"` // app names, in which they may see, run, start and edit jobs as before
}

// CheckedApp is an executor group with what is registered for it.
type CheckedApp struct {
	AppName   string   `json:"appName"`
	Title     string   `json:"title"`
	Manual    bool     `json:"manual"`
	Protocol  string   `json:"protocol"` // json, hessian or none
	Addresses []string `json:"addresses"`
}

// Check reads the database of an XXL-JOB admin and says what its adoption would mean. It changes nothing.
func Check(ctx context.Context, o Options) (r CheckReport, err error) {
	if o, err = o.withDefaults(); err != nil {
		return r, err
	}
	if o.DatabaseURL == "" {
		return r, wrong("there is nothing to check without a database: set PUNCTUAL_DATABASE_URL to that of the XXL-JOB admin")
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	s, err := pool.Survey(ctx)
	if err != nil {
		return r, err
	}
	r = CheckReport{Database: pool.String(), Server: pool.Product(), Zone: zoneWithOffset(pool.Zone(), time.Now()), CheckFindings: CheckFindings{Verdict: CheckReady}, Runs: s.Runs, Bytes: s.Bytes, Seconds: int64(db.IndexTime(s.Runs).Seconds()), Steps: s.Steps}
	if err := pool.CheckLog(ctx); errors.Is(err, db.ErrLogOfStatements) {
		r.refuse("log", err)
	} else if err != nil {
		return r, err
	}
	if s.Ours {
		r.say("ours", "Punctual works on this database already: it was adopted", nil)
		return r, nil
	}
	if s.Release == "" {
		r.say("empty", "there is no XXL-JOB in this database: a start makes a new installation in it", nil)
		return r, nil
	}
	r.Release = s.Release.Span()
	if s.Zone != nil {
		r.refuse("zone", s.Zone)
	}
	r.old(s)
	r.jobs(s)
	r.users(s)
	r.groups(s)
	return r, nil
}

// say adds a point, unless it is about nobody.
func (r *CheckFindings) say(key, text string, of []string) {
	r.Points = append(r.Points, CheckPoint{Key: key, Text: text, Of: of})
	if r.Verdict == CheckReady {
		r.Verdict = CheckLook
	}
}

func (r *CheckFindings) sayOf(key, text string, of []string) {
	if len(of) > 0 {
		r.say(key, Counted(text, len(of)), of)
	}
}

// Counted is a text about so many, in which "{one|more}" stands for the words that depend on it.
func Counted(text string, n int) string {
	for {
		before, rest, ok := strings.Cut(text, "{")
		words, after, whole := strings.Cut(rest, "}")
		one, more, two := strings.Cut(words, "|")
		if !ok || !whole || !two {
			return fmt.Sprintf(text, n)
		}
		if n != 1 {
			one = more
		}
		text = before + one + after
	}
}

// fail is say about what cannot work.
func (r *CheckFindings) fail(key, text string, of []string) {
	r.say(key, text, of)
	r.Points[len(r.Points)-1].Fails = true
	r.Verdict = CheckFailed
}

func (r *CheckFindings) failOf(key, text string, of []string) {
	if len(of) > 0 {
		r.fail(key, Counted(text, len(of)), of)
	}
}

// refuse is say about what a start does not go on with.
func (r *CheckReport) refuse(key string, err error) {
	r.say(key, err.Error(), nil)
	r.Points[len(r.Points)-1].Refuses = true
	r.Verdict = CheckRefused
}

// adminAtWork is how long ago an executor may have registered with an admin that works.
const adminAtWork = 2 * time.Minute

// old is what the old admin does, and leaves behind.
func (r *CheckReport) old(s db.Survey) {
	if ago := time.Since(s.Beat); ago < adminAtWork && ago > -adminAtWork {
		r.say("running", fmt.Sprintf("an XXL-JOB admin works on this database: an executor registered %s ago. Stop all of them before Punctual starts", ago.Round(time.Second)), nil)
	}
	if s.Overdue > 0 {
		r.say("overdue", fmt.Sprintf("started jobs overdue by more than a minute, as after a stop of the admin: %d. What their misfire strategy says is done at the start", s.Overdue), nil)
	}
	if s.Open > 0 {
		r.say("open", fmt.Sprintf("runs without a result: %d. Their executors are asked, and those that nobody knows are closed without retry and alarm", s.Open), nil)
	}
	if !s.Kept.IsZero() {
		r.say("kept", fmt.Sprintf("the log goes back to %s, further than the %d days that runs are kept by default. They are kept for ever until PUNCTUAL_LOG_RETENTION_DAYS or the page of settings says how long",
			s.Kept.Format(time.DateOnly), db.DefaultRetentionDays), nil)
	}
}

func (r *CheckReport) jobs(s db.Survey) {
	r.Jobs = CheckedJobs{Total: len(s.Jobs), ByType: make(map[string]int), ByGlue: make(map[string]int)}
	findings := make(map[db.JobFinding][]string)
	var mails, retries, scripts, unknown []string
	for _, j := range s.Jobs {
		name := strconv.FormatInt(j.ID, 10) + " " + j.Name
		r.Jobs.ByType[string(j.Type)]++
		r.Jobs.ByGlue[j.GlueType]++
		if j.Started {
			r.Jobs.Started++
		}
		if j.Finding != "" {
			findings[j.Finding] = append(findings[j.Finding], name+": "+j.Conf)
		}
		if values := unknownOf(j); values != "" {
			unknown = append(unknown, name+": "+values)
		}
		if j.Mails {
			mails = append(mails, name)
		}
		if j.Retries {
			retries = append(retries, name)
		}
		if jobspec.IsScript(wire.Glue(j.GlueType)) {
			scripts = append(scripts, name+": "+j.GlueType)
		}
	}
	for _, finding := range []db.JobFinding{db.FindingUnread, db.FindingFields, db.FindingWeekday, db.FindingMonths, db.FindingDay, db.FindingDelay} {
		r.sayOf("times."+string(finding), "jobs: %d; "+checkedFindings[finding], findings[finding])
	}
	r.sayOf("unknown", "jobs with a value that is none of XXL-JOB's: %d. Of such a schedule type none is ever due, and with such a route strategy or kind every run fails, as there; their form keeps it until another is chosen", unknown)
	r.sayOf("mail", "jobs that name addresses for alarm mails: %d. None is sent before a mail channel is made and marked for them", mails)
	r.sayOf("retries", "jobs with retries: %d. They get a back-off of 10 s, as they had in effect", retries)
	r.sayOf("scripts", "jobs that are scripts (GLUE): %d. Whoever may edit them has the executors' machines; PUNCTUAL_GLUE=false shuts their editor", scripts)
}

// unknownOf are the values of a job that keep it from running and that nobody knows. One without any has the usual one.
func unknownOf(j db.SurveyedJob) string {
	var values []string
	if j.Type != "" && !j.Type.Valid() {
		values = append(values, "schedule_type "+string(j.Type))
	}
	if j.Route != "" && !j.Route.Valid() {
		values = append(values, "executor_route_strategy "+string(j.Route))
	}
	if j.GlueType != "" && !slices.Contains(jobspec.AllGlues, wire.Glue(j.GlueType)) {
		values = append(values, "glue_type "+j.GlueType)
	}
	return strings.Join(values, ", ")
}

// checkedFindings are the findings in the words of docs/migration.md.
var checkedFindings = map[db.JobFinding]string{
	db.FindingUnread:  "the schedule is not understood, they stop at their next fire",
	db.FindingFields:  "more than seven fields, which releases up to 3.0.0 passed over; here they are not understood",
	db.FindingWeekday: "a list with W, of which releases before 3.4 kept only one weekday; here all days of the list count",
	db.FindingMonths:  "releases 3.1.0 to 3.3.2 left out months for L and W; here they are due in every month",
	db.FindingDay:     "XXL-JOB missed some times of a day with W; here all of them are kept",
	db.FindingDelay:   "FIX_DELAY, which XXL-JOB never ran; here it runs once the job is started",
}

// users are who may log in, with the rights that they keep.
func (r *CheckReport) users(s db.Survey) {
	apps := make(map[string]string)
	for _, g := range s.Groups {
		apps[strconv.FormatInt(g.ID, 10)] = g.AppName
	}
	var usual []string
	for _, u := range s.Users {
		checked := CheckedUser{Name: u.Name, Admin: u.Admin}
		for id := range strings.SplitSeq(u.Groups, ",") {
			if app := apps[strings.TrimSpace(id)]; app != "" && !u.Admin {
				checked.Groups = append(checked.Groups, app)
			}
		}
		r.Users = append(r.Users, checked)
		if slices.Contains(usualHashes, strings.ToLower(u.Password)) {
			usual = append(usual, u.Name)
		}
	}
	r.sayOf("passwords", "users with the password that XXL-JOB is delivered with: %d. Give them another", usual)
}

// usualHashes are XXL-JOB's first password in both of its forms.
var usualHashes = func() []string {
	old, later := md5.Sum([]byte("123456")), sha256.Sum256([]byte("123456"))
	return []string{hex.EncodeToString(old[:]), hex.EncodeToString(later[:])}
}()

// The protocols of executors, by the addresses that they register.
const (
	protocolJSON    = "json"    // 2.2 and later, and other languages
	protocolHessian = "hessian" // up to 2.1.2, which register a bare ip:port
	protocolNone    = "none"    // nothing is registered
)

func (r *CheckReport) groups(s db.Survey) {
	var hessian, empty, known []string
	for _, g := range s.Groups {
		app := CheckedApp{AppName: g.AppName, Title: g.Title, Manual: g.Manual, Addresses: g.Addresses, Protocol: protocolNone}
		for _, address := range g.Addresses {
			if app.Protocol = protocolJSON; !strings.Contains(address, "://") && !g.Manual {
				app.Protocol = protocolHessian
				hessian = append(hessian, g.AppName+" "+address)
				break
			}
		}
		if len(g.Addresses) == 0 {
			empty = append(empty, g.AppName)
		}
		if g.Token != "" && auth.KnownToken(g.Token) {
			known = append(known, g.AppName)
		}
		r.Groups = append(r.Groups, app)
	}
	r.sayOf("hessian", "executors that speak the protocol of releases up to 2.1.2, which is not served: %d. Bring them to 2.2 or later first", hessian)
	r.sayOf("empty", "groups without an executor at the moment: %d", empty)
	r.sayOf("tokens", "groups with a token that everybody knows: %d. It is not taken over; give their executors another, or set PUNCTUAL_ACCESS_TOKEN to it meanwhile", known)
}
