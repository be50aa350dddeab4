// Package link builds every address of the console. Templates and handlers call it instead of adding strings, so the
// URL scheme is written in one place; the filter types also read their query back, which keeps both directions together.
package link

import (
	"net/url"
	"strconv"
)

// Routes as the router registers them. The functions below fill in the parameters.
const (
	Root        = "/"
	Login       = "/login"
	Logout      = "/logout"
	Preferences = "/preferences"

	// Signing in at a provider. The second is registered there.
	SignInPath          = "/sign-in"
	SignInRoute         = "/sign-in/:provider"
	SignInCallbackRoute = "/sign-in/:provider/callback"

	JobsPath        = "/jobs"
	JobNewPath      = "/jobs/new"
	JobCurlPath     = "/jobs/new/curl"
	SchedulePreview = "/jobs/schedule-preview"
	JobFlowPreview  = "/jobs/flow-preview"

	RunsPath   = "/runs"
	RunsEvents = "/runs/events"

	ExecutorsPath   = "/executors"
	ExecutorNewPath = "/executors/new"
	ExecutorToken   = "/executors/token" // the installation's

	AlarmsPath = "/alarms"
	// AlarmsOpenPath are the alarms that have not recovered.
	AlarmsOpenPath = "/alarms/open"
	AlarmNewPath   = "/alarms/new"
	AlarmMessages  = "/alarms/messages"
	NodesPath      = "/nodes"
	NodesGo        = "/nodes/go" // ends the hold of a database
)

// LoginNext is the login page that leads on to another page of the console.
func LoginNext(next string) string {
	if next == "" || next == Root {
		return Login
	}
	return Login + "?" + url.Values{"next": {next}}.Encode()
}

// SignIn begins a sign-in at a provider that leads on to a page of the console.
func SignIn(provider, next string) string {
	if next == "" || next == Root {
		return SignInPath + "/" + provider
	}
	return SignInPath + "/" + provider + "?" + url.Values{"next": {next}}.Encode()
}

// SignInCallback is where a provider sends the browser back to.
func SignInCallback(provider string) string { return SignInPath + "/" + provider + "/callback" }

// The steps of a login after the first one; [LoginStep] names them by the step.
const (
	LoginPassword = "/login/password"
	LoginSecond   = "/login/second"
	LoginSetup    = "/login/setup"
)

// LoginStep is the page of a step of a login that leads on to another page of the console.
func LoginStep(step, next string) string {
	path := Login + "/" + step
	if next == "" || next == Root {
		return path
	}
	return path + "?" + url.Values{"next": {next}}.Encode()
}

// JobNew is the form for a new job, with the group already chosen if group is not 0.
func JobNew(group int64) string {
	if group == 0 {
		return JobNewPath
	}
	return JobNewPath + "?" + url.Values{"group": {id(group)}}.Encode()
}

// JobCopy is the form for a new job, filled in from another job.
func JobCopy(jobID int64) string { return JobNewPath + "?" + url.Values{"copy": {id(jobID)}}.Encode() }

// Job is a job's page (GET), and where its form is posted (POST).
func Job(jobID int64) string { return JobsPath + "/" + id(jobID) }

// JobChain shows (GET) and makes (POST) the flow that a job and its children would be.
func JobChain(jobID int64) string { return Job(jobID) + "/chain" }

// JobUnchain makes of a flow the job with child jobs again that it was made of.
func JobUnchain(jobID int64) string { return Job(jobID) + "/unchain" }

// JobBackfill runs a job for planned times that are over, and JobBackfillDeed pauses, resumes or stops that.
func JobBackfill(jobID int64) string { return Job(jobID) + "/backfill" }

// JobBackfillDeed is one of pause, resume and stop.
func JobBackfillDeed(jobID, backfillID int64, verb string) string {
	return JobBackfill(jobID) + "/" + id(backfillID) + "/" + verb
}

// JobAccount says what became of a job's fires.
func JobAccount(jobID int64) string { return Job(jobID) + "/account" }

// JobEdit is a job's form.
func JobEdit(jobID int64) string { return Job(jobID) + "/edit" }

// JobEditHere is JobEdit that leads back to the job's page.
func JobEditHere(jobID int64) string { return JobEdit(jobID) + "?back=job" }

// JobStart starts a job's schedule (POST).
func JobStart(jobID int64) string { return Job(jobID) + "/start" }

// JobFavourite marks a job for oneself, or takes the mark away (POST).
func JobFavourite(jobID int64) string { return Job(jobID) + "/favourite" }

// JobRelease keeps a job in no files any more (POST).
func JobRelease(jobID int64) string { return Job(jobID) + "/release" }

// JobStop stops a job's schedule (POST).
func JobStop(jobID int64) string { return Job(jobID) + "/stop" }

// JobDelete asks (GET) and deletes (POST).
func JobDelete(jobID int64) string { return Job(jobID) + "/delete" }

// JobRun asks for the parameter (GET) and runs a job once (POST).
func JobRun(jobID int64) string { return Job(jobID) + "/run" }

// JobRunAgain is JobRun, filled in with the parameter of an earlier run.
func JobRunAgain(jobID, logID int64) string { return JobRun(jobID) + "?from=" + id(logID) }

// Run is a run's page.
func Run(logID int64) string { return RunsPath + "/" + id(logID) }

// RunLine is a run's page with a line of its output in sight, however far down that is.
func RunLine(logID int64, line int) string {
	n := strconv.Itoa(line)
	return Run(logID) + "?line=" + n + "#L" + n
}

// RunEvents is the event stream of one run: its state and its output from a line on.
func RunEvents(logID int64, fromLine int) string {
	return Run(logID) + "/events?from=" + strconv.Itoa(fromLine)
}

// RunLogDownload is a run's whole output as a text file.
func RunLogDownload(logID int64) string { return Run(logID) + "/log?from=1&download=1" }

// Where runs are cleared, and how that comes along.
const (
	ClearPath         = "/runs/clear"
	ClearProgressPath = "/runs/clear/progress"
)

// Clear is the page that clears runs, with a choice made; zeros are no choice.
func Clear(group, job int64, kind int) string {
	q := url.Values{}
	setNumber(q, "group", group)
	setNumber(q, "job", job)
	setNumber(q, "type", int64(kind))
	return withQuery(ClearPath, q)
}

// ClearingStop ends a clearing where it is (POST).
func ClearingStop(clearing int64) string { return ClearPath + "/" + id(clearing) + "/stop" }

// RunRepeat asks (GET) and does again (POST) what failed of a run of a flow.
func RunRepeat(logID int64) string { return Run(logID) + "/rerun" }

// RunStep are the runs of a step of a run of a flow that runs once for each item of a list, from behind an item on.
func RunStep(logID int64, step string, after int64) string {
	path := Run(logID) + "/steps/" + url.PathEscape(step)
	if after > 0 {
		path += "?after=" + id(after)
	}
	return path
}

// RunStepDeed asks (GET) and does (POST) something to a step of a run of a flow.
func RunStepDeed(logID int64, step, deed string) string { return RunStep(logID, step, 0) + "/" + deed }

// RunKill asks (GET) and ends a run (POST).
func RunKill(logID int64) string { return Run(logID) + "/kill" }

// Executor is an executor group's page (GET), and where its form is posted (POST).
func Executor(groupID int64) string { return ExecutorsPath + "/" + id(groupID) }

// ExecutorLineage shows which of a group's jobs start which.
func ExecutorLineage(groupID int64) string { return Executor(groupID) + "/lineage" }

// AlarmNewFor is the form for a new alarm channel of a kind, which is to tell of a job; without a kind it begins with the first, without a
// job it is for many.
func AlarmNewFor(kind string, jobID int64) string {
	q := url.Values{}
	if kind != "" {
		q.Set("kind", kind)
	}
	if jobID > 0 {
		q.Set("job", id(jobID))
	}
	if len(q) == 0 {
		return AlarmNewPath
	}
	return AlarmNewPath + "?" + q.Encode()
}

// Alarm is an alarm channel's page (GET), and where its form is posted (POST).
func Alarm(channelID int64) string { return AlarmsPath + "/" + id(channelID) }

// AlarmEdit is an alarm channel's form.
func AlarmEdit(channelID int64) string { return Alarm(channelID) + "/edit" }

// AlarmDelete asks (GET) and deletes (POST).
func AlarmDelete(channelID int64) string { return Alarm(channelID) + "/delete" }

// AlarmPreview draws the words of a channel's form (POST); with 0 of a new one's.
func AlarmPreview(channelID int64) string {
	if channelID == 0 {
		return AlarmsPath + "/preview"
	}
	return Alarm(channelID) + "/preview"
}

// AlarmTest sends a test message (POST).
func AlarmTest(channelID int64) string { return Alarm(channelID) + "/test" }

// AlarmOpen are the alarms of a job that have not recovered, and the form by which somebody says that they look after them.
func AlarmOpen(jobID int64) string { return AlarmsOpenPath + "/" + id(jobID) }

// AlarmsAck is the form by which somebody says that they look after the alarms of all the jobs that a list shows (GET), and where it is
// posted (POST).
const AlarmsAck = AlarmsOpenPath + "/ack"

// AlarmAck is where that form is posted (POST only).
func AlarmAck(jobID int64) string { return AlarmOpen(jobID) + "/ack" }

// AlarmUnack takes it back (POST only).
func AlarmUnack(jobID int64) string { return AlarmOpen(jobID) + "/unack" }

// JobNote is the form of a note at a job (GET), and where it is posted (POST).
func JobNote(jobID int64) string { return Job(jobID) + "/note" }

// RunNote is the same at a run.
func RunNote(logID int64) string { return Run(logID) + "/note" }

// NoteDelete strikes a note out (POST only).
func NoteDelete(noteID int64) string { return "/notes/" + id(noteID) + "/delete" }

// AlarmByLink is the page that the link of a message opens (GET), and where its form is posted (POST).
func AlarmByLink(token string) string { return AlarmsPath + "/link/" + url.PathEscape(token) }

// AlarmRouteNew is the form for a new route to a channel.
func AlarmRouteNew(channelID int64) string { return Alarm(channelID) + "/routes/new" }

// AlarmRouteNewFor is the same for a job.
func AlarmRouteNewFor(channelID, jobID int64) string {
	return AlarmRouteNew(channelID) + "?job=" + id(jobID)
}

// AlarmRoutes is where the form for a new route is posted (POST only).
func AlarmRoutes(channelID int64) string { return Alarm(channelID) + "/routes" }

// AlarmRoute is where a route's form is posted (POST only).
func AlarmRoute(channelID, routeID int64) string { return AlarmRoutes(channelID) + "/" + id(routeID) }

// AlarmRouteEdit is a route's form.
func AlarmRouteEdit(channelID, routeID int64) string {
	return AlarmRoute(channelID, routeID) + "/edit"
}

// AlarmJobs answers the search for the job of a rule.
func AlarmJobs(channelID int64) string { return Alarm(channelID) + "/jobs" }

// AlarmRouteDelete takes a route away (POST).
func AlarmRouteDelete(channelID, routeID int64) string {
	return AlarmRoute(channelID, routeID) + "/delete"
}

// AlarmMessageRetry sends a message again (POST).
func AlarmMessageRetry(messageID int64) string { return AlarmMessages + "/" + id(messageID) + "/retry" }

// ExecutorNamed is the form of a new executor group with an app name.
func ExecutorNamed(appName string) string {
	return ExecutorNewPath + "?" + url.Values{"app_name": {appName}}.Encode()
}

// ExecutorShowing is an executor group's page with its access token in sight.
func ExecutorShowing(groupID int64) string { return Executor(groupID) + "?token=show#token" }

// ExecutorTokenShowing is the page of the installation's access token with the token in sight.
func ExecutorTokenShowing() string { return ExecutorToken + "?token=show#token" }

// ExecutorAddresses takes addresses out of rotation and back in (POST).
func ExecutorAddresses(groupID int64) string { return Executor(groupID) + "/addresses" }

// TokenRotate asks (GET) and makes a new access token (POST): a group's own, or with 0 the installation's.
func TokenRotate(groupID int64) string {
	if groupID == 0 {
		return ExecutorToken + "/rotate"
	}
	return Executor(groupID) + "/token/rotate"
}

// TokenDrop asks (GET) and takes a group's own access token away (POST).
func TokenDrop(groupID int64) string { return Executor(groupID) + "/token/drop" }

// ExecutorEdit is an executor group's form.
func ExecutorEdit(groupID int64) string { return Executor(groupID) + "/edit" }

// ExecutorDelete asks (GET) and deletes (POST).
func ExecutorDelete(groupID int64) string { return Executor(groupID) + "/delete" }

func id(n int64) string { return strconv.FormatInt(n, 10) }

// Dashboard is the first page, with its chart over a number of days; 0 for the usual number.
func Dashboard(days int) string {
	if days == 0 {
		return Root
	}
	return Root + "?" + url.Values{"days": {strconv.Itoa(days)}}.Encode()
}
