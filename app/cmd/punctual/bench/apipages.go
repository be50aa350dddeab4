package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// giveToken gives an agent a token with all rights of its user.
func (a *agent) giveToken(ctx context.Context, pool *db.Pool) error {
	q := db.New()
	user, err := q.GetUserByName(ctx, pool, a.name)
	if err != nil {
		return err
	}
	a.token = auth.NewAPIToken()
	_, err = q.InsertAPIToken(ctx, pool, db.InsertAPITokenParams{
		UserID: user.ID, Name: "bench", Hash: auth.HashAPIToken(a.token), Hint: auth.APITokenHint(a.token), Rights: int64(auth.AllRights),
		Admin: user.Role, CreatedAt: time.Now().UnixMilli(), ExpiresAt: time.Now().Add(24 * time.Hour).UnixMilli(),
	})
	return err
}

// apiPages lists what programs read by API v1.
func apiPages(f pageFacts, admin bool) []page {
	var list []page
	add := func(name, format string, args ...func(i int) int64) {
		list = append(list, page{name: "API, " + name, api: true, path: func(i int) string {
			values := make([]any, len(args))
			for k, arg := range args {
				values[k] = arg(i)
			}
			return "/api/v1" + fmt.Sprintf(format, values...)
		}})
	}
	some := func(n int64) func(i int) int64 { // spreads over 1 … n
		return func(i int) int64 { return 1 + (int64(i)*7_919_317+104_729)%max(1, n) }
	}
	job, run := some(int64(f.jobs)), some(f.top)
	if !admin {
		job = func(i int) int64 { return 1000 * (1 + int64(i)%max(1, int64(f.jobs)/1000)) } // the quiet group's
	}
	day := time.Now().AddDate(0, 0, -1).UTC().Format("2006-01-02T15:04:05Z")
	add("jobs", "/jobs")
	add("500 jobs", "/jobs?limit=500")
	add("jobs, in the middle", "/jobs?cursor=%d", some(int64(f.jobs)))
	add("jobs, text", "/jobs?text=payments")
	add("jobs, no such text", "/jobs?text=nothing+like+it")
	add("jobs, of a group", "/jobs?group_id=7")
	add("jobs, running", "/jobs?state=running")
	add("jobs, failing", "/jobs?show=failing")
	add("job", "/jobs/%d", job)
	add("job, next times", "/jobs/%d/next", job)
	add("runs", "/runs")
	add("500 runs", "/runs?limit=500")
	add("runs, in the middle", "/runs?cursor=%d", run)
	add("runs, failed", "/runs?result=failed")
	add("runs, failed for good", "/runs?result=final")
	add("runs, failed since yesterday", "/runs?result=failed&since="+day)
	add("runs, lost", "/runs?state=lost")
	add("runs, text since yesterday", "/runs?text=nothing+like+it&since="+day)
	add("runs, of a job", "/runs?job_id=%d", job)
	add("runs, of a group", "/runs?group_id=7")
	add("groups", "/groups")
	add("group", "/groups/7")
	add("statistics", "/statistics")
	add("usage", "/statistics/usage")
	add("forecast", "/statistics/forecast")
	add("calendars", "/calendars")
	add("pauses", "/pauses")
	add("tokens", "/tokens")
	add("who am I", "/whoami")
	if admin {
		add("run", "/runs/%d", run)
		add("export of a group", "/jobs/export?group_id=7")
		add("addresses", "/groups/7/addresses")
		add("users", "/users")
		add("audit", "/audit")
		add("audit, of a user", "/audit?user=operator07")
		add("nodes", "/nodes")
		add("health", "/health")
		add("settings", "/settings")
		add("alarm channels", "/alarms/channels")
		add("alarm messages", "/alarms/messages")
		add("webhooks", "/webhooks")
	}
	return list
}
