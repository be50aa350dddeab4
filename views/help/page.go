// Package help draws the page that explains what the words of the console mean. The texts of choices are those of the forms, so
// that both say the same.
package help

import (
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/layout"
)

// Page is the whole page ([Show]).
type Page struct {
	layout.Page
	Rights []string // the names of all rights
	Causes []string // what may be alarmed of
}

// sections lists the parts of the page: each is an anchor (link.Help) and the title "help.<name>".
var sections = []string{"life", "states", "schedule", "cron", "misfire", "route", "block", "retry", "scripts", "alarms", "rights", "executors", "keys", "api"}

// manuals are the places of the manual that say more than a section does.
var manuals = map[string]struct{ page, id string }{
	"life": {"concepts", "the-life-of-a-run"}, "states": {"concepts", "tries-that-did-not-succeed"}, "schedule": {"concepts", "schedules"},
	"cron": {"compat", "7-cron-dialect"}, "misfire": {"concepts", "schedules"}, "route": {"concepts", "route-strategies"}, "block": {"concepts", "one-job-at-a-time"},
	"scripts": {"executor", "scripts"}, "alarms": {"alarms", ""}, "rights": {"operations", "people-and-rights"},
	"executors": {"operations", "access-tokens-and-tls"}, "api": {"operations", "programs-that-look-after-jobs"},
}

// cronFields are the fields of an expression in their order, each with what may stand in it.
var cronFields = []struct{ name, values, signs string }{
	{string(cron.Second), "0-59", ", - * /"}, {string(cron.Minute), "0-59", ", - * /"}, {string(cron.Hour), "0-23", ", - * /"},
	{string(cron.DayOfMonth), "1-31", ", - * / ? L W"}, {string(cron.Month), "1-12, JAN-DEC", ", - * /"}, {string(cron.DayOfWeek), "1-7, SUN-SAT", ", - * / ? L #"},
	{string(cron.Year), "1970-2099", ", - * /"},
}

// cronExamples are expressions with the key of what they mean.
var cronExamples = []struct{ text, key string }{
	{"0/10 * * * * ?", "help.cron.example.10s"},
	{"0 */5 * * * ?", "help.cron.example.5m"},
	{"0 30 9 ? * MON-FRI", "help.cron.example.workday"},
	{"0 0 2 * * ?", "help.cron.example.night"},
	{"0 0 8,12,18 * * ?", "help.cron.example.three"},
	{"0 0/15 9-17 * * ?", "help.cron.example.office"},
	{"0 0 0 1 * ?", "help.cron.example.first"},
	{"0 0 23 L * ?", "help.cron.example.last"},
	{"0 0 6 LW * ?", "help.cron.example.lastworkday"},
	{"0 0 6 ? * 6#3", "help.cron.example.thirdfriday"},
	{"0 0 0 1 1 ? 2030", "help.cron.example.once"},
}

// scriptValues are what a script is told, as an argument and in its environment.
var scriptValues = []struct{ argument, variable, key string }{
	{"$1", "PUNCTUAL_PARAM", "help.scripts.param"}, {"$2", "PUNCTUAL_SHARD_INDEX", "help.scripts.index"}, {"$3", "PUNCTUAL_SHARD_TOTAL", "help.scripts.total"},
	{"", "PUNCTUAL_PLANNED_AT", "help.scripts.planned"},
	{"", "PUNCTUAL_JOB_ID", "help.scripts.job"}, {"", "PUNCTUAL_LOG_ID", "help.scripts.log"}, {"", "TRACEPARENT", "help.scripts.trace"},
}

// addresses are what programs call.
var addresses = []struct{ address, key string }{
	{"/api/*, /xxl-job-admin/api/*", "help.api.executors"},
	{"/api/v1/*", "help.api.v1"},
	{"/api/addJob, updateJob, removeJob, startJob, stopJob, triggerJob", "help.api.jobs"},
	{"/jobinfo/*, /joblog/*, /jobgroup/*", "help.api.former"},
	{"/healthz, /readyz", "help.api.health"},
	{"/metrics", "help.api.metrics"},
}

func values[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, v := range all {
		list[i] = string(v)
	}
	return list
}

func routes() []string   { return values(jobspec.AllRoutes) }
func blocks() []string   { return values(jobspec.AllBlocks) }
func misfires() []string { return values(jobspec.AllMisfires) }
