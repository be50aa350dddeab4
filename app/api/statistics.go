package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// Counts are what became of fires; attempts of one count once.
type Counts struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Running   int64 `json:"running"`
	Skipped   int64 `json:"skipped" doc:"Left out on purpose."`
}

// dayCounts are those of the fires that were planned for a day.
type dayCounts struct {
	Date string `json:"date" format:"date" doc:"In the zone of the installation."`
	Counts
}

// statistics are the numbers of the dashboard, of the groups that the token may see.
type statistics struct {
	Jobs        int64       `json:"jobs"`
	JobsStarted int64       `json:"jobs_started" doc:"Jobs whose schedule is started."`
	Failing     int         `json:"jobs_failing" doc:"Jobs that fail; GET /jobs?show=failing lists them."`
	Late        int         `json:"jobs_late" doc:"Jobs that are due and were not sent; GET /jobs?show=late lists them."`
	Long        int         `json:"runs_long" doc:"Runs that take long; GET /runs?show=long lists them."`
	More        bool        `json:"more" doc:"There may be more that fail, are late or take long than were looked for."`
	Sum         Counts      `json:"sum" doc:"Of all the days."`
	Days        []dayCounts `json:"days" doc:"The oldest first; the last is today."`
}

// minute is what is due in one.
type minute struct {
	From time.Time `json:"from"`
	Runs int64     `json:"runs"`
	Jobs int64     `json:"jobs"`
}

// forecast is what is due in the next hour.
type forecast struct {
	Minutes []minute   `json:"minutes"`
	AtLeast bool       `json:"at_least" doc:"There are more jobs than were followed."`
	Until   *time.Time `json:"complete_until" doc:"With at_least: from this moment on more is due than is said."`
}

// quarters are what is due in the next days.
type quarters struct {
	From     time.Time  `json:"from" doc:"When the first quarter of an hour begins."`
	Quarters []int64    `json:"quarters" doc:"How many runs are due in each quarter of an hour, one after the other. GET /jobs?show=due&at=…&until=… lists the jobs."`
	AtLeast  bool       `json:"at_least" doc:"There are more jobs than were followed."`
	Until    *time.Time `json:"complete_until" doc:"With at_least: from this moment on more is due than is said."`
}

// usage is what a group of executors did.
type usage struct {
	Group   int64  `json:"group_id" doc:"0: jobs that are deleted, for whoever sees all groups."`
	AppName string `json:"app_name" doc:"Empty where there is no such group any more."`
	Title   string `json:"title"`
	Runs    int64  `json:"runs" doc:"Fires that were run or still are; attempts of one count once."`
	Failed  int64  `json:"failed" doc:"How many of them failed."`
	Skipped int64  `json:"skipped" doc:"Fires that were left out on purpose, beside runs."`
	Seconds int64  `json:"run_seconds" doc:"How long runs took together, each attempt for itself."`
}

func (a *API) statistics() {
	const tag = "statistics"
	add(a, op{method: http.MethodGet, path: "/statistics", id: "getStatistics", tag: tag, summary: "Get the numbers of the dashboard"},
		func(ctx context.Context, p auth.Principal, in *struct {
			Days int `query:"days" minimum:"1" maximum:"90" default:"7" doc:"How many days."`
		}) (*struct{ Body statistics }, error) {
			s, err := a.figures(ctx, p, in.Days)
			return &struct{ Body statistics }{s}, err
		})
	add(a, op{method: http.MethodGet, path: "/statistics/forecast", id: "getForecast", tag: tag, summary: "Get how much is due in each minute of the next hour"},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*struct{ Body forecast }, error) {
			f, err := a.Manage.Dashboard.Forecast(ctx, p)
			out := forecast{Minutes: []minute{}, AtLeast: !f.Ends.IsZero(), Until: moment(f.Ends)}
			for i := range f.Minutes {
				out.Minutes = append(out.Minutes, minute{From: f.From.Add(time.Duration(i) * time.Minute).UTC(), Runs: f.Minutes[i], Jobs: f.Jobs[i]})
			}
			return &struct{ Body forecast }{out}, err
		})
	add(a, op{method: http.MethodGet, path: "/statistics/outlook", id: "getOutlook", tag: tag, summary: "Get how much is due in each quarter of an hour of the next days",
		text: "By the schedules of started jobs, with calendars and pauses. What people and programs start, child jobs and retries nobody foresees."},
		func(ctx context.Context, p auth.Principal, in *struct {
			Days int `query:"days" minimum:"1" maximum:"14" default:"1" doc:"How many days."`
		}) (*struct{ Body quarters }, error) {
			f, err := a.Manage.Dashboard.Ahead(ctx, p)
			out := quarters{From: f.From.UTC(), AtLeast: !f.Ends.IsZero(), Until: moment(f.Ends), Quarters: f.Quarters[:min(in.Days*24*4, len(f.Quarters))]}
			return &struct{ Body quarters }{out}, err
		})
	add(a, op{method: http.MethodGet, path: "/statistics/usage", id: "getUsage", tag: tag, summary: "Get how many runs each group of executors had, and how long they took",
		text: "By the days that runs were planned for, of the last 100. A run counts for the group that ran it, that of a flow beside those of its steps. Time counts so too: of runs that took a second or more and succeeded, failed or timed out, with retries, and not of flows."},
		func(ctx context.Context, p auth.Principal, in *struct {
			From  string `query:"from" format:"date" doc:"The first day, in the zone of the installation; without it six days before the last."`
			Until string `query:"until" format:"date" doc:"The last day, which counts too; without it today."`
		}) (*listOf[usage], error) {
			rows, err := a.Manage.Dashboard.Usage(ctx, p, day(in.From), day(in.Until))
			return listed(rows, err, func(u dashboard.Usage) usage {
				return usage{u.ID, u.AppName, u.Title, u.Runs, u.Failed, u.Skipped, int64(u.Took.Seconds())}
			})
		})
	add(a, op{method: http.MethodGet, path: "/health", id: "getHealth", tag: "health", summary: "Get whether the admin that answers does its work",
		text: "For probes there is GET /readyz, which takes no token."},
		func(ctx context.Context, _ auth.Principal, _ *struct{}) (*struct{ Body health }, error) {
			return &struct{ Body health }{a.health(ctx)}, nil
		})
}

// day reads a parameter that is none or a date.
func day(text string) time.Time {
	t, _ := time.Parse(time.DateOnly, text)
	return t
}

func (a *API) figures(ctx context.Context, p auth.Principal, n int) (s statistics, err error) {
	jobs, err := a.Manage.Dashboard.JobCounts(ctx, p)
	if err != nil {
		return s, err
	}
	for _, c := range jobs {
		s.Jobs += c.All
		s.JobsStarted += c.Started
	}
	troubles, _, err := a.Manage.Dashboard.Troubles(ctx, p)
	if err != nil {
		return s, err
	}
	s.Failing, s.Late, s.Long = len(troubles.Failing), len(troubles.LateJobs()), len(troubles.Long)
	s.More = troubles.MoreFailing || troubles.MoreLate || troubles.MoreLong
	days, sum, err := a.Manage.Dashboard.Days(ctx, p, n)
	s.Sum, s.Days = countsOf(sum), []dayCounts{}
	for _, d := range days {
		s.Days = append(s.Days, dayCounts{a.Pool.Wall(d.Date).Format(time.DateOnly), countsOf(d)})
	}
	return s, err
}

func countsOf(d upkeep.Day) Counts {
	return Counts{Succeeded: d.Succeeded, Failed: d.Failed, Running: d.Running, Skipped: d.Skipped}
}

// health is how the admin that answers is.
type health struct {
	Ready      bool        `json:"ready" doc:"It schedules."`
	Conditions []condition `json:"conditions" doc:"What keeps it from its work, or what somebody should look at."`
}

// condition is one of them.
type condition struct {
	Code  string `json:"code"`
	Stops bool   `json:"stops" doc:"Whether it keeps the admin from its work."`
	Text  string `json:"text" doc:"The same in the language of Accept-Language."`
}

func (a *API) health(ctx context.Context) health {
	h := health{Ready: true, Conditions: []condition{}}
	for _, c := range a.Conditions() {
		h.Ready = h.Ready && !c.Stops()
		h.Conditions = append(h.Conditions, condition{string(c.Key), c.Stops(), manage.ConditionText(requestOf(ctx).printer, c)})
	}
	return h
}
